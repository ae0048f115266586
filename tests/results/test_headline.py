from pathlib import Path

import pandas as pd
import pytest

from harness.results.folder import headline

RESULTS = Path(__file__).resolve().parents[2] / "results"


def test_under_an_exact_null_it_is_the_worst_median():
    told = headline(RESULTS / "reuters21578")
    table = pd.read_csv(RESULTS / "reuters21578" / "size_by_category.csv")
    own = table[(table["truth"] == "exact_null") & (table["alpha"] == 0.05) & (table["n_live"] >= 5)]
    worst = own.loc[own["median"].idxmax()]
    assert told["worst median"] == f"{worst['median']:.3f}"[1:]
    assert own.loc[own["test"] == told["of"], "median"].max() == worst["median"]
    assert told["alpha"] == "0.05"


def test_else_it_is_the_papers_tests_at_the_largest_n():
    told = headline(RESULTS / "nips2005-slice")
    table = pd.read_csv(RESULTS / "nips2005-slice" / "size_power.csv")
    own = table[
        (table["truth"] == "sampling_interval") & (table["alpha"] == 0.05) & (table["kind"] == "size")
    ]
    own = own[own["n_documents"] == 6000].groupby("test")["rate"].max()
    assert list(told) == [
        "alpha", "N", "bootstrap_f1_symmetric", "mcnemar", "proportion", "bootstrap_error_symmetric"
    ]  # fmt: skip
    assert {name: told[name] for name in own.index if name in told} == {
        name: f"{rate:.3f}"[1:] for name, rate in own.items() if name in told
    }


@pytest.mark.parametrize("table", [None, "", "pair,test\na-b,mcnemar\n"])
def test_a_folder_without_a_table_or_with_a_damaged_one_has_none(table, tmp_path):
    if table is not None:
        (tmp_path / "size_power.csv").write_text(table)
    assert headline(tmp_path) == {}
