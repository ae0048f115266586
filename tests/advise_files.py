"""Files of predictions, and how `harness advise` reads or refuses them, without starting the command."""

import pytest

from harness.advise.files import read_outcomes
from harness.advise.points import Plan, Question
from harness.advise.study import make_pairs
from harness.errors import UserError

QUICK = [
    "plan.n_sets=300", "plan.n_draws=3", "plan.n_range_sets=100", "plan.n_power_sets=100", "plan.h=[2,3]",
    "plan.factors=[1]", "cache=null", "parallel=sequential",
]  # fmt: skip
UNSET = (
    "measure", "truth_column", "systems", "positive", "threshold", "category_column", "category", "task",
    "metric", "filter", "cluster", "baseline", "run", "runs",
)  # fmt: skip
SETTINGS = dict.fromkeys(UNSET) | {"average": "micro", "missing": [], "separator": ".", "paired_runs": False}


def written(folder, frame, name="p.csv"):
    path = folder / name
    if name.endswith("jsonl"):
        frame.to_json(path, orient="records", lines=True)
    elif name.endswith("parquet"):
        pytest.importorskip("pyarrow")
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if name.endswith("tsv") else ",")
    return path


def with_text(folder, text, name="p.csv"):
    path = folder / name
    path.write_text(text)
    return path


def read(path, **given):
    """Return the outcomes, and the pairs that can be tested."""
    outcomes, measure = read_outcomes(path, SETTINGS | given)
    average = (SETTINGS | given)["average"]
    question = Question(path.name, measure, average=average, plan=Plan(n_draws=2))
    return outcomes, make_pairs(outcomes, question)[0]


def read_logs(folder, task=None, metric=None, filter_=None, **given):
    """Return what a folder of logs says."""
    asked = {"task": task, "metric": metric, "filter": filter_} | given
    return read_outcomes(folder, SETTINGS | asked)[0]


def refusal(path, **given):
    """Return the one sentence with which a file or a setting is refused."""
    with pytest.raises(UserError) as caught:
        read(path, **given)
    assert "\n" not in str(caught.value)
    return str(caught.value)
