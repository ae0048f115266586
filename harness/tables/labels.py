"""Labels as files and arrays hold them: which are missing, which are the same, which the truth lacks."""

import functools
import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.errors import refusal

BINARY = {"false": "0", "true": "1"}
POSITIVE_NAMES = ("1", "true", "yes", "pos", "positive")
MOST_NAMED = 5
_PLAIN = re.compile(r"(?:0|[1-9][0-9]*)")
_NUMBER = re.compile(r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,2})?")


def plain_label(text: str) -> str:
    r"""Return a label in its one spelling: blanks and the form of a number do not matter.

    A number loses its plus sign, its exponent and zeros behind the point; true and false, which programs
    write in either case, stand in lower case. ``01`` is a name, as of a district, and no number.

    Examples
    --------
    >>> [plain_label(text) for text in ("1.0", "+1", "1e0", "-0.0", "01", ".50", " True", "Ham \t1")]
    ['1', '1', '1', '0', '01', '0.5', 'true', 'Ham 1']
    """
    if _PLAIN.fullmatch(text):
        return text
    text = " ".join(text.split())
    if not text.isascii():
        text = unicodedata.normalize("NFC", text).replace("\N{MINUS SIGN}", "-")
    if _NUMBER.fullmatch(text):
        number = f"{Decimal(text):f}"
        number = number.rstrip("0").rstrip(".") if "." in number else number
        return "0" if number == "-0" else number
    return text.lower() if text.lower() in BINARY else text


def as_text(value: object) -> str | None:
    """Return a value of a file or an array as text, None where it is missing."""
    if value is None or value != value:
        return None
    return str(value)


def missing_words(words: Iterable[object]) -> frozenset[str]:
    """Return the words that stand for a missing value beside the empty field."""
    return frozenset("null" if word is None else plain_label(str(word)) for word in words)


class Column(NamedTuple):
    """Of each row the place of its label in `labels`, -1 where it is missing."""

    places: NDArray[np.int64]
    labels: list[str]

    def text(self) -> NDArray[Any]:
        """Return the labels row by row."""
        return np.array(self.labels, dtype=object)[self.places]


class Values:
    """The values of a column as they were read, text or None, and where the different ones stand."""

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = values

    @functools.cached_property
    def different(self) -> list[Any]:
        """Return the different values."""
        return list(dict.fromkeys(self.values))

    @functools.cached_property
    def places(self) -> NDArray[np.int64]:
        """Return of each row the place of its value among the different ones."""
        known = {value: place for place, value in enumerate(self.different)}
        return np.fromiter(map(known.__getitem__, self.values), np.int64, len(self.values))


def read_labels(values: Values, missing: Collection[str] = ()) -> Column:
    """Return the labels of a column; an empty field is missing, and so are the words of `missing`."""
    known: dict[str, int] = {}
    places = np.full(len(values.different), -1, dtype=np.int64)
    for place, value in enumerate(values.different):
        text = as_text(value)
        label = "" if text is None else plain_label(text)
        if label and label not in missing:
            places[place] = known.setdefault(label, len(known))
    return Column(places[values.places], list(known))


def same_as_truth(truths: Collection[str]) -> Mapping[str, str]:
    """Return what true and false, or 1 and 0, are called where the truth knows nothing else.

    Where it knows other labels, as answers to questions do, true is no 1.

    Examples
    --------
    >>> same_as_truth({"0", "1"}), same_as_truth({"true", "false"}), same_as_truth({"true", "Paris"})
    ({'false': '0', 'true': '1'}, {'0': 'false', '1': 'true'}, {})
    """
    if not set(truths) <= {*BINARY, *BINARY.values()}:
        return {}
    return {number: name for name, number in BINARY.items()} if set(truths) <= set(BINARY) else BINARY


def check_spellings(where: str, truths: Collection[str], others: Iterable[str] = ()) -> None:
    """Refuse labels that differ from one of the truth only in case, blanks or zeros before a number.

    Nothing says whether they are one label or two. ``01`` and ``1`` may both be labels of the truth.
    """
    known: dict[str, str] = {}
    for label in sorted(truths):
        other = known.setdefault(_key(label), label)
        if other != label and _key(label, zeros=True) == _key(other, zeros=True):
            raise refusal("tables.spellings_of_truth", where=where, label=other, other=label)
    for label in others:
        other = known.get(_key(label), label)
        if other != label and label not in truths:
            raise refusal("tables.spelling", where=where, label=label[:40], other=other[:40])


def _key(label: str, zeros: bool = False) -> str:
    """Return what two spellings of one label have in common; `zeros` keeps those before a number."""
    if label.isascii():
        key = "".join(label.lower().split())
    else:
        signs = unicodedata.normalize("NFKC", label).casefold()
        key = "".join(c for c in signs if not c.isspace() and unicodedata.category(c) != "Cf")
    return key if zeros or not key.isdigit() else key.lstrip("0") or "0"


def tell_unknown(system: str, said: Mapping[str, int], truths: Collection[str], effect: str) -> list[str]:
    """Return a sentence on the labels that a system says and the truth lacks, with their shares."""
    unknown = sorted(((n, label) for label, n in said.items() if label not in truths), reverse=True)
    if not unknown:
        return []
    total, n_unknown = sum(said.values()), sum(n for n, _ in unknown)
    named = [f"{label[:40]!r} {share(n, total)}" for n, label in unknown[:MOST_NAMED]]
    if len(unknown) > MOST_NAMED:
        rest = sum(n for n, _ in unknown[MOST_NAMED:])
        named.append(f"{len(unknown) - MOST_NAMED:,} others {share(rest, total)}")
    return [
        f"{system} says a label that the truth lacks on {n_unknown:,} of {total:,} items "
        f"({share(n_unknown, total)}), which {effect}: {', '.join(named)}"
    ]


def share(n: int, total: int) -> str:
    """Return a share in percent, to two figures."""
    percent = 100 * n / total
    return f"{percent:.0f} %" if percent >= 10 else f"{percent:.2g} %"


def is_whole(text: str) -> bool:
    """Return whether a plain label is a whole number, as 1 or -1."""
    return text.isascii() and text.removeprefix("-").isdigit()


def is_number(text: str) -> bool:
    """Return whether a label is a finite number."""
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


def check_labels(where: str, truths: Mapping[str, int], others: Iterable[Iterable[str]] = ()) -> None:
    """Refuse measurements where labels are needed: many different numbers, some with a fraction.

    `truths` says how often each label of the truth occurs, `others` what each system says.
    """
    n, total = len(truths), sum(truths.values())
    many = n > 2 and (n == total or (n > 20 and 2 * n > total) or n > 1000)
    if not many or not all(map(is_number, truths)):
        return
    for labels in (truths, *others):
        broken = [label for label in labels if not is_whole(label)]
        if broken and all(map(is_number, broken)):
            first = broken[0] if labels is truths else next(iter(truths))
            raise refusal("tables.measurements", where=where, first=first)
