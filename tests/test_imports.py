"""Data flows one way: a module imports only what stands above it."""

import ast
import functools
from pathlib import Path

import pytest

import harness

ORDER = [
    "harness", "errors", "seeding", "intervals", "measures", "split", "features",
    "balance", "runtime", "corpora", "writing", "tables", "models", "nulls", "significance", "outcomes",
    "packaged", "evaluation", "results", "drawing", "run", "category_sets", "advise", "compare", "collect",
    "cli", "two_systems", "__main__",
]  # fmt: skip
ROOT = Path(harness.__file__).parent


def room(module):
    return module.removeprefix("harness").lstrip(".").partition(".")[0] or "harness"


def imported(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


FILES = [path.relative_to(ROOT) for path in sorted(ROOT.rglob("*.py"))]
MODULES = {
    ".".join(("harness", *path.with_suffix("").parts)): ROOT / path
    for path in FILES
    if "conf" not in path.parts
}


@functools.cache
def targets_of(module):
    return set(imported(MODULES[module]))


@pytest.mark.parametrize("module", MODULES)
def test_no_arrow_backwards(module):
    own = module.removesuffix(".__init__")
    for target in targets_of(module) & MODULES.keys():
        assert ORDER.index(room(target)) <= ORDER.index(room(own)), f"{own} imports {target}"


def test_only_the_command_line_knows_hydra():
    known = {"hydra", "omegaconf", "pydantic", "pydantic_core"}
    for module in MODULES:
        if room(module) != "cli":
            assert not known & {target.split(".")[0] for target in targets_of(module)}, module
