"""The page in headless Chromium, without a network: widths, tables that sort and filter, keys, contrast."""

import pandas as pd
import pytest
from test_report_page import HOSTILE, make_report

from harness.writing.report import Section, bullets, table, text

browser = pytest.importorskip("browser")
pytest.importorskip("tornado")
pytestmark = pytest.mark.skipif(not browser.CHROMIUM.exists(), reason=f"{browser.CHROMIUM} is not installed")

OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
SORT = """(() => {
  const table = [...document.querySelectorAll("table")].find(t => t.caption.textContent === "To sort.");
  const column = place => [...table.tBodies[0].rows].map(row => row.cells[place].textContent);
  const heads = table.tHead.rows[0].cells, found = [];
  for (const place of [1, 1, 0]) {
    heads[place].querySelector("button").click();
    found.push([heads[place].getAttribute("aria-sort"), column(place)]);
  }
  found.push([...heads].map(head => head.getAttribute("aria-sort")));
  return found;
})()"""


UNFOLD = "document.querySelectorAll('details').forEach(part => part.open = true)"
FILTER = """(() => {
  const boxes = document.querySelectorAll("input");
  const found = [boxes.length, boxes[0].labels[0].textContent.trim()];
  for (const words of ["ROW-1 b", "row-11", "nowhere", ""]) {
    boxes[0].value = words;
    boxes[0].dispatchEvent(new Event("input"));
    const table = boxes[0].closest("table");
    const shown = [...table.tBodies[0].rows].filter(row => row.checkVisibility());
    found.push([shown.map(row => row.cells[0].textContent), table.querySelector("output").textContent]);
  }
  return found;
})()"""
FOCUS = """(() => {
  const one = document.activeElement, box = one.getBoundingClientRect(), style = getComputedStyle(one);
  return [one.tagName, one.textContent.trim(), style.outlineStyle, box.left >= 0 && box.right <= innerWidth];
})()"""


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """The address of a running Chromium and a page with wide tables and hostile names."""
    rates = pd.DataFrame({"name": ["b", "", "a"], "rate": ["10.5 [1, 20]", "1,200", ""]})
    wide = pd.DataFrame({f"column {place}": ["0.05 [0.01, 0.10]"] for place in range(40)})
    names = [f"row\N{MINUS SIGN}{place}" for place in range(13)]
    long = pd.DataFrame({"name": names, "word": list("ab" * 6 + "a")})
    others = [table(rates, "To sort."), table(wide, "word " * 90), text("long_name_" * 60)]
    more = [Section("Others", others), Section("Long", [table(long)]), Section("Notes", [bullets(names)])]
    out = make_report(tmp_path_factory.mktemp("run") / "run", HOSTILE, more=more)
    page = out / "report.html"
    with browser.chromium(tmp_path_factory.mktemp("profile")) as address:
        yield address, page


@pytest.mark.parametrize("width", [390, 800, 1400])
def test_no_complaint_and_no_sideways_scrolling(opened, width):
    address, page = opened
    overflow, complaints = browser.look(address, page, width, OVERFLOW, first=UNFOLD)
    assert complaints == []
    assert overflow <= 0


def test_tables_sort_by_number_and_by_word(opened):
    address, page = opened
    found, complaints = browser.look(address, page, 1280, SORT)
    assert complaints == []
    assert found == [
        ["ascending", ["10.5 [1, 20]", "1,200", ""]],
        ["descending", ["1,200", "10.5 [1, 20]", ""]],
        ["ascending", ["a", "b", ""]],
        ["ascending", None],
    ]


def test_long_tables_alone_are_filtered_by_words(opened):
    address, page = opened
    found, complaints = browser.look(address, page, 1280, FILTER)
    assert complaints == []
    names = [f"row\N{MINUS SIGN}{place}" for place in range(13)]
    assert found == [
        1,
        "Filter rows",
        [[names[1], names[11]], "2 of 13 rows"],
        [[names[11]], "1 of 13 rows"],
        [[], "0 of 13 rows"],
        [names, ""],
    ]


def test_the_first_key_skips_to_the_findings_and_heads_sort_by_key(opened):
    address, page = opened
    found, _ = browser.look(address, page, 390, FOCUS, keys=["Tab"])
    assert found == ["A", "Skip to the findings", "solid", True]
    found, _ = browser.look(address, page, 390, "document.activeElement.id", keys=["Tab", "Enter"])
    assert found == "main"
    at_table = "document.querySelector('.scroll').focus()"
    found, _ = browser.look(address, page, 1280, FOCUS, first=at_table, keys=["Tab", "Tab"])
    assert found == ["BUTTON", "rate", "solid", True]
    sort = "document.activeElement.parentElement.getAttribute('aria-sort')"
    assert browser.look(address, page, 1280, sort, first=at_table, keys=["Tab", "Enter"])[0] == "ascending"


def test_a_picture_from_elsewhere_is_not_loaded(opened, tmp_path):
    """The policy holds even where a name had got past the escaping."""
    address, page = opened
    changed = tmp_path / "changed.html"
    words = page.read_text(encoding="utf-8")
    changed.write_text(
        words.replace("<header>", "<header><img src='http://127.0.0.1:9/x'><script>let a</script>", 1)
    )
    _, complaints = browser.look(address, changed, 1280)
    words = " ".join(str(complaint) for complaint in complaints)
    assert "img-src" in words
    assert "script-src" in words
