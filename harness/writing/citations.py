"""How to cite a run: the software, and the publications whose studies and methods it rests on."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from harness import __version__

SOFTWARE = "harness"


class Work(NamedTuple):
    """Something to cite, as ``works.toml`` has it."""

    key: str
    kind: str
    authors: list[str]
    title: str
    reason: str
    year: int | None = None
    fields: Mapping[str, str] = {}


@cache
def works() -> dict[str, Work]:
    """Return everything that a run may cite, by its key."""
    told = tomllib.loads(files(__package__).joinpath("works.toml").read_text("utf-8"))
    return {key: Work(key, **one) for key, one in told.items()}


def works_of(provenance: Mapping[str, Any]) -> list[Work]:
    """Return what a run is to cite, by what its ``provenance.json`` says that it was.

    Examples
    --------
    >>> [work.key for work in works_of({"study": "simulated_null"})]
    ['harness', 'dietterich1998approximate']
    """
    study = provenance.get("study")
    keys = [SOFTWARE, "dietterich1998approximate"]
    if study is None:
        keys[1] = "keller2004significance" if "category_sets" in provenance else "keller2005benchmarking"
    keys += ["demsar2006statistical"] if study == "learners" else []
    return [works()[key] for key in keys]


def version_of(provenance: Mapping[str, Any]) -> str:
    """Return the version of the software that ran."""
    return str((provenance.get("versions") or {}).get("harness", __version__))
