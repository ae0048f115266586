"""Svmlight files: what is read, and what is refused."""

import gzip

import numpy as np
import pytest
from refusal import refusal

from harness.corpora.svmlight import load_svmlight

TEXT = "# made by hand\n\n1,3 1:2 4:1 # a comment\n3 qid:1 4:5\n# a line of comment\n 1:1 9:3\n7\n\n \n"


def refused(path, *words, **options):
    said = refusal(load_svmlight, path, **options)
    assert all(word in said for word in words), said


def write(folder, text, name="a.svm"):
    (folder / name).write_text(text)
    return folder / name


def test_multi_label(tmp_path):
    corpus = load_svmlight(write(tmp_path, TEXT))
    assert corpus.topic_names == ("1", "3", "7")
    assert corpus.topics.toarray().tolist() == [[1, 1, 0], [0, 1, 0], [0, 0, 0], [0, 0, 1]]
    assert corpus.term_names.tolist() == ["1", "4", "9"]
    assert corpus.terms.toarray().tolist() == [[2, 1, 0], [0, 5, 0], [1, 0, 3], [0, 0, 0]]
    assert corpus.document_ids.tolist() == ["1", "2", "3", "4"]
    assert corpus.terms.dtype == np.float32
    assert corpus.topics.dtype == np.uint8
    assert not corpus.chronological
    assert "1 of 4 documents carry no topic" in " ".join(corpus.notes)
    assert "1 of 4 documents have no term" in " ".join(corpus.notes)


def test_several_files_and_folder(tmp_path):
    first, second = write(tmp_path, "1 1:1\n", "b"), write(tmp_path, "2,5 3:2\n", "a")
    write(tmp_path, "junk", ".hidden")
    corpus = load_svmlight([first, second])
    assert corpus.terms.toarray().tolist() == [[1, 0], [0, 2]]
    assert corpus.topics.toarray().tolist() == [[1, 0, 0], [0, 1, 1]]
    folder = load_svmlight(tmp_path)
    assert folder.terms.toarray().tolist() == [[0, 2], [1, 0]]


READ = [
    *((f"{low} 1:1\n{high} 2:1\n{low} 2:2\n", ("positive",), [[0], [1], [0]], [[1, 0], [0, 1], [0, 2]])
      for low, high in (("-1", "+1"), ("0", "1"), ("-1.0", "1.0"))),
    # a blank line between documents is a document, and those of two classes leave one topic
    *((f"\n0,2 0:1 2:2\n{blank}\n# no document\n1 1:3\n{blank}\n\n", ("0", "1", "2"),
       [[1, 0, 1], [0, 0, 0], [0, 1, 0]], [[1, 0, 2], [0, 0, 0], [0, 3, 0]])
      for blank in ("", " ", "\t", " \r")),
    ("1 1:1\n\n0 2:1\n1 3:1\n", ("positive",), [[1], [0], [0], [1]],
     [[1, 0, 0], [0] * 3, [0, 1, 0], [0, 0, 1]]),
    ("1 1:1\n 7:1\n0 2:1\n", ("0", "1"), [[0, 1], [0, 0], [1, 0]], [[1, 0, 0], [0, 0, 1], [0, 1, 0]]),
    ("1,2 1:+3 2:-0.0 2147483647:1\n", ("1", "2"), [[1, 1]], [[3, 0, 1]]),
    ("\ufeff1,3 1:2\n3 2:1\n", ("1", "3"), [[1, 1], [0, 1]], [[2, 0], [0, 1]]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "names", "topics", "terms"), READ)
def test_what_is_read(tmp_path, text, names, topics, terms):
    corpus = load_svmlight(write(tmp_path, text))
    assert (corpus.topic_names, corpus.topics.toarray().tolist()) == (names, topics)
    assert corpus.terms.toarray().tolist() == terms
    assert corpus.terms.nnz == sum(map(bool, sum(terms, [])))
    assert corpus.document_ids.tolist() == [str(i + 1) for i in range(len(terms))]


def test_topic_names(tmp_path):
    file = write(tmp_path, TEXT)
    assert load_svmlight(file, topic_names=["x", "y", "z"]).topic_names == ("x", "y", "z")
    assert load_svmlight(file, topic_names={7: "z", 3: "y", 1: "x", 9: "w"}).topic_names == ("x", "y", "z")
    refused(file, "2 names for 3 labels", topic_names=["x", "y"])
    refused(file, "label 7 has no name", topic_names={1: "x", 3: "y"})
    refused(file, "corpus.topic_names='xyz'", topic_names="xyz")
    refused(file, "topic x occurs more than once", topic_names=["x", "x", "z"])
    two = write(tmp_path, "0 1:1\n1 2:1\n")
    assert load_svmlight(two, topic_names=["spam"]).topic_names == ("spam",)


def test_number_of_terms(tmp_path):
    file = write(tmp_path, TEXT)
    corpus = load_svmlight(file, n_terms=12)
    assert corpus.terms.shape == (4, 12)
    assert corpus.term_names[[0, -1]].tolist() == ["1", "12"]
    assert corpus.terms[2, 8] == 3
    corpus = load_svmlight(file, n_terms=12, zero_based=True)
    assert corpus.term_names[[0, -1]].tolist() == ["0", "11"]
    assert corpus.terms[2, 9] == 3
    refused(file, "corpus.n_terms=8", "index 9", "from 1 to 8", n_terms=8)
    refused(file, "corpus.n_terms: 0", n_terms=0)
    refused(file, "corpus.zero_based: 'maybe'", zero_based="maybe")


@pytest.mark.parametrize(
    "data",
    [bytes(range(128, 256)) * 10, "1 1:1\n".encode("utf-16"), gzip.compress(b"1 1:1\n") + b"rubbish"],
    ids=["random", "utf-16", "rubbish"],
)
def test_bytes_that_are_no_lines(tmp_path, data):
    (tmp_path / "a.svm").write_bytes(data)
    refused(tmp_path / "a.svm", "a.svm")


def test_weights(tmp_path):
    file = write(tmp_path, "1,2 1:0.5 2:0.25\n2 2:0 3:1\n")
    corpus = load_svmlight(file, values="weights")
    assert corpus.values == "weights"
    assert corpus.terms.toarray().tolist() == [[0.5, 0.25, 0], [0, 0, 1]]
    assert corpus.terms.nnz == 3
    refused(file, "line 1", "1:0.5", "whole numbers", "corpus.values=weights")
    refused(file, "corpus.values: 'tfidf'", values="tfidf")


BROKEN_LINES = [
    ("1 2:nan", ["line 4", "2:nan", "finite values >= 0"]),
    ("1 2:1e300", ["line 4", "2:1e+300"]),
    ("1 2:-3", ["line 4", "2:-3"]),
    ("1 2:x", ["line 4", "'1 2:x'", "form"]),
    ("1 2:1 1:1", ["line 4", "increase"]),
    ("1 2147483648:1", ["line 4", "too large"]),
    ("x 2:1", ["line 4", "'x 2:1'"]),
    ("-2,3 2:1", ["line 4", "label -2", "whole numbers >= 0"]),
    ("1.5 2:1", ["line 4", "label 1.5"]),
    ("nan 2:1", ["line 4", "label nan"]),
]


@pytest.mark.parametrize("values", ["counts", "weights"])
@pytest.mark.parametrize(("line", "words"), BROKEN_LINES)
def test_broken_lines_are_refused(tmp_path, line, words, values):
    file = write(tmp_path, f"1,4 1:1\n# comment\n\n{line}\n4 3:1\n")
    refused(file, "a.svm", *words, values=values)


def test_wrong_paths_are_refused(tmp_path):
    refused(tmp_path, "holds no file")
    refused(tmp_path / "absent", "no such file")
    refused([], "corpus.path=[]: holds no file")
    refused(write(tmp_path, "# nothing\n\n"), "holds no document")
    refused(write(tmp_path, "-1 1:1\n-1 2:1\n"), "at least one positive")
    refused(write(tmp_path, "1 0:1\n2 1:1\n"), "line 1", "0:1", "begin at 1", zero_based=False)


def test_the_header_of_extreme_classification(tmp_path):
    corpus = load_svmlight(write(tmp_path, "3 4 5\n0,4 0:1 3:2\n\n2 1:3\n"))
    assert corpus.topic_names == ("0", "2", "4")
    assert corpus.terms.toarray().tolist() == [[1, 0, 2], [0, 0, 0], [0, 3, 0]]
    assert load_svmlight(write(tmp_path, "3 4 5\n0,4 0:1 3:2\n2 1:3\n\n\n\n")).terms.shape[0] == 3
    for text, said in (
        ("3 4 5\n0 0:1\n1 1:1\n", "its first line says 3 documents, and the lines after it hold 2"),
        ("2 4 5\n0 0:1\n1 1:1\n2 1:1\n", "says 2 documents, and the lines after it hold 3"),
        ("2 4 5\n0 0:1\n1 4:1\n", "says 4 terms, and the lines after it hold 5"),
        ("2 4 5\n0 0:1\n5 1:1\n", "says 5 labels, and the lines after it hold 6"),
    ):
        refused(write(tmp_path, text), said)
    refused(write(tmp_path, "1 1:1\n3 4 5\n"), "line 2", "'3 4 5' is not of the form")
