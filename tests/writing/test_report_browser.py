"""The page in headless Chromium, without a network: widths, sorting, filtering, focus, the policy."""

import html
import json
import re
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest
from test_report_page import HOSTILE, make_report

from harness.writing.report import Section, bullets, table, text

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-web-security", "--allow-file-access-from-files", "--host-resolver-rules=MAP * ~NOTFOUND",
    "--enable-logging=stderr", "--virtual-time-budget=30000", "--dump-dom",
)  # fmt: skip
NAMES = [f"row\N{MINUS SIGN}{place}" for place in range(13)]


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """What a browser sees of a page with wide tables and hostile names, and what it complains of.

    Last it opens that page with a picture and a script put in, as where a name had got past the escaping.
    """
    if not CHROMIUM.exists():
        pytest.skip(f"{CHROMIUM} is not installed")
    folder = tmp_path_factory.mktemp("browser")
    rates = pd.DataFrame({"name": ["b", "", "a"], "rate": ["10.5 [1, 20]", "1,200", ""]})
    wide = pd.DataFrame({f"column {place}": ["0.05 [0.01, 0.10]"] for place in range(40)})
    long = pd.DataFrame({"name": NAMES, "word": list("ab" * 6 + "a")})
    others = [table(rates, "To sort."), table(wide, "word " * 90), text("long_name_" * 60)]
    more = [Section("Others", others), Section("Long", [table(long)]), Section("Notes", [bullets(NAMES)])]
    words = (make_report(folder / "run", HOSTILE, more=more) / "report.html").read_text(encoding="utf-8")
    added = "<header><img src='http://127.0.0.1:9/x'><script>let a</script>"
    (folder / "changed.html").write_text(words.replace("<header>", added, 1), encoding="utf-8")
    shutil.copy(Path(__file__).with_name("frame.html"), folder)
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={folder / 'profile'}", (folder / "frame.html").as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    seen = json.loads(html.unescape(re.search("<pre>(.*)</pre>", done.stdout)[1]))
    return seen, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def test_no_complaint_and_no_sideways_scrolling(opened):
    seen, complaints = opened
    assert seen["overflow"] == [0, 0, 0]
    assert "now the changed page" in complaints[0]


def test_tables_sort_by_number_and_by_word(opened):
    assert opened[0]["sorted"] == [
        [[None, "ascending"], ["10.5 [1, 20]", "1,200", ""]],
        [[None, "descending"], ["1,200", "10.5 [1, 20]", ""]],
        [["ascending", None], ["a", "b", ""]],
    ]


def test_long_tables_alone_are_filtered_by_words(opened):
    assert opened[0]["filters"] == ["Filter rows"]
    assert opened[0]["filtered"] == [
        [[NAMES[1], NAMES[11]], "2 of 13 rows"], [[NAMES[11]], "1 of 13 rows"], [[], "0 of 13 rows"],
        [NAMES, ""],
    ]  # fmt: skip


def test_the_first_that_can_be_focused_skips_to_the_findings(opened):
    assert opened[0]["first"] == ["Skip to the findings", "solid", True]
    assert opened[0]["main"] == "main"


def test_a_picture_and_a_script_from_elsewhere_are_refused(opened):
    words = " ".join(opened[1][1:])
    assert "img-src" in words
    assert "script-src" in words
