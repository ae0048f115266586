import re
from pathlib import Path

import numpy as np
import pytest
from jinja2 import UndefinedError

import harness
from harness.writing import prose

ROOT = Path(harness.__file__).parent
MACROS = [
    (path.parent.relative_to(ROOT).as_posix(), name)
    for path in sorted(ROOT.rglob(prose.NAME))
    for name in re.findall(r"{% macro (\w+)\(", path.read_text(encoding="utf-8"))
]
CODE = "".join(path.read_text(encoding="utf-8") for path in ROOT.rglob("*.py"))


@pytest.mark.parametrize(("room", "name"), MACROS)
def test_every_macro_compiles_and_is_said_somewhere(room, name):
    assert callable(getattr(prose.environment().get_template(f"{room}/{prose.NAME}").module, name))
    own = (ROOT / room / prose.NAME).read_text(encoding="utf-8")
    assert f'"{name}"' in CODE or re.search(rf"\b(?<!macro ){name}\(", own)


def test_a_value_that_is_missing_is_an_error(monkeypatch):
    from jinja2 import DictLoader

    text = "{% macro size(n) %}\nOne  of\n{{ n | number }}.\n\nTwo.\n{% endmacro %}"
    monkeypatch.setattr(prose.environment(), "loader", DictLoader({"some/prose.md.j2": text}))
    assert prose.paragraphs("some", "size", n=np.int64(1000)) == ["One of 1,000.", "Two."]
    assert prose.paragraph("some", "size", n=1) == "One of 1. Two."
    with pytest.raises(UndefinedError):
        prose.paragraphs("some", "size")
