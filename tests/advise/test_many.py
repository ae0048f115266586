"""Many systems: every pair by one test, Holm's p, ranks with simultaneous confidence sets, a baseline."""

import itertools
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from advise_files import QUICK, SETTINGS, read, written
from scipy.stats import binom, norm
from sklearn.metrics import f1_score
from statsmodels.stats.multitest import multipletests

from harness.advise import many
from harness.advise.files import read_outcomes
from harness.advise.many import adjust, compare_all, find_better
from harness.advise.points import Question
from harness.cli import main
from harness.cli.configuration import named_tests
from harness.seeding import rng
from harness.writing.prose import paragraphs

NAMES = list("abcdef")
ROOT = Path(__file__).resolve().parents[2]
TESTS = "test=[likelihood_ratio_f1_bartlett,wald_f1,mcnemar_midp]"


def draw(n=120, seed=0):
    """Six systems, the last two of which say the same."""
    generator = np.random.default_rng(seed)
    y = generator.random(n) < 0.4
    hard = generator.normal(size=n)
    said = {x: y ^ (hard + generator.normal(size=n) > 1.5 - 0.2 * i) for i, x in enumerate(NAMES)}
    return pd.DataFrame({"y_true": y, **said, "f": said["e"]}).astype(int)


def long(frame):
    """The same items as three categories of a third of them."""
    names = frame.columns
    return pd.DataFrame({"id": np.arange(len(frame)) // 3, "category": list("xyz") * (len(frame) // 3)}).join(
        frame[names]
    )


def ask(path, **given):
    outcomes, measure = read_outcomes(path, SETTINGS | given)
    known = {key: given[key] for key in ("average", "baseline") if key in given}
    tests = [test for test in named_tests(None) if test.measure == measure]
    return compare_all(outcomes, Question(path.name, measure, tests, **known))


FORMS = {
    "f1": (draw(), {}),
    "error": (draw().drop(columns="y_true"), {"measure": "error"}),
    "balanced error": (draw(), {"measure": "balanced_error"}),
    "clusters": (draw().assign(passage=np.arange(120) // 4), {"measure": "f1", "cluster": "passage"}),
    "micro": (long(draw()), {}),
    "macro": (long(draw()), {"average": "macro", "measure": "f1"}),
    "dcf": (long(draw()), {"average": "macro", "measure": "dcf"}),
    "score": (draw()[NAMES] * 1.5, {"measure": "score"}),
    "scores of clusters": (
        draw()[NAMES].assign(topic=np.arange(120) // 3), {"measure": "score", "cluster": "topic"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_all_pairs_at_once_are_as_each_alone(tmp_path, form):
    frame, given = FORMS[form]
    path = written(tmp_path, frame)
    field, (_, pairs) = ask(path, **given), read(path, **given)
    names = {name: i for i, (*_, name) in enumerate(field.named())}
    assert len(pairs) == 14  # e and f are the same
    for pair in pairs:
        i = names[pair.name]
        if field.counts is None:
            own, d = pair.judge(field.test, rng(0)), pair.difference(pair.counts)
            assert field.error[i] * own.statistic.item() == pytest.approx(field.difference[i])
        else:
            (test,) = named_tests([field.test])
            own, d = test.pvalue(pair.counts), test.difference(pair.counts)
        assert [part[i] for part in field.result] == pytest.approx([part.item() for part in own])
        assert field.difference[i] == pytest.approx(float(d))
    alike = names["e-f"]
    assert (field.result.pvalue[alike], field.error[alike], field.difference[alike]) == (1, 0, 0)
    assert field.difference == pytest.approx(field.values[field.first] - field.values[field.second])
    if form == "f1":
        assert field.values == pytest.approx([f1_score(frame["y_true"], frame[name]) for name in NAMES])


def test_a_ratio_that_is_0_by_0_is_told_apart_from_none(tmp_path):
    frame = draw().assign(a=0, passage=np.arange(120) // 4)
    field = ask(written(tmp_path, frame), measure="precision", cluster="passage")
    assert (field.result.pvalue[field.first == 0] == 1).all()
    ranks = field.ranks().set_index("system")
    assert ranks.loc["a", ["rank_low", "rank_high"]].tolist() == [1, 6]


def test_holm_counts_pairs_without_a_test():
    p = np.random.default_rng(0).random(9) ** 4
    table = adjust(pd.DataFrame({"pvalue": p}), np.arange(9) > 1, 12)
    expected = multipletests([*p[2:], *np.ones(5)], method="holm")[1][:7]
    assert table["pvalue_holm"][2:].to_numpy() == pytest.approx(expected)
    assert table["pvalue_holm"][:2].isna().all()


def test_the_plan_does_not_depend_on_what_was_observed(tmp_path):
    """Of all pairs or a baseline's, each is tested alike; those that stand for others go by their errors."""
    path = written(tmp_path, draw())
    field, other = ask(path), ask(path, baseline="b")
    assert [name for *_, name in other.named()] == ["a-b", "c-b", "d-b", "e-b", "f-b"]
    assert other.asked.sum() == 5
    assert (
        other.difference[other.asked][1]
        == -field.difference[[name for *_, name in field.named()].index("b-c")]
    )
    named = [name for *_, name in field.named()]
    errors = np.sort(field.error[field.error > 0])
    chosen = [field.error[named.index(name)] for *_, name in field.representatives()]
    assert chosen == [errors[0], errors[len(errors) // 2], errors[-1]]
    few = ask(written(tmp_path, draw()[["y_true", "a", "b", "c", "d"]], "few.csv"))
    assert few.representatives() == few.named()
    same = pd.DataFrame({"y_true": [0, 1] * 9, **dict.fromkeys(NAMES, [0, 1, 1] * 6)})
    assert ask(written(tmp_path, same, "same.csv")).representatives() == [("a", "b", "a-b")]


def plain_steps(z, covariance, alpha, generator):
    """Romano and Wolf's steps over ordered pairs, by loops."""
    draws = generator.multivariate_normal(np.zeros(len(z)), covariance, 40_000)
    left = list(itertools.permutations(range(len(z)), 2))
    sd = {(i, j): np.sqrt(covariance[i, i] + covariance[j, j] - 2 * covariance[i, j]) for i, j in left}
    while True:
        largest = np.max([(draws[:, i] - draws[:, j]) / sd[i, j] for i, j in left], axis=0)
        limit = np.quantile(largest, 1 - alpha)
        kept = [pair for pair in left if z[pair] <= limit]
        if len(kept) == len(left):
            return limit, set(itertools.permutations(range(len(z)), 2)) - set(left)
        left = kept


def matrices(means, covariance, generator):
    found = generator.multivariate_normal(means, covariance)
    own = covariance.diagonal()
    variance = own[:, None] + own - 2 * covariance
    np.fill_diagonal(variance, 0.0)
    return (found[:, None] - found) / np.sqrt(np.where(variance > 0, variance, 1.0)), variance


def test_systems_told_apart_are_those_of_plain_loops_and_ranks_of_all_orders():
    generator, n_rejected = np.random.default_rng(0), 0
    for _ in range(12):
        root = generator.normal(size=(4, 4))
        covariance = root @ root.T
        z, variance = matrices(generator.normal(0, 6, 4), covariance, generator)
        limit, expected = plain_steps(z, covariance, 0.1, generator)
        better = find_better(z, variance, 0.1, np.random.default_rng(1))
        close = [tuple(pair) for pair in np.argwhere(np.abs(z - limit) < 0.08)]
        assert {tuple(pair) for pair in np.argwhere(better)} ^ expected <= set(close)
        n_rejected += better.sum()
        orders = [
            order for order in itertools.permutations(range(4))
            if all(order.index(i) < order.index(j) for i, j in np.argwhere(better))
        ]  # fmt: skip
        for system in range(4):
            ranks = [1 + order.index(system) for order in orders]
            assert (min(ranks), max(ranks)) == (1 + better[:, system].sum(), 4 - better[system].sum())
    assert n_rejected > 20


@pytest.mark.parametrize("means", [[0, 0, 0, 0], [0, 0, 0, 9]], ids=["joint", "partial"])
def test_true_ranks_are_covered_at_the_level(means, monkeypatch):
    """Where all systems are equal exactly alpha of the sets go wrong; with some apart, at most so many."""
    monkeypatch.setattr(many, "N_DRAWS", 4_000)
    root = np.random.default_rng(3).normal(size=(4, 4))
    covariance, n = root @ root.T / 8 + 0.2 * np.eye(4), 1_500
    wrong = 0
    for seed in range(n):
        generator = np.random.default_rng(seed)
        better = find_better(*matrices(means, covariance, generator), 0.05, generator)
        wrong += better[np.equal.outer(means, means)].any()
    low, high = binom.ppf([5e-7, 1 - 5e-7], n, 0.05)
    assert wrong <= high
    assert wrong >= low or means[3]


def test_steps_reject_more_than_one(tmp_path):
    """Once the far system is apart, the limit of the others falls."""
    z = np.array([[0, 2.3, 50.0], [-2.3, 0, 50], [-50, -50, 0]])
    variance = 1.0 - np.eye(3)
    first = many._largest(
        np.random.default_rng(0).normal(size=(50_000, 3)) / np.sqrt(2), *np.triu_indices(3, 1), np.ones(3),
        np.zeros((3, 3), dtype=bool), 0.05,
    )  # fmt: skip
    assert first == pytest.approx(3.314 / np.sqrt(2), abs=0.03)  # the studentized range of three
    assert norm.isf(0.025) < first
    found = find_better(z, variance, 0.05, np.random.default_rng(0))
    assert found.tolist() == [[False, bool(2.3 > first - 0.2), True], [False, False, True], [False] * 3]


@pytest.mark.parametrize("more", [[], ["baseline=model_4"]], ids=["all", "baseline"])
def test_the_page_on_many_systems_shows_what_is_printed(tmp_path, capsys, monkeypatch, request, more):
    if more:  # drawn alike
        request.getfixturevalue("undrawn")
    page = (ROOT / "docs" / "advice.md").read_text(encoding="utf-8").partition("## Many systems")[2]
    script, command, shown = re.findall(r"```(?:python|bash|text)\n(.*?)```", page, re.DOTALL)[:3]
    monkeypatch.chdir(tmp_path)
    exec(script, {})  # noqa: S102  # the page's own
    out, looks = tmp_path / "out", ["figure=draft", "figure.dpi=40"]
    assert main([*shlex.split(command)[1:], f"out={out}", *QUICK, *looks, *more, TESTS]) == 0
    told = capsys.readouterr().out.partition("\n\n")[2].split("\n\nSummary")[0].splitlines()
    findings = [line for line in told if not line.startswith("Note: ")]
    assert more or findings[:3] == shown.splitlines()
    assert len(findings) <= 10
    assert all(len(line.split()) <= 25 for line in findings)
    ranks, verdicts = (pd.read_csv(out / f"{name}.csv") for name in ("ranks", "verdicts"))
    assert list(ranks.columns) == ["system", "value", "rank", "rank_low", "rank_high"]
    assert (ranks["rank_low"] <= ranks["rank"]).all()
    assert (ranks["rank"] <= ranks["rank_high"]).all()
    one = verdicts[verdicts["pvalue_holm"].notna()]
    assert set(one["test"]) == {"mcnemar_midp"}
    n_pairs = 7 if more else 28
    assert len(one) == n_pairs
    assert one["pvalue_holm"].to_numpy() == pytest.approx(multipletests(one["pvalue"], method="holm")[1])
    n_told = (one["pvalue_holm"] <= 0.05).sum()
    shown = f"of {n_pairs} systems are better" if more else f"{n_told} of {n_pairs} pairs are told apart"
    assert shown in findings[1]
    assert (one["low"] <= one["difference"] + 1e-12).all()
    for name in () if more else ("ranks", "differences", "sizes", "power"):
        assert (out / "figures" / f"figure_advice_{name}.png").stat().st_size > 1_000


@pytest.mark.parametrize(("low", "warned"), [(0.061, True), (0.059, False)])
def test_that_the_test_of_every_pair_rejects_too_often_is_said_first(low, warned):
    row = {"pair": "a-b", "standing": "nearest", "verdict": "undecided", "size": 0.07, "high": 0.08}
    known = {"first": ["a"], "n_systems": 5, "width": 1, "told": np.ones(10), "n_better": 0, "n_items": 100}
    question = {"test": "wald_f1", "measure": "f1", "alpha": 0.05, "baseline": None, "unit": "items"}
    lines = paragraphs(
        "advise", "many_findings", best={"system": "a", "value": 0.9}, wanted=0.01, others={}, seen=[],
        needed=[], sizes=[row | {"low": low, "mc_low": low}], **known, **question,
    )  # fmt: skip
    assert lines[0].startswith("wald_f1 does not keep the 0.05 level") == warned
    assert lines[warned].startswith("a is best")
