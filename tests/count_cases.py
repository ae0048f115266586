"""Count vectors, populations and a brute-force bootstrap that the tests of significance tests share."""

import itertools

import numpy as np
from hypothesis import strategies as st
from scipy.stats import binom, multinomial

from harness.measures import error_difference, f1_difference

INTERVALS = ("equal_tailed", "symmetric")
ALPHAS = (0.1, 0.05, 0.01)
FALSE_ALARM = 1e-6

# truth, decision of A, decision of B in e1..e8; the cells of B and A in place of those of A and B
OUTCOMES = [(1, 1, 1), (1, 0, 1), (1, 1, 0), (1, 0, 0), (0, 1, 1), (0, 0, 1), (0, 1, 0), (0, 0, 0)]
SWAP = [0, 2, 1, 3, 4, 6, 5, 7]

COUNTS = [20, 2, 9, 3, 4, 6, 5, 951]
few = st.lists(st.integers(0, 9), min_size=8, max_size=8).filter(any)

# shares of e1..e7: rare and common topics, close and dissimilar classifiers. F1 is equal in the first two,
# which are the nearest such populations to two pairs on 1 % positives (F1 about .64).
POPULATIONS = [
    (0.00489671, 0.00019521, 0.00247635, 0.0022888, 0.00068507, 0.00047243, 0.00540686),
    (0.00573139, 7.604e-05, 0.00046098, 0.00372288, 0.00202076, 0.0001534, 0.00095977),
    (0.03, 0.004, 0.0045, 0.008, 0.005, 0.006, 0.0065),
    (0.40, 0.03, 0.035, 0.035, 0.03, 0.03, 0.03),
    (0.44, 0.006, 0.008, 0.046, 0.04, 0.006, 0.005),
]

SMALL = [
    [1, 1, 2, 0, 0, 0, 1, 3],
    [0, 0, 3, 0, 0, 0, 0, 5],
    [2, 0, 1, 1, 1, 2, 0, 0],
    [0, 0, 0, 0, 1, 3, 1, 3],
    [1, 0, 0, 0, 0, 0, 2, 6],
]


def generator(seed=0):
    return np.random.default_rng(seed)


def documents(counts):
    """Truth, decisions of A and decisions of B on the documents that the counts stand for."""
    return np.repeat(OUTCOMES, counts, axis=0).T


def within_binomial(hits, n, probability, highest=None):
    """Whether counts are in the central 1 - FALSE_ALARM of their binomials, of chances up to `highest`."""
    low = binom.ppf(FALSE_ALARM / 2, n, np.clip(probability, 0, 1))
    high = binom.isf(FALSE_ALARM / 2, n, np.clip(probability if highest is None else highest, 0, 1))
    return np.all((low <= hits) & (hits <= high))


def evaluation_sets(n_sets, seed, sizes=(100, 300, 1000, 6000)):
    rng = generator(seed)
    shares = [np.array([*p, 1 - sum(p)]) for p in POPULATIONS]
    return np.concatenate([rng.multinomial(n, p, n_sets) for p in shares for n in sizes])


def all_replicates(counts, stratified=False):
    """Every replicate of a small set, shape (n, 8), and its probability."""
    if stratified:
        halves = [all_replicates_of(counts[:4]), all_replicates_of(counts[4:])]
        pairs = list(itertools.product(range(len(halves[0][0])), range(len(halves[1][0]))))
        cells = np.array([np.concatenate([halves[0][0][i], halves[1][0][j]]) for i, j in pairs])
        return cells, np.array([halves[0][1][i] * halves[1][1][j] for i, j in pairs])
    return all_replicates_of(counts)


def all_replicates_of(counts):
    n, kept = sum(counts), [i for i, c in enumerate(counts) if c]
    if n == 0:
        return np.zeros((1, len(counts)), dtype=int), np.ones(1)
    rows = [r for r in itertools.product(range(n + 1), repeat=len(kept)) if sum(r) == n]
    cells = np.zeros((len(rows), len(counts)), dtype=int)
    cells[:, kept] = rows
    return cells, multinomial.pmf(rows, n, np.array(counts)[kept] / n)


def enumerated_limit(counts, measure, interval, stratified=False):
    """The p-value of infinitely many replicates by summing over all of them."""
    cells, weights = all_replicates(counts, stratified)
    d = (f1_difference if measure == "f1" else error_difference)(cells)
    slack = 1e-12
    if interval == "equal_tailed":
        return min(1.0, 2 * min(weights[d <= slack].sum(), weights[d >= -slack].sum()))
    mean = weights @ d
    return weights[np.abs(d - mean) >= abs(mean) - slack].sum()
