"""What the report on the wine data printed, and which of it cannot be.

The report compares XGBoost, logistic regression, random forest and an SVM on scikit-learn's wine data (178
samples, a hold-out of 36) by McNemar's test and the 5x2cv paired t test. Only these numbers are known here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.compare.learner_tables import DESIGNS, bounds
from harness.compare.report_parts import pick
from harness.writing.report import Section, bullets

if TYPE_CHECKING:
    from pandas import DataFrame

# name -> (error rate on the hold-out, error rate in 5x2cv), the report's table 4
ERROR_RATES = {
    "xgboost": (0.028, 0.051),
    "logistic_regression": (0.028, 0.059),
    "random_forest": (0.0, 0.035),
    "svm": (0.0, 0.073),
}
ROUNDED = 0.0005
"""The report prints three decimals."""

# pair -> (the report's verdict of McNemar's test in table 5, why it cannot be)
ONE_AGAINST_NONE = "impossible: one error against none gives p = 1"
MCNEMAR_VERDICTS = {
    frozenset({"xgboost", "random_forest"}): ("True", ONE_AGAINST_NONE),
    frozenset({"xgboost", "svm"}): ("True", ONE_AGAINST_NONE),
    frozenset({"logistic_regression", "random_forest"}): (
        "False", "right, but the same counts as its XGBoost - random forest",
    ),
    frozenset({"random_forest", "svm"}): ("undefined", "no error at all: 0/0"),
}  # fmt: skip

WHAT_CANNOT_BE = (
    "Its table 5 cannot be reproduced. On 36 samples an error rate of .028 is one error. XGBoost with "
    "one error against the random forest or the SVM with none has one discordant sample: the corrected "
    "chi-square is max(|1 - 0| - 1, 0)^2 / 1 = 0 and the exact p-value is 1 (without the correction "
    ".317), so that no variant can reject; the report prints True for both.",
    "It contradicts itself: logistic regression against the random forest has the very same counts, one "
    "error against none, and there it prints False.",
    "Random forest against SVM has no error at all: the statistic is 0/0. Here such a hold-out is "
    "degenerate, has p = 1 and is counted.",
    "It calls n00 the samples that both get wrong, while its text says that both get them right. Here "
    "the cells are named by who is wrong.",
    "Its critical value of the 5x2cv t test is the one-sided 2.015, which makes a 5 % test one of 10 %; "
    "two-sided it is |t| > 2.571, and that is used here.",
    "It gives neither the SVM's kernel nor any scaling. A linear kernel on the raw features comes "
    "closest to its error rate (an RBF kernel errs on about a third of the raw, on some 1 % of the "
    "scaled samples): inferred.",
    "Its seeds are not known, and a hold-out of 36 says little: what one split shows depends on the split.",
)


def is_wine_report(data: Sequence[str], scorer: str) -> bool:
    """Tell from the names of the data sets whether the published values belong beside the tables."""
    return list(data) == ["wine"] and scorer == "error"


def published(verdicts: DataFrame) -> Section:
    """Return what is wrong in the report, and how often its 5x2cv t test would reject."""
    t = pick(verdicts, test="five_by_two_t")["statistic"].dropna().abs()
    taken, right = (100 * (t > critical).mean() for critical in (2.015, 2.571))
    one_sided = (
        f"With |t| > 2.015 the 5x2cv t test would reject for {taken:.1f} % of all pairs and seeds, with "
        f"2.571 it rejects for {right:.1f} %."
    )
    return Section("Published values that cannot be", [bullets([*WHAT_CANNOT_BE, one_sided])])


def rate_sentences(scores: DataFrame) -> list[str]:
    """Return for each estimator whether the report's error rates lie where nine of ten seeds lie."""
    sentences = []
    for name, rates in ERROR_RATES.items():
        parts = []
        for (design, label), rate in zip(DESIGNS.items(), rates, strict=True):
            for row in pick(scores, estimator=name, design=design).dropna(subset="q05").to_dict("records"):
                low, high = row["q05"], row["q95"]
                where = "within" if low - ROUNDED <= rate <= high + ROUNDED else "outside"
                parts.append(f"{label} {rate:.3f}, {where} {bounds(low, high)}")
        if parts:
            sentences.append(f"{name}, published error rate against 90 % of the seeds: {'; '.join(parts)}")
    return sentences


def add_published_rates(table: DataFrame) -> DataFrame:
    """Return table 4 with the report's error rates after each design's own."""
    for place, (column, which) in enumerate((("hold-out, published", 0), ("5x2cv, published", 1))):
        values = [ERROR_RATES.get(name, (None, None))[which] for name in table["estimator"]]
        table.insert(1 + 5 * place, column, values)
    return table


def add_published_verdicts(table: DataFrame, rejections: DataFrame) -> DataFrame:
    """Return table 5 with the report's verdicts of McNemar's test and what is wrong with them."""
    found = [
        MCNEMAR_VERDICTS.get(frozenset(pair), ("", "")) if test.startswith("mcnemar") else ("", "")
        for *pair, test in rejections[["a", "b", "test"]].itertuples(index=False)
    ]
    return table.assign(published=[verdict for verdict, _ in found], remark=[why for _, why in found])
