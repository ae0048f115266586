"""Variance by source of every estimator: tables, and what they say in words."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from harness.compare.comparison_shown import Parts, score_words
from harness.compare.comparison_tables import bounds, join_data_sets
from harness.compare.estimators import open_random_states
from harness.compare.variance_sources import variance_by_source, variance_components, variance_notes
from harness.evaluation.rates import write_table
from harness.writing.table_text import write_tables

if TYPE_CHECKING:
    from pandas import DataFrame

SOURCES = ("split", "initialisation", "hyperparameters")
READING = (
    "A random state has no meaning of its own on another split, and so most of what initialisation does may "
    "stand in its interaction with the split, which is the residual where there are these two sources only: "
    "the second table has the variance over the random states with the split held fixed."
)


class Variance(NamedTuple):
    """What one data set says of the sources of variance.

    Attributes
    ----------
    tables : dict of str to DataFrame
        ``variance``: the components of every estimator; ``variance_alone``: the variance of one source while
        the others are fixed. Empty where every estimator failed.
    warnings, findings : list of str
    """

    tables: dict[str, DataFrame]
    warnings: list[str]
    findings: list[str]


def split_variance(scores: DataFrame, estimators: Mapping[str, Any]) -> Variance:
    """Return the variance by source of every estimator on one data set.

    Parameters
    ----------
    scores : DataFrame
        Of :func:`harness.compare.variance_trials.run_variance`.
    estimators : mapping of str to estimator
        Asked for their random states.
    """
    import pandas as pd

    made: dict[str, list[DataFrame]] = {"variance": [], "variance_alone": []}
    warnings, findings = [], []
    for name, part in scores.groupby("estimator", sort=False):
        failed = part[part["score"].isna()]
        if len(failed):
            warnings.append(
                f"{name}: {len(failed)} of {len(part)} trainings failed ({failed['reason'].iloc[0]}); its "
                "variance by source is not known"
            )
            continue
        sources = [source for source in SOURCES if part[source].nunique() > 1]
        warned = int((part["n_warnings"] > 0).sum())
        if warned:
            warnings.append(f"{name}: {warned} of {len(part)} trainings for the variance by source warned")
        table = variance_components(part, sources)
        made["variance"].append(_named(name, table))
        made["variance_alone"].append(_named(name, variance_by_source(_one_at_a_time(part, sources))))
        findings.append(f"{name}: {_shares(table)}{_idle(part, estimators[str(name)])}")
    known = {stem: pd.concat(tables, ignore_index=True) for stem, tables in made.items() if tables}
    return Variance(known, warnings, findings)


def write_variance(folder: Path, found: Mapping[str, Variance], scorer: str, design: str) -> Parts:
    """Write the tables of all data sets and return them with their captions.

    Parameters
    ----------
    folder : Path
    found : mapping of str to Variance
        By data set.
    scorer : str
    design : str
        Sentence on what was crossed.
    """
    known = {name: one.tables for name, one in found.items() if one.tables}
    if not known:
        return []
    tables = {
        stem: join_data_sets({name: own[stem] for name, own in known.items()}, len(found))
        for stem in ("variance", "variance_alone")
    }
    for stem, table in tables.items():
        write_table(table, folder / f"{stem}.csv")
    components, alone = tables.values()
    heading = f"Variance of the {score_words(scorer)} on the hold-out, by source. {design}"
    parts = [
        (" ".join([heading, *_notes(components), READING]), _shown(components)),
        (" ".join(["The same with one source at a time.", *variance_notes(alone)]), _shown(alone)),
    ]
    write_tables(folder, "variance", parts)
    return parts


def describe_design(scores: DataFrame) -> str:
    """Return in a sentence what was crossed.

    Examples
    --------
    >>> import pandas as pd
    >>> cells = {"split": [0, 1], "initialisation": [0, 1], "hyperparameters": ["max_depth=2", "max_depth=4"]}
    >>> describe_design(pd.DataFrame({"estimator": "tree", **cells}))
    '2 hold-outs, each with 2 random states; settings drawn for tree: max_depth=2 | max_depth=4.'
    """
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
        frames.append(
            pd.DataFrame({"source": source, "seed": part[source], "setting": setting, "score": part["score"]})
        )
    return pd.concat(frames, ignore_index=True)


def _named(name: object, table: DataFrame) -> DataFrame:
    table.insert(0, "estimator", str(name))
    return table


def _notes(components: DataFrame) -> list[str]:
    own = components["estimator"] + (" on " + components["data"] if "data" in components else "")
    return variance_notes(components.assign(source=own + ", " + components["source"]))


def _shares(table: DataFrame) -> str:
    if table["share"].isna().all():
        return "all scores are the same"
    shares = [
        f"{source} {100 * share:.0f} %" for source, share in zip(table["source"], table["share"], strict=True)
    ]
    return f"of the variance on the hold-out {', '.join(shares)}"


def _idle(part: DataFrame, estimator: Any) -> str:
    """Return why the initialisation makes no difference, where it makes none."""
    fixed = ["split", "hyperparameters"]
    if part.groupby(fixed)["score"].nunique().max() > 1:
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
