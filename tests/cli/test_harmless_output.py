"""Names that a terminal or a spreadsheet would obey: written out, and read back as they were."""

import csv
import io

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from harness.cli import main
from harness.collect.join import collect
from harness.errors import harmless
from harness.evaluation.rates import write_table
from harness.results.names import read_table
from harness.writing.table_text import escape_markdown, from_csv, neutralise, restore, to_csv

FORMULAS = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "'=1", "''-x", "=", "-", "+"]
HARMLESS = ["a", "-0.5", "+1", "1e-5", "-inf", "'a", "", "it's", "a=b", "C31"]


def test_a_formula_gets_an_apostrophe_and_a_number_or_a_plain_name_stays():
    assert [neutralise(name) for name in FORMULAS] == ["'" + name for name in FORMULAS]
    assert [restore("'" + name) for name in FORMULAS] == FORMULAS
    assert [neutralise(name) for name in HARMLESS] == [restore(name) for name in HARMLESS] == HARMLESS


@given(st.text(st.characters(exclude_categories=["Cs"])) | st.text("'=+-@\t1a", max_size=5))
def test_every_name_comes_back(name):
    assert restore(neutralise(name)) == name
    first = neutralise(name)[:1]
    assert first not in ("=", "@", "\t", "\r")
    if first in ("+", "-"):
        float(name)  # a number


def test_a_table_comes_back_and_its_numbers_are_numbers():
    numbers = np.linspace(-1, 1, len(FORMULAS))
    table = pd.DataFrame({"=name": FORMULAS, "x": numbers, "n": range(len(FORMULAS))})
    data = to_csv(table, float_format="%.10g")
    rows = list(csv.reader(io.StringIO(data.decode())))
    assert all(row[0].startswith("'") for row in rows)
    assert rows[1][1] == "-1"
    pd.testing.assert_frame_equal(from_csv(data), table)


def test_tables_of_runs_come_back_and_are_collected_as_they_stand(tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / "provenance.json").write_text('{"finished": true, "overrides": []}')
        table = pd.DataFrame({"test": ["=1", "-x"], "rate": [-0.5, 0.5]})
        write_table(table, tmp_path / name / "size_power.csv")
    assert list(read_table(tmp_path / "a" / "size_power.csv")["test"]) == ["=1", "-x"]
    collect(tmp_path)
    lines = (tmp_path / "collected_size_power.csv").read_text().splitlines()
    assert lines == ["run,test,rate", "a,'=1,-0.5", "a,'-x,0.5", "b,'=1,-0.5", "b,'-x,0.5"]


def test_control_characters_are_written_out():
    hostile = "a\x1b]0;x\x07b\x9bc\u202ed\r"
    assert harmless(hostile) == "a\\x1b]0;x\\x07b\\x9bc\\u202ed\\r"
    assert harmless("plain é 数\n\tx") == "plain é 数\n\tx"
    assert "\x1b" not in escape_markdown(hostile)


def test_no_control_character_of_a_column_reaches_terminal_summary_or_page(tmp_path, here, capfd, unpainted):
    rows = "1,1,0\n0,0,1\n1,0,1\n0,0,0\n" * 10
    (tmp_path / "p.csv").write_text("y_true,a\x1b[31m\x07,=b\n" + rows)
    few = ["plan.n_sets=100", "plan.n_draws=2", "plan.n_range_sets=100", "plan.n_power_sets=100"]
    places = ["out=o", "cache=null", "parallel=sequential", "figure.formats=[png]", "figure.dpi=50"]
    asked = ["predictions=p.csv", "measure=error", "test=[mcnemar,mcnemar_midp]"]
    assert main(["advise", *asked, *few, *places]) == 0
    said = capfd.readouterr()
    written = [path.read_text() for path in (tmp_path / "o").rglob("*.md")]
    written += [(tmp_path / "o" / "report.html").read_text(), said.out, said.err]
    assert any("\\x1b[31m\\x07" in text for text in written)
    for text in written:
        assert "\x1b" not in text
        assert "\x07" not in text
    for path in (tmp_path / "o").rglob("*.csv"):
        for row in csv.reader(io.StringIO(path.read_text())):
            assert not [field for field in row if field.startswith(("=", "@"))], path
