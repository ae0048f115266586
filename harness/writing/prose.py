"""The sentences of a room, which lie in its ``prose.md.j2``: a macro for each paragraph or list of them."""

from __future__ import annotations

from functools import cache
from math import floor, log10
from numbers import Integral
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment

NAME = "prose.md.j2"


def number(value: object) -> str:
    """Return a whole number with thousands apart, other values as they are, "not recorded" for none.

    Examples
    --------
    >>> number(798809), number(None)
    ('798,809', 'not recorded')
    """
    if value is None:
        return "not recorded"
    return f"{value:,}" if isinstance(value, Integral) else str(value)


def rate(value: float) -> str:
    """Return a rate in three decimals without the 0 in front.

    >>> rate(0.0504), rate(1.0), rate(float("nan"))
    ('.050', '1.000', '-')
    """
    return f"{value:.3f}".removeprefix("0") if value == value else "-"


def two_figures(number: float) -> str:
    """Return a number above 0 to two significant figures.

    >>> [two_figures(number) for number in (15_019, 7.0, 104, 0.01349, 0.00002, 0.996)]
    ['15,000', '7', '100', '0.013', '0.000020', '1.0']
    """
    places = 1 - floor(log10(number))
    rounded = round(number, places)
    if number >= 1 and rounded == int(rounded):
        return f"{int(rounded):,}"
    return f"{rounded:.{max(1, 1 - floor(log10(rounded)))}f}"


def sentence(text: str) -> str:
    """Return `text` with a stop at its end.

    Examples
    --------
    >>> sentence("MCAT is missing"), sentence("Is it?")
    ('MCAT is missing.', 'Is it?')
    """
    text = " ".join(str(text).split())
    return text if text.endswith((".", "!", "?")) else text + "."


def paragraphs(room: str, name: str, **values: Any) -> list[str]:
    """Return what the macro `name` of a room says, a string for each paragraph; a value missing is an error.

    `room` is a folder of the package, such as ``"advise"`` or ``"run/figures"``.
    """
    said = str(getattr(environment().get_template(f"{room}/{NAME}").module, name)(**values))
    return [" ".join(part.split()) for part in said.split("\n\n") if part.strip()]


def paragraph(room: str, name: str, **values: Any) -> str:
    """Return what the macro `name` of a room says as one paragraph."""
    return " ".join(paragraphs(room, name, **values))


@cache
def environment() -> Environment:
    """Return the templates of the package; those of HTML escape what they are given."""
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

    from harness.writing import page, table_text  # both import this module

    made = Environment(
        loader=PackageLoader("harness", ""), autoescape=select_autoescape(["html.j2"]),
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    own = {"number": number, "rate": rate, "sentence": sentence, "two_figures": two_figures}
    made.filters |= {**own, **page.FILTERS, **table_text.FILTERS}
    return made


def render(template: str, **values: Any) -> str:
    """Return a template of this room, such as ``summary.md.j2``, with its values."""
    return environment().get_template(f"writing/templates/{template}").render(**values)
