"""Reuters-21578: the published numbers on the real files, the format on files written here."""

import re
import tarfile

import nltk
import numpy as np
import pytest
from refusal import refusal

from harness.corpora.reuters21578 import FILE_NAMES, load_reuters21578, scan_stories

STORY = """<REUTERS TOPICS="{indexed}" LEWISSPLIT="{split}" CGISPLIT="C" OLDID="5" NEWID="{number}">
<DATE>26-FEB-1987 15:01:01.79</DATE>
<TOPICS>{topics}</TOPICS>
<PLACES><D>usa</D></PLACES>
<UNKNOWN>
&#5;&#5;&#5;C T
&#22;&#22;&#1;f0704&#31;reute</UNKNOWN>
{text}
</REUTERS>
"""
NORM = """<TEXT>&#2;
<TITLE>BAHIA COCOA REVIEW</TITLE>
<DATELINE>    SALVADOR, Feb 26 - </DATELINE><BODY>Cocoa showers at R&amp;D &lt;BAHIA> 5 > 4.
 Reuter
&#3;</BODY></TEXT>"""
BRIEF = '<TEXT TYPE="BRIEF">&#2;\n<TITLE>******GOLD SURGES\n</TITLE>Blah blah blah.\n&#3;\n</TEXT>'
UNPROCESSED = '<TEXT TYPE="UNPROC">&#2;\nFEDERAL RESERVE REPORT\n Net free reserves.......644\n&#3;\n</TEXT>'


def story(number, text=NORM, indexed="YES", split="TRAIN", topics="<D>cocoa</D>"):
    return STORY.format(number=number, text=text, indexed=indexed, split=split, topics=topics)


def write_files(folder, *stories, n_files=22):
    """Write the collection's files: the given stories first, then one filler for each file left."""
    folder.mkdir(exist_ok=True)
    contents = list(stories) + [story(1000 + i) for i in range(n_files - len(stories))]
    for name, content in zip(FILE_NAMES, contents, strict=False):
        (folder / name).write_bytes(('<!DOCTYPE lewis SYSTEM "lewis.dtd">\n' + content).encode("latin-1"))
    return folder


# ---- the real collection


@pytest.mark.slow
def test_modapte_has_the_published_numbers(data_folder):
    modapte = load_reuters21578(data_folder / "reuters21578.tar.xz")
    # README of the collection, VIII.B: 9,603 + 3,299; the next numbers by
    # grep -h '<REUTERS TOPICS="YES" LEWISSPLIT="T' -A 3 reut2-*.sgm and counting <D>..</D>
    assert modapte.n_documents == 9_603 + 3_299 == 12_902
    train, test = modapte.topics[:9_603].sum(axis=0), modapte.topics[9_603:].sum(axis=0)
    assert len(modapte.topic_names) == 118
    assert ((train > 0).sum(), (test > 0).sum(), ((train > 0) & (test > 0)).sum()) == (115, 93, 90)
    column = modapte.topic_names.index
    assert (train[column("earn")], train[column("acq")]) == (2_877, 1_650)  # as in the literature on ModApte
    assert (test[column("earn")], test[column("acq")]) == (1_087, 719)
    assert (modapte.topics.sum(axis=1) == 0).sum() == 1_828 + 280
    numbers = modapte.document_ids.astype(int)
    assert modapte.chronological
    assert (np.diff(numbers) > 0).all()
    # "April 7, 1987 and before to the training set, April 8 and after to the test set"
    assert (numbers[0], numbers[9_602], numbers[9_603]) == (1, 14_818, 14_826)
    first = dict(zip(modapte.term_names, modapte.terms[[0]].toarray()[0], strict=True))
    assert first["cocoa"] == 7  # grep -o -i cocoa: 7 in title and body of document 1
    assert first["bahia"] == 5
    assert modapte.notes[0].startswith("Documents without a body: 1,131;")
    assert modapte.terms.has_canonical_format
    assert "reuter" in modapte.term_names  # of the dateline and the sign-off only the latter is text


@pytest.mark.slow
def test_the_whole_collection(data_folder):
    archive = data_folder / "reuters21578.tar.xz"
    corpus = load_reuters21578(archive, split="all")
    assert corpus.n_documents == 21_578
    assert corpus.document_ids[[0, -1]].tolist() == ["1", "21578"]
    # README, VII: 135 topics in the list, 120 with a document, 57 with at least 20
    n_documents = corpus.topics.sum(axis=0)
    assert len(corpus.topic_names) == 120
    assert (n_documents >= 20).sum() == 57
    with tarfile.open(archive) as tar:
        listed = tar.extractfile("reuters21578/all-topics-strings.lc.txt").read().decode().split()
    assert len(listed) == 135
    assert set(corpus.topic_names) <= set(listed)
    assert corpus.notes[0].startswith("Documents without a body: 2,535;")


# ---- the format


def test_reads_title_and_body_brief_and_unprocessed(tmp_path):
    folder = write_files(
        tmp_path / "r",
        story(3, NORM, topics="<D>cocoa</D><D>gold</D><D>cocoa</D>"),
        story(2, BRIEF, topics="<D>gold</D>", split="TEST"),
        story(1, UNPROCESSED, topics=""),
        n_files=3,
    )
    corpus = load_reuters21578(folder, complete=False)
    assert corpus.document_ids.tolist() == ["1", "2", "3"]
    terms = [" ".join(corpus.term_names[corpus.terms[[i]].indices]) for i in range(3)]
    assert terms == ["feder free net report reserv", "gold surg", "bahia cocoa reuter review shower"]
    assert corpus.topics.toarray().tolist() == [[0, 0], [0, 1], [1, 1]]
    assert corpus.notes[0].startswith("Documents without a body: 2;")
    assert corpus.notes[1] == "The first 2 documents are ModApte's training set, the rest its test set."


def test_entities_and_latin_1(tmp_path):
    text = "<TEXT><TITLE>S\xe3o &lt;Coffee&gt;</TITLE><BODY>AT&amp;T</BODY></TEXT>"
    (first,) = scan_stories(story(1, text), "f")
    assert first.text == "São <Coffee>\nAT&T"
    folder = write_files(tmp_path / "r", story(1, text), n_files=1)
    assert load_reuters21578(folder, complete=False).term_names.tolist() == ["coffe", "são"]


def test_all_keeps_what_modapte_leaves_out(tmp_path):
    unused = story(2, split="NOT-USED") + story(3, indexed="NO") + story(4, indexed="BYPASS", split="TEST")
    folder = write_files(tmp_path / "r", story(1) + unused, n_files=1)
    assert load_reuters21578(folder, complete=False).document_ids.tolist() == ["1"]
    corpus = load_reuters21578(str(folder), split="all", complete=False)
    assert corpus.document_ids.tolist() == ["1", "2", "3", "4"]
    assert "Not all documents outside ModApte were indexed" in corpus.notes[1]


# ---- wrong input


def refused(match, *arguments, **options):
    assert re.search(match, refusal(load_reuters21578, *arguments, **options))


def test_wrong_arguments(tmp_path):
    folder = write_files(tmp_path / "r")
    refused("corpus.path: .* is needed")
    refused("split: 'modlewis' is not allowed; choose one of modapte, all", folder, split="modlewis")
    refused("source: 'web' is not allowed; choose one of sgml, nltk", folder, source="web")
    refused("stop_words: 'french' is not allowed", folder, stop_words="french")
    (tmp_path / "empty").mkdir()
    refused(r"reut2-000\.sgm is missing", tmp_path / "empty", complete=False)
    (folder / "reut2-007.sgm").unlink()
    refused(r"reut2-007\.sgm is missing", folder)


def test_a_complete_collection_has_the_published_numbers(tmp_path):
    folder = write_files(tmp_path / "r")
    published = r"the published split=modapte has 9,603 \+ 3,299; corpus.complete=false allows a part"
    refused(rf"22 \+ 0 documents, {published}", folder)
    refused("22 documents, the published split=all has 21,578", folder, split="all")
    unused = write_files(tmp_path / "u", *(story(i + 1, split="NOT-USED") for i in range(22)))
    refused("no document of split=modapte", unused, complete=False)


def test_files_and_documents_that_occur_twice(tmp_path):
    folder = write_files(tmp_path / "r", story(5), story(5))
    refused(r"reut2-001\.sgm: document 5 occurs a second time", folder, complete=False)
    folder = write_files(tmp_path / "s")
    write_files(folder / "copy", n_files=1)
    refused(r"a second reut2-000\.sgm", folder, complete=False)


BROKEN_SGML = [
    (lambda s: s[: len(s) - 60], "line 15: this <REUTERS> is not closed; is the file truncated"),
    (lambda s: s.replace("</REUTERS>\n", "", 1), "line 2: this <REUTERS> is not closed"),
    (lambda s: s.replace('NEWID="2"', ""), "line 15: <REUTERS> has no attribute NEWID"),
    (lambda s: s.replace('NEWID="2"', 'NEWID="two"'), "line 15: NEWID='two' is not a number"),
    (lambda s: s.replace('NEWID="2"', f'NEWID="{10**12}"'), "NEWID='1000000000000' is not a number"),
    (lambda s: s.replace("</TOPICS>", "", 1), "line 2: TOPICS is missing or not closed"),
    (lambda s: s.replace("</TEXT>", "", 1), "line 2: TEXT is missing or not closed"),
    (lambda s: s + "</REUTERS>", "a </REUTERS> without its <REUTERS> after line 15"),
    (lambda s: "", "no <REUTERS> in it"),
]


@pytest.mark.parametrize(("damage", "match"), BROKEN_SGML)
def test_broken_sgml_names_file_and_line(tmp_path, damage, match):
    folder = write_files(tmp_path / "r", damage(story(1) + story(2)), n_files=1)
    refused(rf"reut2-000\.sgm.*{match}", folder, complete=False)


def test_an_sgml_file_names_no_file_that_is_opened(tmp_path):
    text = NORM.replace("Cocoa showers", "&xxe; showers")
    content = f'<!DOCTYPE lewis [<!ENTITY xxe SYSTEM "file:///etc/passwd">]>\n{story(1, text)}'
    corpus = load_reuters21578(write_files(tmp_path / "r", content, n_files=1), complete=False)
    assert "root" not in corpus.term_names
    assert "xxe" in corpus.term_names


# ---- NLTK's copy


@pytest.fixture
def nltk_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    return tmp_path / "corpora" / "reuters"


def test_nltk_source(nltk_folder):
    for name, content in {
        "training/9": "CHAMPION PRODUCTS\n  Champion &lt;CH> split its stock",
        "training/10": "COCOA up",
        "test/14826": "GRAIN ships",
        "cats.txt": "training/9 earn\ntraining/10 cocoa earn\ntest/14826 grain\n",
        "stopwords": "a\n",
    }.items():
        (nltk_folder / name).parent.mkdir(parents=True, exist_ok=True)
        (nltk_folder / name).write_text(content)
    corpus = load_reuters21578(source="nltk", complete=False)
    assert corpus.document_ids.tolist() == ["9", "10", "14826"]
    assert corpus.topic_names == ("cocoa", "earn", "grain")
    assert corpus.topics.toarray().tolist() == [[0, 1, 0], [1, 1, 0], [0, 0, 1]]
    assert "ch" in corpus.term_names
    assert "lt" not in corpus.term_names
    refused(r"2 \+ 1 documents, the published .* has 7,769 \+ 3,019", source="nltk")
    (nltk_folder / "test/14826").unlink()
    (nltk_folder / "cats.txt").unlink()
    refused(r"nltk\.downloader reuters", source="nltk")


def test_nltk_source_absent_or_with_wrong_arguments(nltk_folder):
    refused(r"not installed or incomplete; get it by `python -m nltk\.downloader reuters`", source="nltk")
    refused("takes no corpus.path", "somewhere", source="nltk")
    refused("split=all is not allowed with corpus.source=nltk", source="nltk", split="all")
