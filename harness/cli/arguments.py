"""From the checked settings of each command to the arguments of the function that does its work."""

import functools
import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from harness.cli import configuration, settings
from harness.cli.configuration import (
    KEEPERS,
    build,
    build_group,
    build_tests,
    check_targets,
    chosen,
    is_rule,
    to_plain,
)
from harness.corpora.kept import load_kept
from harness.errors import UserError, check_choice
from harness.packaged import population_file, predictions_file
from harness.runtime.talk import Say, say


def check(command: str, cfg: DictConfig) -> tuple[Any, dict[str, Any]]:
    """Return a command's settings, as its model and as plain values; estimators are checked later."""
    plain = {str(key): to_plain(cfg[key]) for key in cfg if key != "hydra"}
    checked = settings.check_settings(command, plain)
    check_targets(plain | {"estimator": None})
    return checked, plain


def run_arguments(cfg: DictConfig) -> dict[str, Any]:
    """Return the fields of :class:`harness.run.training.Job` and how ``harness run`` judges tests."""
    checked, plain = check("run", cfg)
    if checked.device == "cuda":
        from harness.models.device import resolve_device

        resolve_device("cuda")  # before any work is done
    training = {
        "load_corpus": functools.partial(
            load_kept, functools.partial(build, cfg, "corpus"), plain["corpus"], _cache(checked)
        ),
        "features": build(cfg, "features"),
        "models": configuration.build_models(cfg),
        "split": checked.split.given(),
    }
    tests = build_tests(cfg, checked.degenerate)
    configuration.check_quick(tests)
    _check_figure(checked, tests)
    configuration.check_names("nulls.replicate_tests", checked.nulls.replicate_tests, tests)
    truths, balances = build_group(cfg, "truth"), build_group(cfg, "balance")
    for name, truth in truths.items():
        configuration.try_truth(name, truth, tests)
    rules = {name: truth for name, truth in truths.items() if is_rule(truth)}
    nulls = {name: truth for name, truth in truths.items() if name not in rules}
    configuration.check_replacement(checked.sets.replacement, balances, nulls)
    evaluation = {"tests": tests, "rules": rules, "alphas": [float(alpha) for alpha in checked.alphas]}
    return {
        "training": training,
        "evaluation": evaluation | checked.sets.given(),
        "nulls": {"nulls": nulls, **checked.nulls.given()},
        "balances": balances,
        "pairs": checked.pairs,
        "device": checked.device,
        "categories": checked.categories,
        "population_file": None if checked.population is None else population_file(checked.population),
        "figure": plain["figure"],
        **_shell(checked, cfg),
    }


def _check_figure(checked: Any, tests: Sequence[Any]) -> None:
    """Refuse, before any work, a choice of what no figure of the run could show."""
    known = {
        "measures": sorted({test.measure for test in tests}),
        "panels": [*"abcd", *(f"{pair}/{name}" for pair in checked.pairs for name in checked.balance or ())],
        "tests": [test.name for test in tests],
        "alphas": checked.alphas,
        "sizes": checked.sets.sizes,
        "truth": list(checked.truth or ()),
    }
    for key in known if checked.category_sets is None else ("measures", "panels"):
        wanted = getattr(checked.figure, key) or ()
        for one in [wanted] if key == "truth" and wanted else wanted:
            check_choice(f"figure.{key}", one, known[key], UserError)


def _cache(checked: settings.Kept) -> Path | None:
    return None if checked.cache is None else Path(checked.cache)


def _shell(checked: settings.Kept, cfg: DictConfig) -> dict[str, Any]:
    """Return the arguments of every command that computes and keeps."""
    return {
        "seed": checked.seed,
        "cache": _cache(checked),
        "workers": build(cfg, "parallel"),
        "config": configuration.identity(cfg),
    }


def figure_arguments(cfg: DictConfig) -> tuple[Path, Path, dict[str, Any], Any]:
    """Return a run's folder, that of the figures, their options and the workers of ``harness figures``."""
    checked, plain = check("figures", cfg)
    folder = Path(checked.source)
    out = folder / "figures" if checked.out is None else Path(checked.out)
    return folder, out, plain["figure"], build(cfg, "parallel")


def collect_arguments(cfg: DictConfig) -> dict[str, Any]:
    """Return the keyword arguments of :func:`harness.collect.spread.collect_runs` for ``harness collect``."""
    from harness.collect.swept import Sweep

    checked, plain = check("collect", cfg)
    folder, over = Path(checked.source), checked.spread
    sweep = None if checked.x is None else Sweep(checked.x, checked.hue, checked.panel, checked.over)
    return {
        "folder": folder,
        "table": checked.table,
        "to": None if checked.to is None else Path(checked.to),
        "over": over,
        "spread_to": Path(checked.spread_to or folder / f"spread_{over}"),
        "sweep": sweep,
        "figure": plain["figure"],
    }


def cache_arguments(cfg: DictConfig) -> dict[str, Any]:
    """Return the arguments of :func:`harness.runtime.cache.show_cache` for ``harness cache``."""
    checked, _ = check("cache", cfg)
    given = {key: getattr(checked, key) for key in ("older_than_days", "prune", "check")}
    return {"folder": Path(checked.cache), "stages": checked.stage, **given}


def advise_arguments(cfg: DictConfig, say: Say = say) -> dict[str, Any]:
    """Return the keyword arguments of :func:`harness.advise.study.advise`, the predictions read."""
    from harness.advise.files import fingerprint, is_plain, read_outcomes
    from harness.advise.files.runs import Runs
    from harness.advise.margin import check_margin
    from harness.advise.points import Plan, Question

    checked, plain = check("advise", cfg)
    shell, all_tests = _shell(checked, cfg), build_tests(cfg, checked.degenerate)
    configuration.check_quick(all_tests)
    path = predictions_file(checked.predictions)
    say(f"reading {path}")
    outcomes, measure = read_outcomes(path, checked.given())
    tests = [test for test in all_tests if test.measure == measure]
    if not tests and is_plain(outcomes):
        raise UserError(f"test: none of those chosen is of measure={measure}; at least one is needed")
    if checked.margin is not None:
        check_margin(checked.margin, measure, _costs(tests), outcomes, UserError)
    plan = checked.plan.given()
    factors = tuple(sorted({1.0, *(float(factor) for factor in plan["factors"])}))
    if isinstance(outcomes, Runs):  # what more items or more runs do is told by the variance
        factors = (1.0,)
    shell["config"] |= {"counted": fingerprint(outcomes)}
    question = Question(
        name=path.resolve().name, measure=measure, average=checked.average, costs=_costs(tests), tests=tests,
        n_replicates=checked.n_replicates, alpha=checked.alpha, difference=checked.difference,
        margin=checked.margin,
        plan=Plan(**plan | {"h": tuple(sorted(plan["h"])), "factors": factors}), seed=shell.pop("seed"),
        baseline=checked.baseline,
    )  # fmt: skip
    return {"outcomes": outcomes, "question": question, "figure": plain["figure"], **shell}


def _costs(tests: list[Any]) -> dict[str, float]:
    """Return the costs of the tests, which must be the same for all."""
    costs = [dict(getattr(test.difference, "keywords", {})) for test in tests] or [{}]
    costs = [{key: value for key, value in one.items() if key != "measure"} for one in costs]
    if any(one != costs[0] for one in costs):
        raise UserError("test: the tests have different costs; give all of them the same")
    return costs[0]


def compare_arguments(cfg: DictConfig, overrides: Sequence[str] = ()) -> dict[str, Any]:
    """Return the keyword arguments of :func:`harness.compare.study.compare`.

    `overrides` are what the user wrote: the library of an estimator that they name must be installed.
    """
    checked, plain = check("compare", cfg)
    if checked.study == "learners":
        options = _learners(cfg, checked, overrides)
    else:
        from harness.compare.learner_tests import TESTS, Experiment

        for name in checked.tests:
            check_choice("tests", name, TESTS, UserError)
        experiment = Experiment(checked.tests, checked.alphas, checked.n_trials, checked.seed)
        options = {"experiment": experiment, **getattr(checked, checked.study).given()}
    if checked.study == "training_sets":
        options["load_corpus"] = functools.partial(build, cfg, "corpus")
    # what the configuration does not say: whether a library is installed, what is in a file
    found: dict[str, Any] = {"estimators": list(options.get("estimators", ()))}
    if "data" in options:
        found["data"] = {one.name: one.fingerprint() for one in options["data"]}
    shell = _shell(checked, cfg)
    shell["config"] |= {"found": found}
    del shell["seed"]  # it stands in the configuration
    return {"study": checked.study, "figure": plain["figure"], "options": options, **shell}


def _learners(cfg: DictConfig, checked: settings.Learners, overrides: Sequence[str]) -> dict[str, Any]:
    """Return the keywords of :func:`harness.compare.learners.run_study`."""
    from harness.models.estimators import check_estimator

    data = _data_sets(cfg, checked, overrides)
    nodes, missing = _installed(chosen(cfg, "estimator"), overrides)
    descriptions = {name: to_plain(node) for name, node in nodes.items()}
    check_targets({"estimator": descriptions})
    estimators = {
        name: configuration.make(f"estimator.{name}", node, convert="all") for name, node in nodes.items()
    }
    for name, estimator in estimators.items():
        check_estimator(f"estimator.{name}", estimator)
    if len(estimators) < 2:
        raise UserError(f"estimator: {', '.join(estimators) or 'none'} is left; at least two are needed")
    if checked.baseline is not None:
        check_choice("baseline", checked.baseline, estimators, UserError)
    given = {key: getattr(checked, key) for key in ("n_seeds", "alpha", "scorer", "test_share", "baseline")}
    return {
        "data": data,
        "estimators": estimators,
        "missing": [*missing, *(f"{one.name}: {note}" for one in data for note in one.notes)],
        "descriptions": descriptions,
        "setting": given | _variance(checked.variance, estimators, checked.seed),
    }


def _data_sets(cfg: DictConfig, checked: settings.Learners, overrides: Sequence[str]) -> list[Any]:
    """Return the data sets, each fit to be split and scored."""
    from harness.compare.datasets import check_dataset, check_names
    from harness.compare.trials import check_scorer

    for text in overrides:  # Hydra would take one named twice as named once
        names = text.removeprefix("data=[").rstrip("] ").split(",")
        if text.startswith("data=[") and len({name.strip() for name in names}) < len(names):
            raise UserError(f"data: {text.removeprefix('data=')} names one twice; each is allowed once")
    data = list(build_group(cfg, "data").values())
    for one in data:
        check_dataset(one, checked.test_share)
        check_scorer(checked.scorer, one)
    check_names(data)
    return data


def _variance(node: settings.Variance, estimators: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Return splits, random states and settings for the variance by source."""
    from harness.compare.trials import draw_settings

    grids = node.hyperparameters
    for name, grid in grids.items():
        check_choice("variance.hyperparameters", name, estimators, UserError, what="key")
        parameters = estimators[name].get_params(deep=True)
        allowed = [key for key in parameters if key.rpartition("__")[2] not in KEEPERS]
        for key in grid:
            check_choice(f"variance.hyperparameters.{name}", key, allowed, UserError, what="key")
    return {
        "n_splits": node.n_splits,
        "n_initialisations": node.n_initialisations,
        "settings": {
            name: draw_settings(grids.get(name, {}), node.n_hyperparameters, seed, name)
            for name in estimators
        },
    }


def _installed(nodes: Mapping[str, Any], overrides: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """Leave out estimators whose library is not installed, unless the user named them."""
    kept, left_out = {}, []
    for name, node in nodes.items():
        plain = to_plain(node)
        target = plain.get("_target_", "") if isinstance(plain, Mapping) else ""
        if not str(target).startswith("xgboost.") or importlib.util.find_spec("xgboost") is not None:
            kept[name] = node
            continue
        advice = 'xgboost is not installed; pip install "size-power-harness[compare]" brings it'
        if any(text.lstrip("+").startswith(("estimator=", f"estimator.{name}")) for text in overrides):
            raise UserError(f"estimator.{name}: {advice}")
        left_out.append(f"{name} is left out: {advice}")
    return kept, left_out
