"""The settings of every command as models: what is refused, in which words; and what Hydra may start."""

import copy
import functools
import math
import warnings

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from harness.cli.configuration import conf_folder, register_resolvers, to_plain
from harness.cli.hydra_internals import check_hydra
from harness.cli.settings import check_settings
from harness.cli.targets import check_targets
from harness.errors import UserError

PRESETS = {
    "run": "run", "advise": "advise", "figures": "figures", "collect": "collect", "cache": "cache",
    "compare": "compare", "rr0434": "run", "dietterich1998": "compare", "dietterich_rcv1": "compare",
}  # fmt: skip
REMOVED = object()


@functools.cache
def composed(name):
    """The configuration of a command, or of a preset of it."""
    command = PRESETS[name]
    overrides = [] if name == command else [f"experiment={name}"]
    overrides += {"advise": ["predictions=x"], "figures": ["from=x"], "collect": ["from=x"]}.get(command, [])
    overrides += ["out=unused", "cache=null"] if command in ("run", "advise", "compare") else []
    register_resolvers()
    with warnings.catch_warnings(), initialize_config_dir(str(conf_folder()), version_base="1.3"):
        return compose(command, overrides=overrides, return_hydra_config=True)


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


PARTS = ("split", "tune", "sets", "nulls", "figure", "plan", "variance")


def leaves(node, above=""):
    """Yield the key of every setting, at any depth, that is not a member of a group."""
    for key, value in node.items():
        yield above + key
        if isinstance(value, dict) and key in {
            "split",
            "tune",
            "sets",
            "nulls",
            "figure",
            "plan",
            "variance",
        }:
            yield from leaves(value, f"{above}{key}.")


@pytest.mark.parametrize("name", PRESETS)
def test_what_is_shipped_is_allowed(name):
    assert check_settings(PRESETS[name], plain_of(name)).command == PRESETS[name]
    check_targets(plain_of(name) | {"estimator": None})


OPTIONAL = {
    "experiment_name", "experiment", "category_sets", "model", "balance", "truth", "test", "data",
    "estimator", "missing", "nulls.n_sets", "nulls.n_replicate_sets", "nulls.replicate_tests",
}  # fmt: skip


@pytest.mark.parametrize("name", ["run", "advise", "figures", "collect", "cache", "compare"])
def test_every_setting_that_is_removed_is_named(name):
    """Whichever key: the kind, not the case."""
    plain = plain_of(name)
    for key in leaves(plain):
        if key in OPTIONAL or key == "study" or (name != "run" and key == "device"):
            continue
        with pytest.raises(UserError) as caught:
            check_settings(name, changed(plain, key, REMOVED))
        assert str(caught.value) == f"{key}: it is missing; leave out the ~ that removes it"


@pytest.mark.parametrize("name", ["run", "advise", "figures", "collect", "cache", "compare"])
@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, "a\0b", {1: 2, "a": 3}, [math.nan]])
def test_no_setting_may_be_what_no_setting_is(name, value):
    plain = plain_of(name)
    for key in leaves(plain):
        with pytest.raises(UserError, match="is not allowed|one kind are allowed"):
            check_settings(name, changed(plain, key, value))


@pytest.mark.parametrize("name", ["run", "advise", "compare", "rr0434", "dietterich1998"])
def test_an_unknown_key_is_named_at_every_depth(name):
    plain = plain_of(name)
    with pytest.raises(UserError, match=r"^nonsense: there is no such key; `harness \w+ --cfg job` prints"):
        check_settings(PRESETS[name], plain | {"nonsense": 1})
    for part in ("sets", "plan", "variance", "figure", "category_sets", "simulated_null"):
        if isinstance(plain.get(part), dict):
            with pytest.raises(UserError, match=rf"^{part}.nonsense: there is no such key; .* are allowed$"):
                check_settings(PRESETS[name], changed(plain, f"{part}.nonsense", 1))


REFUSED = [
    ("advise", "figure.width", -1, "figure.width: -1 is not allowed; 5 to 20 inches are"),
    ("advise", "figure.width", 1e6, "figure.width: 1000000.0 is not allowed; 5 to 20 inches are"),
    ("advise", "figure.dpi", 1e9, "30 to 1200 are"),
    ("advise", "figure.dpi", True, "figure.dpi: True is not allowed"),
    ("advise", "figure.formats", ["exe"], "figure.formats: 'exe' is not allowed; choose one of pdf, png"),
    ("advise", "figure.formats", "pdf", "figure.formats: 'pdf' is not allowed; a list of at least one is"),
    ("advise", "figure.formats", ["../../x"], "choose one of pdf, png"),
    ("advise", "figure.formats", [["pdf"]], "choose one of pdf, png"),
    ("advise", "figure.formats", ["pdf", "pdf"], "names one twice; each is allowed once"),
    ("advise", "figure.x", 1, "figure.x: there is no such key; width, dpi, formats are allowed"),
    ("advise", "n_replicates", 0, "n_replicates: 0 is not allowed; a whole number from 1 to 10,000,000 is"),
    ("advise", "n_replicates", 1e3, "n_replicates: 1000.0 is not allowed"),
    ("advise", "separator", "", "separator: '' is not allowed; a text is"),
    ("advise", "separator", None, "separator: None is not allowed; a text is"),
    ("advise", "plan", 5, "plan: 5 is not allowed; its parts are n_sets"),
    ("advise", "plan", None, "plan: None is not allowed; its parts are n_sets"),
    ("advise", "plan", [], "plan: [] is not allowed; its parts are n_sets"),
    ("advise", "plan.h", [0], "plan.h: 0 is not allowed; numbers above 0, up to 10, are"),
    ("advise", "plan.factors", [1e9], "up to 100, are"),
    ("advise", "plan.n_sets", 10**12, "from 100 to 10,000,000"),
    ("advise", "out", " ", "out: ' ' is not allowed; the name of a folder is"),
    ("advise", "out", None, "out: None is not allowed"),
    ("advise", "cache", {}, "cache: {} is not allowed"),
    ("advise", "seed", "zero", "seed: 'zero' is not allowed; a whole number of at least 0 is"),
    ("advise", "seed", True, "seed: True is not allowed"),
    ("advise", "alpha", 1, "alpha: 1 is not allowed"),
    ("advise", "alpha", 0, "alpha: 0 is not allowed"),
    ("advise", "difference", "large", "difference: 'large' is not allowed"),
    ("advise", "degenerate", "maybe", "choose one of accept, reject"),
    ("advise", "systems", ["a"], "systems: ['a'] is not allowed; a list of two or more columns is"),
    ("advise", "systems", ["a", "a"], "names one twice"),
    ("advise", "systems", ["a", {}], "systems: {} is not allowed; a name is"),
    ("advise", "systems", "a,b", "a list of two or more columns is"),
    ("advise", "positive", ["1"], "positive: ['1'] is not allowed; a label is"),
    ("advise", "threshold", "half", "threshold: 'half' is not allowed; a number is"),
    ("advise", "category_column", True, "category_column: True is not allowed; a name is, or false"),
    ("advise", "truth_column", " ", "truth_column: ' ' is not allowed; a name is"),
    ("advise", "measure", "beauty", "measure: 'beauty' is not allowed; choose one of f1, error"),
    ("advise", "average", None, "average: None is not allowed; choose one of micro, macro"),
    ("advise", "missing", "NA", "missing: 'NA' is not allowed; a list"),
    ("advise", "missing", [None], "missing: None is not allowed; a name is"),
    ("advise", "predictions", "???", "predictions: it is missing; give it, as in predictions=..."),
    ("advise", "experiment_name", "../x", "experiment_name: '../x' is not allowed; a plain name is"),
    ("run", "n_documents", 0, "n_documents: 0 is not allowed"),
    ("run", "n_meta_categories", 10**6, "from 1 to 10,000"),
    ("run", "population", [], "population: [] is not allowed; a file is"),
    ("run", "nulls.n_sets", 0, "nulls.n_sets: 0 is not allowed"),
    ("run", "nulls.n_replicate_sets", 10**12, "nulls.n_replicate_sets"),
    ("run", "nulls.replicate_tests", [5], "nulls.replicate_tests: 5 is not allowed; names are"),
    ("run", "nulls.prevalence_sizes", [], "nulls.prevalence_sizes: [] is not allowed; a list"),
    ("run", "tune.criterion", "beauty", "tune.criterion: 'beauty' is not allowed; choose one of f1, error"),
    ("run", "split.order", None, "choose one of random, chronological"),
    ("run", "figure.truth", "other", "figure.truth: 'other' is not allowed; choose one of sampling_interval"),
    ("run", "command", 5, "command: 5 is not allowed"),
    ("compare", "study", ["learners"], "study: ['learners'] is not allowed; choose one of learners,"),
    ("compare", "study", {}, "study: {} is not allowed"),
    ("compare", "scorer", None, "scorer: None is not allowed; names are"),
    ("compare", "variance.n_splits", 1, "variance.n_splits: 1 is not allowed; 0 or 2 to 1,000,000 are"),
    ("compare", "variance.hyperparameters", {"svm": 5}, "variance.hyperparameters.svm: 5 is not allowed"),
    ("compare", "variance.hyperparameters", {"svm": {"C": []}}, "a list of at least one is"),
    ("dietterich1998", "scorer", "error", "scorer: 'error' is not allowed; it has no meaning in this study"),
    (
        "dietterich1998",
        "n_trials",
        REMOVED,
        "experiment=dietterich_rcv1 sets it",
    ),
    ("dietterich_rcv1", "training_sets.learner", "forest", "choose one of naive_bayes, linear_svm"),
    ("rr0434", "category_sets.costs.prior", 2, "category_sets.costs.prior: 2 is not allowed"),
    ("rr0434", "category_sets.averages", ["none"], "choose one of micro, macro"),
    ("figures", "from", " ", "from: ' ' is not allowed; the folder of a finished run is"),
    ("collect", "table", 5, "table: 5 is not allowed"),
    ("collect", "spread_to", "x", "spread_to: without spread=SETTING"),
    ("cache", "older_than_days", "old", "older_than_days: 'old' is not allowed; null or a number"),
    ("cache", "stage", [], "stage: [] is not allowed; a list of at least one"),
    ("cache", "prune", "yes", "prune: 'yes' is not allowed; true or false is"),
    ("cache", "cache", None, "cache: None is not allowed; the name of a folder is"),
]


@pytest.mark.parametrize(("name", "key", "value", "said"), REFUSED)
def test_refused(name, key, value, said):
    with pytest.raises(UserError) as caught:
        check_settings(PRESETS[name], changed(plain_of(name), key, value))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_long_value_is_cut():
    with pytest.raises(UserError) as caught:
        check_settings("run", changed(plain_of("run"), "device", "x" * 10**6))
    assert len(str(caught.value)) < 400


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
        with pytest.raises(UserError, match=f"choose one of {', '.join(known)}$"):
            check_settings(PRESETS[name], changed(plain_of(name), key, wrong))


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


SIDE_EFFECTS = [
    "harness.runtime.store.write_atomically", "harness.writing.page.write_page",
    "harness.runtime.store.hash_file",
    "harness.corpora.opening.open_checked", "harness.corpora.corpus.check_corpus.__globals__",
    "harness.significance.mcnemar.np.load", "harness.significance.result.as_counts",
    "harness.cli.main", "harness.runtime.parallel.make_run", "harness.models.device.resolve_device",
    "harness.runtime.store.remove_leftovers", "os.system", "pandas.read_pickle", "numpy.load", "joblib.load",
    "builtins.eval", "hydra.utils.instantiate", "sklearn.externals.joblib.load",
    "xgboost.callback.TrainingCheckPoint", "sklearn.utils.Bunch", "xgboost.Booster", "harness", "",
    "harness..", "harness.significance.bootstrap", "harness.significance._private", "harness.nulls.np.save",
    5, None, "sklearn.datasets.load_files",
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
            if (group, other) == ("truth", "test"):  # population_test has tests
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
    ("callbacks", "${evil}", "no callbacks"),
    ("job_logging", FILE, "hydra/job_logging= one of none, disabled, stdout is"),
    ("job_logging", FACTORY, "hydra.job_logging: its handlers are not allowed"),
    ("hydra_logging", FACTORY, "hydra.hydra_logging: its handlers are not allowed"),
    ("hydra_logging", "${evil}", "hydra.hydra_logging"),
    ("launcher._target_", "os.system", "hydra.launcher._target_: 'os.system' is not allowed"),
    ("launcher._target_", "${evil}", "hydra.launcher._target_: '${evil}' is not allowed"),
    ("launcher", "${evil}", "hydra.launcher._target_"),
    ("launcher", None, "hydra.launcher._target_"),
    ("launcher.x", {"_target_": "os.system"}, "hydra.launcher.x"),
    ("launcher.x", "${evil}", "hydra.launcher.x"),
    ("launcher.partition", "a\ncurl x | sh", "hydra.launcher.partition"),
    ("launcher.setup", ["curl x | sh"], "hydra.launcher.setup"),
    ("launcher.additional_parameters", {"wrap": "x"}, "hydra.launcher.additional_parameters"),
    ("launcher.submitit_folder", "/tmp/x", "hydra.launcher.submitit_folder"),
    ("launcher.temp_folder", "/tmp/x", "hydra.launcher.temp_folder"),
    ("launcher.n_jobs", 0, "hydra.launcher.n_jobs: 0 is not allowed; -1 or a whole number of at least 1 is"),
    ("launcher.n_jobs", -2, "hydra.launcher.n_jobs: -2 is not allowed"),
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
