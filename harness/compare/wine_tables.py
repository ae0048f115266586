"""What the report on the wine data printed, and which of it cannot be.

The report compares XGBoost, logistic regression, random forest and an SVM on scikit-learn's wine data (178
samples, a hold-out of 36) by McNemar's test and the 5x2cv paired t test. Only these numbers are known here.
"""

from collections.abc import Sequence

from pandas import DataFrame

from harness.compare.learner_tables import DESIGNS
from harness.compare.report_parts import PUBLISHED
from harness.results.names import pick
from harness.writing.prose import paragraphs
from harness.writing.report import Section, bullets

ERROR_RATES = PUBLISHED["wine"]["error_rates"]
ROUNDED = 0.0005
"""The report prints three decimals."""

MCNEMAR_VERDICTS = {frozenset(pair.split(" - ")): told for pair, told in PUBLISHED["wine"]["mcnemar"].items()}


def is_wine_report(data: Sequence[str], scorer: str) -> bool:
    """Tell from the names of the data sets whether the published values belong beside the tables."""
    return list(data) == ["wine"] and scorer == "error"


def published(verdicts: DataFrame) -> Section:
    """Return what is wrong in the report, and how often its 5x2cv t test would reject."""
    t = pick(verdicts, test="five_by_two_t")["statistic"].dropna().abs()
    taken, right = (100 * (t > critical).mean() for critical in (2.015, 2.571))
    told = paragraphs("compare", "what_cannot_be", taken=taken, right=right)
    return Section("Published values that cannot be", [bullets(told)])


def rate_sentences(scores: DataFrame) -> list[str]:
    """Return for each estimator whether the report's error rates lie where nine of ten seeds lie."""
    told = [
        (name, label, rate, row)
        for name, rates in ERROR_RATES.items()
        for (design, label), rate in zip(DESIGNS.items(), rates, strict=True)
        for row in pick(scores, estimator=name, design=design).dropna(subset="q05").to_dict("records")
    ]
    return paragraphs("compare", "published_rates", told=told, rounded=ROUNDED)


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
