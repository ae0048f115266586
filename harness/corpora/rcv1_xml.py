"""RCV1 from the licensed NIST CDs: NewsML files, plain or in the zips of one day each."""

import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import NamedTuple
from xml.parsers import expat

from harness.corpora.archives import Limits, Member, read_files
from harness.corpora.corpus import Corpus
from harness.corpora.text import TextCorpus
from harness.errors import UserError

TOPIC_CLASS = "bip:topics:1.0"
"""Class of the ``codes`` element that holds topics; countries and industries have others."""

N_DOCUMENTS = 806_791
"""Documents on the two CDs."""

_LIMITS = Limits(member_bytes=16 << 20, total_bytes=16 << 30, n_members=2_000_000)
_TEXT_SECTIONS = ("title", "headline", "text")


class NewsItem(NamedTuple):
    """One story: `text` is its headline (its title where it has none) and its paragraphs."""

    item_id: int
    date: date
    text: str
    topics: tuple[str, ...]


def load_rcv1_xml(path: str | Path | None = None, stop_words: str = "sklearn") -> Corpus:
    """Load the full text of RCV1 as counts of Porter stems, ordered by date, then itemid.

    Files are read one at a time and turned to counts at once: some 1,800 documents in a second of one
    core, so about 8 minutes for all 806,791, and 1 GiB at the peak (1.5 GiB where the files do not come in
    the order of time). Extrapolated from 40,000 documents made of Reuters-21578's words at RCV1's lengths,
    and for memory from as many rows as RCV1 has; the CDs themselves were not at hand.

    Parameters
    ----------
    path : str or Path
        Folder of zips (19960820.zip, ...) or of NewsML files (2286newsML.xml, ...), at any depth, or one
        zip or tar.* of NewsML files.
    stop_words : {"sklearn", "nltk", "none"}
        See :func:`harness.corpora.text.stop_word_set`.

    Returns
    -------
    Corpus
        Topics are the codes of class ``bip:topics:1.0`` as they stand on the CDs (RCV1-v1): ancestors are
        not added, and nothing of RCV1-v2's corrections is applied.

    Raises
    ------
    UserError
        If there is no XML file, one is broken, wrongly encoded, no ``newsitem`` or declares a document
        type, an itemid is missing or occurs twice, or an archive is damaged or expands beyond reason.
        Names file, member and line.

    References
    ----------
    Lewis, Yang, Rose & Li (2004), RCV1: a new benchmark collection, JMLR 5, 361-397.
    """
    from tqdm import tqdm

    if path is None:
        raise UserError("corpus.path: the folder of RCV1's zips or NewsML files is needed")
    texts = TextCorpus("rcv1_xml", stop_words)
    for member in tqdm(_xml_files(path), desc="reading RCV1", unit=" documents", disable=None):
        item = parse_newsitem(member.data, member.where)
        # itemid has at most 10 digits: one integer orders by date, then itemid
        time = item.date.toordinal() << 34 | item.item_id
        texts.add(item.item_id, time, item.text, item.topics, member.where)
    if texts.n_documents == 0:
        raise UserError(f"{path}: no NewsML file (*.xml) in it, nor in zips below it")
    notes: tuple[str, ...] = (
        "Topics as on the CDs (RCV1-v1): ancestors not added, RCV1-v2's corrections not applied.",
    )
    if texts.n_documents != N_DOCUMENTS:
        notes += (f"{texts.n_documents:,} documents; the two CDs hold {N_DOCUMENTS:,}.",)
    return texts.finish(notes=notes)


def _xml_files(path: str | Path) -> Iterator[Member]:
    return read_files(path, lambda name: name.lower().endswith(".xml"), nested=(".zip",), limits=_LIMITS)


def parse_newsitem(data: bytes, where: str) -> NewsItem:
    r"""Parse one NewsML file.

    A document type declaration is refused when it opens, before any entity in it is read: RCV1 has none,
    and without one there is neither an entity to expand nor an external file to fetch.

    Parameters
    ----------
    data : bytes
        The file; its XML declaration says how it is encoded.
    where : str
        Its name in messages.

    Raises
    ------
    UserError
        If the XML is broken, declares a document type, or is no ``newsitem`` with itemid and date.

    Examples
    --------
    >>> item = parse_newsitem(b'''<newsitem itemid="2286" date="1996-08-20"><title>MEXICO: Gold up.</title>
    ... <headline>Gold up.</headline><text><p>It rose.</p></text><metadata><codes class="bip:topics:1.0">
    ... <code code="M14"/></codes></metadata></newsitem>''', "2286newsML.xml")
    >>> item.item_id, item.topics, item.text.split("\n")
    (2286, ('M14',), ['Gold up.', 'It rose.'])
    """
    try:
        parser = expat.ParserCreate()
        handler = _NewsHandler(parser, where)
        parser.Parse(data, True)
    except expat.ExpatError as error:
        message = expat.ErrorString(error.code) or "syntax error"
        raise UserError(f"{where}, line {error.lineno}: broken or wrongly encoded XML ({message})") from error
    except (LookupError, ValueError) as error:  # from the codec that the XML declaration names
        raise UserError(f"{where}: its encoding cannot be read ({error})") from error
    return handler.item()


class _NewsHandler:
    """Collects what the study needs while expat reads."""

    def __init__(self, parser: expat.XMLParserType, where: str) -> None:
        self._parser, self._where = parser, where
        self._depth, self._section, self._in_topics = 0, "", False
        self._pieces: dict[str, list[str]] = {section: [] for section in _TEXT_SECTIONS}
        self._topics: dict[str, None] = {}
        self._root: dict[str, str] = {}
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = self._doctype
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters

    def _fail(self, what: str) -> UserError:
        return UserError(f"{self._where}, line {self._parser.CurrentLineNumber}: {what}")

    def _doctype(self, *declaration: object) -> None:
        raise self._fail("a document type declaration (DOCTYPE, entities) is not allowed")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth == 1:
            if name != "newsitem":
                raise self._fail(f"the root element is <{name[:40]}>, <newsitem> is needed")
            self._root = attributes
        elif self._depth == 2:
            self._section = name if name in _TEXT_SECTIONS else ""
        elif name == "codes":
            self._in_topics = attributes.get("class") == TOPIC_CLASS
        elif name == "code" and self._in_topics:
            code = attributes.get("code", "").strip()
            if not code:
                raise self._fail("a topic <code> without its attribute code")
            self._topics[code] = None

    def _end(self, name: str) -> None:
        self._depth -= 1
        if self._section:  # an end of paragraph is an end of word
            self._pieces[self._section].append("\n")
        if self._depth == 1:
            self._section = ""
        if name == "codes":
            self._in_topics = False

    def _characters(self, text: str) -> None:
        if self._section:
            self._pieces[self._section].append(text)

    def item(self) -> NewsItem:
        """Return the story, once the whole file is read."""
        number, day = self._root.get("itemid", ""), self._root.get("date", "")
        if not re.fullmatch("[0-9]{1,10}", number):
            raise UserError(f"{self._where}: newsitem has itemid={number[:20]!r}; a number is needed")
        try:
            when = date.fromisoformat(day)
        except ValueError as error:
            raise UserError(f"{self._where}: newsitem has date={day[:20]!r}; YYYY-MM-DD is needed") from error
        title, headline, text = ("".join(self._pieces[section]).strip() for section in _TEXT_SECTIONS)
        return NewsItem(int(number), when, f"{headline or title}\n{text}", tuple(self._topics))
