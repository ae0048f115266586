"""The bootstrap distribution of the error difference, exactly, from the discordant counts alone.

N times the error difference of a replicate is D* = n01* - n10*, and n01*, n10* are two cells of a
multinomial. Its distribution is therefore known in closed form (given the K ~ Bin(N, m/N) discordant
documents of a replicate, n01* ~ Bin(K, n01/m)), and so is that of anything counted over B replicates:
how many replicates fall on each value of D* is Multinomial(B, distribution of D*). One draw from it
gives p-values with exactly the distribution that B resamplings of the documents would give.
"""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.stats import norm

from harness.measures import Floats, Ints
from harness.significance.forecast import WELL_KNOWN, Forecast, error_factor, gamma_lower

LEAST_COUNT = 10
"""With so many discordant documents the four moments of D* tell its tails within the margin below."""

MARGIN, SLACK = (0.005, 0.5, 0.1), 1e-4
"""A tail from the moments may be wrong by a factor 1 + .005 + .5 / m^1.5 + .1 g^2, m the number of discordant
documents and g the skewness, and by the slack in addition."""

HALF_NORMAL = np.sqrt(2 / np.pi)
"""The mean of a standard normal variable above 0."""


def strata(cells: Ints, stratified: bool) -> Ints:
    """Return (n01, n10, n) of what is resampled as one: the set, or its positives and its negatives.

    Shape (..., 3), or (..., 6) with the positives first.

    Examples
    --------
    >>> strata(np.array([10, 1, 2, 3, 4, 5, 6, 69]), stratified=False)
    array([  7,   7, 100])
    >>> strata(np.array([10, 1, 2, 3, 4, 5, 6, 69]), stratified=True)
    array([ 1,  2, 16,  6,  5, 84])
    """
    _, e2, e3, _, _, e6, e7, _ = np.moveaxis(cells, -1, 0)
    if stratified:
        parts = [e2, e3, cells[..., :4].sum(axis=-1), e7, e6, cells[..., 4:].sum(axis=-1)]
    else:
        parts = [e2 + e7, e3 + e6, cells.sum(axis=-1)]
    return np.stack(parts, axis=-1)


@lru_cache(maxsize=1024)
def distribution(groups: tuple[int, ...]) -> tuple[Ints, Floats]:
    """Return the values that D* can take, ascending, and their probabilities, for a row of :func:`strata`.

    The characteristic function of D* is ``(1 + (n01 (e^it - 1) + n10 (e^-it - 1)) / N)^N``, multiplied
    over the strata; a discrete Fourier transform turns it into probabilities, good to about 1e-14. Values
    further than 9 standard deviations and 20 from the mean (less than 1e-16 in all) are left out.

    Examples
    --------
    >>> values, weights = distribution((1, 0, 2))
    >>> [(int(v), round(float(w), 6)) for v, w in zip(values, weights) if w > 0]
    [(0, 0.25), (1, 0.5), (2, 0.25)]
    """
    triples = [t for t in (groups[:3], groups[3:]) if t and t[2] > 0]
    centre = sum(n01 - n10 for n01, n10, _ in triples)
    variance = sum(n01 + n10 - (n01 - n10) ** 2 / n for n01, n10, n in triples)
    reach = int(np.ceil(9 * np.sqrt(max(variance, 0.0)))) + 20
    length = 1 << (2 * reach).bit_length()
    values = np.arange(centre - length // 2, centre + length // 2)
    angle = 2 * np.pi / length * np.arange(length // 2 + 1)
    spectrum = characteristic([(n, step(n01, n10, angle)) for n01, n10, n in triples])
    weights = np.fft.irfft(spectrum.conj(), length)[values % length]
    lowest = -sum(n for _, n10, n in triples if n10)
    highest = sum(n for n01, _, n in triples if n01)
    weights = np.where((values >= lowest) & (values <= highest), np.maximum(weights, 0), 0)
    return values, weights / weights.sum()


def step(up: int, down: int, angle: NDArray[Any]) -> Floats:
    """Return up (e^it - 1) + down (e^-it - 1), its real and its imaginary part along a first axis."""
    # exact near 0, where a difference of powers would lose the digits that matter
    return np.stack([-2 * (up + down) * np.sin(angle / 2) ** 2, (up - down) * np.sin(angle)])


def characteristic(strata: list[tuple[int, Floats]]) -> NDArray[np.complex128]:
    """Return the product of (1 + z / N)^N over strata, each of N documents and a sum z of :func:`step`."""
    log_size, phase = np.zeros(()), np.zeros(())
    for n, parts in strata:
        u, v = parts / n
        with np.errstate(divide="ignore"):  # a zero of the characteristic function: exp(-inf) = 0
            log_size = log_size + n / 2 * np.log1p(np.maximum(u * (2 + u) + v * v, -1))
        phase = phase + n * np.arctan2(v, 1 + u)
    size = np.exp(log_size)
    return np.asarray(size * np.cos(phase) + 1j * (size * np.sin(phase)))


def signs(values: Ints, weights: Floats) -> Floats:
    """Return P(D* < 0), P(D* = 0) and P(D* > 0), shape (3,)."""
    shares = np.array([weights[values < 0].sum(), weights[values == 0].sum(), weights[values > 0].sum()])
    return np.asarray(np.minimum(shares, 1))  # a sum of weights may pass 1 by its last bit


def limit_pvalue(groups: Ints, tails: int, known: tuple[Ints, Floats]) -> float:
    """Return the p-value of infinitely many replicates for one row of :func:`strata`.

    It is 1 without discordant documents; `known` is the set's :func:`distribution`.
    """
    values, weights = known
    if tails == 2:
        below, zero, above = signs(values, weights)
        return float(min(1.0, 2 * (min(below, above) + zero)))
    mean = int((groups[0::3] - groups[1::3]).sum())  # that of D* is D itself
    return float(min(1.0, weights[np.abs(values - mean) >= abs(mean)].sum()))


def drawn_pvalue(known: tuple[Ints, Floats], n_replicates: int, tails: int, rng: Generator) -> float:
    """Return the p-value of `n_replicates` random replicates for one set with discordant documents.

    One multinomial draw tells how many replicates fall on each sign of D* (equal-tailed) or on each value
    of it (symmetric, which needs their mean): the p-value has the very distribution that it would have
    if the documents were resampled `n_replicates` times. `known` is the set's :func:`distribution`.
    """
    values, weights = known
    if tails == 2:
        below, zero, above = rng.multinomial(n_replicates, signs(values, weights)).tolist()
        return float(min(1.0, 2 * (min(below, above) + zero) / n_replicates))
    tally = rng.multinomial(n_replicates, weights)
    values, tally = values[tally > 0], tally[tally > 0]
    total = int((tally * values).sum())  # the mean is total / n_replicates: compare whole numbers, ties count
    hit = np.abs(n_replicates * values - total) >= abs(total)
    return int(tally[hit].sum()) / n_replicates


def forecast(groups: Ints, tails: list[int], n_replicates: int | None) -> list[Forecast]:
    """Return bounds on the share of hits of sets, rows of :func:`strata`, for each interval.

    From the moments of D* where enough documents are discordant; else from its distribution, once for all
    sets with the same counts. Whether replicates at twice the mean count for the symmetric interval, the
    mean of all replicates decides: that gives two shares, one as likely as the other, as long as that mean
    is well within half a document of D.
    """
    cumulants = np.zeros((4, len(groups)))
    discordant = np.zeros(len(groups))
    for at in range(0, groups.shape[1], 3):
        n01, n10, n = groups[:, at : at + 3].T.astype(float)
        size = np.maximum(n, 1)
        mean, share = (n01 - n10) / size, (n01 + n10) / size
        variance = share - mean**2
        fourth = share - 4 * mean**2 + 6 * mean**2 * share - 3 * mean**4
        third = mean - 3 * mean * share + 2 * mean**3
        cumulants += size * np.stack([mean, variance, third, fourth - 3 * variance**2])
        discordant += n01 + n10
    # A smooth density that D* samples at whole numbers, less the step of width 1 between them (Sheppard):
    # its distribution function at half steps is that of D*.
    deviation = np.sqrt(np.maximum(cumulants[1] - 1 / 12, 1 / 12))
    skewness = cumulants[2] / deviation**3
    excess = (cumulants[3] + 1 / 120) / deviation**4 - 1.5 * skewness**2

    def up_to(step: Floats | float) -> Floats:
        return gamma_lower((step - cumulants[0]) / deviation, skewness, excess)

    below, above = up_to(0.5), 1 - up_to(-0.5)
    factor = error_factor(MARGIN, discordant, skewness)
    usable = (discordant >= LEAST_COUNT) & (np.abs(skewness) <= 1)
    few, pull = groups[~usable], 0.0 if n_replicates is None else HALF_NORMAL / np.sqrt(n_replicates)
    made = []
    for n_tails in tails:
        low = high = shares = np.minimum(below, above)
        sure = ~usable | (factor <= WELL_KNOWN)
        if n_tails == 1:
            twice, positive = 2 * np.rint(cumulants[0]), cumulants[0] > 0
            low = np.where(positive, below + 1 - up_to(twice + 0.5), above + up_to(twice - 0.5))
            high = np.where(positive, below + 1 - up_to(twice - 0.5), above + up_to(twice + 0.5))
            # E(Z; Z > z) to first order in the skewness, for both places of the far end and the near one
            z = (np.abs(cumulants[0]) + [[0.5], [-0.5]]) / deviation
            lean = np.sign(cumulants[0]) * skewness * z**3 / 6
            away = norm.pdf(z) * (1 + lean) - norm.pdf(z[1]) * (1 - lean[1])
            shares = np.stack([low, high]) + pull * np.array([[1], [-1]]) * away
            # 3.5 standard deviations of twice the mean are less than a document
            sure &= 49 * cumulants[1] < (n_replicates or 1)
        known = Forecast.around(low, high, factor, SLACK, usable, np.zeros_like(usable))
        (known.low[~usable], known.high[~usable]), of_few = _exact_shares(few, n_tails, pull)
        shares[..., ~usable] = of_few
        made.append(known._replace(shares=np.clip(np.atleast_2d(shares), 0, 1).T, known=sure))
    return made


def _exact_shares(groups: Ints, tails: int, pull: float) -> tuple[Floats, Floats]:
    """Return bounds and shares of :func:`forecast` from the distribution of D*, both (2, n_sets).

    Replicates whose mean is above D have hits of their own: `pull` is by how much their mean differs, in
    standard deviations.
    """
    bounds, shares = np.zeros((2, 2, len(groups)))
    for i, row in enumerate(groups):
        values, weights = distribution(tuple(row.tolist()))
        below, zero, above = signs(values, weights)
        bounds[:, i] = shares[:, i] = min(below, above) + zero
        if tails == 1:
            mean = int((row[0::3] - row[1::3]).sum())
            far = np.abs(values - mean)
            hits = np.stack([(far > abs(mean)) | (values == 0), far >= abs(mean)])
            bounds[:, i] = np.minimum(hits @ weights, 1)
            away = weights * (values - mean) * np.sign(mean)
            spread = np.sqrt(weights @ (values - mean) ** 2)
            shares[:, i] = bounds[:, i] + pull * np.array([1, -1]) * (hits @ away) / max(spread, 1e-9)
    return bounds, shares[: 3 - tails]
