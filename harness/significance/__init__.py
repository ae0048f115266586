"""Significance tests that compare two classifiers, or two learning algorithms. One file per family of tests.

Common to the tests on joint-outcome counts
-------------------------------------------
counts : int array, shape (..., 8)
    Joint outcomes e1..e8 of each evaluation set.
n_replicates : int
    Replicates or posterior draws per set.
rng : numpy.random.Generator, optional
    Where random replicates come from; give one for results that can be repeated. None: a fresh, unpredictable
    one. Each set takes the same part of the stream whether sets are tested together or in batches one after
    the other.
degenerate : {"accept", "reject"}
    Verdict on sets that say nothing about the null hypothesis (p = 1 or p = 0): which ones, each test says.

All tests return a :class:`harness.significance.result.TestResult`, arrays of shape (...): two-sided p-values,
the statistic, and which sets are degenerate. They raise ValueError, which names the argument, the value and
what is allowed, if a count is negative or fractional, a set holds no document, a shape is wrong, or an option
is unknown or out of range. Tests on scores and their differences refuse NaN and infinite numbers.
"""
