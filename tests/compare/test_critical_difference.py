import itertools

import numpy as np
import pandas as pd
import pytest
from demsar import DEMSAR
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from scipy.stats import norm
from statsmodels.stats.multitest import multipletests

from harness.compare.figure_algorithms import critical_difference_figure
from harness.compare.rank_tables import friedman_table, rank_tables
from harness.drawing.style import Look, figure_style

NAMES = ["C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"]
TABLE = pd.DataFrame(DEMSAR, columns=NAMES)
LOOK = Look(formats=["pdf"])


def ranks_of(places, critical):
    """A table of ranks as the figure reads it."""
    return pd.DataFrame(
        {
            "algorithm": [f"algorithm {i}" for i in range(len(places))], "average_rank": places,
            "n_datasets": 10, "n_algorithms": len(places), "alpha": 0.05, "critical_difference": critical,
            "friedman_pvalue": 0.01,
        }
    )  # fmt: skip


def parts(axes, gid):
    return [line for line in axes.lines if line.get_gid() == gid]


def test_demsars_example():
    tables = rank_tables(TABLE)
    assert tables.ranks["algorithm"].tolist() == ["C4.5+m+cf", "C4.5+m", "C4.5+cf", "C4.5"]
    assert tables.ranks["average_rank"].tolist() == pytest.approx([1.964, 2.0, 2.893, 3.143], abs=5e-4)
    assert tables.ranks["critical_difference"].unique() == pytest.approx([1.25], abs=5e-3)
    assert tables.ranks["friedman_pvalue"].unique() == pytest.approx([0.0198], abs=5e-5)
    shown = friedman_table(tables.friedman)["statistic"]
    assert shown.tolist() == pytest.approx([9.28, 10.23, 3.69], abs=5e-3)
    assert len(tables.pairs) == 6
    assert not tables.pairs["differs"].any()
    _, caption = critical_difference_figure(tables.ranks)
    for words in ("4 algorithms", "14 data sets", "alpha = 0.05", "1.254", "p = 0.0198"):
        assert words in caption
    assert "no pair should be read" not in caption


def test_pairs_with_a_baseline_are_demsars():
    # section 3.2.2, from rounded ranks: z = (R_C4.5 - R_i) / .488 = 2.416, 2.342, .512; p .016, .019, .607
    pairs = rank_tables(TABLE, baseline="C4.5").pairs.set_index("algorithm_a")
    order = ["C4.5+m+cf", "C4.5+m", "C4.5+cf"]
    assert (-pairs.loc[order, "z"]).tolist() == pytest.approx([2.416, 2.342, 0.512], abs=2e-3)
    assert pairs.loc[order, "pvalue"].tolist() == pytest.approx([0.016, 0.019, 0.607], abs=2e-3)
    assert pairs.loc[order, "pvalue_holm"].tolist() == pytest.approx(
        multipletests(pairs.loc[order, "pvalue"], method="holm")[1]
    )
    # "the Holm procedure rejects the first and then the second hypothesis"
    assert pairs.loc[order, "differs"].tolist() == [True, True, False]
    assert (pairs["algorithm_b"] == "C4.5").all()
    assert pairs["pvalue"].to_numpy() == pytest.approx(2 * norm.sf(np.abs(pairs["z"])))


def test_ties_everywhere():
    still = pd.DataFrame(np.ones((5, 3)), columns=list("abc"))
    right, legacy = rank_tables(still), rank_tables(still, degenerate="reject")
    assert (right.pairs[["pvalue", "pvalue_holm", "pvalue_nemenyi"]] == 1).all(axis=None)
    assert (legacy.pairs[["pvalue", "pvalue_holm", "pvalue_nemenyi"]] == 0).all(axis=None)
    assert not right.pairs["differs"].any()
    _, caption = critical_difference_figure(right.ranks)
    assert "All 3 algorithms share one rank" in caption
    assert "no pair should be read as different" in caption


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(0, 60), min_size=2, max_size=12), st.floats(0.05, 6))
def test_bars_join_exactly_the_pairs_that_do_not_differ(steps, critical):
    k = len(steps)
    places = [1 + step / 60 * (k - 1) for step in steps]
    with figure_style(LOOK):
        figure, _ = critical_difference_figure(ranks_of(places, critical))
    axes = figure.axes[0]
    dots = sorted(float(dot.get_xdata()[0]) for dot in parts(axes, "rank"))
    bars = [sorted(map(float, bar.get_xdata())) for bar in parts(axes, "bar")]
    for i, j in itertools.combinations(range(k), 2):
        gap = sorted(places)[j] - sorted(places)[i]
        joined = any(low <= dots[i] and dots[j] <= high for low, high in bars)
        assert joined == (gap < critical), (gap, critical)
    rows = {}
    for bar, (low, high) in zip(parts(axes, "bar"), bars, strict=True):
        rows.setdefault(float(bar.get_ydata()[0]), []).append((low, high))
    for row in rows.values():
        assert all(one[1] < other[0] for one, other in itertools.pairwise(sorted(row)))


@pytest.mark.parametrize("n_algorithms", [2, 4, 12])
def test_names_stay_on_the_page_and_apart(n_algorithms, tmp_path):
    generator = np.random.default_rng(0)
    scores = generator.normal(size=(10, n_algorithms))
    scores[:, -1] = scores[:, 0]
    long = "a name that is far too long to stand beside a line, with C = 1 and gamma = 0.1, number"
    names = [f"{long} {i}" if i % 2 else f"m{i}" for i in range(n_algorithms)]
    with figure_style(LOOK):
        figure, _ = critical_difference_figure(rank_tables(pd.DataFrame(scores, columns=names)).ranks)
        renderer = FigureCanvasAgg(figure).get_renderer()
        boxes = [text.get_window_extent(renderer) for text in figure.axes[0].texts]
    page = figure.bbox
    assert all(page.x0 <= box.x0 and box.x1 <= page.x1 for box in boxes)
    for one, other in itertools.combinations(boxes, 2):
        wide = min(one.x1, other.x1) - max(one.x0, other.x0)
        high = min(one.y1, other.y1) - max(one.y0, other.y0)
        assert wide <= 0.5 or high <= 0.5
