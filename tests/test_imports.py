"""Data flows one way: a module imports only what stands above it."""

import ast
from pathlib import Path

import pytest

import harness

ORDER = [
    "harness", "errors", "interruption", "folder_lock", "seeding", "store", "sweep_jobs",
    "cache_listing", "parallel", "table_text", "corpora.corpus", "corpora", "tables", "split",
    "features", "balance",
    "models.fitted", "models.cross_validation", "models.gaussian_kernel", "models.device", "models",
    "outcomes", "packaged", "training", "measures", "influence", "nulls", "evaluation_sets",
    "significance.result", "significance", "rejections",
    "questions", "null_evaluation_sets", "intervals", "size_power",
    "plans", "evaluation_tables", "evaluation", "null_evaluation", "papers",
    "truth_scores", "category_verdicts", "ranking", "memory", "provenance",
    "citations", "rerun", "html_report",
    "captions", "figure_style", "figure", "figures", "findings", "report", "category_sets",
    "algorithms", "advice", "study", "compare", "advise", "collect", "spread",
    "cli.targets", "cli.hydra_internals", "cli.configuration", "two_systems_labels", "two_systems",
    "cli.settings", "cli.arguments", "cli.sweep", "cli.help", "cli",
    "__main__",
]  # fmt: skip
ROOT = Path(harness.__file__).parent
FILES = sorted(p for p in ROOT.rglob("*.py") if "conf" not in p.relative_to(ROOT).parts)


def rank(module):
    """Place of a module in the order; files of one folder that are not named share the folder's place."""
    name = module.removeprefix("harness").lstrip(".") or "harness"
    while name not in ORDER:
        shorter = name.rpartition(".")[0] or name.rpartition("_")[0]
        assert shorter, f"{module} has no place in the order; give it one"
        name = shorter
    return ORDER.index(name)


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
            assert rank(target) <= rank(own), f"{own} imports {target}, which stands below it"


def test_only_the_command_line_knows_hydra():
    for path in FILES:
        if path.parent.name != "cli":
            known = ("hydra", "omegaconf", "pydantic", "pydantic_core")
            assert not any(t.split(".")[0] in known for t in imported(path)), path
