"""The files that scripts/example_predictions.py makes are files that `harness advise` takes."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from advise_files import QUICK

from harness.cli import main
from harness.packaged import predictions_file

SCRIPT = Path(__file__).parents[2] / "scripts" / "example_predictions.py"


def make(folder, *more):
    command = [sys.executable, str(SCRIPT), "--to", str(folder), *more]
    subprocess.run(command, check=True, capture_output=True, text=True)


def test_digits(tmp_path):
    make(tmp_path)
    table = pd.read_csv(tmp_path / "digits.csv")
    assert list(table.columns) == ["y_true", "rbf_svm", "nearest_neighbours", "random_forest"]
    assert len(table) == 899
    assert all((table["y_true"] == table[name]).mean() > 0.9 for name in table.columns[1:])
    assert (tmp_path / "digits.csv").read_bytes() == predictions_file("digits").read_bytes()


def test_the_readme_shows_what_the_command_prints(tmp_path, monkeypatch, capfd, unpainted):
    text = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    command = re.search(r"^harness advise predictions=digits.*$", text, re.MULTILINE)[0]
    shown = re.search(r"<!-- output -->\n```text\n(.*?)```", text, re.DOTALL)[1]
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(command)[1:]) == 0
    assert f"\n\n{shown}\nSummary: " in capfd.readouterr().out


@pytest.mark.slow
def test_reuters(data_folder, tmp_path):
    make(tmp_path, "--reuters", str(data_folder / "reuters21578.tar.xz"))
    grain = pd.read_csv(tmp_path / "reuters_grain.csv")
    assert len(grain) == 3_299
    assert grain["y_true"].sum() == 149  # ModApte's test stories about grain
    assert len(pd.read_csv(tmp_path / "reuters_topics.csv")) == 10 * 3_299
    out = tmp_path / "out"
    path = tmp_path / "reuters_grain.csv"
    assert main(["advise", f"predictions={path}", f"out={out}", *QUICK]) == 0
