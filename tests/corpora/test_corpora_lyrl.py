"""The LYRL2004 files: what is read, what is refused, and how the real slice comes out."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from refusal import refusal
from simulated_counts import simulate

from harness.corpora.lyrl import load_lyrl

TOKENS_TRAIN = ".I 2\n.W\nbank rate bank\nrate bank\n\n.I 3\n.W\noil\n\n"
TOKENS_TEST = ".I 5\n.W\nrate oil oil gas\n\n.I 8\n.W\n\n"
QRELS = "GCAT 2 1\nC11 2 1\nCCAT 2 1\nGCAT 3 1\nCCAT 5 1\n"
HIERARCHY = "".join(
    f"parent: {parent:<20} child: {child:<20} child-description: {text}\n"
    for parent, child, text in [
        ("None", "Root", "Root"),
        ("Root", "CCAT", "CORPORATE/INDUSTRIAL"),
        ("Root", "GCAT", "GOVERNMENT/SOCIAL"),
        ("Root", "MCAT", "MARKETS"),
        ("CCAT", "C11", "STRATEGY/PLANS"),
    ]
)
FILES = {
    "lyrl2004_tokens_train.dat": TOKENS_TRAIN,
    "lyrl2004_tokens_test_pt0.dat": TOKENS_TEST,
    "rcv1-v2.topics.qrels": QRELS,
    "rcv1.topics.hier.orig": HIERARCHY,
}


def write(folder: Path, **changes: str | None) -> Path:
    """Write the small corpus; a change is named by a part of the file's name, None leaves the file out."""
    for name, text in FILES.items():
        for part, new in changes.items():
            text = new if part in name else text
        if text is not None:
            (folder / name).write_text(text)
    return folder


def vector_lines(weights, first_id=1):
    rows = []
    for i, row in enumerate(weights):
        terms = " ".join(f"{j + 1}:{row[j]:.6f}" for j in np.flatnonzero(row))
        rows.append(f"{first_id + i}  {terms}\n")
    return "".join(rows)


def refused(folder, *words, **options):
    said = refusal(load_lyrl, folder, **options)
    assert all(word in said for word in words), said


def test_tokens(tmp_path):
    corpus = load_lyrl(write(tmp_path, qrels=QRELS + "GCAT 2 1\n"))
    assert corpus.topic_names == ("C11", "CCAT", "GCAT")
    assert corpus.term_names.tolist() == ["gas", "oil", "bank", "rate"]
    assert corpus.terms.toarray().tolist() == [[0, 0, 3, 2], [0, 1, 0, 0], [1, 2, 0, 1], [0, 0, 0, 0]]
    assert corpus.topics.toarray().tolist() == [[1, 1, 1], [0, 0, 1], [0, 1, 0], [0, 0, 0]]
    assert corpus.document_ids.tolist() == ["2", "3", "5", "8"]
    assert corpus.chronological
    assert (corpus.terms.dtype, corpus.topics.dtype) == (np.float32, np.uint8)
    assert corpus.terms.has_canonical_format
    assert corpus.topics.has_canonical_format
    notes = " ".join(corpus.notes)
    assert "1 of 4 documents carry no topic" in notes
    assert "1 of 4 documents have no term" in notes
    assert "MCAT" in notes
    assert "1 topic assignments stand in the qrels more than once" in notes


@pytest.mark.parametrize(
    ("suffix", "change"),
    [(".gz", gzip.compress), ("", lambda data: data.replace(b"\n", b"\r\n"))],
    ids=["compressed", "windows"],
)
def test_other_forms_give_the_same_corpus(tmp_path, suffix, change):
    expected = load_lyrl(write(tmp_path)).fingerprint()
    for name in FILES:
        data = (tmp_path / name).read_bytes()
        (tmp_path / name).unlink()
        (tmp_path / f"{name}{suffix}").write_bytes(change(data))
    assert load_lyrl(tmp_path).fingerprint() == expected


def test_order_that_is_not_chronological(tmp_path):
    train = ".I 9\n.W\noil\n.I 2\n.W\ngas\n"
    corpus = load_lyrl(write(tmp_path, tokens_train=train, qrels="GCAT 2 1\nCCAT 9 1\n"))
    assert corpus.document_ids.tolist() == ["9", "2", "5", "8"]
    assert not corpus.chronological
    assert corpus.topics.toarray().tolist() == [[1, 0], [0, 1], [0, 0], [0, 0]]


def test_vectors_give_the_counts_back(tmp_path):
    counts, weights = simulate(900, 300, 3, 600, 40)
    write(tmp_path, tokens=None, qrels="GCAT 1 1\nCCAT 900 1\n")
    (tmp_path / "lyrl2004_vectors_train.dat").write_text(vector_lines(weights[:600]))
    (tmp_path / "lyrl2004_vectors_test_pt0.dat").write_text(vector_lines(weights[600:800], 601))
    (tmp_path / "lyrl2004_vectors_test_pt1.dat").write_text(vector_lines(weights[800:], 801))
    corpus = load_lyrl(tmp_path)
    used = counts.any(axis=0)
    np.testing.assert_array_equal(corpus.terms.toarray(), counts[:, used])
    assert corpus.term_names.tolist() == [str(j + 1) for j in np.flatnonzero(used)]
    assert corpus.values == "counts"
    assert not any("fits no whole count" in note or "estimated" in note for note in corpus.notes)


def test_source_is_chosen(tmp_path):
    counts, weights = simulate(60, 40, 5, 60, 40)
    write(tmp_path, qrels="GCAT 2 1\n")
    (tmp_path / "lyrl2004_vectors_train.dat").write_text(vector_lines(weights))
    assert load_lyrl(tmp_path).n_documents == 4
    assert load_lyrl(tmp_path, source="vectors").n_documents == 60
    refused(tmp_path, "corpus.source: 'words'", "auto, tokens, vectors", source="words")


WRONG_FILES = [
    ({"qrels": QRELS + "GCAT 77 1\n"}, ["rcv1-v2.topics.qrels, line 6", "document 77", "test part"]),
    ({"qrels": "\n" + QRELS + "XCAT 3 1\n"}, ["line 7", "topic XCAT", "hierarchy"]),
    ({"qrels": "GCAT 2 1\nGCAT 3\n"}, ["qrels, line 2", "'GCAT 3'", "topic id 1"]),
    ({"qrels": ""}, ["0 topics"]),
    ({"qrels": None}, ["neither rcv1-v2.topics.qrels nor"]),
    ({"hier": None}, ["neither rcv1.topics.hier.orig nor"]),
    ({"hier": "parent: None child: Root\n"}, ["orig, line 1", "child-description"]),
    ({"hier": HIERARCHY + "parent: Root child: GCAT child-description:\n"}, ["line 6", "line 3"]),
    ({"hier": HIERARCHY + "parent: X child: G1 child-description:\n"}, ["line 6", "parent X of topic G1"]),
    ({"tokens": None}, ["lyrl2004_tokens_train.dat"]),
    ({"tokens_train": "bank\n"}, ["tokens_train.dat, line 1", ".I id"]),
    ({"tokens_train": ".I 1\n.W\na\n\n.I x\n.W\nb\n"}, ["line 5", "'.I x'", ".I id"]),
    ({"tokens_train": "\n.I 1\n.W\na\n\n.I 2\nb\n"}, ["line 7", "'b'", ".W"]),
    ({"tokens_train": ".I 1\n.W\na\n.T\nb\n"}, ["line 4", "'.T'"]),
    ({"tokens_train": ".I 1\n"}, ["line 1", ".W"]),
    ({"tokens_test": ".I 2\n.W\na\n.I 5\n.W\n"}, ["document id 2", "more than once"]),
]


@pytest.mark.parametrize(("changes", "words"), WRONG_FILES)
def test_wrong_files_are_refused(tmp_path, changes, words):
    refused(write(tmp_path, **changes), *words)


BROKEN_VECTOR_LINES = [
    ("7  1:0.5 x", ["line 3", "'7  1:0.5 x'"]),
    ("7  1:0.5 2:-0.1", ["line 3", "weights >= 0"]),
    ("7  2:0.5 1:0.5", ["line 3", "term 1 stands after term 2"]),
    ("7  2:0.5 2:0.5", ["line 3", "increase"]),
    ("7  1:1e300", ["too large"]),
    ("1  1:0.5", ["document id 1", "more than once"]),
    (f"{10**20} 1:1", ["line 3"]),
]


@pytest.mark.parametrize(("line", "words"), BROKEN_VECTOR_LINES)
def test_broken_vector_lines_are_refused(tmp_path, line, words):
    write(tmp_path, tokens=None, qrels="GCAT 1 1\n")
    file = tmp_path / "lyrl2004_vectors_train.dat"
    file.write_text(f"1  1:0.6 2:0.8\n\n{line}\n8  2:1\n")
    refused(tmp_path, *words)


def test_missing_parts_are_refused(tmp_path):
    refused(tmp_path / "nowhere", "there is no such folder")
    write(tmp_path)
    (tmp_path / "lyrl2004_tokens_test_pt2.dat").write_text(TOKENS_TEST)
    refused(tmp_path, "lyrl2004_tokens_test_pt1.dat is missing")
    refused(tmp_path, "lyrl2004_vectors_train.dat", source="vectors")
    (tmp_path / "lyrl2004_vectors_train.dat").write_text("1\n2  3:0\n")
    refused(tmp_path, "no document has a weight above 0", source="vectors")


@pytest.mark.parametrize("kind", ["tokens", "vectors"])
def test_documents_that_are_cut_off_are_missed_by_the_assignments(tmp_path, kind):
    _, weights = simulate(20, 40, 5, 20, 10)
    text = (
        "".join(f".I {i + 1}\n.W\nt1 t{i}\n\n" for i in range(20))
        if kind == "tokens"
        else vector_lines(weights)
    )
    write(tmp_path, tokens=None, qrels="".join(f"GCAT {i + 1} 1\n" for i in range(20)))
    for n in range(0, text.rindex("20"), 17):
        (tmp_path / f"lyrl2004_{kind}_train.dat").write_text(text[:n])
        refused(tmp_path)


@pytest.mark.slow
def test_slice(data_folder):
    tokens = load_lyrl(data_folder / "rcv1-slice")
    assert tokens.terms.shape == (27_613, 29_163)
    assert tokens.topics.shape == (27_613, 101)
    assert tokens.topics.nnz == 80_420
    assert tokens.document_ids[[0, -1]].tolist() == ["1", "27613"]
    assert tokens.chronological


@pytest.mark.slow
def test_slice_by_vectors(data_folder):
    tokens, vectors = (load_lyrl(data_folder / "rcv1-slice", source=kind) for kind in ("auto", "vectors"))
    assert [name.removeprefix("t") for name in tokens.term_names] == vectors.term_names.tolist()
    np.testing.assert_array_equal(tokens.terms.indices, vectors.terms.indices)
    # The slice's tokens were themselves recovered from weights; 99.6 % is what its makers claim for them.
    assert (tokens.terms.data == vectors.terms.data).mean() > 0.996
