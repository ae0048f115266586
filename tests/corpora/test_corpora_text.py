"""Tokens, stop-words and stems, and documents gathered into a corpus."""

import nltk
import numpy as np
import pytest

from harness.corpora import text
from harness.errors import UserError


def test_tokens_are_runs_of_two_to_forty_letters():
    assert text.tokenise("U.S. oil, 1st-half: don't xy²zz NAÏVE_test") == [
        "oil", "st", "half", "don", "xy", "zz", "naïve", "test",
    ]  # fmt: skip
    assert text.tokenise("a" * 40 + " " + "b" * 41) == ["a" * 40]
    assert text.tokenise("") == []


def test_ascii_shortcut_follows_the_general_rule():
    sample = "".join(map(chr, range(128))) * 3 + " Mixed CASE words_and 12ab34"
    assert text._ASCII_WORD.findall(sample.lower()) == text._letter_runs(sample.lower())


def test_sklearn_stop_words():
    words = text.stop_word_set("sklearn")
    assert len(words) == 318 - 2  # "a" and "i" are no tokens
    assert {"the", "bill", "amoungst"} <= words
    assert not words & {"don", "ve", "ll", "gold"}
    assert all(text.tokenise(word) == [word] for word in words)


def test_nltk_stop_words_and_unknown_ones(tmp_path, monkeypatch):
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    with pytest.raises(UserError, match=r"nltk\.downloader stopwords.*stop_words=sklearn"):
        text.stop_word_set("nltk")
    folder = tmp_path / "corpora" / "stopwords"
    folder.mkdir(parents=True)
    (folder / "english").write_text("i\nthe\ndon't\nwon\n")
    assert text.stop_word_set("nltk") == {"the", "don", "won"}
    for name in ("english", "", None, "SKLEARN"):
        with pytest.raises(UserError, match="corpus.stop_words: .* choose one of sklearn, nltk, none"):
            text.stop_word_set(name)


@pytest.mark.parametrize(
    ("word", "stem"),
    # Porter (1980), section 3, and Porter's own programs for the last four
    [
        ("caresses", "caress"), ("ponies", "poni"), ("relational", "relat"), ("hopefulness", "hope"),
        ("generalizations", "gener"), ("oscillators", "oscil"), ("controlling", "control"), ("roll", "roll"),
        ("possibly", "possibl"), ("archaeology", "archaeolog"), ("us", "us"), ("dying", "dy"),
    ],
)  # fmt: skip
def test_porter_stems(word, stem):
    assert text.porter_stemmer()(word) == stem


def test_stems_do_not_fail_on_hostile_tokens():
    stem = text.porter_stemmer()
    for token in ("y" * 40, "oed", "ed", "ing", "s" * 40, "ééé", "ß" * 30):
        assert isinstance(stem(token), str)


def test_counts_merge_words_of_one_stem_and_are_canonical():
    texts = text.TextCorpus("c", "sklearn")
    texts.add("3", 0, "Zinc trading: the traders traded zinc", ["b", "a", "b"], "f")
    texts.add("12", 1, "the and of", [], "f")
    corpus = texts.finish(notes=("note.",))
    assert corpus.term_names.tolist() == ["trade", "trader", "zinc"]
    assert corpus.terms.toarray().tolist() == [[2, 1, 2], [0, 0, 0]]
    assert corpus.topics.toarray().tolist() == [[1, 1], [0, 0]]
    assert corpus.topic_names == ("a", "b")
    assert corpus.document_ids.tolist() == ["3", "12"]
    assert (corpus.terms.dtype, corpus.topics.dtype) == (np.float32, np.uint8)
    assert corpus.terms.indices.dtype == corpus.terms.indptr.dtype == np.int32
    assert corpus.terms.has_canonical_format
    assert corpus.topics.has_canonical_format
    assert corpus.notes == (
        "note.",
        "1 of 2 documents carry no topic; they are kept, as negatives of all topics.",
        "1 of 2 documents have no term; they are kept.",
    )


def test_order_is_that_of_time_then_number_whatever_the_order_of_files():
    stories = [(5, 20, "gold"), (2, 10, "cocoa beans"), (1, 20, "sugar gold")]
    corpora = []
    for order in (stories, stories[::-1]):
        texts = text.TextCorpus("c", "none")
        for number, time, words in order:
            texts.add(str(number), time, words, ["t"], "f")
        corpora.append(texts.finish(notes=()))
    assert corpora[0].document_ids.tolist() == ["2", "1", "5"]
    assert corpora[0].fingerprint() == corpora[1].fingerprint()
    assert corpora[0].chronological


def test_nothing_at_all():
    with pytest.raises(UserError, match="0 documents"):
        text.TextCorpus("c", "none").finish(notes=())
