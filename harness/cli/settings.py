"""What each command may be set to: one pydantic model per command, checked before any work.

A refusal is one sentence: the key, the value and what is allowed.
"""

import json
import math
import os
import re
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, ValidationError
from pydantic import model_validator as on_model
from pydantic_core import PydanticCustomError

from harness.drawing.style import FORMATS, X_AXES, Look
from harness.errors import UserError, instead
from harness.measures import DIFFERENCES
from harness.results.selection import check_no_choice
from harness.split import check_draws

MOST = 1_000_000_000
"""Largest whole number where nothing smaller is said."""
MOST_SETS = 10_000_000
"""Of evaluation sets and of replicates: no machine has the memory for more."""
MOST_TRIALS, MOST_EXAMPLES, MOST_RESAMPLES, MOST_SEEDS = 100_000_000, 1_000_000, 10_000, 1_000_000
LONGEST = 200
"""Characters of a refused value that are shown."""


def _refuse(said: str) -> PydanticCustomError:
    return PydanticCustomError("refused", "{said}", {"said": said})


def that(
    good: Callable[[Any], object], allowed: str, kind: Callable[[Any], Any] = lambda v: v
) -> PlainValidator:
    """Return the check of a value, which becomes `kind` of it; `allowed` ends the sentence of a refusal."""

    def check(value: Any) -> Any:
        if not good(value):
            raise _refuse(f"is not allowed; {allowed}")
        return kind(value)

    return PlainValidator(check)


def whole(least: int, most: int | None = MOST) -> PlainValidator:
    """Return the check of a whole number."""
    allowed = f"of at least {least}" if most is None else f"from {least:,} to {most:,}"
    highest = math.inf if most is None else most
    return that(lambda v: type(v) is int and least <= v <= highest, f"a whole number {allowed} is")


def number(low: float, high: float, allowed: str) -> PlainValidator:
    """Return the check of a finite number from `low` to `high`."""
    return that(lambda v: type(v) in (int, float) and low <= v <= high, allowed)


def one_of(*names: str) -> PlainValidator:
    """Return the check of a name."""

    def check(value: Any) -> Any:
        if not isinstance(value, str) or value not in names:
            raise _refuse(f"is not allowed; {instead(value, names)}")
        return value

    return PlainValidator(check)


def _is_name(value: object) -> bool:
    return type(value) in (str, int, float) and bool(str(value).strip())


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _are_runs(value: object) -> bool:
    lists = value.values() if isinstance(value, dict) else [None]
    return all(isinstance(own, list) and own and all(map(_is_name, own)) for own in lists)


def named(what: str) -> PlainValidator:
    """Return the check of a text that is not blank; numbers are text too, as in ``positive=1``."""
    return that(_is_name, f"{what} is", str)


def listed(least: int, allowed: str = "a list of at least one is, as in KEY=[...]") -> BeforeValidator:
    """Return the check of a list, of at least `least` items, none twice."""

    def check(value: Any) -> Any:
        if not isinstance(value, list) or len(value) < least:
            raise _refuse(f"is not allowed; {allowed}")
        if len({json.dumps(item) for item in value}) != len(value):
            raise _refuse("names one twice; each is allowed once")
        return value

    return BeforeValidator(check)


SEVERAL, ANY_NUMBER = listed(1), listed(0, "a list is, as in KEY=[...]")
Seed = Annotated[int, whole(0, None)]
Flag = Annotated[bool, that(lambda v: isinstance(v, bool), "true or false is")]
Folder = Annotated[Any, named("the name of a folder")]
Name = Annotated[Any, named("a name")]
PlainName = Annotated[str, that(lambda v: re.fullmatch(r"\w[\w.-]*", str(v)), "a plain name is", str)]
NameOrFalse = Annotated[
    Any, that(lambda v: v is False or _is_name(v), "a name is, or false", lambda v: v and str(v))
]
Text = Annotated[str, that(_is_text, "names are")]
Level = Annotated[float, number(1e-9, 1 - 1e-9, "numbers between 0 and 1 are (1e-9 at least)")]
Share = Annotated[float, number(0, 1, "a number from 0 to 1 is")]
Cost = Annotated[float, number(0, 1e9, "a number of at least 0 is")]
Size = Annotated[int, whole(1)]
SomeSets = Annotated[int, whole(1, MOST_SETS)]
ManySets = Annotated[int, whole(100, MOST_SETS)]
Examples = Annotated[int, whole(4, MOST_EXAMPLES)]
Sizes = Annotated[list[Size], SEVERAL]
Levels = Annotated[list[Level], SEVERAL]
Names = Annotated[list[Text], SEVERAL]
Replicates = SomeSets | None
Group = Any
"""Chosen members of a group: :mod:`harness.cli.configuration` and the members themselves check them."""


class Part(BaseModel):
    """A node of the configuration, whose keys are all known."""

    model_config = ConfigDict(extra="forbid")

    @on_model(mode="before")
    @classmethod
    def know_keys(cls, node: Any) -> Any:
        """Refuse what has no keys, or others."""
        known = [field.alias or name for name, field in cls.model_fields.items()]
        if not isinstance(node, Mapping):
            raise _refuse(f"is not allowed; its parts are {', '.join(known)}")
        for key in node:
            if key not in known:
                raise PydanticCustomError("unknown", "{key}", {"key": str(key), "known": known})
        return node

    def given(self) -> dict[str, Any]:
        """Return what the configuration says, without defaults of the model's own."""
        return self.model_dump(exclude_unset=True, by_alias=True)


def _is_day(value: Any) -> bool:
    try:
        return value is None or str(date.fromisoformat(value)) == value
    except (TypeError, ValueError):
        return False


class Split(Part):
    n_train: Annotated[int, whole(2)]
    n_test: Annotated[int, whole(0)]
    order: Annotated[str, one_of("random", "chronological")]
    n_draws: Annotated[int, whole(1, 1000)]
    draw: Annotated[int, whole(0, 999)]
    before: Annotated[str | None, that(_is_day, "a date such as 2010-01-01, or null, is")]

    @on_model(mode="after")
    def draws_what_there_is(self) -> "Split":
        """Refuse, before a corpus is read, a draw that there is not, and draws that are not at random."""
        check_draws(self.order, self.n_draws, self.draw, self.before)
        return self


class Tune(Part):
    enabled: Flag
    criterion: Annotated[str, one_of("f1", "error")]


class Sets(Part):
    sizes: Sizes
    n_sets: SomeSets
    n_truth_sets: ManySets
    replacement: Flag


class Nulls(Part):
    n_pooled: Size
    n_sets: SomeSets = 10_000
    n_replicate_sets: SomeSets = 2_000
    replicate_tests: Annotated[list[Text], ANY_NUMBER] = []
    h: Annotated[list[Annotated[float, number(0, 1e6, "numbers from 0 to 1,000,000 are")]], SEVERAL]
    path_sizes: Sizes
    prevalence_sizes: Sizes | None


class Figure(Part):
    """How figures look, and what those of a run show."""

    width: Annotated[float, number(2, 30, "2 to 30 inches are")]
    height: Annotated[float, number(2, 100, "2 to 100 inches are")]
    font_size: Annotated[float, number(6, 40, "6 to 40 points are")]
    font: Name | None
    usetex: Flag
    dpi: Annotated[float, number(30, 1200, "30 to 1200 are")]
    formats: Annotated[list[Annotated[str, one_of(*FORMATS)]], SEVERAL]
    caption: Flag
    papers_minus_one: Flag
    truth: Name | None
    x_axis: Annotated[str, one_of(*X_AXES)]
    panels: Names | None
    tests: Names | None
    alphas: Levels | None
    measures: Names | None
    sizes: Sizes | None

    @on_model(mode="after")
    def can_be_drawn(self) -> "Figure":
        """Refuse what needs LaTeX, or a font, that is not installed."""
        Look.of(self.given())
        return self


class PlainFigure(Figure):
    """Of a command whose figures show all that there is."""

    @on_model(mode="after")
    def choose_nothing(self) -> "PlainFigure":
        """Refuse a choice that would not be heard."""
        check_no_choice(self.given(), "this command")
        return self


class Calibration(Part):
    n_draws: Annotated[int, whole(10, MOST_SETS)]
    n_replicates: Annotated[int, whole(20, MOST_SETS)]
    n_truth_sets: ManySets
    n_random: Annotated[int, whole(0, MOST_SETS)]


class Costs(Part):
    cost_fn: Cost
    cost_fp: Cost
    prior: Share


class CategorySets(Part):
    size: SomeSets
    averages: Annotated[list[Annotated[str, one_of("micro", "macro")]], SEVERAL]
    resampling: Annotated[list[Annotated[str, one_of("document", "event")]], SEVERAL]
    n_subsets: Annotated[int, whole(20, MOST_SETS)]
    costs: Costs
    calibration: Calibration


class Command(Part):
    """What every command has."""

    absent: ClassVar[str] = "it is missing; leave out the ~ that removes it"
    command: str
    verbose: Annotated[int, whole(0, 2)]


class Kept(Command):
    """What commands have that compute and keep."""

    seed: Seed
    out: Folder
    cache: Annotated[Any, named("the name of a folder (or null)")] | None
    parallel: Group
    plugins: Annotated[list[Name], ANY_NUMBER]
    experiment: Any = None
    experiment_name: PlainName | None = None

    @on_model(mode="after")
    def write_there(self) -> "Kept":
        """Refuse a cache that cannot be one, or cannot be written."""
        folder = Path(str(self.cache)).absolute()
        there = next(place for place in (folder, *folder.parents) if place.exists())
        effective = os.access in os.supports_effective_ids
        wrong = None if there.is_dir() else "is a file; a folder is needed"
        if wrong is None and not os.access(there, os.W_OK | os.X_OK, effective_ids=effective):
            wrong = "cannot be written; another folder is needed"
        if self.cache is not None and wrong is not None:
            raise UserError(f"cache={self.cache}: {there} {wrong}, or cache=null")
        return self


class Run(Kept):
    device: Annotated[str, one_of("auto", "cpu", "cuda")]
    population: Annotated[Any, named("a file")] | None
    categories: Names | None
    n_documents: Size
    split: Split
    pairs: Names
    tune: Tune
    n_meta_categories: Annotated[int, whole(1, 10_000)]
    prevalences: Annotated[list[Level], SEVERAL]
    alphas: Levels
    n_replicates: Replicates
    degenerate: Annotated[str, one_of("accept", "reject")]
    sets: Sets
    nulls: Nulls
    corpus: Group
    features: Group
    model: Group = None
    balance: Group = None
    truth: Group = None
    test: Group = None
    figure: Figure
    category_sets: CategorySets | None = None

    @on_model(mode="after")
    def keep_what_is_stored(self) -> "Run":
        """Refuse a choice among categories that are still to be made."""
        if self.categories is not None and self.population is None:
            raise UserError("categories: they are chosen from a stored table; name one, as population=FILE")
        return self


class Plan(Part):
    """Of ``harness advise``."""

    n_sets: ManySets
    n_draws: Annotated[int, whole(2, MOST_SETS)]
    n_range_sets: ManySets
    n_power_sets: ManySets
    h: Annotated[list[Annotated[float, number(1e-9, 10, "numbers above 0, up to 10, are")]], SEVERAL]
    factors: Annotated[list[Annotated[float, number(1e-9, 100, "numbers above 0, up to 100, are")]], SEVERAL]


class Advise(Kept):
    predictions: Annotated[Any, named("a file or a folder")]
    truth_column: Name | None
    systems: Annotated[list[Name], listed(2, "a list of two or more columns is")] | None
    positive: Annotated[Any, that(lambda v: type(v) in (str, int, float, bool), "a label is")] | None
    threshold: Annotated[float, number(-1e300, 1e300, "a number is")] | None
    measure: Annotated[str, one_of(*DIFFERENCES, "accuracy", "score")] | None
    task: Name | None
    metric: Name | None
    filter: Name | None
    category_column: NameOrFalse | None
    separator: Annotated[Any, that(lambda v: type(v) in (str, int) and str(v) != "", "a text is", str)]
    category: Name | None
    cluster: Name | None
    run: Name | None
    runs: (
        Annotated[Any, that(_are_runs, "columns of each system are, as {rf:[rf_0,rf_1],svm:[svm_0]}")] | None
    )
    paired_runs: Flag
    average: Annotated[str, one_of("micro", "macro")]
    baseline: Name | None
    missing: Annotated[list[Name], ANY_NUMBER] = []
    alpha: Level
    difference: Level
    margin: Annotated[float, number(1e-9, 1e9, "a number above 0 is")] | None
    n_replicates: Replicates
    degenerate: Annotated[str, one_of("accept", "reject")]
    test: Group = None
    plan: Plan
    figure: PlainFigure


class Compare(Kept):
    """What the studies of ``harness compare`` have in common."""

    study: str
    device: Any = None
    figure: PlainFigure


class Variance(Part):
    n_splits: Annotated[
        int, that(lambda v: type(v) is int and (v == 0 or 2 <= v <= MOST_SEEDS), "0 or 2 to 1,000,000 are")
    ]
    n_initialisations: Annotated[int, whole(2, MOST_SEEDS)]
    n_hyperparameters: Annotated[int, whole(2, MOST_SEEDS)]
    hyperparameters: dict[str, dict[str, Annotated[list[Any], SEVERAL]]]


class Learners(Compare):
    data: Group = None
    estimator: Group = None
    n_seeds: Annotated[int, whole(1, MOST_SEEDS)]
    alpha: Level
    scorer: Text
    test_share: Level
    baseline: Text | None
    variance: Variance


Nothing = Annotated[None, that(lambda v: v is None, "it has no meaning in this study; null is")]


class Trials(Compare):
    """What the two studies of tests have in common; the keys of ``study=learners`` mean nothing here."""

    absent: ClassVar[str] = (
        "it is missing; experiment=dietterich1998 or experiment=dietterich_rcv1 sets it, without a ~"
    )
    data: Nothing = None
    estimator: Nothing = None
    n_seeds: Nothing = None
    alpha: Nothing = None
    scorer: Nothing = None
    test_share: Nothing = None
    baseline: Nothing = None
    variance: Nothing = None
    n_trials: Annotated[int, whole(1, MOST_TRIALS)]
    alphas: Levels
    tests: Names


class Design(Part):
    sizes: Annotated[list[Examples], ANY_NUMBER]
    test_share: Share
    n_resamples: Annotated[int, whole(2, MOST_RESAMPLES)]
    n_folds: Annotated[int, whole(2)]


class SimulatedNull(Design):
    halves: Annotated[list[Annotated[str, one_of("exact", "random")]], SEVERAL]
    errors: Annotated[list[Share], SEVERAL]
    differences: Annotated[list[Share], ANY_NUMBER]
    n_examples: Examples


class TrainingSets(Design):
    learner: Annotated[str, one_of("naive_bayes", "linear_svm")]
    topic: Annotated[str, that(lambda v: isinstance(v, str), "a topic's name or null is")] | None
    n_terms: Size
    n_truth: Size
    nulls: Annotated[list[Annotated[str, one_of("views", "bootstrap")]], ANY_NUMBER]
    kept_terms: Annotated[list[Share], ANY_NUMBER]
    sizes: Annotated[list[Examples], SEVERAL]


class SimulatedNullStudy(Trials):
    simulated_null: SimulatedNull


class TrainingSetsStudy(Trials):
    training_sets: TrainingSets
    corpus: Group
    n_documents: Size


STUDIES: dict[str, type[Compare]] = {
    "learners": Learners,
    "simulated_null": SimulatedNullStudy,
    "training_sets": TrainingSetsStudy,
}


class Figures(Command):
    source: Annotated[Any, named("the folder of a finished run")] = Field(alias="from")
    out: Folder | None
    figure: Figure
    parallel: Group


Setting = Annotated[str, that(_is_text, "a setting's name is, as in seed")]


class Collect(Command):
    source: Folder = Field(alias="from")
    table: Text
    to: Annotated[Any, named("a file")] | None
    spread: Setting | None
    spread_to: Folder | None
    x: Setting | None
    hue: Setting | None
    panel: Setting | None
    over: Annotated[list[Text], ANY_NUMBER, BeforeValidator(lambda v: [v] if isinstance(v, str) else v)]
    figure: Figure

    @on_model(mode="after")
    def spread_what_is_there(self) -> "Collect":
        """Refuse what does not go with a spread, or with a figure."""
        for key in ("spread", "x"):
            value = getattr(self, key)
            if value is not None and self.table.removesuffix(".csv") != "size_power":
                raise UserError(f"table: {self.table} is not allowed with {key}={value}; size_power is")
        for key in ("hue", "panel", "over"):
            if self.x is None and getattr(self, key):
                raise UserError(f"{key}: without x=SETTING no figure is drawn; name the setting along x")
        if self.spread is None and self.spread_to is not None:
            raise UserError("spread_to: without spread=SETTING nothing is written there; name the setting")
        return self


class Cache(Command):
    cache: Folder
    stage: Annotated[list[Text], SEVERAL, BeforeValidator(lambda v: [v] if isinstance(v, str) else v)] | None
    older_than_days: Annotated[float, number(0, MOST, "null or a number of at least 0 is")] | None
    prune: Flag
    check: Flag


COMMANDS: dict[str, type[Command]] = {
    "run": Run,
    "advise": Advise,
    "figures": Figures,
    "collect": Collect,
    "cache": Cache,
}


def check_command(command: str, named: object) -> None:
    """Refuse a preset that names another command."""
    if isinstance(named, str) and named != command:
        raise UserError(f"experiment: this preset is one of `harness {named}`, not of `harness {command}`")


def check_settings(command: str, plain: Mapping[str, Any]) -> Any:
    """Return the settings of a command as its model; a UserError names the key and what is allowed."""
    for key, value in plain.items():
        _check_plain(str(key), value)
    check_command(command, plain.get("command"))
    study = plain.get("study")
    if command == "compare" and (not isinstance(study, str) or study not in STUDIES):
        raise UserError(f"study: {study!r} is not allowed; choose one of {', '.join(STUDIES)}")
    model = STUDIES[str(study)] if command == "compare" else COMMANDS[command]
    try:
        return model.model_validate(plain)
    except ValidationError as error:
        raise UserError(_sentence(command, model, error)) from error


def _check_plain(key: str, node: object) -> None:
    """Refuse what no setting may be, at any depth: infinite numbers, missing values, keys of two kinds."""
    if isinstance(node, float) and not math.isfinite(node):
        raise UserError(f"{key}: {node} is not allowed; a finite number is")
    if isinstance(node, str) and "\0" in node:
        raise UserError(f"{key}: {node!r} is not allowed; a text without a null character is")
    if node == "???" and "." not in key:
        raise UserError(f"{key}: it is missing; give it, as in {key}=...")
    if isinstance(node, Mapping):
        if len({isinstance(name, str) for name in node}) > 1:
            raise UserError(f"{key}: its keys are numbers and text; keys of one kind are allowed")
        for name, part in node.items():
            _check_plain(f"{key}.{name}", part)
    if isinstance(node, list):
        for part in node:
            _check_plain(key, part)


def _sentence(command: str, model: type[Command], error: ValidationError) -> str:
    """Return the first thing that pydantic found, as one sentence."""
    first = error.errors(include_url=False)[0]
    key = ".".join(str(part) for part in first["loc"] if not isinstance(part, int))
    about = first.get("ctx", {})
    if first["type"] == "unknown":
        listed = f"{', '.join(about['known'])} are allowed"
        others = listed if key else f"`harness {command} --cfg job` prints those there are"
        said = instead(about["key"], about["known"], others)
        return f"{key}{key and '.'}{about['key']}: there is no such key; {said}"
    if first["type"] == "missing":
        return f"{key}: {model.absent}"
    value = repr(first["input"])
    shown = value if len(value) <= LONGEST else f"{value[:LONGEST]}..."
    said = about.get("said") or f"is not allowed; {first['msg'][:1].lower()}{first['msg'][1:]}"
    return f"{key}: {shown} {said.replace('KEY', key)}"
