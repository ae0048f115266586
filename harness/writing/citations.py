"""How to cite a run: the software, and the publications whose studies and methods it rests on."""

from __future__ import annotations

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


def reference(work: Work, version: str) -> str:
    """Return a work as an entry of a list of references; `version` is that of the software.

    Examples
    --------
    >>> print(reference(works()["demsar2006statistical"], "0.1.0"))
    Demšar, Janez (2006). Statistical Comparisons of Classifiers over Multiple Data Sets. Journal of Machine \
Learning Research 7, 1–30.
    """
    fields = work.fields
    year = f" ({work.year})" if work.year is not None else ""
    where = " ".join(fields[name] for name in ("booktitle", "journal", "volume") if name in fields)
    if work.kind == "techreport":
        where = f"{fields['institution']}, {fields['number']}"
    elif "number" in fields:
        where += f"({fields['number']})"
    if "pages" in fields:
        where += f", {fields['pages'].replace('--', '–')}"
    if work.key == SOFTWARE:
        where = f"Version {version}"
    return f"{'; '.join(work.authors)}{year}. {work.title}. {where}."


def bibtex(work: Work, version: str) -> str:
    """Return a work as a BibTeX entry; `version` is that of the software."""
    authors = "{" + work.authors[0] + "}" if work.key == SOFTWARE else " and ".join(work.authors)
    fields = {"author": authors, "title": "{" + work.title + "}", **work.fields}
    fields |= {"year": str(work.year)} if work.year is not None else {"version": version}
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items()]
    return "\n".join([f"@{work.kind}{{{work.key},", *lines, "}"])
