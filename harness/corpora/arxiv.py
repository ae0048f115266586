"""arXiv's public metadata: titles and abstracts of papers, and their categories, one JSON object a line."""

import json
import re
from collections.abc import Iterator
from datetime import date
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, NamedTuple

from harness.corpora.corpus import Corpus
from harness.corpora.opening import read_lines, shorten
from harness.corpora.text import TextCorpus
from harness.errors import UserError

FIELDS = ("id", "title", "abstract", "categories")
CATEGORY = re.compile(r"[a-z][a-z-]*(\.[A-Za-z][A-Za-z-]*)?")
MATHEMATICS = re.compile(r"(?<!\\)\$(?:[^$\\]|\\.)*\$", re.DOTALL)


class Paper(NamedTuple):
    """One paper: its id, the day of its first version as an ordinal number, its text and its labels."""

    name: str
    day: int
    text: str
    labels: tuple[str, ...]


def load_arxiv(path: str | Path | None = None, stop_words: str = "sklearn") -> Corpus:
    """Load titles and abstracts as counts of Porter stems, in the order of their first dates, then ids.

    `path` is a file of JSON lines (plain, .gz, .bz2, .xz, or a .zip that holds it alone) in the fields of
    arXiv's metadata snapshot: `id`, `title`, `abstract`, `categories`, and `versions` or `update_date` for
    the date; others are ignored. Mathematics between dollar signs is dropped. A paper carries its categories
    and their archives (``cs.LG`` and ``cs``), as RCV1's documents carry the ancestors of their topics.

    References
    ----------
    arXiv Dataset, https://www.kaggle.com/datasets/Cornell-University/arxiv; the metadata are under CC0.
    """
    if path is None:
        raise UserError("corpus.path: the file of arXiv's metadata is needed, JSON lines")
    texts = TextCorpus("arxiv", stop_words)
    for where, paper in read_papers(path):
        texts.add(paper.name, paper.day, paper.text, paper.labels, where)
    if texts.n_documents == 0:
        raise UserError(f"{path}: no paper in it; a JSON object a line is needed")
    return texts.finish(notes=("Papers carry their categories and the archives of these.",), dated=True)


def read_papers(path: str | Path) -> Iterator[tuple[str, Paper]]:
    """Yield each paper, and where it stands."""
    for number, line in read_lines(path):
        if line.strip():
            where = f"{path}, line {number}"
            yield where, parse_paper(_object(line, where), where)


def _object(line: bytes, where: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{where}: {shorten(line)} is not JSON; is the file truncated?") from error
    if not isinstance(found, dict):
        raise UserError(f"{where}: {shorten(line)} is no JSON object; one a paper is needed")
    return found


def parse_paper(fields: dict[str, Any], where: str) -> Paper:
    """Return a paper from its fields; UserError names the first that is missing or of another form.

    Examples
    --------
    >>> fields = {"id": "0704.0001", "title": "On $x^2$", "abstract": "Words.", "categories": "cs.LG math.ST"}
    >>> parse_paper(fields | {"update_date": "2007-04-02"}, "line 1").labels
    ('cs.LG', 'math.ST', 'cs', 'math')
    """
    for name in FIELDS:
        if not isinstance(fields.get(name), str) or not fields[name].strip():
            raise UserError(f"{where}: the paper has no {name}; arXiv's metadata with {name} are needed")
    categories = fields["categories"].split()
    for category in categories:
        if not CATEGORY.fullmatch(category):
            raise UserError(f"{where}: {shorten(category.encode())} is no category, such as cs.LG")
    archives = (category.partition(".")[0] for category in categories)
    text = MATHEMATICS.sub(" ", f"{fields['title']}\n{fields['abstract']}")
    labels = tuple(dict.fromkeys([*categories, *archives]))
    return Paper(fields["id"].strip(), _day(fields, where), text, labels)


def _day(fields: dict[str, Any], where: str) -> int:
    """Return the day of the first version, or of the last update where no version is told."""
    versions = fields.get("versions")
    first = versions[0] if isinstance(versions, list) and versions else None
    told = first.get("created") if isinstance(first, dict) else fields.get("update_date")
    try:
        if isinstance(first, dict):
            return parsedate_to_datetime(str(told)).toordinal()
        return date.fromisoformat(str(told)).toordinal()
    except (TypeError, ValueError) as error:
        raise UserError(f"{where}: {shorten(str(told).encode())} is no date of a first version") from error
