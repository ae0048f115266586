"""How to cite a run: the software, and the publications whose studies and methods it rests on.

The facts are those of ``CITATION.cff``, to which a test holds them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from harness import __version__


class Work(NamedTuple):
    """Something to cite.

    Attributes
    ----------
    key, kind : str
        Of its BibTeX entry.
    authors : tuple of str
        ``Family, Given``, or one name in braces.
    fields : dict of str to str
        Other BibTeX fields: where it appeared.
    reason : str
        What a run takes from it.
    """

    key: str
    kind: str
    authors: tuple[str, ...]
    title: str
    year: int | None
    fields: Mapping[str, str]
    reason: str


SOFTWARE = Work(
    "harness", "software", ("The harness developers",),
    "harness: size and power of significance tests that compare two classifiers", None, {},
    "the software",
)  # fmt: skip
KELLER_2005 = Work(
    "keller2005benchmarking", "inproceedings", ("Keller, Mikaela", "Bengio, Samy", "Wong, Siew Yeung"),
    "Benchmarking Non-Parametric Statistical Tests", 2005,
    {"booktitle": "Advances in Neural Information Processing Systems 18 (NIPS 2005)", "pages": "651--658"},
    "the size and power of tests, measured on sets drawn from a known population",
)  # fmt: skip
KELLER_2004 = Work(
    "keller2004significance", "techreport", ("Keller, Mikaela", "Mariéthoz, Johnny", "Bengio, Samy"),
    "Significance Tests for Bizarre Measures in 2-Class Classification Tasks", 2004,
    {"institution": "IDIAP", "number": "IDIAP-RR 04-34"},
    "two classifiers over sets of categories: Table 3 and Figure 1",
)  # fmt: skip
DIETTERICH_1998 = Work(
    "dietterich1998approximate", "article", ("Dietterich, Thomas G.",),
    "Approximate Statistical Tests for Comparing Supervised Classification Learning Algorithms", 1998,
    {"journal": "Neural Computation", "volume": "10", "number": "7", "pages": "1895--1923"},
    "the tests of learning algorithms, and how their type I error is measured",
)  # fmt: skip
DEMSAR_2006 = Work(
    "demsar2006statistical", "article", ("Demšar, Janez",),
    "Statistical Comparisons of Classifiers over Multiple Data Sets", 2006,
    {"journal": "Journal of Machine Learning Research", "volume": "7", "pages": "1--30"},
    "ranks over several data sets and the critical difference",
)  # fmt: skip


def works_of(provenance: Mapping[str, Any]) -> list[Work]:
    """Return what a run is to cite, by what its ``provenance.json`` says that it was.

    Examples
    --------
    >>> [work.key for work in works_of({"study": "simulated_null"})]
    ['harness', 'dietterich1998approximate']
    """
    study = provenance.get("study")
    if study == "learners":
        return [SOFTWARE, DIETTERICH_1998, DEMSAR_2006]
    if study is not None:
        return [SOFTWARE, DIETTERICH_1998]
    return [SOFTWARE, KELLER_2004 if "category_sets" in provenance else KELLER_2005]


def version_of(provenance: Mapping[str, Any]) -> str:
    """Return the version of the software that ran."""
    return str((provenance.get("versions") or {}).get("harness", __version__))


def reference(work: Work, version: str) -> str:
    """Return a work as an entry of a list of references; `version` is that of the software.

    Examples
    --------
    >>> print(reference(DEMSAR_2006, "0.1.0"))
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
    if work is SOFTWARE:
        where = f"Version {version}"
    return f"{'; '.join(work.authors)}{year}. {work.title}. {where}."


def bibtex(work: Work, version: str) -> str:
    """Return a work as a BibTeX entry; `version` is that of the software."""
    authors = "{" + work.authors[0] + "}" if work is SOFTWARE else " and ".join(work.authors)
    fields = {"author": authors, "title": "{" + work.title + "}", **work.fields}
    fields |= {"year": str(work.year)} if work.year is not None else {"version": version}
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items()]
    return "\n".join([f"@{work.kind}{{{work.key},", *lines, "}"])
