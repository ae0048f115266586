"""Variance by source of every estimator: tables, and what they say in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from harness.compare.learner_tables import bounds
from harness.compare.report_parts import Part
from harness.compare.trials import open_random_states
from harness.compare.variance_sources import variance_by_source, variance_components, variance_notes

if TYPE_CHECKING:
    from pandas import DataFrame

SOURCES = ("split", "initialisation", "hyperparameters")
READING = (
    "A random state has no meaning of its own on another split, and so most of what initialisation does may "
    "stand in its interaction with the split, which is the residual where there are these two sources only: "
    "the second table has the variance over the random states with the split held fixed."
)


def split_variance(scores: DataFrame, estimators: Mapping[str, Any], score: str) -> Part:
    """Return the variance by source of every estimator on every data set, from its row a training."""
    import pandas as pd

    made: dict[str, list[DataFrame]] = {"variance": [], "variance_alone": []}
    warnings, findings = [], []
    keys = [key for key in ("data", "estimator") if key in scores]
    for own, part in scores.groupby(keys, sort=False):
        names = list(map(str, own))
        name, failed, warned = ": ".join(names), part["score"].isna(), int((part["n_warnings"] > 0).sum())
        if failed.any():
            warnings.append(
                f"{name}: {failed.sum()} of {len(part)} trainings failed ({part['reason'][failed].iloc[0]}); "
                "its variance by source is not known"
            )
            continue
        if warned:
            warnings.append(f"{name}: {warned} of {len(part)} trainings for the variance by source warned")
        sources = [source for source in SOURCES if part[source].nunique() > 1]
        components = variance_components(part, sources)
        found = components, variance_by_source(_one_at_a_time(part, sources))
        for tables, table in zip(made.values(), found, strict=True):
            tables.append(table.assign(**dict(zip(keys, names, strict=True))))
        findings.append(f"{name}: {_shares(components)}{_idle(part, estimators[names[-1]])}")
    csvs = {"variance": scores}
    if not made["variance"]:
        return Part({}, csvs, (), warnings)
    shown = []
    for stem, own in made.items():
        table = pd.concat(own, ignore_index=True)
        table = csvs[f"tables/{stem}"] = table[keys + table.columns.drop(keys).tolist()]
        shown.append((" ".join(_caption(table, score, scores)), _shown(table)))
    return Part({"variance": shown}, csvs, findings, warnings)


def _caption(table: DataFrame, score: str, scores: DataFrame) -> list[str]:
    if "negative" not in table:
        return ["The same with one source at a time.", *variance_notes(table)]
    own = table["estimator"] + (" on " + table["data"] if "data" in table else "")
    notes = variance_notes(table.assign(source=own + ", " + table["source"]))
    heading = f"Variance of the {score} on the hold-out, by source. {describe_design(scores)}"
    return [heading, *notes, READING]


def describe_design(scores: DataFrame) -> str:
    """Return in a sentence what was crossed."""
    n_splits, n_states = scores["split"].nunique(), scores["initialisation"].nunique()
    text = f"{n_splits} hold-outs, each with {n_states} random states"
    for name, part in scores.groupby("estimator", sort=False):
        if (part["hyperparameters"] != "").any():
            text += f"; settings drawn for {name}: {' | '.join(part['hyperparameters'].unique())}"
    return text + "."


def _one_at_a_time(part: DataFrame, sources: list[str]) -> DataFrame:
    """Return the scores once for each source, the levels of all others being the setting."""
    import pandas as pd

    frames = []
    for source in sources:
        others = [name for name in sources if name != source]
        setting = part[others].astype(str).agg(" ".join, axis=1)
        frames.append(part[["score"]].assign(source=source, seed=part[source], setting=setting))
    return pd.concat(frames, ignore_index=True)


def _shares(table: DataFrame) -> str:
    if table["share"].isna().all():
        return "all scores are the same"
    pairs = zip(table["source"], table["share"], strict=True)
    shares = ", ".join(f"{source} {100 * share:.0f} %" for source, share in pairs)
    return f"of the variance on the hold-out {shares}"


def _idle(part: DataFrame, estimator: Any) -> str:
    """Return why the initialisation makes no difference, where it makes none."""
    if part.groupby(["split", "hyperparameters"])["score"].nunique().max() > 1:
        return ""
    if not open_random_states(estimator):
        return "; it has no random_state to set, so that the initialisation changes nothing"
    return "; its scores did not change with the random_state"


def _shown(table: DataFrame) -> DataFrame:
    shown = table[[name for name in ("data", "estimator", "source") if name in table]].assign(
        sd=[f"{sd:.4f}" for sd in table["sd"]],
        interval=[bounds(low, high, 4) for low, high in zip(table["sd_low"], table["sd_high"], strict=True)],
        df=table["df"],
        share=["" if share != share else f"{100 * share:.1f} %" for share in table["share"]],
    )
    return shown.rename(columns={"interval": "sd, 95 % interval", "df": "degrees of freedom"})
