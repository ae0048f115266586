"""Moments of bootstrap replicates of counts, and from them the tail of a quadratic function of them."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from harness.measures import Floats, Ints
from harness.significance.forecast import below_zero

Turn = Callable[[Floats], Floats]
"""The Hessian times vectors (n_forms, ..., n_sets)."""


class Moments(NamedTuple):
    """Moments of linear forms of the counts in replicates of sets, the sets along the last axis."""

    forms: Floats  # (n_forms, 8)
    cells: Floats  # (8, n_sets)
    totals: Floats  # (n_forms, n_sets)
    groups: list[tuple[slice, Floats, Floats]]
    """Of what is resampled as one: its cells, its size and the means of the forms, (n_forms, n_sets)."""
    spread: Floats  # (n_forms, n_forms, n_sets), covariances of the totals

    @classmethod
    def of(cls, cells: Ints, stratified: bool, forms: Floats) -> "Moments":
        """Return them for forms (n_forms, 8) of sets (n_sets, 8)."""
        x, groups = np.ascontiguousarray(cells.T, dtype=float), []
        k = len(forms)
        spread = ((forms[:, None] * forms).reshape(-1, 8) @ x).reshape(k, k, -1)
        for part in [slice(0, 4), slice(4, 8)] if stratified else [slice(0, 8)]:
            size = np.maximum(x[part].sum(axis=0), 1)
            mean = forms[:, part] @ x[part] / size
            spread -= size * mean[:, None] * mean
            groups.append((part, size, mean))
        return cls(forms, x, forms @ x, groups, spread)

    def lower_tail(
        self, value: Floats, slope: Floats, turn: Turn, change: Callable[[Floats], Floats] | None = None
    ) -> tuple[Floats, Floats]:
        """Return P*(Q <= 0), half the weight of Q = 0 included, and the skewness of Q.

        Q is a function of the forms; its `value` and its `slope` g, (n_forms, n_sets), are those at the set
        itself, `turn` multiplies by its Hessian H, and `change` gives the derivative of H in a direction,
        (n_forms, n_forms, n_sets); without it Q is quadratic. Let K be the covariance of the forms, u = Kg,
        phi the forms of a document and s = g'phi, both centred in what is resampled as one, and C the change
        of H in the direction u. The cumulants of Q are, to leading order, value + tr(HK) / 2;
        g'u + sum s phi'H phi + tr(HKHK) / 2 + tr(CK); sum s^3 + 3 u'Hu;
        sum s^4 - 3 sum (mean s^2)^2 + 12 sum (s^2 - mean s^2) phi'Hu + 12 u'HKHu + 4 u'Cu.
        """
        reach = (self.spread * slope).sum(axis=1)
        turned, bent = turn(reach), turn(self.spread)
        mean = value + np.trace(bent) / 2
        variance = (slope * reach).sum(axis=0) + (bent * bent.transpose(1, 0, 2)).sum(axis=(0, 1)) / 2
        third = 3 * (turned * reach).sum(axis=0)
        fourth = 12 * (turned * (self.spread * turned).sum(axis=1)).sum(axis=0)
        if change is not None:
            changed = change(reach)
            variance += (changed * self.spread).sum(axis=(0, 1))
            fourth += 4 * (reach * (changed * reach).sum(axis=1)).sum(axis=0)
        for part, size, centre in self.groups:
            y, forms = self.cells[part], self.forms[:, part, None]
            s = (forms[..., 0].T @ slope) - (centre * slope).sum(axis=0)
            ys = y * s
            square = ys * s
            total = square.sum(axis=0)
            own = (forms * turn(forms - 2 * centre[:, None])).sum(axis=0)
            variance += (ys * own).sum(axis=0)
            third += (square * s).sum(axis=0)
            pulled = forms[..., 0].T @ turned
            fourth += (square * (s * s + 12 * pulled)).sum(axis=0) - 3 * total**2 / size
            fourth -= 12 * total * (centre * turned).sum(axis=0)
        return below_zero(mean, variance, third, fourth)
