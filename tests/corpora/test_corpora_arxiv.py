"""arXiv's metadata: twenty invented records in the snapshot's true fields, and the real file where it is."""

import gzip
import json
import lzma
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest
from refusal import refusal

from harness.corpora.arxiv import load_arxiv, parse_paper, read_papers
from harness.corpora.text import porter_stemmer
from harness.errors import UserError

DATA = Path(os.environ.get("HARNESS_DATA", "nowhere")) / "arxiv" / "arxiv-527k.jsonl.xz"
CATEGORIES = ["cs.LG stat.ML", "hep-th", "math.ST stat.TH", "cs.CL cs.LG", "astro-ph.CO", "q-bio.NC cs.LG"]


def record(place, **changes):
    """One paper as the snapshot has it: versions with times, nulls, fields that nobody needs."""
    year = 2008 + place % 12
    versions = [
        {"version": f"v{n}", "created": f"Mon, {place % 27 + n} Apr {year} 19:18:4{n} GMT"} for n in (1, 2)
    ]
    fields = {
        "id": f"{year - 2000:02d}04.{place:05d}", "submitter": None, "authors": "A. N. Author",
        "title": f"On the learning of\n  kernel number {place}", "comments": None, "journal-ref": None,
        "doi": None, "report-no": None, "categories": CATEGORIES[place % len(CATEGORIES)], "license": None,
        "abstract": "  We bound $\\alpha^{\\mathrm{hidden}}$ by learning; it costs \\$5, naïve or not.\n",
        "versions": versions, "update_date": f"{year + 1}-01-31", "authors_parsed": [["Author", "A. N.", ""]],
    }  # fmt: skip
    return fields | changes


def lines(records):
    return "".join(json.dumps(one) + "\n" for one in records).encode()


RECORDS = [record(place) for place in range(20)]


@pytest.mark.parametrize("ending", ["jsonl", "json.gz", "jsonl.xz", "zip"])
def test_every_packing_gives_the_same_corpus(tmp_path, ending):
    path, data = tmp_path / f"snapshot.{ending}", lines(RECORDS)
    if ending == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("arxiv-metadata-oai-snapshot.json", data)
    else:
        pack = {"json.gz": gzip.compress, "jsonl.xz": lzma.compress}.get(ending, bytes)
        path.write_bytes(pack(data))
    corpus = load_arxiv(path)
    assert corpus.n_documents == 20
    assert corpus.chronological
    plain = tmp_path / "plain.jsonl"
    plain.write_bytes(data)
    assert corpus.fingerprint() == load_arxiv(plain).fingerprint()


def test_papers_come_in_the_order_of_their_first_version_then_of_their_ids(tmp_path):
    path = tmp_path / "a.jsonl"
    same = [record(3, id=name) for name in ("b/9", "a/10", "a/9")]
    path.write_bytes(lines([*RECORDS, *same]))
    ids = load_arxiv(path).document_ids.tolist()
    day = {one["id"]: (parse_paper(one, "").day, one["id"]) for one in [*RECORDS, *same]}
    assert ids == sorted(day, key=day.__getitem__)


def test_text_is_title_and_abstract_without_mathematics(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines([record(0)]))
    corpus = load_arxiv(path)
    counts = dict(zip(corpus.term_names.tolist(), corpus.terms.toarray()[0].tolist(), strict=True))
    stem = porter_stemmer()
    expected = {"learning": 2, "kernel": 1, "number": 1, "bound": 1, "costs": 1, "naïve": 1}
    assert counts == {stem(word): n for word, n in expected.items()}


def test_a_paper_carries_its_categories_and_their_archives():
    assert parse_paper(record(0), "").labels == ("cs.LG", "stat.ML", "cs", "stat")
    assert parse_paper(record(1), "").labels == ("hep-th",)
    assert parse_paper(record(3), "").labels == ("cs.CL", "cs.LG", "cs")


def test_the_date_is_that_of_the_first_version_else_of_the_update():
    import datetime

    assert parse_paper(record(0), "").day == datetime.date(2008, 4, 1).toordinal()
    for none in ({"versions": None}, {"versions": []}):
        assert parse_paper(record(0, **none), "").day == datetime.date(2009, 1, 31).toordinal()


NO_SNAPSHOT = [
    (lines(RECORDS[:2])[:-30], "line 2: '.*is not JSON; is the file truncated?"),
    (b"[1, 2]\n", "line 1: .* is no JSON object"),
    (b'{"name": "x"}\n', "line 1: the paper has no id"),
    (lines([record(0, abstract=None)]), "line 1: the paper has no abstract"),
    (lines([record(0, abstract="  ")]), "line 1: the paper has no abstract"),
    (lines([record(0, categories="")]), "line 1: the paper has no categories"),
    (lines([record(0, categories="cs.LG ../x")]), "line 1: '../x' is no category, such as cs.LG"),
    (lines([record(0, versions=[{"created": "long ago"}])]), "line 1: 'long ago' is no date"),
    (lines([record(0, versions=None, update_date=None)]), "line 1: 'None' is no date"),
    (lines([record(0), record(1), record(0)]), "line 3: document 0804.00000 occurs a second time"),
    (b"\n", "no paper in it"),
]


@pytest.mark.parametrize(("data", "words"), NO_SNAPSHOT)
def test_what_is_no_snapshot_is_told_with_its_line(tmp_path, data, words):
    path = tmp_path / "a.jsonl"
    path.write_bytes(data)
    with pytest.raises(UserError, match=words):
        load_arxiv(path)


def test_an_archive_that_expands_beyond_reason_or_holds_more_is_refused(tmp_path):
    bomb = tmp_path / "bomb.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.json", b'{"id": "' + b"x" * 2**25)
    with pytest.raises(UserError, match="expands more than 200 times; the archive is refused"):
        load_arxiv(bomb)
    two = tmp_path / "two.zip"
    with zipfile.ZipFile(two, "w") as archive:
        archive.writestr("a.json", lines(RECORDS))
        archive.writestr("b.json", lines(RECORDS))
    with pytest.raises(UserError, match="holds 2 files; a zip of one file is needed"):
        load_arxiv(two)
    broken = tmp_path / "broken.zip"
    broken.write_bytes(two.read_bytes()[:200])
    with pytest.raises(UserError, match="cannot be opened as a zip"):
        load_arxiv(broken)


def test_a_path_is_needed():
    assert "corpus.path: the file of arXiv's metadata is needed" in refusal(load_arxiv, None)


@pytest.mark.skipif(not DATA.is_file(), reason="HARNESS_DATA names no folder with arxiv/")
def test_the_first_of_the_real_papers():
    found = []
    for _, paper in read_papers(DATA):
        found.append(paper)
        if len(found) == 20_000:
            break
    assert found[0].name == "physics/9403001"
    assert found[0].labels == ("physics.pop-ph", "hep-th", "physics")
    days = [paper.day for paper in found]
    assert days == sorted(days)
    assert len({paper.name for paper in found}) == 20_000


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_file(), reason="HARNESS_DATA names no folder with arxiv/")
def test_all_of_the_real_papers():
    corpus = load_arxiv(DATA)
    assert corpus.n_documents == 527_053
    assert len(corpus.topic_names) == 184
    n_papers = np.asarray(corpus.topics.sum(axis=0)).ravel()
    assert (n_papers >= 1000).sum() == 160
