"""docs/architecture.md and its picture against the tree: a line for every room, files that exist."""

import re
from pathlib import Path

import architecture
import pytest
from test_imports import ORDER

ROOT = Path(__file__).resolve().parents[1]

TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
LINES = re.findall(r"^\| `(\w+)(/?)` \|", TEXT, re.MULTILINE)


def test_the_picture_is_that_of_the_code():
    assert architecture.PICTURE.read_text(encoding="utf-8") == architecture.picture()


def test_every_room_has_its_line_in_the_order_of_the_imports():
    rooms = architecture.rooms()
    assert [name for name, _ in LINES] == [name for name in ORDER if name in rooms]
    assert len(LINES) == len(rooms)
    assert all((slash == "/") == (ROOT / "harness" / name).is_dir() for name, slash in LINES)


def test_a_line_says_something_that_another_does_not():
    graph = {"a": {"b", "c"}, "b": {"c"}, "c": set()}
    assert list(architecture.reduced(graph)) == [("a", "b"), ("b", "c")]


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`((?:harness|tests|scripts|conf)/[\w/.]+)`", TEXT))))
def test_what_the_page_names_is_there(path):
    assert (ROOT / path.replace("NAME.yaml", "")).exists()
