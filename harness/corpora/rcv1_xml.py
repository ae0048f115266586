"""RCV1 from the licensed NIST CDs: NewsML files, plain or in the zips of one day each."""

import re
from datetime import date
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree
from xml.parsers import expat

from harness.corpora.corpus import Corpus
from harness.corpora.opening import Limits, read_files
from harness.corpora.text import TextCorpus
from harness.errors import UserError
from harness.runtime.talk import progress

TOPIC_CLASS = "bip:topics:1.0"
"""Class of the ``codes`` element that holds topics; countries and industries have others."""

N_DOCUMENTS = 806_791
"""Documents on the two CDs."""

_LIMITS = Limits(total_bytes=16 << 30, n_members=2_000_000)


class NewsItem(NamedTuple):
    """One story: `text` is its headline (its title where it has none) and its paragraphs."""

    item_id: int
    date: date
    text: str
    topics: tuple[str, ...]


def load_rcv1_xml(path: str | Path | None = None, stop_words: str = "sklearn") -> Corpus:
    """Load the full text of RCV1 as counts of Porter stems, ordered by date, then itemid.

    `path` is a folder of zips (19960820.zip, ...) or of NewsML files (2286newsML.xml, ...), at any depth, or
    one zip or tar.* of NewsML files. Topics are the codes of class ``bip:topics:1.0`` as they stand on the
    CDs (RCV1-v1): ancestors are not added, and nothing of RCV1-v2's corrections is applied.

    Files are read one at a time and turned to counts at once: some 1,800 documents in a second of one
    core, so about 8 minutes for all 806,791, and 1 GiB at the peak (1.5 GiB where the files do not come in
    the order of time). Extrapolated from 40,000 documents made of Reuters-21578's words at RCV1's lengths,
    and for memory from as many rows as RCV1 has; the CDs themselves were not at hand.

    References
    ----------
    Lewis, Yang, Rose & Li (2004), RCV1: a new benchmark collection, JMLR 5, 361-397.
    """
    if path is None:
        raise UserError("corpus.path: the folder of RCV1's zips or NewsML files is needed")
    texts = TextCorpus("rcv1_xml", stop_words)
    files = read_files(path, lambda name: name.lower().endswith(".xml"), _LIMITS, (".zip",))
    for member in progress(files, None, "reading RCV1", unit=" documents"):
        item = parse_newsitem(member.data, member.where)
        # itemid has at most 10 digits: one integer orders by date, then itemid
        time = item.date.toordinal() << 34 | item.item_id
        texts.add(str(item.item_id), time, item.text, item.topics, member.where)
    if texts.n_documents == 0:
        raise UserError(f"{path}: no NewsML file (*.xml) in it, nor in zips below it")
    notes = ["Topics as on the CDs (RCV1-v1): ancestors not added, RCV1-v2's corrections not applied."]
    if texts.n_documents != N_DOCUMENTS:
        notes.append(f"{texts.n_documents:,} documents; the two CDs hold {N_DOCUMENTS:,}.")
    return texts.finish(notes=tuple(notes))


def parse_newsitem(data: bytes, where: str) -> NewsItem:
    r"""Parse one NewsML file, named `where` in messages.

    A document type declaration is refused when it opens, before any entity in it is read: RCV1 has none,
    and without one there is neither an entity to expand nor an external file to fetch.
    """
    parser = ElementTree.XMLParser(target=_Builder(where))
    try:
        parser.feed(data)
        root = parser.close()
    except ElementTree.ParseError as error:
        message = expat.ErrorString(error.code) or "syntax error"
        line = error.position[0]
        raise UserError(f"{where}, line {line}: broken or wrongly encoded XML ({message})") from error
    except (LookupError, ValueError) as error:  # from the codec that the XML declaration names
        raise UserError(f"{where}: its encoding cannot be read ({error})") from error
    if root.tag != "newsitem":
        raise UserError(f"{where}: the root element is <{root.tag[:40]}>, <newsitem> is needed")
    number, day = root.get("itemid", ""), root.get("date", "")
    if not re.fullmatch("[0-9]{1,10}", number):
        raise UserError(f"{where}: newsitem has itemid={number[:20]!r}; a number is needed")
    try:
        when = date.fromisoformat(day)
    except ValueError as error:
        raise UserError(f"{where}: newsitem has date={day[:20]!r}; YYYY-MM-DD is needed") from error
    codes = [
        code for part in root.iterfind(f"*//codes[@class='{TOPIC_CLASS}']") for code in part.iter("code")
    ]
    topics = dict.fromkeys(code.get("code", "").strip() for code in codes)
    if "" in topics:
        raise UserError(f"{where}: a topic <code> without its attribute code")
    title, headline, text = (_text_of(root, section) for section in ("title", "headline", "text"))
    return NewsItem(int(number), when, f"{headline or title}\n{text}", tuple(topics))


class _Builder(ElementTree.TreeBuilder):
    """Builds the tree of a file without a document type declaration."""

    def __init__(self, where: str) -> None:
        super().__init__()
        self._where = where

    def doctype(self, *declaration: object) -> None:
        raise UserError(f"{self._where}: a document type declaration (DOCTYPE, entities) is not allowed")


def _text_of(root: ElementTree.Element, section: str) -> str:
    """Return the text of a section; an end of paragraph is an end of word."""
    pieces = []
    for part in root.iterfind(section):
        for element in part.iter():
            element.tail = "\n" + (element.tail or "")
        pieces += [*part.itertext(), "\n"]
    return "".join(pieces).strip()
