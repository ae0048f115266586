"""What every test on joint-outcome counts does, whatever its null hypothesis."""

from functools import partial
from itertools import product

import numpy as np
import pytest
from count_cases import ALPHAS, COUNTS, INTERVALS, SWAP, evaluation_sets, few, generator
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.measures import difference
from harness.significance import bayes, bootstrap, bootstrap_intervals
from harness.significance.bayes import dirichlet
from harness.significance.dcf import VARIANCES, dcf
from harness.significance.likelihood_ratio import likelihood_ratio, score
from harness.significance.proportion import proportion, snedecor_cochran
from harness.significance.randomization import randomization
from harness.significance.wald import unpaired, wald

PERCENTILE = bootstrap, bootstrap.bootstrap_percentile
INTERVAL = bootstrap_intervals, bootstrap_intervals.bootstrap_intervals
RANDOM = [
    (*PERCENTILE, {"measure": "f1", "interval": "equal_tailed", "stratified": False}),
    (*PERCENTILE, {"measure": "f1", "interval": "symmetric", "stratified": True}),
    (*PERCENTILE, {"measure": "error", "interval": "symmetric", "stratified": False}),
    (*PERCENTILE, {"measure": "error", "interval": "equal_tailed", "stratified": True}),
    (*INTERVAL, {"measure": "f1", "interval": "basic", "stratified": False}),
    (*INTERVAL, {"measure": "f1", "interval": "studentized", "stratified": True}),
    (*INTERVAL, {"measure": "f1", "interval": "bca", "stratified": False}),
    (*INTERVAL, {"measure": "error", "interval": "basic", "stratified": True}),
    (*INTERVAL, {"measure": "error", "interval": "studentized", "stratified": False}),
    (*INTERVAL, {"measure": "error", "interval": "bca", "stratified": True}),
    (bayes, dirichlet, {"measure": "f1", "prior": 0.5}),
    (bayes, dirichlet, {"measure": "precision", "prior": 0}),
    (bayes, dirichlet, {"measure": "dcf", "prior": 0.5}),
]
"""Tests with replicates: the module, which holds `reject` too, the function of p-values, options."""


@pytest.mark.parametrize(("module", "test", "options"), RANDOM)
@settings(max_examples=10)
@given(sets=st.lists(few, min_size=2, max_size=5), cut=st.integers(1, 4))
def test_replicates_of_a_set_depend_on_its_place_alone(module, test, options, sets, cut):
    options, sets = options | {"n_replicates": 400}, np.array(sets)
    result = test(sets, rng=generator(1), **options)
    swapped = test(sets[:, SWAP], rng=generator(2), **options)
    assert ((result.pvalue >= 0) & (result.pvalue <= 1)).all()
    assert (result.pvalue[result.degenerate] == 1).all()
    assert result.degenerate[sets[:, [1, 2, 5, 6]].sum(axis=1) == 0].all()
    assert (result.degenerate == swapped.degenerate).all()
    assert (result.degenerate == module.degenerate_sets(sets, options["measure"])).all()
    assert (result.statistic == -swapped.statistic).all()
    assert (result.statistic == difference(options["measure"])(sets)).all()
    verdicts = module.reject(sets, alphas=ALPHAS, rng=generator(1), **options)
    rng, quick_rng = generator(1), generator(1)
    for start in range(0, len(sets), cut):
        part = slice(start, start + cut)
        assert (test(sets[part], rng=rng, **options).pvalue == result.pvalue[part]).all()
        quick = module.reject(sets[part], alphas=ALPHAS, rng=quick_rng, **options)
        assert (quick == verdicts[part]).all()
    assert rng.random() == quick_rng.random()


MEASURES = "f1", "precision", "error", "dcf"
QUICK = [
    (*PERCENTILE, {"measure": measure, "interval": interval, "stratified": stratified})
    for measure, interval, stratified in product(("f1", "error"), INTERVALS, (False, True))
]
QUICK += [(bayes, dirichlet, {"measure": m, "prior": p}) for m in MEASURES for p in (0, 0.5)]


@pytest.mark.parametrize(("module", "test", "options"), QUICK)
def test_quick_verdicts_are_those_of_the_pvalues(module, test, options):
    """Drawn from a share that is known they differ as two full runs do, elsewhere hardly ever."""
    counts = evaluation_sets(12, seed=21)
    quick = module.reject(counts, alphas=ALPHAS, rng=generator(5), **options)
    one, other = (test(counts, n_replicates=5000, rng=generator(seed), **options) for seed in (5, 6))
    full, again = (result.pvalue[:, None] <= ALPHAS for result in (one, other))
    assert (quick != full).sum() <= (again != full).sum() + 12
    far = np.abs(np.log(np.maximum(one.pvalue[:, None], 1e-4) / ALPHAS)) > 1
    assert far.sum() > 200
    assert (quick == full)[far].all()


@pytest.mark.parametrize("stratified", [False, True])
@pytest.mark.parametrize("interval", INTERVALS)
def test_verdicts_of_the_error_in_the_limit_are_those_of_the_pvalues(interval, stratified):
    options = {"interval": interval, "n_replicates": None, "stratified": stratified}
    counts = evaluation_sets(60, seed=23)
    exact = bootstrap.bootstrap_percentile(counts, "error", **options).pvalue[:, None]
    assert (bootstrap.reject(counts, "error", ALPHAS, **options) == (exact <= ALPHAS)).all()


SAME = [9, 0, 0, 2, 3, 0, 0, 50]
NOTHING = [0, 0, 0, 0, 0, 0, 0, 7]
NO_TRUE_POSITIVE = [0, 0, 0, 4, 2, 5, 3, 50]
ALL_WRONG = [0, 0, 0, 60, 40, 0, 0, 0]
ALARMS = [20, 0, 0, 8, 10, 4, 8, 38]
ONE_SIDED = [0, 0, 1, 0, 0, 0, 0, 99]
ALARMS_OF_B = [0, 0, 3, 0, 0, 4, 0, 93]  # A finds the only positives, and the F1 of B stays 0
EQUAL_PRECISIONS = [3, 1, 2, 0, 0, 0, 0, 9], [0, 0, 2, 1, 0, 0, 3, 9]
NO_F1 = [SAME, NOTHING, NO_TRUE_POSITIVE]


DEGENERATE = [
    (partial(wald, measure="f1"), [*NO_F1, ONE_SIDED, ALARMS_OF_B], [], [COUNTS]),
    (partial(wald, measure="recall"), [SAME, NO_TRUE_POSITIVE], [], [COUNTS]),
    (partial(wald, measure="error"), [SAME], [], [NO_TRUE_POSITIVE]),
    (partial(unpaired, measure="f1"), [NOTHING, NO_TRUE_POSITIVE, ONE_SIDED], [SAME], [COUNTS]),
    (partial(unpaired, measure="error"), [NOTHING], [SAME], [NO_TRUE_POSITIVE, ONE_SIDED]),
    (partial(dcf, variance="paired"), [SAME, NOTHING, ONE_SIDED], [], [ALARMS]),
    (partial(dcf, variance="eq9"), [SAME, NOTHING], [], [ALARMS, ONE_SIDED]),
    (partial(dcf, variance="independent"), [NOTHING], [SAME], [ALARMS]),
    *((partial(dcf, prior=1, variance=v), [ALARMS], [], [COUNTS]) for v in VARIANCES[:2]),
    (partial(dcf, prior=1, variance="independent"), [], [ALARMS], [COUNTS]),
    *((partial(dcf, cost_fn=0, cost_fp=0, variance=v), [ALARMS, COUNTS], [], []) for v in VARIANCES),
    (proportion, [NOTHING, ALL_WRONG], [SAME], [COUNTS]),
    (snedecor_cochran, [NOTHING, ALL_WRONG, SAME], [], [COUNTS]),
    *(
        (partial(test, measure=measure), dead, [], [COUNTS])
        for test in (likelihood_ratio, score)
        for measure, dead in (
            ("f1", NO_F1),
            ("error", [SAME]),
            ("recall", NO_F1),
            ("precision", [*NO_F1, *EQUAL_PRECISIONS]),
        )
    ),
    *((partial(randomization, measure="f1", midp=m), NO_F1, [], [COUNTS]) for m in (False, True)),
]


@pytest.mark.parametrize(("test", "zero_over_zero", "equal", "live"), DEGENERATE)
def test_which_sets_are_degenerate(test, zero_over_zero, equal, live):
    """0/0 is a rejection by the legacy convention; no difference over a variance is none."""
    sets = np.array(zero_over_zero + equal)
    result = test(sets)
    assert result.degenerate.all()
    assert (result.pvalue == 1).all()
    assert (result.statistic == 0).all()
    assert test(sets, degenerate="reject").pvalue.tolist() == [0] * len(zero_over_zero) + [1] * len(equal)
    assert not live or not test(live).degenerate.any()


@pytest.mark.parametrize(("module", "test", "options"), RANDOM)
def test_degenerate_sets_of_tests_with_replicates(module, test, options):
    sets, options = np.array([SAME, NO_TRUE_POSITIVE, COUNTS]), options | {"n_replicates": 100}
    expected = [True, options["measure"] in ("f1", "precision"), False]
    result, legacy = test(sets, **options), test(sets, degenerate="reject", **options)
    assert result.degenerate.tolist() == legacy.degenerate.tolist() == expected
    assert (result.pvalue[expected] == 1).all()
    assert (legacy.pvalue[expected] == 0).all()
    assert not module.reject(sets, alphas=ALPHAS, **options)[expected].any()
    assert module.reject(sets, alphas=ALPHAS, degenerate="reject", **options)[expected].all()


BAD = [
    ({"measure": "accuracy"}, "measure: 'accuracy' is not allowed"),
    ({"n_replicates": 0}, "n_replicates: 0 is not allowed"),
    ({"n_replicates": 2.5}, "n_replicates: 2.5 is not allowed"),
    ({"n_replicates": True}, "n_replicates: True is not allowed"),
    ({"rng": 7}, "rng: 7 is not allowed"),
    ({"degenerate": "drop"}, "degenerate: 'drop' is not allowed"),
    ({"counts": [1] * 7}, "counts: shape"),
]
BAD_INTERVAL = [
    ({"interval": "median"}, "interval: 'median' is not allowed"),
    ({"counts": [0, 1, 0, 0, 0, 0, 0, 2**31]}, "counts: a set of 2147483649 documents is not allowed"),
]
BAD_POSTERIOR = [
    ({"prior": -0.5}, "prior: -0.5 is not allowed"),
    ({"prior": np.nan}, "prior: nan is not allowed"),
    ({"prior": True}, "prior: True is not allowed"),
    ({"costs": {"prior": 0.5}}, "prior: measure 'f1' takes no such option"),
    ({"costs": {"cost_fn": -1}, "measure": "dcf"}, "cost_fn: -1 is not allowed"),
]


@pytest.mark.parametrize(
    ("module", "test", "options", "message"),
    [
        *((*PERCENTILE, *bad) for bad in BAD + BAD_INTERVAL),
        *((*INTERVAL, *bad) for bad in BAD + BAD_INTERVAL),
        (*INTERVAL, {"n_replicates": None}, "n_replicates: None is not allowed"),
        *((bayes, dirichlet, *bad) for bad in BAD + BAD_POSTERIOR),
    ],
)
def test_bad_options_of_tests_with_replicates_are_refused_by_name(module, test, options, message):
    options = {"counts": COUNTS, "measure": "f1"} | options
    for call in (test, partial(module.reject, alphas=ALPHAS)):
        with pytest.raises(ValueError, match=message):
            call(**options)


@pytest.mark.parametrize("module", [bootstrap, bootstrap_intervals, bayes])
@pytest.mark.parametrize("alphas", [0, 1, [0.1, 1.5], [[0.1]], np.nan])
def test_bad_levels_are_refused_by_name(module, alphas):
    with pytest.raises(ValueError, match="alphas: .* is not allowed"):
        module.reject(COUNTS, "f1", alphas)
