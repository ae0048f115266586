"""Data flows one way: a module imports only what stands above it."""

import ast
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
FILES = sorted(p for p in ROOT.rglob("*.py") if "conf" not in p.relative_to(ROOT).parts)


def room(module):
    return module.removeprefix("harness").lstrip(".").partition(".")[0] or "harness"


def imported(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_arrow_backwards(path):
    own = ".".join(("harness", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
    modules = {".".join(("harness", *p.relative_to(ROOT).with_suffix("").parts)) for p in FILES}
    for target in imported(path):
        if target in modules:
            assert ORDER.index(room(target)) <= ORDER.index(room(own)), f"{own} imports {target}"


def test_only_the_command_line_knows_hydra():
    for path in FILES:
        if path.parent.name != "cli":
            known = ("hydra", "omegaconf", "pydantic", "pydantic_core")
            assert not any(t.split(".")[0] in known for t in imported(path)), path
