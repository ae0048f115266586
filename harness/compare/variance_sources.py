"""How much of the spread of scores each source makes: split, initialisation, hyperparameters."""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from pandas import DataFrame, concat
from scipy.special import chdtri

from harness.compare.learner_tables import by_key
from harness.compare.report_parts import Part
from harness.compare.seeds import check_scores
from harness.errors import check_share, require
from harness.measures import Bools, Floats
from harness.models.estimators import open_random_states
from harness.seeding import rng
from harness.writing.prose import paragraph, paragraphs
from harness.writing.report import Captioned
from harness.writing.table_text import bounds

JOINT = "all"
RESIDUAL = "residual"
SOURCES = ("split", "initialisation", "hyperparameters")


def variance_by_source(scores: DataFrame, *, joint: str = JOINT, confidence: float = 0.95) -> DataFrame:
    """Return the variance of scores in which one source varies while the others stay fixed.

    The variance of a source is the sample variance over its seeds, everything else being held at one setting
    (Bouthillier et al. 2021, MLSys 3, 747-769, section 3). Where a column `setting` names several fixed
    settings of the others, it is the mean of the variances within them, weighted by their degrees of freedom.
    The interval is the chi-square one, exact for normal scores and sensitive to other shapes. Interactions of
    a source with what is held fixed count as part of it, so that the sources need not add up to the joint
    variance; :func:`variance_components` takes them apart.

    Parameters
    ----------
    scores : DataFrame
        source, seed, score and possibly setting: in the rows of a source its seed varies and nothing else.
    joint : str
        The source, if there is one, in whose rows everything varies at once; shares are of its variance.
    confidence : float
        Two-sided, in (0, 1).
    """
    frame = scores if "setting" in scores else scores.assign(setting="")
    frame = check_scores(frame, ["source", "setting", "seed"])
    tail = _tail(confidence)
    rows = []
    for source, part in frame.groupby("source", sort=False):
        groups = [group["score"].to_numpy(float) for _, group in part.groupby("setting", sort=False)]
        if min(map(len, groups)) < 2:
            raise ValueError(f"scores: source {source!r} has a setting with one seed; at least 2 are needed")
        df = sum(len(group) - 1 for group in groups)
        squares = sum(((group - group.mean()) ** 2).sum() for group in groups)
        spread = squares > 1e-20 * (part["score"] ** 2).max()
        ends = [squares / chdtri(df, share) if spread else np.nan for share in (tail, 1 - tail)]
        rows.append([source, len(part), df, part["score"].mean(), squares / df if spread else 0.0, *ends])
    names = ["source", "n_scores", "df", "mean", "variance", "variance_low", "variance_high"]
    table = DataFrame(rows, columns=names)
    return _with_shares(table, (table["source"] == joint).to_numpy())


def variance_components(
    scores: DataFrame,
    sources: Sequence[str],
    *,
    confidence: float = 0.95,
    n_draws: int = 20_000,
    seed: int = 0,
) -> DataFrame:
    """Return the variance components of scores of a crossed design: every source, every interaction.

    Random-effects model: a score is the mean plus an independent effect for every set of sources. The
    components are the method-of-moments (ANOVA) estimates, unbiased: for the sources S,
    ``sigma_S^2 = sum over T containing S of (-1)^|T - S| MS_T``, divided by the number of scores that share
    their levels of S. The interaction of all sources cannot be told from noise and is called residual.
    **A negative estimate is set to 0 and marked**: the component is then small against its own error.
    The interval is the generalized one: the mean squares are divided by draws of chi-square over its
    degrees of freedom, and the bounds are quantiles of the estimates so made, 0 at least.

    Parameters
    ----------
    scores : DataFrame
        One column for each of `sources`, and score: one score for each combination of their levels.
    sources : sequence of str
        Two columns or more, each with at least 2 levels.
    confidence : float
        Two-sided, in (0, 1).
    n_draws, seed : int
        Draws for the intervals, and their seed.

    Raises
    ------
    ValueError
        If a column lacks, a score is missing or infinite, or a combination is missing or there twice.

    References
    ----------
    Searle, Casella & McCulloch (1992), Variance components, chapter 4; Weerahandi (1995), Exact statistical
    methods for data analysis, for the interval.
    """
    cells = _crossed(scores, list(sources))
    tail = _tail(confidence)
    if n_draws < 100:
        raise ValueError(f"n_draws: {n_draws!r} is not allowed; at least 100 is")
    axes = range(cells.ndim)
    sets = itertools.chain.from_iterable(itertools.combinations(axes, size + 1) for size in axes)
    squares = {part: _sum_of_squares(cells, part) for part in sets}
    dfs = {part: int(np.prod([cells.shape[axis] - 1 for axis in part])) for part in squares}
    spread = 1e-20 * cells.size * float((cells**2).max())
    squares = {part: value if value > spread else 0.0 for part, value in squares.items()}
    generator = rng(seed, "variance_components")
    drawn = {part: squares[part] / generator.chisquare(dfs[part], n_draws) for part in squares}
    means = {part: np.asarray(squares[part] / dfs[part]) for part in squares}
    rows = []
    for part in squares:
        variance = _component(means, part, cells.shape)
        low, high = np.quantile(np.maximum(_component(drawn, part, cells.shape), 0), [tail, 1 - tail])
        rows.append({
            "source": RESIDUAL if len(part) == cells.ndim else " x ".join(sources[axis] for axis in part),
            "n_levels": int(np.prod([cells.shape[axis] for axis in part])), "df": dfs[part],
            "mean_square": float(means[part]), "variance": max(float(variance), 0.0),
            "variance_low": low, "variance_high": high, "negative": bool(variance < 0),
        })  # fmt: skip
    return _with_shares(DataFrame(rows), np.zeros(len(rows), dtype=bool))


def variance_notes(table: DataFrame) -> list[str]:
    """Return the sentences that belong under a table of either function."""
    crossed = "negative" in table
    below = list(table["source"][table["negative"]]) if crossed else []
    return paragraphs("compare", "variance_notes", crossed=crossed, below=below)


def _sum_of_squares(cells: Floats, part: tuple[int, ...]) -> float:
    """Return the sum of squares of a main effect or an interaction."""
    effect = cells.mean(axis=tuple(axis for axis in range(cells.ndim) if axis not in part), keepdims=True)
    for axis in part:
        effect = effect - effect.mean(axis=axis, keepdims=True)
    return float((effect**2).sum() * cells.size / effect.size)


def _component(
    mean_squares: dict[tuple[int, ...], Floats], part: tuple[int, ...], shape: tuple[int, ...]
) -> Floats:
    """Return the component of `part`: an alternating sum of the mean squares that contain it."""
    sharing = np.prod([n for axis, n in enumerate(shape) if axis not in part])
    above = [key for key in mean_squares if set(part) <= set(key)]
    return sum(((-1) ** (len(key) - len(part)) * mean_squares[key] for key in above), np.zeros(())) / sharing


def _crossed(scores: DataFrame, sources: list[str]) -> Floats:
    """Return the scores as an array with an axis for each source."""
    different = len(set(sources)) == len(sources) >= 2
    require(different, f"sources: {sources!r} is not allowed; two different columns or more are")
    scores = check_scores(scores, sources)
    n_levels = [scores[name].nunique() for name in sources]
    for name, n in zip(sources, n_levels, strict=True):
        require(n >= 2, f"sources: {name!r} has one level; at least 2 are needed")
    combined = f"{len(scores)} of {math.prod(n_levels)} combinations of {', '.join(sources)}"
    require(len(scores) == math.prod(n_levels), f"scores: {combined}; all are needed")
    cells = np.empty(n_levels)
    cells[tuple(scores[name].factorize()[0] for name in sources)] = scores["score"]
    return cells


def _with_shares(table: DataFrame, joint: Bools) -> DataFrame:
    """Add standard deviations and shares."""
    for end in ("", "_low", "_high"):
        table[f"sd{end}"] = np.sqrt(table[f"variance{end}"])
    whole = table.loc[joint if joint.any() else ~joint, "variance"].sum()
    table["share"] = table["variance"] / whole if whole > 0 else np.nan
    return table


def _tail(confidence: float) -> float:
    check_share("confidence", confidence)
    return (1 - confidence) / 2


def split_variance(scores: DataFrame, estimators: Mapping[str, Any], score: str) -> Part:
    """Return the variance by source of every estimator on every data set, from its row a training."""
    made: dict[str, list[DataFrame]] = {"variance": [], "variance_alone": []}
    warnings, findings = [], []
    for key, part in by_key(scores, "estimator"):
        name, failed, warned = ": ".join(key.values()), part["score"].isna(), (part["n_warnings"] > 0).sum()
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
            tables.append(table.assign(**key))
        findings.append(_finding(name, components, part, estimators[key["estimator"]]))
    csvs = {"variance": scores}
    if not made["variance"]:
        return Part({}, csvs, (), warnings)
    shown: list[Captioned] = []
    for stem, frames in made.items():
        table = concat(frames, ignore_index=True)
        table = csvs[f"tables/{stem}"] = table[[*key, *table.columns.drop([*key])]]
        shown.append((" ".join(_caption(table, score, scores)), _shown(table)))
    return Part({"variance": shown}, csvs, findings, warnings)


def _caption(table: DataFrame, score: str, scores: DataFrame) -> list[str]:
    if "negative" not in table:
        return ["The same with one source at a time.", *variance_notes(table)]
    own = table["estimator"] + (" on " + table["data"] if "data" in table else "")
    notes = variance_notes(table.assign(source=own + ", " + table["source"]))
    heading = f"Variance of the {score} on the hold-out, by source. {describe_design(scores)}"
    return [heading, *notes, paragraph("compare", "variance_reading")]


def describe_design(scores: DataFrame) -> str:
    """Return in a sentence what was crossed."""
    settings = scores.groupby("estimator", sort=False)["hyperparameters"].unique()
    drawn = {name: own for name, own in settings.items() if any(own)}
    n = {"n_splits": scores["split"].nunique(), "n_states": scores["initialisation"].nunique()}
    return paragraph("compare", "variance_design", drawn=drawn, **n)


def _one_at_a_time(part: DataFrame, sources: list[str]) -> DataFrame:
    """Return the scores once for each source, the levels of all others being the setting."""
    frames = []
    for source in sources:
        others = [name for name in sources if name != source]
        setting = part[others].astype(str).agg(" ".join, axis=1)
        frames.append(part[["score"]].assign(source=source, seed=part[source], setting=setting))
    return concat(frames, ignore_index=True)


def _finding(name: str, table: DataFrame, part: DataFrame, estimator: Any) -> str:
    """Return the three largest shares of the variance, and why the initialisation makes none."""
    largest = table.sort_values("share", ascending=False, kind="stable").head(3)
    return paragraph(
        "compare", "variance_found", who=name, shares=largest.dropna(subset="share"),
        idle=part.groupby(["split", "hyperparameters"])["score"].nunique().max() <= 1,
        open_states=open_random_states(estimator),
    )  # fmt: skip


def _shown(table: DataFrame) -> DataFrame:
    shown = table[[name for name in ("data", "estimator", "source") if name in table]].assign(
        sd=[f"{sd:.4f}" for sd in table["sd"]],
        interval=[bounds(low, high, 4) for low, high in zip(table["sd_low"], table["sd_high"], strict=True)],
        df=table["df"],
        share=["" if share != share else f"{100 * share:.1f} %" for share in table["share"]],
    )
    return shown.rename(columns={"interval": "sd, 95 % interval", "df": "degrees of freedom"})
