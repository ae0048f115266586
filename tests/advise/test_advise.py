"""`harness advise` and `harness.advise_predictions`: what is written and said, alike for any kind of file."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest
from advise_files import QUICK, written
from html_page import check_page

import harness
from harness.advise.documents.battery import names_of
from harness.advise.margin import HINT
from harness.advise.points import Plan
from harness.cli import main

SMALL_FIGURES = ["figure=draft", "figure.dpi=40"]
ARGUMENTS = [*QUICK, *SMALL_FIGURES, "plan.factors=[1,2]"]


def draw(n=300, seed=0):
    generator = np.random.default_rng(seed)
    y = generator.random(n) < 0.3
    said = {name: y ^ (generator.random(n) < e) for name, e in (("a", 0.1), ("b", 0.2), ("c", 0.1))}
    return pd.DataFrame({"id": range(n), "y_true": y} | said).astype(int)


TABLE = draw(150, 1)[["y_true", "a", "b"]]
SEVERAL = pd.concat(
    [draw(150, i)[["id", "y_true", "a", "b"]].assign(category=name) for i, name in enumerate("xy")]
)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return written(tmp_path_factory.mktemp("predictions"), draw())


@pytest.fixture(scope="module")
def advised(file, tmp_path_factory):
    out = tmp_path_factory.mktemp("advice") / "out"
    assert main(["advise", f"predictions={file}", f"out={out}", *ARGUMENTS]) == 0
    return out


def test_advice_is_whole(advised):
    recommendations = pd.read_csv(advised / "recommendations.csv")
    assert set(recommendations["pair"]) == {"a-b", "a-c", "b-c"}
    assert set(recommendations["n_documents"]) == {300, 600}
    verdicts = pd.read_csv(advised / "verdicts.csv")
    own = verdicts[verdicts["recommended"]]
    assert len(own) == 3
    assert (own["pvalue_holm"] >= own["pvalue"]).all()
    assert ((verdicts["low"] <= verdicts["difference"]) & (verdicts["difference"] <= verdicts["high"])).all()
    provenance = json.loads((advised / "provenance.json").read_text())
    assert provenance["finished"]
    assert provenance["predictions"]["n_items"] == 300
    check_page(advised)
    summary = (advised / "summary.md").read_text()
    needed = "a-b: To find a true difference of 0.01 with a power of 80 % takes about "
    for words in ("a-b: Use ", needed, "Holm", HINT):
        assert words in summary


def test_two_workers_write_the_same_bytes(file, advised, tmp_path, undrawn):
    more = [text for text in ARGUMENTS if not text.startswith("parallel")]
    assert main(["advise", f"predictions={file}", f"out={tmp_path / 'out'}", "parallel.n_jobs=2", *more]) == 0
    for path in sorted(advised.glob("*.csv")):
        assert path.read_bytes() == (tmp_path / "out" / path.name).read_bytes(), path.name


def test_the_same_call_again_finds_it_finished(file, advised, capsys):
    assert main(["advise", f"predictions={file}", f"out={advised}", *ARGUMENTS]) == 0
    assert "finished" in capsys.readouterr().out


def test_the_figures_are_drawn_again_from_the_tables(advised, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(advised, copy)
    for path in (copy / "figures").iterdir():
        path.unlink()
    assert main(["figures", f"from={copy}", *SMALL_FIGURES]) == 0
    drawn = list((advised / "figures").glob("*.png"))
    assert {path.stem for path in drawn} == {"figure_advice_sizes", "figure_advice_power"}
    for path in drawn:
        assert path.stat().st_size > 2_000
        assert path.read_bytes() == (copy / "figures" / path.name).read_bytes(), path.name


@pytest.mark.parametrize(
    ("frame", "arguments", "words"),
    [
        (TABLE, ["systems=[a,zz]"], "there is no column 'zz'"),
        (TABLE, ["test=[wald_f1]", "measure=error"], "none of those chosen is of measure=error"),
        (TABLE, ["measure=error", "margin=1"], "below 1, the largest difference in error, is"),
        (TABLE, ["runs={a:[]}"], "columns of each system are"),
        (SEVERAL, ["measure=dcf", "test=[dcf,dcf_eq9]", "test.dcf.prior=0.2"], "tests have different costs"),
        (SEVERAL, ["measure=dcf", "test.dcf.cost_fn=0", "test.dcf.prior=1"], "neither a miss nor a false"),
        (SEVERAL, ["measure=dcf", "test.dcf.prior=2"], "prior: 2 is not allowed"),
    ],
)
def test_what_is_refused_leaves_nothing_behind(tmp_path, capsys, frame, arguments, words):
    path, out = written(tmp_path, frame), tmp_path / "out"
    assert main(["advise", f"predictions={path}", f"out={out}", *QUICK, *arguments]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert words in line
    assert not out.exists()


def test_a_difference_out_of_reach_leaves_an_empty_field(tmp_path, undrawn):
    truth = [1] * 40 + [0] * 160
    table = pd.DataFrame({"y_true": truth, "a": [1] * 34 + [0] * 166, "b": [1] * 20 + [0] * 178 + [1] * 2})
    path, out = written(tmp_path, table), tmp_path / "out"
    more = ["difference=0.9", "test=[wald_f1]", *QUICK]
    assert main(["advise", f"predictions={path}", f"out={out}", *more]) == 0
    assert pd.read_csv(out / "needed.csv")["n_items"].isna().all()
    assert "<NA>" not in (out / "summary.md").read_text()


# --- from Python as by the command -----------------------------------------------------------------

PLAN = Plan(n_sets=300, n_draws=3, n_range_sets=100, n_power_sets=100, h=(2.0, 3.0), factors=(1.0,))
GENERATOR = np.random.default_rng(0)
LABELS = pd.DataFrame(GENERATOR.choice(list("xyz"), (120, 3)), columns=["y_true", "a", "b"])
LABELS[:70] = np.repeat(LABELS[["y_true"]][:70].to_numpy(), 3, axis=1)
CLUSTERED = TABLE.assign(passage=np.arange(150) // 5)
RATED = pd.DataFrame(GENERATOR.gamma(2.0, 1.0, (60, 2)).round(1), columns=["a", "b"])
RATED = RATED.assign(topic=np.arange(60) // 3)
RUNS = pd.DataFrame(
    {name: TABLE["y_true"] ^ (GENERATOR.random(150) < 0.2) for name in ("a_0", "a_1", "a_2", "b_0")}
).assign(y_true=TABLE["y_true"])
FORMS = {
    "yes or no": (
        TABLE, ["measure=f1", "test=[wald_f1,score_f1]"], "f1", {"test": ["wald_f1", "score_f1"]},
        ["Use ", HINT], ["wald_f1", "score_f1"],
    ),
    "labels": (
        LABELS, ["measure=f1", "average=macro"], "f1", {"average": "macro"}, ["Use "], names_of("f1"),
    ),
    "margin": (
        TABLE, ["measure=error", "margin=0.15"], "error", {"margin": 0.15},
        ["a and b are the same to within 0.15: p = ", "No difference is shown"], None,
    ),
    "clusters": (
        CLUSTERED, ["measure=f1", "cluster=passage"], "f1", {"clusters": "passage"},
        ["With items taken as independent wald_pooled has a size of", "With 30 clusters"],
        names_of("f1", clustered=True),
    ),
    "scores": (
        RATED, ["measure=score", "systems=[a,b]"], "score", {},
        ["wilcoxon asks whether the differences are symmetric"], names_of("score"),
    ),
    "scores of clusters": (
        RATED, ["measure=score", "cluster=topic"], "score", {"clusters": "topic"},
        ["With items taken as independent paired_t has a size of", "With 20 clusters"],
        names_of("score", clustered=True),
    ),
    "runs": (
        RUNS, ["measure=f1", "runs={a:[a_0,a_1,a_2],b:[b_0]}"], "f1", {"runs": "nested"},
        ["Use t_by_item_and_run", "Sizes of tests that know of no other runs: mean_of_runs",
         "Of the difference's variance", "more power: twice the runs take"], None,
    ),
}  # fmt: skip


@pytest.fixture
def few_sets(monkeypatch):
    """As few sets and replicates as a command takes."""
    few = {"size": 50, "range": 10, "power": 20, "needed": 40}
    monkeypatch.setattr("harness.advise.documents.MOST_SETS", few)
    monkeypatch.setattr("harness.advise.documents.FILE_REPLICATES", 199)
    monkeypatch.setattr("harness.advise.needed.N_SETS", 400)


@pytest.mark.parametrize("form", FORMS)
def test_the_command_and_python_give_the_same_advice(form, tmp_path, capsys, undrawn, few_sets):
    frame, given, measure, options, words, tests = FORMS[form]
    out = tmp_path / "out"
    arguments = [f"predictions={written(tmp_path, frame)}", f"out={out}", *given, *QUICK]
    assert main(["advise", *arguments]) == 0, capsys.readouterr().err
    told = capsys.readouterr().out
    places = [told.find(text) for text in words]
    assert places == sorted(places)
    assert places[0] >= 0, told
    verdicts, sizes = (pd.read_csv(out / f"{name}.csv").set_index("test") for name in ("verdicts", "sizes"))
    assert tests is None or list(verdicts.index) == tests
    columns = (
        frame.filter(regex=f"^{name}").to_numpy().T if form == "runs" else frame[name] for name in "ab"
    )
    options = {key: frame[value] if key == "clusters" else value for key, value in options.items()}
    found = harness.advise_predictions(
        frame.get("y_true"), *columns, measure, names=("a", "b"), plan=PLAN, **options
    )
    assert verdicts.index[verdicts["recommended"]].tolist() == [found.test]
    assert found.test not in ("paired_t", "wald_pooled") or form == "scores"
    assert found.comparison.table["pvalue"].to_dict() == pytest.approx(verdicts["pvalue"].to_dict())
    assert found.table["size"].to_dict() == pytest.approx(sizes["size"].to_dict())
    assert verdicts[["difference", "low", "high"]].iloc[0].tolist() == pytest.approx(
        [found.comparison.difference, found.comparison.low, found.comparison.high]
    )
    assert (HINT in told) == (HINT in str(found))
    assert (found.margin is not None) == (form == "margin") == (out / "margin.csv").exists()
    if form == "margin":
        margin = pd.read_csv(out / "margin.csv").drop(columns="pair")
        shared = [name for name in margin if name in found.margin]
        assert {"claim", "test", "pvalue"} <= set(shared)
        pd.testing.assert_frame_equal(margin[shared], found.margin[shared], check_dtype=False)
    if form == "runs":
        components = pd.read_csv(out / "components.csv").drop(columns="pair")
        pd.testing.assert_frame_equal(components, found.comparison.components)
        assert components.set_index("source").loc["runs of B", "variance"] == 0
        assert len(pd.read_csv(out / "designs.csv")) == 12


def test_averages_and_costs_of_several_categories(tmp_path, undrawn, few_sets):
    out = tmp_path / "out"
    given = ["measure=dcf", "average=macro", "test.dcf.prior=0.2", "test.dcf.cost_fn=2", *QUICK]
    assert main(["advise", f"predictions={written(tmp_path, SEVERAL)}", f"out={out}", *given]) == 0
    expected = []
    for _, part in SEVERAL.groupby("category"):
        y = part["y_true"] == 1
        miss, alarm = ((part["b"] - part["a"])[y].mean(), (part["a"] - part["b"])[~y].mean())
        expected.append(2 * 0.2 * miss + 0.8 * alarm)
    verdicts = pd.read_csv(out / "verdicts.csv")
    assert list(verdicts["test"]) == names_of("dcf")
    assert not verdicts["recommended"].to_numpy()[-1]  # it takes every decision as drawn on its own
    np.testing.assert_allclose(verdicts["difference"], np.mean(expected), atol=1e-9)
    summary = (out / "summary.md").read_text()
    for words in (
        "Measure macro DCF;", "2 categories, yes or no in each", "the mean over the categories",
        "cost_fn 2, cost_fp 1, prior 0.2", f"{names_of('dcf')[-1]} takes every decision as drawn on its own",
    ):  # fmt: skip
        assert words in summary
