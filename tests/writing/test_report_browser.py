"""The page in headless Chromium, without a network: no complaint, no sideways scrolling, tables that sort."""

import pandas as pd
import pytest
from test_report_page import HOSTILE, make_report

from harness.writing.report import Section, table, text

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


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """The address of a running Chromium and a page with wide tables and hostile names."""
    rates = pd.DataFrame({"name": ["b", "", "a"], "rate": ["10.5 [1, 20]", "1,200", ""]})
    wide = pd.DataFrame({f"column {place}": ["0.05 [0.01, 0.10]"] for place in range(40)})
    others = [table(rates, "To sort."), table(wide, "word " * 90), text("long_name_" * 60)]
    out = make_report(tmp_path_factory.mktemp("run") / "run", HOSTILE, more=[Section("Others", others)])
    page = out / "report.html"
    with browser.chromium(tmp_path_factory.mktemp("profile")) as address:
        yield address, page


@pytest.mark.parametrize("width", [390, 1280])
def test_no_complaint_and_no_sideways_scrolling(opened, width):
    address, page = opened
    overflow, complaints = browser.look(address, page, width, OVERFLOW)
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


def test_a_picture_from_elsewhere_is_not_loaded(opened, tmp_path):
    """The policy holds even where a name had got past the escaping."""
    address, page = opened
    changed = tmp_path / "changed.html"
    words = page.read_text(encoding="utf-8")
    changed.write_text(
        words.replace("<main>", "<main><img src='http://127.0.0.1:9/x'><script>let a</script>", 1)
    )
    _, complaints = browser.look(address, changed, 1280)
    words = " ".join(str(complaint) for complaint in complaints)
    assert "img-src" in words
    assert "script-src" in words
