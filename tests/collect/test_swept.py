import itertools

import fake_run
import numpy as np
import pandas as pd
import pytest
from drawn import by_gid, drawn, faults, gids, panels

from harness.cli import main
from harness.collect.swept import Sweep, average, check_sweep, sweep_figure, usual
from harness.drawing.style import Look
from harness.errors import UserError
from harness.results.selection import Selection

PNG = {"formats": ["png"], "dpi": 40}
FEW = {"sizes": [100, 1000], "alphas": (0.05,), "truths": ["sampling_interval"], "tests": fake_run.TESTS[:3]}


@pytest.fixture(scope="module")
def table():
    """A collected table of a sweep of 2 x 2 x 2; the rate rises by .01 with n_replicates, .02 with seed."""
    parts = []
    for seed, n, order in itertools.product((0, 1), (100, 1000), ("random", "chronological")):
        part = fake_run.table(**FEW)
        part["rate"] += 0.02 * seed + 0.01 * (n == 1000)
        name = f"{seed}-{n}-{order}"
        parts.append(part.assign(run=name, seed=seed, n_replicates=n, **{"split.order": order}))
    return pd.concat(parts, ignore_index=True)


SETTINGS = ["n_replicates", "seed", "split.order"]


def figure(table, sweep, **chosen):
    rows = usual(Selection.of(chosen).keep(table), sweep, chosen)
    return drawn(lambda look: sweep_figure(average(rows, SETTINGS, sweep), sweep, look))


def test_rates_are_means_and_bands_are_ranges_over_what_is_averaged(table):
    sweep = Sweep("n_replicates", over=["seed"], panel="split.order")
    pages, caption = figure(table, sweep, tests=["mcnemar"], panels=["a"])
    axes = panels(pages[0])["split.order = random"]
    rows = table[(table["test"] == "mcnemar") & (table["n_documents"] == 1000) & (table["kind"] == "size")]
    rows = rows[(rows["pair"] == "linear_svm-mlp") & (rows["balance"] == "meta")]
    rows = rows[rows["split.order"] == "random"]
    line = by_gid(axes, "line:mcnemar")
    np.testing.assert_allclose(line.get_xdata(), [100, 1000])
    np.testing.assert_allclose(line.get_ydata(), rows.groupby("n_replicates")["rate"].mean())
    band = by_gid(axes, "band:mcnemar").get_paths()[0].vertices[:, 1]
    np.testing.assert_allclose([band.min(), band.max()], [rows["rate"].min(), rows["rate"].max()])
    assert axes.get_xscale() == "linear"  # 1000 is less than 20 times 100
    assert "up to 2 runs a point" in caption
    assert [fault for page in pages for fault in faults(page, Look())] == []
    pages, caption = figure(table, sweep, panels=["a"])
    axes = panels(pages[0])["split.order = random"]
    bands, lines = ({gid.partition(":")[2] for gid in gids(axes, kind)} for kind in ("band:", "line:"))
    assert bands == lines
    less = table.assign(rate=table["rate"].where((table["seed"] == 0) | (table["n_documents"] != 1000)))
    assert "(up to 2 runs a point" in caption
    assert "(up to 1 runs a point" in figure(less, sweep, panels=["a"])[1]  # a missing rate is no run


def test_prevalence_along_x_takes_the_rescaled_populations_alone(table):
    rescaled = fake_run.table(**FEW, balances=("natural",), prevalences=(0.01, 0.1, 0.5))
    rescaled = rescaled.assign(run="r", seed=0, n_replicates=100, **{"split.order": "random"})
    sweep = Sweep("prevalence", hue="n_replicates", over=["seed", "split.order"])
    rows = usual(pd.concat([table, rescaled]), sweep, {})
    assert set(rows["balance"]) == {"reweighted"}
    pages, _ = figure(pd.concat([table, rescaled], ignore_index=True), sweep, tests=["mcnemar"])
    labels = [label.get_text() for label in pages[-1].axes[-1].get_xticklabels()]
    assert labels == ["0.01", "0.1", "0.5"]


def test_a_value_has_one_style_in_every_row(table):
    some = table[(table["measure"] == "f1") | (table["n_replicates"] == 1000)]
    pages, _ = figure(some, Sweep("seed", hue="n_replicates", over=["split.order"]), panels=["a"])
    colors = {
        line.get_color() for page in pages for axes in page.axes for line in axes.lines
        if line.get_gid() == "line:n_replicates=1000"
    }  # fmt: skip
    assert len(colors) == 1


def test_words_stand_in_the_order_of_their_runs(table):
    sweep = Sweep("split.order", hue="n_replicates", over=["seed"])
    pages, _ = figure(table, sweep, tests=["mcnemar"])
    axes = pages[0].axes[0]
    assert gids(axes, "line:") == {"line:n_replicates=100", "line:n_replicates=1000"}
    labels = [label.get_text() for label in pages[-1].axes[-1].get_xticklabels()]
    assert labels == ["random", "chronological"]


def test_a_column_may_stand_along_x(table):
    sweep = Sweep("n_documents", hue="n_replicates", panel="test", over=["seed", "split.order"])
    pages, caption = figure(table, sweep, panels=["a"])
    shown = panels(pages[0])
    assert list(shown)[0] == "Bootstrap test ΔF1"
    assert by_gid(pages[0].axes[0], "line:n_replicates=100").get_xdata().size == 2
    assert "up to 4 runs a point" in caption


def test_without_anything_averaged_a_point_has_its_own_interval(table):
    rows = average(table[table["seed"] == 0], SETTINGS, Sweep("n_replicates", panel="split.order"))
    assert rows["mc_low"].notna().any()
    assert rows["category_low"].isna().all()
    assert set(rows.loc[rows["rate"].notna(), "n_runs"]) == {1}


def test_the_exact_null_one_level_and_one_n_are_usual(table):
    null = pd.concat([table, table.assign(truth="exact_null"), table.assign(alpha=0.01)])
    ruled = {"truth": "sampling_interval"}
    for column, sweep, chosen, expected in (
        ("truth", "seed", {}, {"exact_null"}), ("alpha", "seed", {}, {0.05}),
        ("n_documents", "seed", {}, {1000}),
        ("truth", "seed", ruled, {"sampling_interval"}), ("alpha", "alpha", ruled, {0.01, 0.05}),
    ):  # fmt: skip
        assert set(usual(null, Sweep(sweep), chosen)[column]) == expected


NOT_DRAWN = [
    (Sweep("nope", over=["seed"]), "x: 'nope' is not allowed; choose one of n_replicates, seed"),
    (Sweep("n_replicate", over=["seed"]), "x: 'n_replicate' is not allowed; did you mean n_replicates"),
    (Sweep("seed", hue="rate"), "hue: 'rate' is not allowed"),
    (Sweep("seed", panel="seed"), "x, hue, panel and over: each may name a setting once"),
    (Sweep("seed", over=["kind"]), "over: 'kind' is not allowed; the runs differ in n_replicates, seed"),
    (Sweep("seed", over=["split.order"]), "x: the runs differ in n_replicates too; over=n_replicates"),
]  # fmt: skip


@pytest.mark.parametrize(("sweep", "words"), NOT_DRAWN)
def test_what_cannot_be_drawn_is_told(sweep, words):
    with pytest.raises(UserError, match=words):
        check_sweep(SETTINGS, sweep)


def test_the_command_draws_and_names_the_file(tmp_path, here, capfd):
    sweep = fake_run.write_sweep(tmp_path / "sweep", **FEW)
    options = ["figure=paper_column", "figure.formats=[png]", "figure.dpi=50", "figure.tests=[mcnemar]"]
    assert main(["collect", "sweep", "x=seed", *options]) == 0
    assert "sweep/figures/figure_seed.png" in capfd.readouterr().out
    assert (sweep / "figures" / "figure_seed.png").stat().st_size > 900
    assert "against seed" in (sweep / "figures" / "captions.md").read_text(encoding="utf-8")
