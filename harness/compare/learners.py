"""Linear learners that are trained on many weighted samples of one data set at once."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]
Learner = Callable[[sparse.csr_array, NDArray[np.bool_], NDArray[np.int64]], tuple[Floats, Floats]]


def naive_bayes(x: sparse.csr_array, y: NDArray[np.bool_], times: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Train complement naive Bayes on many samples of one data set.

    With two classes it is multinomial naive Bayes without class priors: the smoothed share of a
    term's weight in either class, one added to each. All samples are trained by one matrix product;
    the decisions are those of ``sklearn.naive_bayes.ComplementNB``.

    Parameters
    ----------
    x : csr_array, shape (n_examples, n_terms)
        Weights >= 0.
    y : bool array, shape (n_examples,)
    times : int array, shape (n_samples, n_examples)
        How often a sample holds each example.

    Returns
    -------
    coef : float array, shape (n_terms, n_samples)
    intercept : float array, shape (n_samples,)
        An example belongs to the class where ``x @ coef + intercept > 0``. A sample with one class
        decides for that class everywhere.

    References
    ----------
    Rennie, Shih, Teevan & Karger (2003), Tackling the poor assumptions of naive Bayes text classifiers,
    ICML, section 3.1.

    Examples
    --------
    >>> x = sparse.csr_array(np.array([[2.0, 0.0], [0.0, 1.0]]))
    >>> coef, intercept = naive_bayes(x, np.array([True, False]), np.ones((1, 2), dtype=int))
    >>> (x @ coef + intercept > 0).ravel().tolist()
    [True, False]
    """
    weights = times.T.astype(float)
    transposed = sparse.csr_array(x.T)
    logs = []
    for member in (y, ~y):
        smoothed = transposed @ np.where(member[:, None], weights, 0.0) + 1.0
        logs.append(np.log(smoothed) - np.log(smoothed.sum(axis=0)))
    return _settle_one_class(y, times, logs[0] - logs[1], np.zeros(len(times)))


def linear_svm(x: sparse.csr_array, y: NDArray[np.bool_], times: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Train a linear support vector machine (squared hinge loss, C = 1) on each sample.

    Parameters and Returns: as :func:`naive_bayes`.

    References
    ----------
    Fan et al. (2008), LIBLINEAR, JMLR 9, 1871-1874; the solver of ``LinearSVC(dual=False)``.
    """
    from sklearn import config_context
    from sklearn.svm import LinearSVC

    coef, intercept = np.zeros((x.shape[1], len(times))), np.zeros(len(times))
    plain = sparse.csr_matrix(x)
    with config_context(assume_finite=True, skip_parameter_validation=True):
        for sample, repeats in enumerate(times):
            rows = np.repeat(np.arange(len(y)), repeats)
            if y[rows].any() and not y[rows].all():
                machine = LinearSVC(dual=False).fit(plain[rows], y[rows])
                coef[:, sample], intercept[sample] = machine.coef_[0], machine.intercept_[0]
    return _settle_one_class(y, times, coef, intercept)


def _settle_one_class(
    y: NDArray[np.bool_], times: NDArray[np.int64], coef: Floats, intercept: Floats
) -> tuple[Floats, Floats]:
    """Let samples with one class decide for it."""
    n_positive, n = times @ y, times.sum(axis=1)
    single = (n_positive == 0) | (n_positive == n)
    coef = np.where(single, 0.0, coef)
    return coef, np.where(single, np.where(n_positive > 0, 1.0, -1.0), intercept)


LEARNERS: dict[str, Learner] = {"naive_bayes": naive_bayes, "linear_svm": linear_svm}
"""All by the names that ``learner=`` takes."""
