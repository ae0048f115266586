"""Every text parser is fed arbitrary and mutated text: a UserError, or a valid object, and nothing else."""

import math
import os
import string
import tempfile
import warnings
from array import array
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from harness.corpora.lyrl import read_hierarchy, read_qrels, read_tokens, read_vectors
from harness.corpora.rcv1_xml import parse_newsitem
from harness.corpora.reuters21578 import scan_stories
from harness.corpora.rows import parse_lines
from harness.corpora.svmlight import load_svmlight
from harness.corpora.text import tokenise
from harness.errors import UserError, sentence
from harness.outcomes import Population, read_outcomes, write_outcomes

MORE = int(os.environ.get("HARNESS_FUZZ", "1"))
"""Times the number of examples; the search is the same in every run unless it is more than 1."""
fuzz = settings(
    max_examples=40 * MORE, deadline=None, derandomize=MORE == 1, suppress_health_check=list(HealthCheck)
)
NUMBERS = [
    "0", "1", "-1", "+1", " 1", "007", "1.", ".5", "1e3", "1E-3", "1e309", "1e-400", "nan", "NaN", "inf",
    "-inf", "Infinity", "0x10", "1_000", "1,5", "٣", "１", "²", "½", "−1", str(2**31 - 1), str(2**31),
    str(2**32), str(2**53 + 1), str(2**63 - 1), str(2**63), str(2**64), "9" * 40,
    "", " ", "\t", "1\r", "\0", "1e", "--1",
]  # fmt: skip
VALID = {
    "svmlight": "0,2 1:3 7:1\n2 1:1\n# a comment\n 7:2 # another\n",
    "vectors": "7  1:0.5 3:0.25\n9\n10 2:1e-3\n",
    "tokens": ".I 7\n.W\nbank rate\nbank\n\n.I 9\n.W\n",
    "qrels": "GCAT 7 1\nCCAT 7 1\nGCAT 9 1\n",
    "hierarchy": "parent: None child: Root child-description: R\n"
    "parent: Root child: GCAT child-description: G\n",
    "sgml": '<!DOCTYPE lewis SYSTEM "lewis.dtd">\n<REUTERS TOPICS="YES" LEWISSPLIT="TEST" NEWID="7">\n'
    "<TOPICS><D>gold</D></TOPICS>\n<TEXT><TITLE>AT&amp;T</TITLE><BODY>Gold fell.</BODY></TEXT>\n</REUTERS>\n",
    "newsml": '<?xml version="1.0" encoding="iso-8859-1" ?><newsitem itemid="2286" date="1996-08-20"><title>M'
    '</title><text><p>It rose.</p></text><metadata><codes class="bip:topics:1.0"><code code="M14"/></codes>'
    "</metadata></newsitem>",
    "outcomes": "category,pair,balance,e1,e2,e3,e4,e5,e6,e7,e8\nT,a-b,natural,1,2,3,4,5,6,7,8\n"
    "U,a-b,natural,1,0,0,0,0,0,0,9\n",
}


def pieces(name):
    """Return the parts that a format is made of, and others."""
    words = VALID[name].replace("\n", " \n ").replace(":", " : ").replace(",", " , ").split(" ")
    return st.sampled_from(
        sorted({*words, *NUMBERS, ":", ",", "\n", '"', "<", ">", "&", "#", "\ufeff", "\x0c"})
    )


@st.composite
def mutated(draw, name):
    """Draw a valid text of which a few stretches are replaced, doubled or taken out."""
    text = VALID[name] * draw(st.integers(1, 2))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 9)))
        new = draw(st.one_of(pieces(name), st.just(text[start:end] * 2), st.just(""), st.text(max_size=3)))
        text = text[:start] + new + text[end:]
    return text.encode("utf-8", "surrogatepass")


def fed(name):
    """Return arbitrary bytes, words of the format in any order, and mutations of a valid text."""
    words = st.lists(pieces(name), max_size=30).map(lambda parts: " ".join(parts).encode("utf-8"))
    return st.one_of(st.binary(max_size=60), words, mutated(name), mutated(name), mutated(name))


def outcome(parse):
    """Return what the parser makes, or None where it refuses in a sentence."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return parse()
    except UserError as error:
        said = sentence(error)
    assert said.isprintable()
    return None


@pytest.fixture(scope="module")
def folder():
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def written(folder, data, name="file"):
    path = folder / name
    path.write_bytes(data)
    return path


def rows_of(path):
    """Return the ids, numbers of entries, terms and weights of a file of vectors."""
    ids = array("q")
    parts = [entries for _, entries in parse_lines(path, read_vectors(path, ids))]
    return ids.tolist(), *(np.concatenate([[], *column]) for column in zip(*parts, ([], [], []), strict=True))


@fuzz
@given(data=fed("vectors"))
@example(data=b"7 2147483648:1\n")
@example(data=b"999999999999999999 999999999:1\n")
@example(data=b"7 1:1e309\n")
@example(data=b"7 1:3.5e38\n")
def test_vectors(data, folder):
    found = outcome(lambda: rows_of(written(folder, data)))
    if found:
        ids, n_entries, terms, weights = found
        assert len(ids) == len(n_entries) == sum(bool(line.strip()) for line in data.split(b"\n"))
        assert n_entries.sum() == len(terms) == len(weights)
        assert min([0, *ids, *terms, *weights]) == 0
        assert np.isfinite(weights).all()
        rows = np.repeat(np.arange(len(ids)), n_entries.astype(int))
        assert (np.diff(rows * 2.0**32 + terms) > 0).all()


@fuzz
@given(
    rows=st.lists(
        st.tuples(
            st.integers(0, 10**18 - 1),
            st.dictionaries(st.integers(0, 999_999_999), st.floats(0, 2.0**100, width=32), max_size=5),
        ),
        min_size=1,
        max_size=6,
    )
)
def test_vectors_there_and_back(rows, folder):
    sorted_rows = [(i, sorted(terms.items())) for i, terms in rows]
    text = "".join(f"{i}  {' '.join(f'{t}:{w!r}' for t, w in terms)}\n" for i, terms in sorted_rows)
    ids, _, terms, weights = rows_of(written(folder, text.encode()))
    assert ids == [i for i, _ in rows]
    assert terms.tolist() == [term for _, terms in sorted_rows for term, _ in terms]
    assert weights.tolist() == [weight for _, terms in sorted_rows for _, weight in terms]


IDS = st.integers(0, 10**18 - 1)
WORDS = st.lists(st.text(string.ascii_lowercase, min_size=1), max_size=6)


@fuzz
@given(documents=st.lists(st.tuples(IDS, WORDS), max_size=5))
def test_tokens_there_and_back(documents, folder):
    text = "".join(f".I {i}\n.W\n{' '.join(words)}\n\n" for i, words in documents)
    read = list(read_tokens(written(folder, text.encode())))
    assert read == [(i, Counter(word.encode() for word in words)) for i, words in documents]


@fuzz
@given(data=fed("qrels"))
@example(data="G\u0663 \u0663 1\n".encode())
def test_qrels(data, folder):
    found = outcome(lambda: read_qrels(written(folder, data)))
    if found is not None:
        assert list(found.topic_names) == sorted(set(found.topic_names))
        assert len(found.topics) == len(found.documents)
        assert len(found.topics) == sum(bool(line.strip(b" \t\r")) for line in data.split(b"\n"))
        assert set(found.topics.tolist()) == set(range(len(found.topic_names)))
        assert (found.documents >= 0).all()


@fuzz
@given(data=fed("svmlight"), weights=st.booleans(), n_terms=st.sampled_from([None, 5, 1000]))
@example(data=b"1 2147483648:1\n", weights=True, n_terms=None)
@example(data=b"1 9223372036854775808:1\n", weights=True, n_terms=None)
@example(data=b"1 -2147483649:1\n", weights=True, n_terms=None)
@example(data=b"9007199254740993 1:1\n", weights=True, n_terms=None)
@example(data=b"1e300 1:1\n2 1:1\n", weights=True, n_terms=None)
@example(data=b"1 1:1_0\n", weights=True, n_terms=None)
def test_svmlight(data, weights, n_terms, folder):
    values = "weights" if weights else "counts"
    corpus = outcome(lambda: load_svmlight(written(folder, data), values=values, n_terms=n_terms))
    if corpus is None:
        return
    assert corpus.terms.shape == (corpus.n_documents, len(corpus.term_names))
    assert corpus.topics.shape == (corpus.n_documents, len(corpus.topic_names))
    assert np.isfinite(corpus.terms.data).all()
    assert (corpus.terms.data > 0).all()
    assert corpus.terms.has_canonical_format
    assert weights or (corpus.terms.data == np.floor(corpus.terms.data)).all()
    content = [line.split(b"#")[0].strip() for line in data.split(b"\n")]
    assert corpus.n_documents == sum(map(bool, content))


def is_story(story):
    return 0 <= story.number < 10**9 and story.part in ("train", "test", "unused")


def is_item(item):
    return 0 <= item.item_id < 10**10 and all(item.topics) and len(set(item.topics)) == len(item.topics)


OTHERS = {
    "sgml": (
        lambda path: list(scan_stories(path.read_text("latin-1"), "f")),
        lambda x: all(map(is_story, x)),
    ),
    "newsml": (lambda path: parse_newsitem(path.read_bytes(), "f"), is_item),
    "hierarchy": (read_hierarchy, all),
    "tokens": (lambda path: list(read_tokens(path)), lambda x: all(i >= 0 for i, _ in x)),
}
"""How a file of another format is read, and what holds of what was read."""


@pytest.mark.parametrize("name", OTHERS)
@fuzz
@given(data=st.data())
def test_other_formats(name, data, folder):
    read, is_sound = OTHERS[name]
    path = written(folder, data.draw(fed(name)))
    found = outcome(lambda: read(path))
    assert found is None or is_sound(found)


@fuzz
@given(data=fed("outcomes"))
@example(data=VALID["outcomes"].replace("8\n", "9007199254740992\n").encode())
@example(data=VALID["outcomes"].replace("8\n", "8.000\n").encode())
@example(data=VALID["outcomes"].replace("8\n", "٨\n").encode())
def test_outcomes(data, folder):
    populations = outcome(lambda: read_outcomes(written(folder, data)))
    for population in populations or []:
        assert population.counts.shape == (len(population.categories), 8)
        assert population.counts.min() >= 0
        assert 0 < population.counts.sum(axis=1).max() <= 2**53


NAMES = st.text(min_size=1, max_size=9).filter(str.isprintable)


@fuzz
@given(
    names=st.lists(NAMES, min_size=1, max_size=4, unique=True),
    pair=NAMES,
    counts=st.lists(st.integers(0, 2**49), min_size=8, max_size=8),
)
@example(names=["NA", "nan", "01", 'a,"b'], pair="None", counts=[2**49] * 8)
def test_outcomes_there_and_back(names, pair, counts, folder):
    rows = np.array([counts] * len(names)) + [1, 0, 0, 0, 0, 0, 0, 0]
    population = Population(pair, "natural", tuple(names), rows)
    write_outcomes([population], folder / "outcomes.csv")
    (read,) = read_outcomes(folder / "outcomes.csv")
    assert (read.pair, read.balance, read.categories) == (pair, "natural", tuple(names))
    assert read.counts.tolist() == rows.tolist()


@fuzz
@given(text=st.text(max_size=60))
def test_tokeniser(text):
    words = tokenise(text)
    assert all(2 <= len(word) <= 40 and word.isalpha() for word in words)


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("kind", ["svmlight", "vectors", "qrels", "tokens", "outcomes"])
def test_numbers_of_every_kind(number, kind, folder):
    """A number stands where it is read as Python and a spreadsheet would read it, or it is refused."""
    line = {
        "svmlight": f"1 3:{number}\n2 3:1\n",
        "vectors": f"7 3:{number}\n",
        "qrels": f"GCAT {number} 1\n",
        "tokens": f".I {number}\n.W\nbank\n",
        "outcomes": VALID["outcomes"].replace("8\n", f"{number}\n"),
    }[kind]
    path = written(folder, line.encode())
    read = {
        "svmlight": lambda: load_svmlight(path, values="weights").terms[[0]].sum(),
        "vectors": lambda: rows_of(path)[3].sum(),
        "qrels": lambda: read_qrels(path).documents[0],
        "tokens": lambda: next(read_tokens(path))[0],
        "outcomes": lambda: read_outcomes(path)[0].counts[0, 7],
    }[kind]
    value = outcome(read)
    if value is not None and number.strip():
        assert number.isascii()
        assert math.isclose(float(number), float(value), rel_tol=1e-6, abs_tol=1e-45)
