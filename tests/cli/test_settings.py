"""The settings of every command as models: what is refused, in which words; and what Hydra may start."""

import copy
import functools
import math
import re

import pytest
from composing import configured
from omegaconf import OmegaConf

from harness.cli import configuration
from harness.cli.configuration import to_plain
from harness.cli.hydra_internals import check_hydra
from harness.cli.settings import check_settings
from harness.cli.targets import check_targets
from harness.errors import UserError

PRESETS = {
    "run": "run", "advise": "advise", "figures": "figures", "collect": "collect", "cache": "cache",
    "compare": "compare", "rr0434": "run", "dietterich1998": "compare", "dietterich_rcv1": "compare",
}  # fmt: skip
COMMANDS = list(PRESETS)[:6]
GIVEN = {"advise": ["predictions=x"], "figures": ["from=x"], "collect": ["from=x"]}
REMOVED = object()


@functools.cache
def composed(name, *more):
    """The configuration of a command, or of a preset of it."""
    command = PRESETS[name]
    overrides = [] if name == command else [f"experiment={name}"]
    overrides += ["out=unused", "cache=null"] if command in ("run", "advise", "compare") else []
    return configured(command, *overrides, *GIVEN.get(command, []), *more, return_hydra_config=True)


@functools.cache
def plain_of(name):
    cfg = composed(name)
    return {str(key): to_plain(cfg[key]) for key in cfg if key != "hydra"}


def changed(node, key, value):
    """Return a copy in which one key has another value, or none."""
    node = copy.deepcopy(node)
    *above, last = key.split(".")
    place = node
    for part in above:
        place = place[part]
    if value is REMOVED:
        del place[last]
    else:
        place[last] = value
    return node


def said_of(name, key, value):
    """Return the sentence with which a command refuses a setting."""
    with pytest.raises(UserError) as caught:
        check_settings(PRESETS[name], changed(plain_of(name), key, value))
    assert "\n" not in str(caught.value)
    return str(caught.value)


PARTS = ("split", "tune", "sets", "nulls", "figure", "plan", "variance")


def leaves(node, above=""):
    """Yield the key of every setting, at any depth, that is not a member of a group."""
    for key, value in node.items():
        yield above + key
        if isinstance(value, dict) and key in PARTS:
            yield from leaves(value, f"{above}{key}.")


@pytest.mark.parametrize("name", PRESETS)
def test_what_is_shipped_is_allowed(name):
    assert check_settings(PRESETS[name], plain_of(name)).command == PRESETS[name]
    check_targets(plain_of(name) | {"estimator": None})


OPTIONAL = {
    "experiment_name", "experiment", "category_sets", "model", "balance", "truth", "test", "data",
    "estimator", "missing", "nulls.n_sets", "nulls.n_replicate_sets", "nulls.replicate_tests", "study",
}  # fmt: skip


@pytest.mark.parametrize("name", COMMANDS)
def test_every_setting_that_is_removed_is_named(name):
    """Whichever key: the kind, not the case."""
    for key in leaves(plain_of(name)):
        if key not in OPTIONAL and (name == "run" or key != "device"):
            assert said_of(name, key, REMOVED) == f"{key}: it is missing; leave out the ~ that removes it"


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, "a\0b", {1: 2, "a": 3}, [math.nan]])
def test_no_setting_may_be_what_no_setting_is(name, value):
    for key in leaves(plain_of(name)):
        assert re.search("is not allowed|one kind are allowed", said_of(name, key, value))


@pytest.mark.parametrize("name", ["run", "advise", "compare", "rr0434", "dietterich1998"])
def test_an_unknown_key_is_named_at_every_depth(name):
    command = f"`harness {PRESETS[name]} --cfg job` prints those there are"
    assert said_of(name, "nonsense", 1) == f"nonsense: there is no such key; {command}"
    for part in ("sets", "plan", "variance", "figure", "category_sets", "simulated_null"):
        if isinstance(plain_of(name).get(part), dict):
            said = said_of(name, f"{part}.nonsense", 1)
            assert re.fullmatch(rf"{part}.nonsense: there is no such key; .* are allowed", said)


WHOLE = "a whole number from 1 to 1,000,000,000 is"
SETS, MANY_SETS = "a whole number from 1 to 10,000,000 is", "a whole number from 100 to 10,000,000 is"
LEVEL = "numbers between 0 and 1 are (1e-9 at least)"
LIST = "a list of at least one is"
FOLDER, NAME = "the name of a folder is", "a name is"
HUGE = 10**12
# command or preset, key, what is allowed, values that are refused
REFUSED = [
    ("run", "sets.sizes", WHOLE, [[0], [-5], [1.5], [True], [None], ["ten"], [[1]], [10**18], [10**30]]),
    ("run", "sets.sizes", f"{LIST}, as in sets.sizes=[...]", [[], 100, "x"]),
    ("run", "sets.n_sets", SETS, [0, HUGE, "many"]),
    ("run", "sets.n_truth_sets", MANY_SETS, [99, HUGE]),
    ("run", "sets.replacement", "true or false is", [5]),
    ("run", "sets", "its parts are sizes, n_sets, n_truth_sets, replacement", [5]),
    ("run", "split", "its parts are n_train, n_test, order, n_draws, draw, before", [None]),
    ("run", "split.n_draws", "a whole number from 1 to 1,000 is", [0]),
    ("run", "split.draw", "a whole number from 0 to 999 is", [-1, "first"]),
    ("run", "split.before", "a date such as 2010-01-01, or null, is", [2010, "2010", "1 May 2010"]),
    ("run", "split.n_train", "a whole number from 2 to 1,000,000,000 is", [1, HUGE]),
    ("run", "split.order", "choose one of random, chronological", [None, "sideways"]),
    ("run", "seed", "a whole number of at least 0 is", [None, 1.5, [1], -1, "zero", True]),
    ("run", "alphas", LEVEL, [[-0.1], [0], [1.0], [0.05, "text"], [1e-320]]),
    ("run", "alphas", LIST, [0.05, {"a": 0.1}]),
    ("run", "prevalences", LIST, [[]]),
    ("run", "nulls.h", "numbers from 0 to 1,000,000 are", [[-1], [1e308]]),
    ("run", "nulls.n_pooled", WHOLE, [0]),
    ("run", "nulls.path_sizes", WHOLE, [[0]]),
    ("run", "nulls.path_sizes", LIST, [[]]),
    ("run", "nulls.n_sets", SETS, [0]),
    ("run", "nulls.n_replicate_sets", SETS, [1.5, HUGE]),
    ("run", "nulls.replicate_tests", "names are", [[5]]),
    ("run", "nulls.replicate_tests", "a list", ["bootstrap_f1"]),
    ("run", "nulls.prevalence_sizes", WHOLE, [[0], ["text"]]),
    ("run", "nulls.prevalence_sizes", LIST, [[]]),
    ("run", "n_documents", WHOLE, [0, HUGE]),
    ("run", "n_meta_categories", "a whole number from 1 to 10,000 is", [10**6, HUGE]),
    ("run", "n_replicates", SETS, [0, HUGE, 1e3]),
    ("run", "device", "choose one of auto, cpu, cuda", ["tpu"]),
    ("run", "degenerate", "choose one of accept, reject", ["maybe"]),
    ("run", "population", "a file is", [[]]),
    ("run", "pairs", "names are", [[5]]),
    ("run", "pairs", LIST, [[], "x"]),
    ("run", "tune.enabled", "true or false is", ["maybe"]),
    ("run", "tune.criterion", "choose one of f1, error", ["beauty"]),
    ("run", "category_sets", "its parts are size", [5]),
    ("run", "experiment_name", "a plain name is", ["../x"]),
    ("run", "out", FOLDER, [" ", "", "\t", None]),
    ("run", "cache", "the name of a folder (or null) is", [{}, "", ["a"]]),
    ("run", "figure.truth", "choose one of sampling_interval, exact_zero, margin", ["other"]),
    ("run", "figure.x_axis", "choose one of log, linear", ["cubic"]),
    ("run", "figure.papers_minus_one", "true or false is", ["maybe"]),
    ("advise", "figure.width", "2 to 30 inches are", [-1, 1e6]),
    ("advise", "figure.dpi", "30 to 1200 are", [1e9, True, "text"]),
    ("advise", "figure.formats", "choose one of pdf, svg, pgf, png", [["exe"], ["../../x"], [["png_"]]]),
    ("advise", "figure.formats", LIST, ["pdf"]),
    ("advise", "separator", "a text is", ["", None]),
    ("advise", "plan", "its parts are n_sets", [5, None, []]),
    ("advise", "plan.h", "numbers above 0, up to 10, are", [[0]]),
    ("advise", "plan.h", LIST, [[]]),
    ("advise", "plan.factors", "numbers above 0, up to 100, are", [[1e9]]),
    ("advise", "plan.n_sets", MANY_SETS, [3, HUGE]),
    ("advise", "alpha", LEVEL, [0, 1, 1.5]),
    ("advise", "difference", LEVEL, [0, "large"]),
    ("advise", "systems", "a list of two or more columns is", [["a"], "a,b"]),
    ("advise", "systems", NAME, [["a", {}]]),
    ("advise", "positive", "a label is", [["1"]]),
    ("advise", "threshold", "a number is", ["half"]),
    ("advise", "category_column", "a name is, or false", [True]),
    ("advise", "truth_column", NAME, [" "]),
    ("advise", "measure", "choose one of f1, error", ["beauty"]),
    ("advise", "average", "choose one of micro, macro", [None, "mean"]),
    ("advise", "missing", "a list is, as in missing=[...]", ["NA"]),
    ("advise", "missing", NAME, [[None]]),
    ("compare", "study", "choose one of learners, simulated_null, training_sets", [["learners"], {}, "x"]),
    ("compare", "scorer", "names are", [None]),
    ("compare", "n_seeds", "a whole number from 1 to 1,000,000 is", [0, HUGE, [1], "many"]),
    ("compare", "alpha", LEVEL, [1]),
    ("compare", "test_share", LEVEL, ["text"]),
    ("compare", "variance.n_splits", "0 or 2 to 1,000,000 are", [1, "many"]),
    ("compare", "variance.n_initialisations", "a whole number from 2 to 1,000,000 is", [1]),
    ("compare", "variance.n_hyperparameters", "a whole number from 2 to 1,000,000 is", [1]),
    ("compare", "variance.hyperparameters", "input should be a valid dictionary", [{"svm": 5}]),
    ("compare", "variance.hyperparameters", LIST, [{"svm": {"C": []}}]),
    ("dietterich1998", "scorer", "it has no meaning in this study; null is", ["error"]),
    ("dietterich1998", "n_trials", "a whole number from 1 to 100,000,000 is", [0, HUGE]),
    ("dietterich1998", "tests", "names are", [[["a"]]]),
    ("dietterich1998", "alphas", LEVEL, [[2]]),
    ("dietterich1998", "simulated_null.n_examples", "a whole number from 4 to 1,000,000 is", [HUGE]),
    ("dietterich1998", "simulated_null.n_resamples", "a whole number from 2 to 10,000 is", [1, HUGE]),
    ("dietterich_rcv1", "training_sets.learner", "choose one of naive_bayes, linear_svm", ["forest"]),
    ("dietterich_rcv1", "training_sets.kept_terms", "a number from 0 to 1 is", [[2]]),
    ("dietterich_rcv1", "training_sets.topic", "a topic's name or null is", [5]),
    ("rr0434", "category_sets.size", SETS, [0]),
    ("rr0434", "category_sets.n_subsets", "a whole number from 20 to 10,000,000 is", [0, HUGE]),
    ("rr0434", "category_sets.costs.prior", "a number from 0 to 1 is", [2, "x"]),
    ("rr0434", "category_sets.averages", "choose one of micro, macro", [["none"]]),
    ("rr0434", "category_sets.averages", LIST, [[]]),
    ("rr0434", "category_sets.resampling", "choose one of", [["word"]]),
    ("rr0434", "category_sets.calibration.n_draws", "a whole number from", [1]),
    ("figures", "from", "the folder of a finished run is", [" "]),
    ("collect", "table", "names are", [5]),
    ("cache", "older_than_days", "null or a number of at least 0 is", ["old", -1]),
    ("cache", "stage", LIST, [[]]),
    ("cache", "prune", "true or false is", ["yes"]),
    ("cache", "cache", FOLDER, [None]),
]


def innermost(value):
    """Return what is wrong of a list or a mapping: its last part."""
    while isinstance(value, list | dict) and value:
        value = list(value.values() if isinstance(value, dict) else value)[-1]
    return value


@pytest.mark.parametrize(("name", "key", "allowed", "values"), REFUSED)
def test_refused(name, key, allowed, values):
    for value in values:
        said = said_of(name, key, value)
        assert said.startswith(f"{key}")
        assert f" is not allowed; {allowed}" in said
        shown = said.partition(": ")[2].partition(" is not allowed")[0]
        assert shown == repr(value) or repr(innermost(value)) in shown


REFUSED_IN_OTHER_WORDS = [
    ("run", "sets.sizes", [100, 100], "sets.sizes: [100, 100] names one twice; each is allowed once"),
    ("run", "alphas", [0.05, 0.05], "names one twice"),
    ("run", "truth.margin.margin", math.nan, "truth.margin.margin: nan is not allowed; a finite"),
    ("run", "command", 5, "command: 5 is not allowed"),
    ("run", "command", "figures", "preset is one of `harness figures`, not of `harness run`"),
    ("advise", "figure.formats", ["pdf", "pdf"], "names one twice; each is allowed once"),
    ("advise", "figure.x", 1, "figure.x: there is no such key; width, height, font_size, font, "),
    ("advise", "systems", ["a", "a"], "names one twice"),
    ("advise", "predictions", "???", "predictions: it is missing; give it, as in predictions=..."),
    ("dietterich1998", "n_trials", REMOVED, "experiment=dietterich_rcv1 sets it"),
    ("dietterich1998", "simulated_null.errors", REMOVED, "simulated_null.errors: it is missing"),
    ("rr0434", "category_sets.costs", REMOVED, "category_sets.costs: it is missing"),
    ("collect", "spread_to", "x", "spread_to: without spread=SETTING"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "key", "value", "said"), REFUSED_IN_OTHER_WORDS)
def test_refused_in_other_words(name, key, value, said):
    assert said in said_of(name, key, value)


def test_a_long_value_is_cut():
    assert len(said_of("run", "device", "x" * 10**6)) < 400


def test_names_in_the_models_are_those_of_the_code():
    """They are written out there, because these modules take two seconds to import."""
    from harness.compare.simulated_null import HALVES
    from harness.compare.training_sets import LEARNERS, NULLS

    for name, key, known in (
        ("dietterich_rcv1", "training_sets.learner", LEARNERS),
        ("dietterich1998", "simulated_null.halves", HALVES),
        ("dietterich_rcv1", "training_sets.nulls", NULLS),
    ):
        wrong = "x" if key.endswith("learner") else ["x"]
        assert said_of(name, key, wrong).endswith(f"choose one of {', '.join(known)}")


# --- what members of groups refuse when they are made

MORE = ("test=[mcnemar,dcf,bootstrap_t_f1]", "balance=[natural,meta,reweighted]", "parallel=sequential")
MADE = [
    ("test.mcnemar.colour", "red", "test.mcnemar.colour: there is no such option"),
    ("test.mcnemar.measure", "beauty", "beauty"),
    ("test.dcf.prior", 2, "test.dcf: prior"),
    ("test.x", 5, "test.x: 5 is not allowed; both _target_ and measure are needed"),
    ("test", {}, "test: none is chosen"),
    ("n_replicates", None, "test.bootstrap_t_f1: n_replicates: None"),
    ("truth", {}, "truth: none is chosen"),
    ("truth.margin.margin", -1, "truth.margin: margin: -1"),
    ("truth.population_test.level", 2, "truth.population_test"),
    ("balance.meta.low", "text", "balance.meta: one of its values is of the wrong type"),
    ("balance.reweighted.prevalence", [2], "prevalence=2"),
    ("parallel.n_jobs", -2, "parallel.n_jobs: -2 is not allowed; -1 (one per core) or 1 to 1024 are"),
    ("parallel.backend", "slurm", "parallel.backend: 'slurm' is not allowed; choose one of loky"),
    ("model.linear_svm.colour", "red", "model.linear_svm: "),
    ("corpus.n_topics", 104, "n_topics=104 is not allowed; whole numbers from 1 to 103 are"),
]  # fmt: skip


def make_members(cfg, group):
    """Make the members of a group, and try them as a run does."""
    if group in ("corpus", "parallel"):
        return configuration.build(cfg, group)
    tests = configuration.build_tests(cfg, "accept")
    members = configuration.build_group(cfg, group) if group in cfg and group != "n_replicates" else {}
    if group == "truth":
        for name, one in members.items():
            configuration.try_truth(name, one, tests)
    return members


@pytest.mark.parametrize(("key", "value", "said"), MADE)
def test_members_of_groups(key, value, said):
    cfg = copy.deepcopy(composed("run", *MORE))
    OmegaConf.set_struct(cfg, False)
    OmegaConf.update(cfg, key, value, merge=False)
    with pytest.raises(UserError, match=re.escape(said)):
        make_members(cfg, key.partition(".")[0])


# --- targets


ALLOWED = [
    {"test": {"x": {"_target_": "harness.significance.mcnemar.mcnemar"}}},
    {"truth": {"x": {"_target_": "harness.nulls.exact_null", "_partial_": True}}},
    {"truth": {"x": {"_target_": "harness.nulls.population_test", "tests": {"error": {
        "_target_": "harness.significance.wald.wald"}}}}},
    {"corpus": {"_target_": "harness.corpora.lyrl.load_lyrl"}},
    {"estimator": {"x": {"_target_": "sklearn.gaussian_process.GaussianProcessClassifier", "kernel": {
        "_target_": "sklearn.gaussian_process.kernels.RBF"}}}},
    {"estimator": {"x": {"_target_": "sklearn.pipeline.Pipeline", "memory": None}}},
]  # fmt: skip


@pytest.mark.parametrize("plain", ALLOWED)
def test_targets_of_their_own_group(plain):
    check_targets(plain)


OF_A_GROUP = [
    ("balance", "harness.balance.Balance is"),
    ("model", "models, classes of harness.models, sklearn and xgboost, are"),
    ("truth", "rules and nulls, functions of harness.nulls, are"),
    ("corpus", "loaders, functions of harness.corpora that return a Corpus, are"),
    ("estimator", "estimators, classes of sklearn and xgboost, are"),
]


@pytest.mark.parametrize(("group", "allowed"), OF_A_GROUP)
def test_what_a_group_allows_is_said(group, allowed):
    with pytest.raises(UserError, match=f"'harness.seeding.rng' is not allowed; {allowed}$"):
        check_targets({group: {"x": {"_target_": "harness.seeding.rng"}}})


def test_what_is_used_at_once_is_no_partial_object():
    node = {"_target_": "harness.balance.Balance", "_partial_": True}
    with pytest.raises(UserError, match=r"balance\.x\._partial_: True is not allowed; leave it out"):
        check_targets({"balance": {"x": node}})


SIDE_EFFECTS = [
    "harness.runtime.store.write_atomically", "harness.writing.page.write_page",
    "harness.runtime.store.hash_file",
    "harness.corpora.opening.open_checked", "harness.corpora.corpus.note_empty.__globals__",
    "harness.significance.mcnemar.np.load", "harness.significance.result.as_counts",
    "harness.cli.main", "harness.runtime.parallel.make_run", "harness.models.device.resolve_device",
    "harness.runtime.store.remove_leftovers", "os.system", "pandas.read_pickle", "numpy.load", "joblib.load",
    "builtins.eval", "hydra.utils.instantiate", "sklearn.externals.joblib.load",
    "xgboost.callback.TrainingCheckPoint", "sklearn.utils.Bunch", "xgboost.Booster", "harness", "",
    "harness..", "harness.significance.bootstrap", "harness.significance._private", "harness.nulls.np.save",
    5, None, "sklearn.datasets.load_files", "sklearn.datasets.load_iris", "sklearn.nothing",
    "${oc.env:HOME}", "harness.significance.mcnemar.mcnemar.__class__",
]  # fmt: skip
GROUPS = ("test", "truth", "balance", "corpus", "features", "model", "parallel", "data", "estimator")


@pytest.mark.parametrize("target", SIDE_EFFECTS)
def test_targets_of_no_group(target):
    for group in (*GROUPS, "figure", "plan", "split"):
        for node in ({"_target_": target}, {"x": {"_target_": target}}, {"x": [{"y": {"_target_": target}}]}):
            with pytest.raises(UserError, match=rf"^{group}[\w.]*\._target_: .* is not allowed"):
                check_targets({group: node})


def test_a_target_of_another_group_is_refused():
    targets = {
        group: node["_target_"] if "_target_" in node else next(iter(node.values()))["_target_"]
        for group, node in (plain_of("run") | plain_of("compare")).items()
        if group in GROUPS
    }
    assert set(targets) == set(GROUPS)
    for group in GROUPS:
        for other in set(GROUPS) - {group}:
            if (group, other) in (("truth", "test"), ("model", "estimator")):  # these have some of those
                continue
            with pytest.raises(UserError, match="is not allowed"):
                check_targets({group: {"_target_": targets[other]}})


@pytest.mark.parametrize("key", ["memory", "cachedir"])
def test_estimators_that_keep_pickles(key):
    pipeline = {"_target_": "sklearn.pipeline.Pipeline", key: "/tmp/x"}
    nested = {"_target_": "sklearn.ensemble.BaggingClassifier", "estimator": pipeline}
    steps = {"_target_": "sklearn.pipeline.Pipeline", "steps": [["a", pipeline]]}
    for node in (pipeline, nested, steps):
        with pytest.raises(UserError, match=f"{key}: '/tmp/x' is not allowed, as it keeps pickles; null is"):
            check_targets({"estimator": {"x": node}})


# --- what Hydra may start


def hydra_node():
    return OmegaConf.to_container(composed("run").hydra, resolve=False)


def test_the_version_of_hydra_whose_inside_is_known():
    """Before another is allowed, read harness/cli/hydra_internals.py and harness/cli/sweep.py again."""
    import hydra

    assert hydra.__version__.startswith("1.3.")


def test_hydras_own_node_is_allowed():
    check_hydra(hydra_node())


FILE = {"version": 1, "handlers": {"f": {"class": "logging.FileHandler", "filename": "/tmp/x"}}}
FACTORY = {"version": 1, "formatters": {"f": {"()": "os.system", "command": "true"}}}
FOREIGN = [
    ("callbacks", {"x": {"_target_": "pandas.read_pickle", "filepath": "x"}}, "harness has no callbacks"),
    ("callbacks", {"x": {"_target_": "hydra.experimental.callbacks.LogJobReturnCallback"}}, "no callbacks"),
    ("job_logging", FILE, "hydra/job_logging= one of none, disabled, stdout is"),
    ("job_logging", FACTORY, "hydra.job_logging: its handlers are not allowed"),
    ("hydra_logging", FACTORY, "hydra.hydra_logging: its handlers are not allowed"),
    ("launcher._target_", "os.system", "hydra.launcher._target_: 'os.system' is not allowed"),
    ("launcher._target_", "${evil}", "hydra.launcher._target_: '${evil}' is not allowed"),
    ("launcher", None, "hydra.launcher._target_"),
    ("launcher.x", {"_target_": "os.system"}, "hydra.launcher.x"),
    ("launcher.partition", "a\ncurl x | sh", "hydra.launcher.partition"),
    ("launcher.setup", ["curl x | sh"], "hydra.launcher.setup"),
    ("launcher.additional_parameters", {"wrap": "x"}, "hydra.launcher.additional_parameters"),
    ("launcher.submitit_folder", "/tmp/x", "hydra.launcher.submitit_folder"),
    ("launcher.n_jobs", 0, "hydra.launcher.n_jobs: 0 is not allowed; -1 or a whole number of at least 1 is"),
    ("launcher.n_jobs", "all", "hydra.launcher.n_jobs: 'all' is not allowed"),
    ("sweeper._target_", "numpy.load", "hydra.sweeper._target_: 'numpy.load' is not allowed"),
    ("sweeper.max_batch_size", -1, "hydra.sweeper.max_batch_size: -1 is not allowed; null or a whole number"),
    ("sweeper.params", {"a": "${evil}"}, "hydra.sweeper: an interpolation is not allowed"),
    ("sweeper.params", {"_target_": "os.system"}, "hydra.sweeper.params._target_"),
    ("env", {"x": {"_target_": "os.system"}}, "hydra.env.x._target_: 'os.system' is not allowed"),
    ("help", {"x": [{"_target_": "os.system"}]}, "hydra.help.x.0._target_"),
    ("job.env_set", {"LD_PRELOAD": "x.so"}, "hydra.job.env_set"),
    ("job.chdir", True, "hydra.job.chdir: True is not allowed"),
    ("output_subdir", "../../x", "hydra.output_subdir: '../../x' is not allowed"),
    ("searchpath", ["pkg://antigravity"], "hydra.searchpath"),
]


@pytest.mark.parametrize(("key", "value", "said"), FOREIGN)
def test_what_hydra_would_start(key, value, said):
    with pytest.raises(UserError) as caught:
        check_hydra(changed(hydra_node(), key, value))
    assert said in str(caught.value)
