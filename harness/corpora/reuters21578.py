"""Reuters-21578 (Distribution 1.0): newswire stories of 1987, from the 22 SGML files or from NLTK."""

import html
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from harness.corpora.corpus import Corpus
from harness.corpora.opening import Limits, read_files
from harness.corpora.text import TextCorpus
from harness.errors import UserError, check_choice, require

SPLITS = ("modapte", "all")
SOURCES = ("sgml", "nltk")

FILE_NAMES = tuple(f"reut2-{number:03d}.sgm" for number in range(22))
"""The collection's files (README of the collection, section VI)."""

PUBLISHED = {"all": (21_578,), "modapte": (9_603, 3_299), "nltk": (7_769, 3_019)}
"""Documents in the collection, and in ModApte's training and test set (its README, section VIII.B); of these
NLTK's corpus has those that carry at least one of its 90 topics."""

_LIMITS = Limits(total_bytes=256 << 20, n_members=1_000)
_ATTRIBUTE = re.compile(r'(\w+)\s*=\s*"([^"]*)"')
_TOPIC = re.compile(r"<D>([^<]*)</D>")
_TAG = re.compile(r"</?[A-Z]+(?:\s[^<>]*)?>")


class Story(NamedTuple):
    """One REUTERS element.

    `number` is NEWID, which is chronological; `part` is ModApte's ``"train"`` or ``"test"``, or ``"unused"``;
    `text` is TITLE and BODY, entities resolved, or all of TEXT where it has neither (TYPE="UNPROC").
    """

    number: int
    part: str
    topics: tuple[str, ...]
    text: str
    has_body: bool


def load_reuters21578(
    path: str | Path | None = None,
    split: str = "modapte",
    stop_words: str = "sklearn",
    source: str = "sgml",
    complete: bool = True,
) -> Corpus:
    """Load Reuters-21578 as counts of Porter stems, in chronological order (NEWID).

    `path` is a folder with reut2-000.sgm to reut2-021.sgm (at any depth), or a zip or tar.* of it.
    ``source="nltk"`` takes NLTK's `reuters` corpus instead, 10,788 documents of ModApte with 90 topics, from
    where NLTK looks (environment variable NLTK_DATA). ``complete=False`` allows a part of the collection.

    ``split="modapte"`` is TOPICS="YES" and LEWISSPLIT "TRAIN" or "TEST", 12,902 documents; the attribute, not
    the topics a document has: 2,108 of them have none. ModApte's training documents all precede its test
    documents: a chronological split whose first 9,603 documents are D_tr is exactly the published one. "all"
    is the 21,578 documents; of those outside ModApte many were never indexed. Topics are those that occur:
    120 of the 135 in the collection's list; 118 in ModApte, of which 115 in its training set, 93 in its test
    set and 90 in both.

    References
    ----------
    Lewis (1997), README of the Reuters-21578 text categorization test collection, Distribution 1.0.
    """
    check_choice("corpus.split", split, SPLITS, UserError)
    check_choice("corpus.source", source, SOURCES, UserError)
    if source == "nltk" and path is not None:
        raise UserError("corpus.source=nltk takes no corpus.path; name NLTK's data folder in NLTK_DATA")
    if source == "nltk" and split != "modapte":
        raise UserError(f"corpus.split={split} is not allowed with corpus.source=nltk; it holds ModApte only")
    if source == "sgml" and path is None:
        raise UserError(f"corpus.path: a folder or archive of {FILE_NAMES[0]} to {FILE_NAMES[-1]} is needed")
    texts = TextCorpus("reuters21578", stop_words)
    parts: Counter[str] = Counter()
    n_bodiless = 0
    for where, story in _nltk_stories() if path is None else _read_stories(path, complete):
        if split == "modapte" and story.part == "unused":
            continue
        texts.add(str(story.number), story.number, story.text, story.topics, where)
        parts[story.part] += 1
        n_bodiless += not story.has_body
    require(parts.total(), f"{path}: no document of split={split} in it; at least one is needed", UserError)
    found = (parts.total(),) if split == "all" else (parts["train"], parts["test"])
    needed = PUBLISHED[split if source == "sgml" else source]
    held, published = (" + ".join(f"{n:,}" for n in numbers) for numbers in (found, needed))
    if complete and found != needed:
        said = f"{held} documents, the published split={split} has {published}"
        more = "corpus.complete=false allows a part of the collection"
        raise UserError(f"{path or 'corpus.source=nltk'}: {said}; {more}")
    first = (
        f"Documents without a body: {n_bodiless:,}; briefs, whose title is the text, and unprocessed ones, "
        "of which all that stands in TEXT is."
    )
    if source == "nltk":
        first = "NLTK's selection: documents of ModApte with at least one topic that both of its parts have."
    second = f"The first {parts['train']:,} documents are ModApte's training set, the rest its test set."
    if split == "all":
        second = "Not all documents outside ModApte were indexed: there a missing topic may mean nothing."
    return texts.finish(notes=(first, second))


def _read_stories(path: str | Path, complete: bool) -> Iterator[tuple[str, Story]]:
    missing = set(FILE_NAMES)
    for member in read_files(path, lambda name: name.lower() in FILE_NAMES, _LIMITS):
        if member.name.lower() not in missing:
            raise UserError(f"{member.where}: a second {member.name} below {path}; one of each is allowed")
        missing.discard(member.name.lower())
        for story in scan_stories(member.data.decode("latin-1"), member.where):
            yield member.where, story
    if len(missing) == len(FILE_NAMES) or (complete and missing):
        raise UserError(f"{path}: {min(missing)} is missing; {FILE_NAMES[0]} to {FILE_NAMES[-1]} are needed")


def scan_stories(text: str, where: str) -> Iterator[Story]:
    r"""Yield the stories of one SGML file.

    A scanner, not an SGML parser: it looks for the collection's own tags and takes all else as it comes
    (its files hold control characters and bare ``>``). The document type line is ignored, so nothing it
    names is ever opened. A story that is not closed or lacks a part is refused, with its line.
    """
    before, *pieces = re.split("(?=<REUTERS)", text)
    if not pieces:
        raise UserError(f"{where}: no <REUTERS> in it; a file of the Reuters-21578 collection is needed")
    line = 1 + before.count("\n")
    for piece in pieces:
        element, *after = piece.split("</REUTERS>")
        if not after:
            raise UserError(f"{where}, line {line}: this <REUTERS> is not closed; is the file truncated?")
        if len(after) > 1:
            raise UserError(f"{where}: a </REUTERS> without its <REUTERS> after line {line}")
        yield _parse_story(element, f"{where}, line {line}")
        line += piece.count("\n")


def _parse_story(element: str, where: str) -> Story:
    head = element[: element.find(">") + 1]
    attributes = dict(_ATTRIBUTE.findall(head))
    for name in ("TOPICS", "LEWISSPLIT", "NEWID"):
        if name not in attributes:
            raise UserError(f"{where}: <REUTERS> has no attribute {name}")
    if not re.fullmatch("[0-9]{1,9}", attributes["NEWID"]):
        raise UserError(f"{where}: NEWID={attributes['NEWID'][:20]!r} is not a number")
    topics = _content(element, "TOPICS", len(head))
    text = _content(element, "TEXT", len(head))
    if topics is None or text is None:
        raise UserError(f"{where}: {'TOPICS' if topics is None else 'TEXT'} is missing or not closed")
    body = _content(text, "BODY")
    pieces = [piece for piece in (_content(text, "TITLE"), body) if piece is not None]
    part = {"TRAIN": "train", "TEST": "test"}.get(attributes["LEWISSPLIT"], "unused")
    return Story(
        number=int(attributes["NEWID"]),
        part=part if attributes["TOPICS"] == "YES" else "unused",
        topics=tuple(dict.fromkeys(html.unescape(topic).strip() for topic in _TOPIC.findall(topics))),
        text=html.unescape("\n".join(pieces or [_TAG.sub(" ", text)])),
        has_body=body is not None and bool(html.unescape(body).strip()),
    )


def _content(text: str, tag: str, start: int = 0) -> str | None:
    """Return what stands between ``<tag ...>`` and ``</tag>``, None where either is missing."""
    opened = re.compile(rf"<{tag}(?:\s[^<>]*)?>").search(text, start)
    end = text.find(f"</{tag}>", opened.end()) if opened else -1
    return text[opened.end() : end] if opened and end >= 0 else None


def _nltk_stories() -> Iterator[tuple[str, Story]]:
    from nltk.corpus.reader import CategorizedPlaintextCorpusReader
    from nltk.corpus.util import LazyCorpusLoader

    options = {"cat_file": "cats.txt", "encoding": "latin-1"}
    files = "(training|test)/[0-9]+"
    reader = LazyCorpusLoader("reuters", CategorizedPlaintextCorpusReader, files, **options)
    try:
        for name in reader.fileids():
            part, number = name.removeprefix("training/").rpartition("/")[::2]
            text = html.unescape(reader.raw(name))  # NLTK's files keep the SGML's entities
            yield name, Story(int(number), part or "train", tuple(reader.categories(name)), text, True)
    except (LookupError, OSError) as error:
        raise UserError(
            "corpus.source=nltk: NLTK's reuters corpus is not installed or incomplete; get it by "
            "`python -m nltk.downloader reuters`, or give the SGML files as corpus.path"
        ) from error
