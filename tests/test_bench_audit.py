import json
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import bench_audit as audit
import pandas as pd
import pytest

ROOT = Path(__file__).resolve().parent.parent
OURS = ["mcnemar", "wald_f1", "bootstrap_error"]
THEIRS = ["scipy_ttest", "scipy_bootstrap_bca_f1", "statsmodels_mcnemar", "statsmodels_proportions"]


def test_answers_to_odd_sets():
    table = audit.conventions([*OURS, *THEIRS], n_replicates=100)
    assert len(table) == len(audit.ODD) * 7
    answers = table.pivot(index="test", columns="case", values="answer")
    assert (answers.loc[OURS, ["alike", "all right", "tie"]] == "1.000").all(axis=None)
    assert answers.loc["mcnemar", "four to none"] == ".134"
    assert answers.loc["scipy_ttest", ["alike", "all right"]].tolist() == ["not a number"] * 2
    assert answers.loc["scipy_bootstrap_bca_f1", "alike"] == "not a number"
    assert answers.loc["statsmodels_mcnemar", ["alike", "tie"]].tolist() == [".000", ".752"]
    assert answers.loc["statsmodels_proportions", ["alike", "tie"]].tolist() == ["1.000", "1.000"]
    assert answers.loc["statsmodels_proportions", "all right"] == "not a number"
    alike = table[table["case"] == "alike"].set_index("test")
    assert alike.loc[OURS, "degenerate"].all()
    assert alike.loc["statsmodels_mcnemar", "warned"] == "divide by zero encountered in scalar divide"
    assert (table.loc[table["test"].isin(OURS), "warned"] == "").all()


def test_milliseconds_are_of_each_test_and_size():
    table = audit.milliseconds(["mcnemar", "scipy_ttest"], [50, 100], n_replicates=10, n_sets=2)
    assert table[["test", "n_documents"]].to_numpy().tolist() == [
        [test, n] for test in ("mcnemar", "scipy_ttest") for n in (50, 100)
    ]
    assert (table["milliseconds"] > 0).all()


def test_the_committed_answers_are_what_these_versions_give():
    folder = ROOT / "results" / "audit"
    versions = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))["versions"]
    for name in ("numpy", "scipy", "mlxtend", "statsmodels"):
        if find_spec(name) is None or version(name) != versions[name]:
            pytest.skip(f"{name} {versions[name]}, which was audited, is not installed")
    committed = pd.read_csv(folder / "conventions.csv", keep_default_na=False, dtype=str)
    assert committed["test"].unique().tolist() == audit.audited()
    drawn = ("permutation", "bootstrap", "sacrebleu", "deepsig")
    fixed = [name for name in audit.audited() if not any(word in name for word in drawn)]
    assert len(fixed) == 18
    expected = committed[committed["test"].isin(fixed)].to_numpy().tolist()
    assert audit.conventions(fixed).astype(str).to_numpy().tolist() == expected
