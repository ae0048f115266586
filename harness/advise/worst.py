"""The worst case near a file: the largest size of a test over the equal populations that the file allows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from scipy.optimize import least_squares
from scipy.special import chdtri, kl_div, ndtri
from scipy.stats import qmc

from harness.advise.cells import DISCORDANT, PRIOR, CellPair
from harness.advise.points import Pair, Plan, Question, StageRun, plan_at
from harness.evaluation.rates import verdict
from harness.evaluation.rejections import decide
from harness.intervals import clopper_pearson
from harness.measures import Floats, Ints, difference
from harness.runtime.store import Arrays
from harness.seeding import rng
from harness.significance.dirichlet import GROUPS as IN_RATIOS

GROUPS = IN_RATIOS | {"error": ((1, 6), (2, 5)), "recall": ((1,), (2,), (0, 3))}
"""The cells on which a measure's tests depend, those that act alike in one group; all others are one more."""

COVERED = 0.95
WORST = (
    "pair", "n_documents", "test", "size", "mc_low", "mc_high", "verdict", "n_sets",
    *(f"e{cell}" for cell in range(1, 9)), "deviance", "deviance_allowed", "deviance_fitted", "n_dimensions",
)  # fmt: skip
_HALVINGS, _SECANTS, _FARTHEST = 12, 4, 46.0
_RAY_HALVINGS, _RAY = 14, 8.0
_STEP = 1e-6
_LEAST = 1e-9  # items in an empty group
_AT_ONCE = 65_536  # sets that are judged together


N_AROUND = 3
"""Populations that a round of the search looks at around each that it keeps."""
ROUNDS = ((1.0, 64), (0.5, 32), (0.25, 32), (0.1, 32))
"""Of each round: how far from those kept, and how many sets in all, in multiples of those for a range."""


@dataclass(frozen=True, eq=False)
class Region:
    """Populations in which A and B are equal, in the 95 % likelihood region of a file, as points of a ball.

    The centre is the equal population that fits the file best, also where the file speaks against every such
    population: what the region then holds is what the file says of the rest, given that A and B are equal. It
    ends where the deviance from the file exceeds the centre's by the 95 % quantile of a chi-square. Its
    degrees of freedom are the shares of the groups (:data:`GROUPS` and the rest) that are left free by their
    sum and by the null hypothesis: 1 for the error, 2 for the recall, 4 for the DCF, 5 for F1 and the
    precision. Cells of one group count once, as no test tells them apart (but for the proportion test, which
    looks at the items that both get wrong; their share among the rest stays the file's). The rest counts, as
    how many items matter at all is known from the file alone.

    A point of the unit ball has the direction, in square roots of counts, in which its population lies from
    the centre; where it is at t from the middle of the ball, t^2 of what the deviance may exceed is used up.
    """

    counts: Floats
    spread: Floats  # the share of each cell in its group, (n_groups, 8)
    pairs: tuple[tuple[int, int], ...]  # groups in which only A is wrong, and only B: equality shifts them
    difference: Callable[..., Any]
    centre: Floats
    fitted: float

    @classmethod
    def of(cls, counts: Ints, measure: str, **costs: float) -> Self:
        """Fit the centre."""
        groups = [list(cells) for cells in GROUPS[measure]]
        rest = [cell for cell in range(8) if cell not in sum(groups, [])]
        groups += [rest] if rest else []
        spread = np.zeros((len(groups), 8))
        for row, cells in zip(spread, groups, strict=True):
            row[cells] = (counts[cells] + PRIOR) / (counts[cells] + PRIOR).sum()
        place = {cell: i for i, cells in enumerate(groups) for cell in cells}
        pairs = dict.fromkeys((place[b], place[a]) for b, a in ((1, 2), (6, 5)) if place[b] != place[a])
        summed = np.array([counts[cells].sum() for cells in groups], dtype=float)
        found = cls(summed, spread, tuple(pairs), difference(measure, **costs), np.sqrt(summed + PRIOR), 0.0)

        def slopes(roots: Floats) -> Floats:
            steps = _STEP * np.eye(len(roots) + 1, len(roots), -1)
            here, *moved = found.residuals(found.equal(roots + steps))
            return np.asarray(((moved - here) / _STEP).T)

        best = least_squares(lambda roots: found.residuals(found.equal(roots[None]))[0], found.centre, slopes)
        return cls(summed, spread, found.pairs, found.difference, best.x, 2 * float(best.cost))

    @property
    def n_dimensions(self) -> int:
        """Of the region."""
        return len(self.counts) - 2

    @property
    def allowed(self) -> float:
        """By how much a deviance may exceed the centre's."""
        return float(chdtri(self.n_dimensions, 1 - COVERED))

    def residuals(self, shares: Floats) -> Floats:
        """Return numbers whose squares sum to the deviance of shares of the groups, (n, n_groups)."""
        expected = self.counts.sum() * shares
        return np.asarray(
            np.sign(expected - self.counts) * np.sqrt(2 * np.maximum(kl_div(self.counts, expected), 0))
        )

    def deviance(self, shares: Floats) -> Floats:
        """Return that of shares of the groups, (n, n_groups), from the file."""
        return np.asarray((self.residuals(shares) ** 2).sum(axis=-1))

    def deviance_of(self, cells: Floats) -> Floats:
        """Return that of shares of the cells, (n, 8)."""
        return self.deviance(cells @ (self.spread > 0).T)

    def equal(self, roots: Floats) -> Floats:
        """Return shares of the groups with a difference of 0, from square roots of any, (n, n_groups).

        Documents on which only one of A and B is wrong are exchanged, positives and negatives apart, all with
        the same odds; their sums stay. The measures favour A the more, the more of them are A's.
        """
        shares = np.maximum(roots**2, _LEAST)
        shares /= shares.sum(axis=-1, keepdims=True)
        low, high = (np.full(len(shares), end) for end in (-_FARTHEST, _FARTHEST))

        def favours(log_odds: Floats) -> Floats:
            return np.asarray(self.difference(self._shifted(shares, log_odds) @ self.spread))

        sign = np.sign(favours(high))
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            above = favours(middle) * sign > 0
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        before = favours(low)
        for _ in range(_SECANTS):  # so near the difference is all but straight
            value = favours(high)
            part = np.divide(value, value - before, out=np.zeros_like(value), where=value != before)
            low, high, before = high, high - np.clip(part, -1, 1) * (high - low), value
        return self._shifted(shares, high)

    def _shifted(self, shares: Floats, log_odds: Floats) -> Floats:
        shifted = shares.copy()
        for b, a in self.pairs:
            one, other = shares[:, b] * np.exp(-log_odds / 2), shares[:, a] * np.exp(log_odds / 2)
            both = (shares[:, b] + shares[:, a]) / (one + other)
            shifted[:, b], shifted[:, a] = one * both, other * both
        return shifted

    def cells_at(self, points: Floats) -> Floats:
        """Return the shares of the cells at points of the unit ball, (n, 8)."""
        lengths = np.linalg.norm(points, axis=1, keepdims=True)
        directions = points / np.maximum(lengths, 1e-300)
        wanted = self.fitted + self.allowed * lengths[:, 0] ** 2
        low, high = np.zeros(len(points)), np.full(len(points), _RAY * self.allowed**0.5)
        for _ in range(_RAY_HALVINGS):
            middle = (low + high) / 2
            inside = self.deviance(self.equal(self.centre + middle[:, None] * directions)) <= wanted
            low, high = np.where(inside, middle, low), np.where(inside, high, middle)
        return np.asarray(self.equal(self.centre + low[:, None] * directions) @ self.spread)


def _ball(n: int, n_groups: int, n_dimensions: int) -> Floats:
    """Return points that fill the unit ball evenly, seen in the dimensions that count."""
    even = qmc.Sobol(n_groups + 1, scramble=False).random(n) + 0.5 / n
    normal = ndtri(even[:, :-1])
    return np.asarray(
        normal / np.linalg.norm(normal, axis=1, keepdims=True) * even[:, -1:] ** (1 / n_dimensions)
    )


def find_worst(pair: CellPair, test: str, plan: Plan, alpha: float, seed: int) -> Arrays:
    """Return the population with the largest size that was found, and that size on sets drawn anew.

    In each round all populations are measured on sets from one stream of random numbers, so that they differ
    by what they are more than by chance. The largest of many measured sizes is too large, which is why the
    sets of the last count alone are reported.
    """
    region = Region.of(pair.counts, pair.measure, **pair.costs)
    n_first = 2 ** (3 + region.n_dimensions)
    ball = _ball(n_first, len(region.counts), region.n_dimensions)
    points, worst = np.vstack([np.zeros_like(ball[:1]), ball]), ball[:1]

    def count(points: Floats, n_sets: int, key: object) -> Ints:
        return _count(region.cells_at(points), pair, test, n_sets, alpha, seed, key)

    for number, (width, times) in enumerate(ROUNDS):
        if number:
            n_kept = max(2, n_first >> (3 + number))
            around = ball[: n_kept * N_AROUND].reshape(n_kept, N_AROUND, -1)
            worst = worst[:n_kept, None]
            points = np.concatenate([worst, worst + width * around], axis=1).reshape(-1, ball.shape[1])
            points /= np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1)
        counted = count(points, -(-times * plan.n_range_sets // len(points)), number)
        worst = points[np.argsort(-counted, kind="stable")]
    worst = worst[:1]
    shares = region.cells_at(worst)
    return {
        "shares": shares[0],
        "deviances": np.array([region.deviance_of(shares)[0], region.fitted + region.allowed, region.fitted]),
        "n_dimensions": np.array(region.n_dimensions),
        "n_rejected": count(worst, plan.n_sets, "anew")[0],
    }


def _count(
    nulls: Floats, pair: CellPair, test: str, n_sets: int, alpha: float, seed: int, key: object
) -> Ints:
    """Return how many of as many sets of each population the test rejects."""
    (own,) = (one for one in pair.battery if one.name == test)
    n_items, names, found = int(pair.counts.sum()), ("advice", pair.name, "worst", key), []
    replicates, at_once = rng(seed, "replicates", *names), max(1, _AT_ONCE // n_sets)
    for start in range(0, len(nulls), at_once):
        some = nulls[start : start + at_once]
        sets = [rng(seed, "sets", *names).multinomial(n_items, null, size=n_sets) for null in some]
        rejected, _, _ = decide([own], np.concatenate(sets), [alpha], replicates)
        found.append(rejected.reshape(len(some), n_sets).sum(axis=1))
    return np.concatenate(found)


def tabulate_worst(
    pairs: Sequence[Pair], tests: Sequence[str], question: Question, run: StageRun
) -> pd.DataFrame:
    """Return the worst case of each pair's test, with columns :data:`WORST`; for tests of one category.

    Where no item tells two systems apart nothing is looked for, and their row has no numbers.
    """
    plan, alpha, seed = plan_at(question.plan, question.alpha), question.alpha, question.seed
    known = [one for one in zip(pairs, tests, strict=True) if isinstance(one[0], CellPair)]
    units = [(*one, plan, alpha, seed) for one in known if one[0].counts[DISCORDANT].any()]
    names = [repr((pair.name, pair.counts.tolist(), pair.describe(), *more)) for pair, *more in units]
    told = "worst case near the file"
    found = run("advice_worst")(find_worst, units, names, threads=False, description=told)
    parts = {pair.name: part for (pair, *_), part in zip(units, found, strict=True)}
    rows = []
    for pair, test in known:
        n_items, part = int(pair.counts.sum()), parts.get(pair.name)
        row = {"pair": pair.name, "n_documents": n_items, "test": test}
        rows.append(row | (_tell(part, plan.n_sets, alpha, n_items) if part else {}))
    return pd.DataFrame(rows, columns=list(WORST)).astype(dict.fromkeys(("n_sets", "n_dimensions"), "Int64"))


def _tell(part: Arrays, n_sets: int, alpha: float, n_items: int) -> dict[str, Any]:
    low, high = map(float, clopper_pearson(part["n_rejected"], n_sets))
    told = [int(part["n_rejected"]) / n_sets, low, high, verdict(low, high, alpha), n_sets]
    told += [*(n_items * part["shares"]).tolist(), *part["deviances"].tolist(), int(part["n_dimensions"])]
    return dict(zip(WORST[3:], told, strict=True))
