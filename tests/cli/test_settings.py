"""The settings of every command as models: what is refused, in which words; and what Hydra may start."""

import copy
import functools
import math
import re

import pytest
from beside import beside
from composing import configured
from omegaconf import OmegaConf

from harness.cli import arguments, configuration
from harness.cli.configuration import check_targets, to_plain
from harness.cli.hydra_internals import check_hydra
from harness.cli.settings import check_settings
from harness.errors import UserError

PRESETS = {
    "run": "run", "advise": "advise", "figures": "figures", "collect": "collect", "cache": "cache",
    "compare": "compare", "rr0434": "run", "dietterich1998": "compare", "dietterich_rcv1": "compare",
}  # fmt: skip
COMMANDS = list(PRESETS)[:6]
GIVEN = {"advise": ["predictions=x"], "figures": ["from=x"], "collect": ["from=x"]}
REMOVED = "REMOVED"


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
    if value == REMOVED:
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


KNOWN = beside(__file__)
CASES = [
    (name, key, allowed, values)
    for name, keys in KNOWN["refused"].items()
    for key, sentences in keys.items()
    for allowed, values in sentences.items()
]


def innermost(value):
    """Return what is wrong of a list or a mapping: its last part."""
    while isinstance(value, list | dict) and value:
        value = list(value.values() if isinstance(value, dict) else value)[-1]
    return value


@pytest.mark.parametrize(("name", "key", "allowed", "values"), CASES)
def test_refused(name, key, allowed, values):
    for value in values:
        said = said_of(name, key, value)
        assert said.startswith(key)
        assert f" is not allowed; {allowed}" in said
        shown = said.partition(": ")[2].partition(" is not allowed")[0]
        assert shown == repr(value) or repr(innermost(value)) in shown


@pytest.mark.parametrize(("name", "key", "value", "said"), KNOWN["refused_in_other_words"])
def test_refused_in_other_words(name, key, value, said):
    assert said in said_of(name, key, value)


NOT_DRAWN = [
    ("truth=other", "figure.truth: 'other' is not allowed; choose one of sampling_interval, exact_zero"),
    ("tests=[mcnemr]", "figure.tests: 'mcnemr' is not allowed; did you mean mcnemar"),
    ("alphas=[0.2]", "figure.alphas: 0.2 is not allowed; choose one of "),
    ("sizes=[7]", "figure.sizes: 7 is not allowed; choose one of "),
]


@pytest.mark.parametrize(("words", "said"), NOT_DRAWN)
def test_figures_of_what_a_run_does_not_do_are_refused(words, said):
    with pytest.raises(UserError, match=re.escape(said)):
        arguments.run_arguments(composed("run", f"figure.{words}"))


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


@pytest.mark.parametrize(("key", "value", "said"), KNOWN["made"])
def test_members_of_groups(key, value, said):
    cfg = copy.deepcopy(composed("run", *MORE))
    OmegaConf.set_struct(cfg, False)
    OmegaConf.update(cfg, key, value, merge=False)
    with pytest.raises(UserError, match=re.escape(said)):
        make_members(cfg, key.partition(".")[0])


# --- targets


@pytest.mark.parametrize("plain", KNOWN["allowed"])
def test_targets_of_their_own_group(plain):
    check_targets(plain)


@pytest.mark.parametrize(("group", "allowed"), KNOWN["of_a_group"])
def test_what_a_group_allows_is_said(group, allowed):
    with pytest.raises(UserError, match=f"'harness.seeding.rng' is not allowed; {allowed}$"):
        check_targets({group: {"x": {"_target_": "harness.seeding.rng"}}})


def test_what_is_used_at_once_is_no_partial_object():
    node = {"_target_": "harness.balance.Balance", "_partial_": True}
    with pytest.raises(UserError, match=r"balance\.x\._partial_: True is not allowed; leave it out"):
        check_targets({"balance": {"x": node}})


GROUPS = ("test", "truth", "balance", "corpus", "features", "model", "parallel", "data", "estimator")


@pytest.mark.parametrize("target", KNOWN["side_effects"])
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


@pytest.mark.parametrize(("key", "value", "said"), KNOWN["foreign"])
def test_what_hydra_would_start(key, value, said):
    with pytest.raises(UserError) as caught:
        check_hydra(changed(hydra_node(), key, value))
    assert said in str(caught.value)
