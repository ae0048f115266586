"""What a room refuses lies in its ``refusals.toml``: each sentence is used, with the values that it names."""

import ast
import string
import tomllib
from pathlib import Path

import pytest

import harness

ROOT = Path(harness.__file__).parent
FILES = sorted(ROOT.glob("*/refusals.toml"))


def used(folder):
    """Yield the key of each sentence that the code raises, and the names of its values; None where spread."""
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "refusal":
                yield node.args[0].value, {keyword.arg for keyword in node.keywords}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.parent.name)
def test_every_sentence_is_used_and_every_value_is_there(path):
    told = tomllib.loads(path.read_text(encoding="utf-8"))
    sentences = {f"{path.parent.name}.{name}": text for name, text in told.items()}
    raised = list(used(path.parent))
    assert {name for name, _ in raised} == set(sentences)
    for name, values in raised:
        wanted = {field for _, field, *_ in string.Formatter().parse(sentences[name]) if field}
        assert values - {None} <= wanted, name
        assert None in values or wanted <= values, name
