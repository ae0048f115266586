"""Checks of single settings, before any work: a refusal names the key, the value and what is allowed."""

import json
import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from harness.errors import UserError

MOST = 1_000_000_000
"""Largest whole number that a setting may be where nothing smaller is said."""
MOST_SETS = 10_000_000
"""Of evaluation sets and of replicates: beyond it no machine has the memory."""
FIGURE_KEYS = ("papers_minus_one", "truth", "x_axis", "width", "dpi", "formats")


def check_whole(key: str, value: object, least: int, most: int | None = MOST) -> None:
    """Refuse what is no whole number of at least `least` and at most `most` (None: without end)."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise UserError(f"{key}: {value!r} is not allowed; a whole number of at least {least} is")
    if most is not None and value > most:
        raise UserError(f"{key}: {value!r} is not allowed; a whole number from {least} to {most:,} is")


def check_member(key: str, value: object, allowed: tuple[str, ...]) -> None:
    """Refuse what is not one of `allowed`."""
    if value not in allowed:
        raise UserError(f"{key}: {value!r} is not allowed; choose one of {', '.join(allowed)}")


def check_keys(key: str, node: object, allowed: tuple[str, ...]) -> None:
    """Refuse a node with another part than those `allowed`."""
    if not isinstance(node, Mapping):
        raise UserError(f"{key}: {node!r} is not allowed; its parts are {', '.join(allowed)}")
    for part in node:
        if part not in allowed:
            raise UserError(f"{key}.{part}: there is no such key; {', '.join(allowed)} are allowed")


def check_parts(key: str, node: object, needed: tuple[str, ...]) -> None:
    """Refuse a node that has another part than those `needed`, or lacks one."""
    check_keys(key, node, needed)
    check_there(node, needed, f"{key}.")


def check_there(node: Any, needed: Iterable[str], before: str = "") -> None:
    """Refuse a configuration from which a key was removed."""
    missing = [key for key in needed if key not in node]
    if missing:
        raise UserError(f"{before}{missing[0]}: it is missing; leave out the ~ that removes it")


def check_list(key: str, value: object) -> None:
    """Refuse what is no list, an empty one, or one that names an item twice."""
    if not isinstance(value, list) or not value:
        raise UserError(f"{key}: {value!r} is not allowed; a list of at least one is, as in {key}=[...]")
    if len({json.dumps(item) for item in value}) != len(value):
        raise UserError(f"{key}: {value!r} names one twice; each is allowed once")


def check_names(key: str, value: object) -> None:
    """Refuse what is no list of names."""
    check_list(key, value)
    for item in value:  # type: ignore[attr-defined]
        if not isinstance(item, str):
            raise UserError(f"{key}: {item!r} is not allowed; names are")


def check_level(key: str, value: object) -> None:
    """Refuse what cannot be a level of significance."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1e-9 <= value < 1:
        raise UserError(f"{key}: {value!r} is not allowed; numbers between 0 and 1 are (1e-9 at least)")


def check_numbers(key: str, node: object) -> None:
    """Refuse a number that is infinite or none, wherever it stands in the configuration.

    Examples
    --------
    >>> check_numbers("", {"figure": {"dpi": float("inf")}})
    Traceback (most recent call last):
    ...
    harness.errors.UserError: figure.dpi: inf is not allowed; a finite number is
    """
    if isinstance(node, float) and not math.isfinite(node):
        raise UserError(f"{key}: {node} is not allowed; a finite number is")
    if isinstance(node, Mapping):
        if len({isinstance(name, str) for name in node}) > 1:
            raise UserError(f"{key}: its keys are numbers and text; keys of one kind are allowed")
        for name, part in node.items():
            check_numbers(f"{key}.{name}".lstrip("."), part)
    if isinstance(node, list):
        for part in node:
            check_numbers(key, part)


def check_places(out: object, cache: object) -> None:
    """Refuse folders that have no name, and a cache that cannot be written."""
    for key, value in (("out", out), ("cache", cache)):
        if value is None and key == "cache":
            continue
        if isinstance(value, bool) or not isinstance(value, str | int | float) or not str(value).strip():
            raise UserError(f"{key}: {value!r} is not allowed; the name of a folder is")
    if cache is None:
        return
    folder = Path(str(cache)).absolute()
    there = next(place for place in (folder, *folder.parents) if place.exists())
    if not there.is_dir():
        raise UserError(f"cache={cache}: {there} is a file; a folder is needed, or cache=null")
    as_effective = os.access in os.supports_effective_ids
    if not os.access(there, os.W_OK | os.X_OK, effective_ids=as_effective):
        raise UserError(f"cache={cache}: {there} cannot be written; another folder is needed, or cache=null")


def check_figure(node: Any, allowed: tuple[str, ...] = FIGURE_KEYS) -> None:
    """Refuse options of figures that cannot be drawn; figures come last, after all the work."""
    from harness.figure_style import check_options

    check_parts("figure", node, allowed)
    check_list("figure.formats", node["formats"])
    for key in ("width", "dpi"):
        if isinstance(node[key], bool) or not isinstance(node[key], int | float):
            raise UserError(f"figure.{key}: {node[key]!r} is not allowed; a number is")
    minus_one = node.get("papers_minus_one", False)
    if not isinstance(minus_one, bool):
        raise UserError(f"figure.papers_minus_one: {minus_one!r} is not allowed; true or false is")
    check_options(node["formats"], node.get("x_axis", "log"), node["dpi"], node["width"])
