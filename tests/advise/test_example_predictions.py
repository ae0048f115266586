"""The files that scripts/example_predictions.py makes are files that `harness advise` takes."""

import re
import shlex
from pathlib import Path

import pandas as pd
import pytest
from advise_files import QUICK

from harness.cli import main
from harness.packaged import predictions_file

ROOT = Path(__file__).parents[2]


@pytest.fixture
def make(monkeypatch, tmp_path):
    """Call the script, which writes to the test's folder."""
    monkeypatch.syspath_prepend(ROOT / "scripts")
    import example_predictions

    return lambda *more: example_predictions.main(["--to", str(tmp_path), *more])


def test_digits(make, tmp_path):
    assert make() == 0
    table = pd.read_csv(tmp_path / "digits.csv")
    assert list(table.columns) == ["y_true", "rbf_svm", "nearest_neighbours", "random_forest"]
    assert len(table) == 899
    assert all((table["y_true"] == table[name]).mean() > 0.9 for name in table.columns[1:])
    assert (tmp_path / "digits.csv").read_bytes() == predictions_file("digits").read_bytes()


def test_the_readme_shows_what_the_command_prints(tmp_path, monkeypatch, capfd, unpainted):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    command = re.search(r"^harness advise predictions=digits.*$", text, re.MULTILINE)[0]
    shown = re.search(r"<!-- output -->\n```text\n(.*?)```", text, re.DOTALL)[1]
    monkeypatch.chdir(tmp_path)
    assert main([*shlex.split(command)[1:], "parallel=sequential"]) == 0
    assert f"\n\n{shown}\nSummary: " in capfd.readouterr().out


@pytest.mark.slow
def test_reuters(make, data_folder, tmp_path):
    make("--reuters", str(data_folder / "reuters21578.tar.xz"))
    grain = pd.read_csv(tmp_path / "reuters_grain.csv")
    assert len(grain) == 3_299
    assert grain["y_true"].sum() == 149  # ModApte's test stories about grain
    assert len(pd.read_csv(tmp_path / "reuters_topics.csv")) == 10 * 3_299
    out = tmp_path / "out"
    path = tmp_path / "reuters_grain.csv"
    assert main(["advise", f"predictions={path}", f"out={out}", *QUICK]) == 0
