"""The papers' rules for "H0 is true on the population", as labelled reconstructions.

The rule of Keller, Bengio & Wong (2005) is in an appendix that could not be found. **None of the
rules below is "the" reproduction.** Each is a function

``rule(counts, difference, *, ...) -> bool array (n_categories,)``

that says for every category of a population whether it counts as one where H0 holds. Of `draws`,
`n_documents`, `alpha`, `measure` and `costs` a rule has as keywords those that its answer depends on, and no
others. A rule is applied per measure and its costs: that two classifiers have the same F1 says nothing of
their errors.

Only under :func:`exact_zero` is the share of rejections a size in the strict sense; under every other
rule categories with a difference pass as H0, and a perfect test then rejects more often than alpha.

All rules raise ValueError where an argument is out of range or has another shape.

Common parameters
-----------------
counts : int or float array, shape (n_categories, 8)
    The population's cells e1..e8. Numbers of documents; shares (a reweighted population) where the
    rule does not say otherwise.
difference : callable
    The measure of A minus that of B, from cells (..., 8) to floats (...). It must not change when all
    cells are multiplied by one number.
draws : int array, shape (n_categories, n_draws, 8)
    Evaluation sets of the size in question drawn from each category's population, independent of the
    sets that the tests see.
n_documents : int
    Documents in an evaluation set.
alpha : float
    Level of the test whose size is asked for.
measure : str
    Name of the measure, as in the table of truths.
costs : mapping of str to float
    The measure's costs, empty where it has none.
"""

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.errors import check_share, require
from harness.measures import Bools, Floats, Ints, as_cells

Cells = NDArray[Any]
Difference = Callable[[Cells], Floats]
Truth = Bools

_ROUNDING = 1e-14  # some ten times what a difference of two scores in [0, 1] loses to rounding


def exact_zero(counts: ArrayLike, difference: Difference, *, measure: str) -> Truth:
    """R0: H0 holds where the population's difference is exactly 0.

    For whole counts F1 and the error are compared as whole numbers (T_A D_B = T_B D_A; n01 = n10), so
    no rounding can decide. For shares, and for other measures, "0" is ``|d| <= 1e-14``, the rounding
    of the difference itself. The strictest rule: few categories of a real pair satisfy it, and most of
    those that do have hardly a discordant document (they are "dead").

    Examples
    --------
    >>> cells = np.array([[3, 1, 1, 0, 0, 0, 0, 95], [3, 1, 0, 0, 0, 0, 0, 96]])
    >>> exact_zero(cells, None, measure="f1")
    array([ True, False])
    """
    cells = _population(counts)
    if cells.dtype.kind != "f" and measure in ("f1", "error"):
        # Python's own integers: T_A D_B of a population of 2**53 documents passes 64 bits
        e1, e2, e3, e4, e5, e6, e7, _ = cells.astype(object).T
        if measure == "error":
            return np.asarray(e2 + e7 == e3 + e6, dtype=bool)
        found_a, found_b, positives = e1 + e3, e1 + e2, e1 + e2 + e3 + e4
        d_a, d_b = positives + found_a + e5 + e7, positives + found_b + e5 + e6
        return np.asarray(found_a * d_b == found_b * d_a, dtype=bool)
    return np.abs(_differences(difference, cells)) <= _ROUNDING


def margin(counts: ArrayLike, difference: Difference, *, margin: float = 0.005) -> Truth:
    """R1: H0 holds where the population's difference is at most `margin` >= 0 in absolute value.

    What passes as H0 does not depend on N, so at large N a good test is "optimistic" here.

    Examples
    --------
    >>> cells = np.array([[0, 0, 0, 0, 0, 3, 5, 992], [0, 0, 0, 0, 0, 3, 9, 988]])
    >>> error = lambda c: (c[..., 6] - c[..., 5]) / c.sum(axis=-1)
    >>> margin(cells, error)
    array([ True, False])
    """
    require(0 <= margin < np.inf, f"margin: {margin!r} is not allowed; a finite number >= 0 is")
    return np.abs(_differences(difference, _population(counts))) <= margin


def half_document(counts: ArrayLike, difference: Difference, *, n_documents: int) -> Truth:
    """R2: H0 holds where |d| < 1/(2N), less than half a document of an evaluation set.

    Natural for the error, whose steps are 1/N; for F1 it is the same number with less meaning.

    Examples
    --------
    >>> cells = np.array([[0, 0, 0, 0, 0, 3, 5, 992]])
    >>> error = lambda c: (c[..., 6] - c[..., 5]) / c.sum(axis=-1)
    >>> [half_document(cells, error, n_documents=n).item() for n in (200, 300)]
    [True, False]
    """
    require(n_documents >= 1, f"n_documents: {n_documents} is not allowed; whole numbers >= 1 are")
    return np.abs(_differences(difference, _population(counts))) < 1 / (2 * n_documents)


def sampling_interval(counts: ArrayLike, difference: Difference, *, draws: Ints, alpha: float) -> Truth:
    """R3: H0 holds where 0 lies within the central 1 - alpha of the differences on sets of size N.

    With d_N the difference on an evaluation set: min(P(d_N <= 0), P(d_N >= 0)) > alpha/2. A few times 2/alpha
    draws are needed at least.

    Under this rule alpha_true **is not a size**: every category within about two standard errors of 0
    passes as H0, so that a calibrated z test averages .052, .060, .089, .204 over categories whose
    differences spread evenly to .25, .5, 1, 1.96 standard errors: a perfect test looks optimistic. What
    is left for the alternatives lies beyond, so power has a floor near one half.

    Examples
    --------
    >>> cells = np.array([[0, 0, 0, 0, 0, 3, 5, 92]])
    >>> draws = np.random.default_rng(0).multinomial(100, cells[0] / 100, size=(1, 1000))
    >>> error = lambda c: (c[..., 6] - c[..., 5]) / c.sum(axis=-1)
    >>> sampling_interval(cells, error, draws=draws, alpha=0.05)
    array([ True])
    """
    check_share("alpha", alpha)
    sampled = _differences(difference, _draws(draws, _population(counts)))
    smaller = np.minimum((sampled <= 0).mean(axis=-1), (sampled >= 0).mean(axis=-1))
    return np.asarray(smaller > alpha / 2)


def scaled_sd(counts: ArrayLike, difference: Difference, *, draws: Ints, c: float = 0.5) -> Truth:
    """R3c: H0 holds where |d| <= c sd(d_N), d_N the difference on sets of size N (2 draws at least).

    The default .5 bounds the inflation that :func:`sampling_interval` describes: a calibrated z test
    at 5 % averages .060 over differences spread evenly to half a standard error; at .5 itself it gives .079.

    Examples
    --------
    >>> cells = np.array([[0, 0, 0, 0, 0, 4, 5, 91]])
    >>> draws = np.random.default_rng(0).multinomial(100, cells[0] / 100, size=(1, 1000))
    >>> error = lambda c: (c[..., 6] - c[..., 5]) / c.sum(axis=-1)
    >>> scaled_sd(cells, error, draws=draws)
    array([ True])
    """
    require(0 <= c < np.inf, f"c: {c!r} is not allowed; a finite number >= 0 is")
    cells = _population(counts)
    sampled = _differences(difference, _draws(draws, cells))
    enough = sampled.shape[-1] >= 2
    require(enough, "draws: 1 draw for each category is not allowed; a standard deviation needs 2")
    return np.asarray(np.abs(_differences(difference, cells)) <= c * sampled.std(axis=-1, ddof=1))


def population_test(
    counts: ArrayLike,
    difference: Difference,
    *,
    measure: str,
    tests: Mapping[str, Callable[..., Any]],
    costs: Mapping[str, float] | None = None,
    level: float = 0.05,
) -> Truth:
    """R4: H0 holds where a test on all documents of the population does not reject at `level`.

    Depends on the size of the population: with more documents fewer categories pass. `tests` has for each
    measure a function from int cells (n_categories, 8) to a result with attribute `pvalue`; it is given those
    of the measure's costs that it has parameters for. Fractional counts (a reweighted population times its
    number of documents) are rounded to whole documents first; shares that sum to 1 are refused.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> sign = lambda c: SimpleNamespace(pvalue=np.where(c[..., 5] == c[..., 6], 1.0, 0.01))
    >>> cells = np.array([[0, 0, 0, 0, 0, 5, 5, 90]])
    >>> population_test(cells, None, measure="error", tests={"error": sign})
    array([ True])
    """
    there = ", ".join(sorted(tests)) or "none"
    require(measure in tests, f"tests: none for measure {measure!r}; there is one for {there}")
    check_share("level", level)
    cells = _population(counts)
    if cells.dtype.kind == "f":
        whole = (cells.sum(axis=-1) >= 1.5).all()
        require(whole, "counts: shares are not allowed here; multiply them by the number of documents")
        cells = np.rint(cells).astype(np.int64)
    pvalue = np.asarray(_at_costs(tests[measure], costs or {})(cells).pvalue, dtype=float)
    _check_shape(pvalue, cells, f"tests: the one for {measure!r}")
    return pvalue > level


def _at_costs(test: Callable[..., Any], costs: Mapping[str, float]) -> Callable[..., Any]:
    """Return the test of the measure at `costs`, which it takes by name or, as some do, all in `costs`."""
    known = inspect.signature(test).parameters
    if costs and "costs" in known:
        return partial(test, costs=costs)
    return partial(test, **{name: value for name, value in costs.items() if name in known})


def _population(counts: ArrayLike) -> Cells:
    """Return the population's cells after checking what every rule is given."""
    cells = as_cells(counts)
    flat = f"counts: shape {cells.shape} is not allowed; (n_categories, 8) is"
    require(cells.ndim == 2, flat)
    require((cells.sum(axis=-1) > 0).all(), "counts: at least one cell above 0 in each category is needed")
    return cells


def _draws(draws: Ints, cells: Cells) -> Cells:
    """Return the draws after checking that they fit the population and are of one size."""
    draws = np.asarray(draws)
    fits = draws.ndim == 3 and draws.shape[::2] == cells.shape and draws.shape[1] > 0
    needed = f"({cells.shape[0]}, n_draws >= 1, 8) is"
    require(fits, f"draws: shape {draws.shape} is not allowed; {needed}")
    n_documents = draws.sum(axis=-1)
    require(
        n_documents.min(initial=1) >= 1 and (n_documents == n_documents.flat[0]).all(),
        "draws: sets of different numbers of documents, or of none; one number >= 1 is allowed",
    )
    return draws


def _differences(difference: Difference, cells: Cells) -> Floats:
    """Return the measure's differences, refusing NaN: a comparison with it would silently be False."""
    values = np.asarray(difference(cells), dtype=float)
    _check_shape(values, cells, "difference: it")
    return values


def _check_shape(values: Floats, cells: Cells, what: str) -> None:
    require(
        values.shape == cells.shape[:-1] and not np.isnan(values).any(),
        f"{what} gave shape {values.shape} or NaN for cells of shape {cells.shape}; "
        f"numbers of shape {cells.shape[:-1]} are needed",
    )
