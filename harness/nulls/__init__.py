"""The papers' rules for "H0 is true on the population", as labelled reconstructions.

The rule of Keller, Bengio & Wong (2005) stands in an appendix that could not be found. **None of the
rules below is "the" reproduction.** Each is a function

``rule(counts, difference, *, ...) -> bool array (n_categories,)``

that says for every category of a population whether it counts as one where H0 holds. Of `draws`,
`n_documents`, `alpha`, `measure` and `costs` a rule takes by keyword what it looks at, and nothing else:
its signature tells what its answer depends on. A rule is applied per measure and its costs: that two
classifiers have the same F1 says nothing of their errors.

Only under :func:`exact_zero` is the share of rejections a size in the strict sense; under every other
rule categories with a difference pass as H0, and a perfect test then rejects more often than alpha.

Beside the rules, which judge the real population, stand functions that make one in which H0 holds exactly
(:func:`exact_null`, :func:`joint_null_of`) and the alternatives that lie between the two (:func:`path`,
:func:`alternative`); they are written in the files named ``nulls_...``.

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

from harness.nulls.joint import joint_null as joint_null
from harness.nulls.joint import joint_null_of as joint_null_of
from harness.nulls.path import NoAlternative as NoAlternative
from harness.nulls.path import alternative as alternative
from harness.nulls.path import distance as distance
from harness.nulls.path import path as path
from harness.nulls.path import reach as reach
from harness.nulls.patterns import project_patterns as project_patterns
from harness.nulls.projection import NoProjection as NoProjection
from harness.nulls.projection import divergence as divergence
from harness.nulls.projection import exact_null as exact_null
from harness.nulls.projection import project as project

Cells = NDArray[Any]
Difference = Callable[[Cells], NDArray[np.float64]]
Truth = NDArray[np.bool_]

_ROUNDING = 1e-14  # some ten times what a difference of two scores in [0, 1] loses to rounding


def exact_zero(
    counts: ArrayLike,
    difference: Difference,
    *,
    measure: str,
) -> Truth:
    """R0: H0 holds where the population's difference is exactly 0.

    For whole counts F1 and the error are compared as whole numbers (T_A D_B = T_B D_A; n01 = n10), so
    no rounding can decide. For shares, and for other measures, "0" is ``|d| <= 1e-14``, the rounding
    of the difference itself. The strictest rule: few categories of a real pair satisfy it, and most of
    those that do have hardly a discordant document (they are "dead").

    Parameters and Raises: see the module.

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


def margin(
    counts: ArrayLike,
    difference: Difference,
    *,
    margin: float = 0.005,
) -> Truth:
    """R1: H0 holds where the population's difference is at most `margin` in absolute value.

    What passes as H0 does not depend on N, so at large N a good test is "optimistic" here.

    Parameters
    ----------
    margin : float
        In units of the measure, >= 0.
    counts, difference
        See the module.

    Raises
    ------
    ValueError
        If `margin` is negative or not finite, or as the module's arguments are refused.

    Examples
    --------
    >>> cells = np.array([[0, 0, 0, 0, 0, 3, 5, 992], [0, 0, 0, 0, 0, 3, 9, 988]])
    >>> error = lambda c: (c[..., 6] - c[..., 5]) / c.sum(axis=-1)
    >>> margin(cells, error)
    array([ True, False])
    """
    if not (np.isfinite(margin) and margin >= 0):
        raise ValueError(f"margin: {margin!r} is not allowed; a finite number >= 0 is")
    return np.abs(_differences(difference, _population(counts))) <= margin


def half_document(
    counts: ArrayLike,
    difference: Difference,
    *,
    n_documents: int,
) -> Truth:
    """R2: H0 holds where |d| < 1/(2N), less than half a document of an evaluation set.

    Natural for the error, whose steps are 1/N; for F1 it is the same number with less meaning.

    Parameters and Raises: see the module.

    Examples
    --------
    >>> cells = np.array([[0, 0, 0, 0, 0, 3, 5, 992]])
    >>> error = lambda c: (c[..., 6] - c[..., 5]) / c.sum(axis=-1)
    >>> [half_document(cells, error, n_documents=n).item() for n in (200, 300)]
    [True, False]
    """
    if n_documents < 1:
        raise ValueError(f"n_documents: {n_documents} is not allowed; whole numbers >= 1 are")
    return np.abs(_differences(difference, _population(counts))) < 1 / (2 * n_documents)


def sampling_interval(
    counts: ArrayLike,
    difference: Difference,
    *,
    draws: NDArray[np.int64],
    alpha: float,
) -> Truth:
    """R3: H0 holds where 0 lies within the central 1 - alpha of the differences on sets of size N.

    With d_N the difference on an evaluation set: min(P(d_N <= 0), P(d_N >= 0)) > alpha/2.

    Under this rule alpha_true **is not a size**: every category within about two standard errors of 0
    passes as H0, so that a calibrated z test averages .052, .060, .089, .204 over categories whose
    differences spread evenly to .25, .5, 1, 1.96 standard errors: a perfect test looks optimistic. What
    is left for the alternatives lies beyond, so power has a floor near one half.

    Parameters and Raises: see the module. A few times 2/alpha draws are needed at least.

    Examples
    --------
    >>> cells = np.array([[0, 0, 0, 0, 0, 3, 5, 92]])
    >>> draws = np.random.default_rng(0).multinomial(100, cells[0] / 100, size=(1, 1000))
    >>> error = lambda c: (c[..., 6] - c[..., 5]) / c.sum(axis=-1)
    >>> sampling_interval(cells, error, draws=draws, alpha=0.05)
    array([ True])
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha: {alpha!r} is not allowed; a number between 0 and 1 is")
    cells = _population(counts)
    sampled = _differences(difference, _draws(draws, cells))
    smaller = np.minimum((sampled <= 0).mean(axis=-1), (sampled >= 0).mean(axis=-1))
    return smaller > alpha / 2


def scaled_sd(
    counts: ArrayLike,
    difference: Difference,
    *,
    draws: NDArray[np.int64],
    c: float = 0.5,
) -> Truth:
    """R3c: H0 holds where |d| <= c sd(d_N), d_N the difference on sets of size N.

    The default .5 bounds the inflation that :func:`sampling_interval` describes: a calibrated z test
    at 5 % averages .060 over differences spread evenly to half a standard error; at .5 itself it gives .079.

    Parameters
    ----------
    c : float
        In standard deviations, >= 0.
    counts, difference, draws
        See the module; at least 2 draws for each category.

    Raises
    ------
    ValueError
        If `c` is negative or not finite, or as the module's arguments are refused.

    Examples
    --------
    >>> cells = np.array([[0, 0, 0, 0, 0, 4, 5, 91]])
    >>> draws = np.random.default_rng(0).multinomial(100, cells[0] / 100, size=(1, 1000))
    >>> error = lambda c: (c[..., 6] - c[..., 5]) / c.sum(axis=-1)
    >>> scaled_sd(cells, error, draws=draws)
    array([ True])
    """
    if not (np.isfinite(c) and c >= 0):
        raise ValueError(f"c: {c!r} is not allowed; a finite number >= 0 is")
    cells = _population(counts)
    sampled = _differences(difference, _draws(draws, cells))
    if sampled.shape[-1] < 2:
        raise ValueError("draws: 1 draw for each category is not allowed; a standard deviation needs 2")
    return np.abs(_differences(difference, cells)) <= c * sampled.std(axis=-1, ddof=1)


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

    Depends on the size of the population: with more documents fewer categories pass.

    Parameters
    ----------
    tests : mapping from a measure's name to a callable
        From int cells (n_categories, 8) to a result with attribute `pvalue`. It is given those of the
        measure's costs that it has parameters for, in place of any that it was made with.
    level : float
        In (0, 1); H0 holds where ``pvalue > level``.
    counts, difference, measure, costs
        See the module. Fractional counts (a reweighted population times its number of documents) are
        rounded to whole documents first; shares that sum to 1 are refused.

    Raises
    ------
    ValueError
        If `tests` has none for `measure`, `level` lies outside (0, 1), `counts` are shares, or the
        test returns a p-value that is missing or of another shape.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> sign = lambda c: SimpleNamespace(pvalue=np.where(c[..., 5] == c[..., 6], 1.0, 0.01))
    >>> cells = np.array([[0, 0, 0, 0, 0, 5, 5, 90]])
    >>> population_test(cells, None, measure="error", tests={"error": sign})
    array([ True])
    """
    if measure not in tests:
        raise ValueError(
            f"tests: none for measure {measure!r}; there is one for {', '.join(sorted(tests)) or 'none'}"
        )
    if not 0 < level < 1:
        raise ValueError(f"level: {level!r} is not allowed; a number between 0 and 1 is")
    cells = _population(counts)
    if cells.dtype.kind == "f":
        if (cells.sum(axis=-1) < 1.5).any():
            raise ValueError("counts: shares are not allowed here; multiply them by the number of documents")
        cells = np.rint(cells).astype(np.int64)
    pvalue = np.asarray(_at_costs(tests[measure], costs or {})(cells).pvalue, dtype=float)
    if pvalue.shape != cells.shape[:-1] or np.isnan(pvalue).any():
        raise ValueError(
            f"tests: the one for {measure!r} gave p-values of shape {pvalue.shape} or NaN; "
            "one p-value for each category is needed"
        )
    return pvalue > level


def _at_costs(test: Callable[..., Any], costs: Mapping[str, float]) -> Callable[..., Any]:
    """Return the test of the measure at `costs`, which it takes by name or, as some do, all in `costs`."""
    known = inspect.signature(test).parameters
    if costs and "costs" in known:
        return partial(test, costs=costs)
    return partial(test, **{name: value for name, value in costs.items() if name in known})


def _population(counts: ArrayLike) -> Cells:
    """Return the population's cells after checking what every rule is given."""
    cells = np.asarray(counts)
    if cells.ndim != 2 or cells.shape[-1] != 8 or cells.dtype.kind not in "iuf":
        raise ValueError(
            f"counts: {cells.dtype} of shape {cells.shape} is not allowed; numbers (n_categories, 8) are"
        )
    if not (np.isfinite(cells).all() and (cells >= 0).all() and (cells.sum(axis=-1) > 0).all()):
        raise ValueError("counts: finite cells >= 0 with at least one above 0 in each category are allowed")
    return cells


def _draws(draws: NDArray[np.int64], cells: Cells) -> Cells:
    """Return the draws after checking that they fit the population and are of one size."""
    draws = np.asarray(draws)
    if draws.ndim != 3 or draws.shape[::2] != cells.shape or draws.shape[1] == 0:
        raise ValueError(f"draws: shape {draws.shape} is not allowed; ({cells.shape[0]}, n_draws >= 1, 8) is")
    n_documents = draws.sum(axis=-1)
    if n_documents.min(initial=1) < 1 or (n_documents != n_documents.flat[0]).any():
        raise ValueError(
            "draws: sets of different numbers of documents, or of none; one number >= 1 is allowed"
        )
    return draws


def _differences(difference: Difference, cells: Cells) -> NDArray[np.float64]:
    """Return the measure's differences, refusing NaN: a comparison with it would silently be False."""
    values = np.asarray(difference(cells), dtype=float)
    if values.shape != cells.shape[:-1] or np.isnan(values).any():
        raise ValueError(
            f"difference: it gave shape {values.shape} or NaN for cells of shape {cells.shape}; "
            f"numbers of shape {cells.shape[:-1]} are needed"
        )
    return values
