"""From raw text to term counts: tokens, stop-words, Porter stems; and documents gathered into a Corpus."""

import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable

import numpy as np

from harness.corpora.corpus import Corpus, note_empty
from harness.corpora.rows import SparseRows, Vocabulary
from harness.errors import UserError, check_choice

MAX_TOKEN = 40
"""Longest token kept: what is longer is no word (rules of letters, encoded attachments)."""

STOP_WORDS = ("sklearn", "nltk", "none")

_ASCII_WORD = re.compile("[a-z]+")


def tokenise(text: str) -> list[str]:
    """Split a text into lower-case words.

    A token is a maximal run of 2 to 40 letters (of any script) in the lower-cased text; digits,
    punctuation, apostrophes and hyphens separate. So ``"Coca-Cola's 3.5 pct"`` gives ``coca``, ``cola``,
    ``pct``: the possessive s is a single letter and goes, and of ``don't`` remains ``don``.
    """
    text = text.lower()
    words = _ASCII_WORD.findall(text) if text.isascii() else _letter_runs(text)
    return [word for word in words if 2 <= len(word) <= MAX_TOKEN]


def _letter_runs(text: str) -> list[str]:
    """Return the maximal runs of letters; slow, and exact (a regex takes the ² of x² for part of a word)."""
    return "".join(character if character.isalpha() else " " for character in text).split()


def stop_word_set(name: str) -> frozenset[str]:
    """Return a stop-word list as the tokens that :func:`tokenise` makes of it.

    ``sklearn`` is scikit-learn's `ENGLISH_STOP_WORDS` (318 words, the Glasgow list): no download. It is
    known to be odd: it removes words that carry topics (``bill``, ``fire``, ``interest``, ``mill``,
    ``system``), keeps others of the kind it lists, and holds slips such as ``amoungst``; of contractions
    it has ``cant`` and ``hasnt`` but not the ``don``, ``ve``, ``ll`` that our tokeniser leaves. ``nltk``
    is NLTK's English list (its data must be installed). ``none`` is the empty list.

    References
    ----------
    Nothman, Qin & Yurchak (2018), Stop word lists in free open-source software packages, Proc. NLP-OSS.
    """
    check_choice("corpus.stop_words", name, STOP_WORDS, UserError)
    words: Iterable[str] = ()
    if name == "sklearn":
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        words = ENGLISH_STOP_WORDS
    elif name == "nltk":
        words = _nltk_stop_words()
    return frozenset(token for word in words for token in tokenise(word))


def _nltk_stop_words() -> list[str]:
    from nltk.corpus.reader import WordListCorpusReader
    from nltk.corpus.util import LazyCorpusLoader

    try:  # a loader of our own: nltk.corpus.stopwords remembers the first folder it was found in
        reader = LazyCorpusLoader("stopwords", WordListCorpusReader, r"(?!README|\.).*")
        return list(reader.words("english"))
    except (LookupError, OSError) as error:
        raise UserError(
            "stop_words=nltk: NLTK's English stop-word list is not installed; get it by "
            "`python -m nltk.downloader stopwords`, or choose stop_words=sklearn"
        ) from error


def porter_stemmer() -> Callable[[str], str]:
    """Return NLTK's Porter stemmer in its ``MARTIN_EXTENSIONS`` mode.

    That mode is the algorithm as in the programs that its author distributes: the published one (Porter
    1980) with ``-bli`` and ``-logi`` among the endings of step 2, and words of one or two letters left
    alone. NLTK's default mode adds exceptions of its own (``skies`` gives ``sky``), not used here.

    References
    ----------
    Porter (1980), An algorithm for suffix stripping, Program 14, 130-137.
    """
    from nltk.stem.porter import PorterStemmer

    stem: Callable[[str], str] = PorterStemmer(mode=PorterStemmer.MARTIN_EXTENSIONS).stem
    return stem


class _TermColumns(dict[str, int]):
    """Column of each token met so far, -1 for a stop-word; a token is stemmed the first time only."""

    def __init__(self, stop_words: str) -> None:
        super().__init__(dict.fromkeys(stop_word_set(stop_words), -1))
        self._stem, self.stems = porter_stemmer(), Vocabulary()

    def __missing__(self, token: str) -> int:
        column = self[token] = self.stems[self._stem(token)]
        return column


class TextCorpus:
    """Documents gathered one by one; their text is turned to counts at once and forgotten.

    Memory is that of the counts (8 bytes for each distinct stem of each document) and of the vocabulary.
    """

    def __init__(self, name: str, stop_words: str) -> None:
        self.name = name
        self._term_columns = _TermColumns(stop_words)
        self._topic_columns = Vocabulary()
        self._terms, self._topics = SparseRows("f"), SparseRows("B")
        self._ids, self._times = dict[str, None](), array("q")

    @property
    def n_documents(self) -> int:
        """Number of documents added so far."""
        return len(self._ids)

    def add(self, name: str, time: int, text: str, topics: Iterable[str], where: str) -> None:
        """Add a document: its id, not met before, its place in time, text, topics and file."""
        if name in self._ids:
            raise UserError(f"{where}: document {name} occurs a second time in the collection")
        self._ids[name] = None
        self._times.append(time)
        counts = Counter(map(self._term_columns.__getitem__, tokenise(text)))
        counts.pop(-1, None)
        self._terms.append(counts.keys(), counts.values())
        columns = {self._topic_columns[topic] for topic in topics}
        self._topics.append(columns, (1 for _ in columns))

    def finish(self, notes: tuple[str, ...], *, dated: bool = False) -> Corpus:
        """Return the documents in the order of time, then of their ids; nothing can be added afterwards.

        Under `dated` their places in time are days.
        """
        term_names = self._term_columns.stems.sort(self._terms.columns)
        topic_names = self._topic_columns.sort(self._topics.columns)
        terms, topics = self._terms.matrix(len(term_names)), self._topics.matrix(len(topic_names))
        ids, times = np.array([*self._ids], dtype=np.str_), np.asarray(memoryview(self._times))
        order = np.lexsort((ids, times))
        if (np.diff(order) != 1).any():  # moving rows costs a second copy of the counts
            terms, topics, ids = terms[order], topics[order], ids[order]
        names = np.array(term_names, dtype=np.str_)
        notes = (*notes, *note_empty(terms, topics))
        days = times[order] if dated else None
        return Corpus(
            self.name, terms, topics, ids, names, tuple(topic_names), chronological=True, days=days,
            notes=notes,
        )  # fmt: skip
