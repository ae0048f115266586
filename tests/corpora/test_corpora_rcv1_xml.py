"""RCV1's NewsML files, plain and zipped, and files that must be refused."""

import re
import tarfile
import zipfile
from datetime import date

import pytest
from refusal import refusal

from harness.corpora.rcv1_xml import load_rcv1_xml, parse_newsitem

# the schema of the CDs, from their documentation; the words are ours
ITEM = """<?xml version="1.0" encoding="{encoding}" ?>
<newsitem itemid="{number}" id="root" date="{day}" xml:lang="en">
<title>USA: {headline}</title>
<headline>{headline}</headline>
<byline>Jane Doe</byline>
<dateline>SAN DIEGO 1996-08-20</dateline>
<text>
{paragraphs}
</text>
<copyright>(c) Reuters Limited 1996</copyright>
<metadata>
<codes class="bip:countries:1.0">
  <code code="USA"> </code>
</codes>
<codes class="bip:industries:1.0">
  <code code="I34420"> </code>
</codes>
<codes class="bip:topics:1.0">
{codes}
</codes>
<dc element="dc.publisher" value="Reuters Holdings Plc"/>
<dc element="dc.date.published" value="{day}"/>
</metadata>
</newsitem>
"""
CODE = """  <code code="{}">
   <editdetail attribution="Reuters BIP Coding Group" action="confirmed" date="1996-08-20"/>
  </code>"""


def newsml(number, day="1996-08-20", topics=("C15", "CCAT"), headline="Stock jumps", text=("Gold rose.",),
           encoding="iso-8859-1"):  # fmt: skip
    paragraphs, codes = "\n".join(map("<p>{}</p>".format, text)), "\n".join(map(CODE.format, topics))
    return ITEM.format(
        encoding=encoding, number=number, day=day, headline=headline, paragraphs=paragraphs, codes=codes
    ).encode(encoding)


DAYS = {
    "19960820": [(2286, ("C15", "CCAT"), "Tylan stock jumps"), (10000, ("GCAT",), "Flood in S\xe3o Paulo")],
    "19960821": [(2285, (), "Cocoa &amp; gold"), (2300, ("MCAT", "M14"), "Gold up")],
}


def items():
    for stem, stories in DAYS.items():
        day = f"{stem[:4]}-{stem[4:6]}-{stem[6:]}"
        for number, topics, headline in stories:
            yield stem, number, newsml(number, day, topics, headline)


@pytest.fixture
def zips(tmp_path):
    for cd, stem in (("cd1", "19960820"), ("cd2", "19960821")):
        (tmp_path / "zips" / cd).mkdir(parents=True)
        with zipfile.ZipFile(tmp_path / "zips" / cd / f"{stem}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for where, number, data in items():
                if where == stem:
                    archive.writestr(f"{number}newsML.xml", data)
    (tmp_path / "zips" / "topic_codes.txt").write_text("C15\tPERFORMANCE\n")
    return tmp_path / "zips"


@pytest.fixture
def files(tmp_path):
    (tmp_path / "files").mkdir()
    for _, number, data in items():
        (tmp_path / "files" / f"{number}newsML.xml").write_bytes(data)
    return tmp_path / "files"


# ---- what is read


def test_collection_of_zips(zips):
    corpus = load_rcv1_xml(zips, stop_words="sklearn")
    # by date, then itemid; 10000 after 2286 though its name sorts before it
    assert corpus.document_ids.tolist() == ["2286", "10000", "2285", "2300"]
    assert corpus.chronological
    assert corpus.topic_names == ("C15", "CCAT", "GCAT", "M14", "MCAT")
    topics = [corpus.topics[[i]].indices.tolist() for i in range(4)]
    assert topics == [[0, 1], [2], [], [3, 4]]
    terms = [" ".join(corpus.term_names[corpus.terms[[i]].indices]) for i in range(4)]
    assert terms[:2] == ["gold jump rose stock tylan", "flood gold paulo rose são"]
    assert terms[2:] == ["cocoa gold rose", "gold rose"]
    assert corpus.terms[[2]].toarray().max() == 2  # "gold" in headline and text, not again in the title
    assert corpus.notes[1:] == (
        "4 documents; the two CDs hold 806,791.",
        "1 of 4 documents carry no topic; they are kept, as negatives of all topics.",
    )


def test_plain_files_one_zip_and_a_tar_give_the_same(zips, files, tmp_path):
    with tarfile.open(tmp_path / "rcv1.tar.xz", "w:xz") as tar:
        tar.add(files, "rcv1")
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for _, number, data in items():
            archive.writestr(f"xml/{number}newsML.xml", data)
    paths = (zips, str(files), tmp_path / "rcv1.tar.xz", tmp_path / "all.zip")
    assert len({load_rcv1_xml(path).fingerprint() for path in paths}) == 1


def test_parts_of_a_newsitem():
    item = parse_newsitem(newsml(2286, text=("One &lt;two&gt;", "S\xe3o"), topics=("C13", "C13")), "f")
    assert item.item_id == 2286
    assert item.date == date(1996, 8, 20)
    assert item.topics == ("C13",)
    assert item.text.split() == ["Stock", "jumps", "One", "<two>", "São"]
    bare = b'<newsitem itemid="1" date="1996-08-20"><title>Only a title</title><text/></newsitem>'
    assert parse_newsitem(bare, "f").text.strip() == "Only a title"
    assert parse_newsitem(bare, "f").topics == ()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "windows-1252", "us-ascii"])
def test_encodings(encoding):
    headline = "Sao" if encoding == "us-ascii" else "S\xe3o"
    assert parse_newsitem(newsml(1, headline=headline, encoding=encoding), "f").text.split()[0] == headline


# ---- what is refused


def refused(match, *arguments, **options):
    assert re.search(match, refusal(load_rcv1_xml, *arguments, **options))


def test_wrong_arguments(tmp_path, files):
    refused("corpus.path: .* is needed", None)
    refused("no such file or folder", tmp_path / "none")
    refused("a folder or an archive is needed", files / "2286newsML.xml")
    refused("stop_words: 'all' is not allowed", files, stop_words="all")
    (tmp_path / "empty").mkdir()
    refused("no NewsML file", tmp_path / "empty")
    (tmp_path / "empty" / "1newsML.xml").write_bytes(newsml(1, topics=()))
    refused("0 topics; one of each is needed", tmp_path / "empty")


def test_an_itemid_that_occurs_twice(zips):
    (zips / "2300newsML.xml").write_bytes(newsml(2300))
    refused(r"19960821\.zip: 2300newsML\.xml: document 2300 occurs a second time", zips)


ENTITIES = b'<!DOCTYPE a [<!ENTITY x "y">]><newsitem itemid="1" date="1996-08-20"><text>&x;</text></newsitem>'


BAD_FILES = [
    (ENTITIES, "a document type declaration"),
    (newsml(1, text=("&nbsp;",)), r"line 8: broken or wrongly encoded XML \(undefined entity\)"),
    (b"", "line 1: broken or wrongly encoded XML"),
    (newsml(1).replace(b"</p>", b""), r"line 9: broken or wrongly encoded XML \(mismatched tag\)"),
    (newsml(1) + b"<again/>", "junk after document element"),
    (newsml(1, headline="S\xe3o").replace(b"iso-8859-1", b"utf-8"), r"line 3: .*\(not well-formed"),
    (newsml(1).replace(b"iso-8859-1", b"klingon"), "encoding"),
    (newsml(1).replace(b"newsitem", b"story"), "the root element is <story>, <newsitem> is"),
    (newsml("seven"), "itemid='seven'; a number is needed"),
    (newsml(1).replace(b'itemid="1"', b""), "itemid=''; a number is needed"),
    (newsml(1, day="20 August"), "date='20 August'; YYYY-MM-DD is needed"),
    (newsml(1, day="1996-02-30"), "date='1996-02-30'; YYYY-MM-DD is needed"),
    (newsml(1, topics=("",)), "a topic <code> without its attribute code"),
]


@pytest.mark.parametrize(("data", "match"), BAD_FILES)
def test_bad_files_are_named(tmp_path, data, match):
    (tmp_path / "f").mkdir()
    (tmp_path / "f" / "7newsML.xml").write_bytes(data)
    refused(rf"f/7newsML\.xml.*{match}", tmp_path / "f")
    with zipfile.ZipFile(tmp_path / "19960820.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("7newsML.xml", data)
    refused(rf"19960820\.zip: 7newsML\.xml.*{match}", tmp_path / "19960820.zip")
