"""Every yaml of every group meets the expectations of its group; a new one is tested by being there."""

import dataclasses
import functools
import inspect
import io
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from composing import configured
from count_cases import SWAP
from hydra.utils import get_object, instantiate
from model_cases import shuffled_run
from omegaconf import OmegaConf
from scipy import sparse

from harness.balance import Balance
from harness.cli.arguments import compare_arguments, run_arguments
from harness.cli.conf_files import conf_folder
from harness.cli.configuration import named_tests, try_out
from harness.corpora.corpus import Corpus
from harness.drawing.style import Look
from harness.errors import UserError
from harness.evaluation.rejections import Question, Setting, Unit, decide, families
from harness.evaluation.under_rules import judge_truth
from harness.measures import DIFFERENCES, difference
from harness.results.selection import KEYS
from harness.runtime.parallel import Workers, run_here

CONF = conf_folder()


def members(group):
    return sorted(path.stem for path in (CONF / group).glob("*.yaml"))


def is_ours(test):
    """Tell a test of this package; those of other packages are in tests/significance/test_others.py."""
    return "significance.others." not in (CONF / "test" / f"{test}.yaml").read_text(encoding="utf-8")


OURS = [test for test in members("test") if is_ours(test)]
ONE_FILE = ["f1_unconditional"]
"""Tests that a run refuses: they take seconds a set."""


def configure(*overrides, command="run"):
    return configured(command, "out=unused", "parallel=sequential", *overrides)


def arguments(*overrides):
    return run_arguments(configure(*overrides))


@pytest.fixture(scope="module")
def everything():
    """The arguments of a small run with all members of the groups of which a run takes several."""
    groups = [f"{group}=[{','.join(members(group))}]" for group in ("truth", "balance", "model")]
    groups.append(f"test=[{','.join(test for test in OURS if test not in ONE_FILE)}]")
    fewer = "model.mlp.n_hidden_grid=[32,64]", "model.mlp.learning_rate_grid=[0.1]", "model.mlp.n_epochs=8"
    return arguments(*groups, "n_replicates=400", "corpus.n_documents=300", *fewer)


def test_every_group_has_members_and_is_known_here():
    groups = {path.name for path in CONF.iterdir() if path.is_dir()}
    covered = {"test", "truth", "balance", "model", "corpus", "features", "parallel", "experiment", "figure"}
    covered |= {"data", "estimator"}  # of harness compare; see test_compare.py
    assert groups == covered | {"hydra"}  # its launchers are in test_launchers.py
    assert all(members(group) for group in covered)


# --- tests ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def every_set():
    generator = np.random.default_rng(11)
    shares = generator.dirichlet([2, 1, 1, 2, 1, 1, 1, 20], 30)
    drawn = np.stack([generator.multinomial(n, p) for p in shares for n in (20, 200, 2000)])
    special = [[9, 0, 0, 2, 3, 0, 0, 50], [0] * 7 + [7], [0, 0, 0, 4, 2, 0, 0, 9], [1, 4, 0, 0, 0, 0, 0, 5]]
    return np.concatenate([drawn, special])


@pytest.fixture(scope="module", params=OURS)
def significance_test(request, everything):
    tests = [*everything["evaluation"]["tests"], *named_tests(ONE_FILE)]
    return {test.name: test for test in tests}[request.param]


@pytest.fixture(scope="module")
def sets(significance_test, every_set):
    """Sets for a test: few for one that takes seconds."""
    return every_set[[0, 3, 6, 9, *range(-4, 0)]] if significance_test.name in ONE_FILE else every_set


@pytest.fixture(scope="module")
def usual(significance_test, sets):
    """What a test says of the sets."""
    return pvalues(significance_test, sets)


def pvalues(test, counts, seed=0):
    options = {"rng": np.random.default_rng(seed)} if test.random else {}
    return test.pvalue(counts, **options)


class TestOfTests:
    def test_pvalues_are_probabilities(self, sets, usual):
        assert all(part.shape == (len(sets),) for part in usual)
        assert ((usual.pvalue >= 0) & (usual.pvalue <= 1)).all()
        assert np.isfinite(usual.statistic).all()

    def test_no_discordant_document_gives_one_and_is_degenerate(self, significance_test):
        result = pvalues(significance_test, np.array([[9, 0, 0, 2, 3, 0, 0, 50], [0, 0, 0, 0, 0, 0, 0, 7]]))
        assert result.pvalue.tolist() == [1, 1]
        assert result.degenerate.all()

    def test_the_legacy_convention_rejects_degenerate_sets(self, significance_test, sets, usual):
        rejecting = functools.partial(significance_test.pvalue, degenerate="reject")
        legacy = pvalues(dataclasses.replace(significance_test, pvalue=rejecting), sets)
        assert (legacy.degenerate == usual.degenerate).all()
        changed = legacy.pvalue != usual.pvalue
        assert (legacy.pvalue[changed] == 0).all()
        assert usual.degenerate[changed].all()
        all_right = (sets[:, :7] == 0).all(axis=1)  # 0/0 for every test
        assert changed[all_right].all()

    def test_swapping_a_and_b_changes_nothing(self, significance_test, sets, usual):
        one, other = usual, pvalues(significance_test, sets[:, SWAP], seed=1)
        assert (one.degenerate == other.degenerate).all()
        tolerance = 1e-9
        if significance_test.random:  # two estimates from 400 replicates; false alarm below 1e-6 in all
            share = np.clip(one.pvalue / 2, 0.005, None)  # p is twice the share of a tail
            spread = 2 * np.sqrt(share * (1 - share) * 2 / 400)
            tolerance = 1.5 * 6.5 * spread + 0.01  # BCa: its bias correction is estimated, too
        assert (np.abs(one.pvalue - other.pvalue) <= tolerance).all()
        with_sign, without = one.statistic + other.statistic, one.statistic - other.statistic
        scale = 1e-9 * (1 + np.abs(one.statistic))
        assert (np.abs(with_sign) <= scale).all() or (np.abs(without) <= scale).all()

    def test_true_negatives_change_no_test_of_f1_precision_and_recall(self, significance_test, sets, usual):
        name = significance_test.name
        if significance_test.random or "unconditional" in name or "estimated" in name:
            return  # of these the draws are others, or p changes a little
        wider = pvalues(significance_test, sets + [0, 0, 0, 0, 0, 0, 0, 10**5])
        same = np.abs(wider.pvalue - usual.pvalue) <= 1e-8
        kind = name.removesuffix("_bartlett").rpartition("_")[2]
        assert same.all() or not (name.startswith("mcnemar") or kind in ("f1", "precision", "recall"))

    def test_any_shape_of_sets(self, significance_test):
        for shape in ((), (0,), (0, 3), (2, 1)):
            counts = np.broadcast_to([5, 1, 2, 0, 1, 1, 0, 9], (*shape, 8))
            assert all(part.shape == shape for part in pvalues(significance_test, counts))
        with pytest.raises(
            ValueError, match="degenerate: 'ignore' is not allowed; choose one of accept, rej"
        ):
            significance_test.pvalue(counts, degenerate="ignore")

    def test_batches_change_nothing(self, significance_test, sets, usual):
        options = {"rng": np.random.default_rng(0)} if significance_test.random else {}
        parts = [significance_test.pvalue(part, **options).pvalue for part in np.array_split(sets, 5)]
        assert (np.concatenate(parts) == usual.pvalue).all()

    def test_early_verdicts_are_those_of_the_pvalues(self, significance_test, sets, usual):
        alphas = [0.1, 0.05]
        rejected, degenerate, _ = decide([significance_test], sets, alphas, np.random.default_rng(0))
        assert (degenerate == usual.degenerate).all()
        agree = rejected[:, 0] == (usual.pvalue[:, None] <= alphas)
        # near a level the verdicts of a test with replicates are as others of them would have it
        noise = 5 * np.sqrt(0.1 / significance_test.pvalue.keywords.get("n_replicates", 10**6))
        assert agree[np.abs(usual.pvalue[:, None] - alphas) > noise].all()
        assert agree.mean() >= 0.97

    def test_wrong_counts(self, significance_test):
        for counts in ([[1.5] * 8], [[-1] + [1] * 7], [[1] * 7], [[np.nan] * 8], [[0] * 8]):
            with pytest.raises(ValueError, match="counts"):
                pvalues(significance_test, np.array(counts))


def test_tests_judged_together_give_what_each_gives_alone(every_set, everything):
    chosen = (
        "bootstrap_f1", "mcnemar", "bootstrap_f1_symmetric", "bootstrap_error_symmetric", "bootstrap_error",
    )  # fmt: skip
    known = {test.name: test for test in everything["evaluation"]["tests"]}
    tests = [known[name] for name in chosen]
    groups = families(tests)
    assert groups == [[0, 2], [1], [3, 4]]
    for group in groups:
        family = [tests[i] for i in group]
        together, *_ = decide(family, every_set, [0.1, 0.02], np.random.default_rng(3))
        for i, test in enumerate(family):
            alone, *_ = decide([test], every_set, [0.1, 0.02], np.random.default_rng(3))
            assert (together[:, i] == alone[:, 0]).all()


@pytest.mark.parametrize("error", [ZeroDivisionError("a bug"), KeyError("lost"), RuntimeError("bad")])
def test_a_test_that_raises_anything_is_told_in_a_sentence(error, everything):
    """What the try-out of a chosen test meets, before any work."""

    def pvalue(counts, **options):
        raise error

    for test in everything["evaluation"]["tests"]:
        with pytest.raises(UserError, match=f"test.{test.name}: {type(error).__name__}: "):
            try_out(dataclasses.replace(test, pvalue=pvalue))


# --- truth rules, balances ------------------------------------------------------------------------


@pytest.mark.parametrize("name", members("truth"))
def test_truths(name, everything):
    rules, nulls = everything["evaluation"]["rules"], everything["nulls"]["nulls"]
    assert (name in rules) != (name in nulls)
    if name in rules:
        check_rule(name, rules[name])
    else:
        check_null(name, nulls[name])


def check_rule(name, rule):
    same = np.array([30, 5, 5, 20, 10, 7, 7, 916])
    apart = np.array([30, 1, 90, 20, 10, 7, 200, 642])
    setting = Setting([], [0.1, 0.05], [100, 1000], 0, 0)
    about = {name: rule}, [Question(name, {}, difference(name), []) for name in ("f1", "error")], 300
    assert judge_truth(Unit(same, same, ["x"]), setting, *about)["holds"].all()
    assert not judge_truth(Unit(apart, apart, ["x"]), setting, *about)["holds"][:, :, :, 1].any()


def check_null(name, null):
    """A null makes shares in which H0 holds, and keeps where it holds already; else it says why not."""
    names, same = ("apart", "same", "none"), [30, 5, 5, 20, 10, 7, 7, 916]
    cells = np.array([[30, 1, 90, 20, 10, 7, 200, 642], same, [9, 0, 0, 2, 3, 0, 0, 50]])
    for measure in DIFFERENCES:
        shares, reasons = null(names, cells, measure)
        assert shares.shape == (3, 8)
        there = ~np.isnan(shares[:, 0])
        assert set(reasons) == {one for one, made in zip(names, there, strict=True) if not made}
        assert all(reasons.values())
        assert there[:2].all()
        assert (shares[there] >= 0).all()
        assert np.allclose(shares[there].sum(axis=1), 1, atol=1e-12)
        assert np.abs(difference(measure)(shares[there])).max() <= 1e-8
        assert np.allclose(shares[1], cells[1] / 1000, atol=1e-7)
        again = null(names[:1], cells[:1] / cells[0].sum(), measure)[0]  # shares serve as well as counts
        assert np.allclose(again, shares[:1], atol=1e-9)


def test_balances(everything):
    assert list(everything["balances"]) == members("balance")
    assert all(isinstance(balance, Balance) for balance in everything["balances"].values())


# --- corpora, features, models --------------------------------------------------------------------


@pytest.mark.parametrize("name", members("corpus"))
def test_corpora_name_a_loader_and_its_arguments(name):
    node = OmegaConf.to_container(configured(None, f"+corpus={name}").corpus)
    loader = get_object(node.pop("_target_"))
    parameters = inspect.signature(loader).parameters
    assert set(node) <= set(parameters)
    assert inspect.signature(loader).return_annotation in (Corpus, "Corpus")
    assert loader.__doc__


@pytest.fixture(scope="module")
def corpus(everything):
    loaded = everything["training"]["load_corpus"]()
    assert isinstance(loaded, Corpus)
    return loaded


@pytest.mark.parametrize("name", members("features"))
def test_features(name, corpus):
    features = instantiate(configured(None, f"+features={name}").features)
    dictionary = features.fit(corpus.terms[:200])
    vectors = features.transform(dictionary, corpus.terms)
    assert vectors.shape == (300, dictionary.columns.size)
    assert vectors.dtype == np.float32
    assert np.isfinite(vectors.data).all()
    alone = features.transform(dictionary, corpus.terms[200:])
    assert (alone.toarray() == vectors[200:].toarray()).all()


@pytest.mark.parametrize("name", members("model"))
def test_models(name, corpus, everything, monkeypatch):
    model, features = everything["training"]["models"][name], everything["training"]["features"]
    vectors = features.transform(features.fit(corpus.terms[:200]), corpus.terms)
    labels = corpus.topics.toarray() > 0
    labels = labels[:, labels[:200].any(axis=0)]
    labels = np.column_stack([labels[:, :6], labels[:, -1], np.ones(300, dtype=bool)])  # common, rare, all
    fitted = model.fit(vectors[:200], labels[:200], seed=0, run=run_here)
    again = model.fit(vectors[:200], labels[:200], seed=0, run=shuffled_run)
    for one, other in ((fitted.arrays, again.arrays), (fitted.tuned, again.tuned)):
        assert list(one) == list(other)
        for key, array in one.items():
            assert array.dtype != object
            assert array.tobytes() == other[key].tobytes(), key
    np.testing.assert_array_equal(fitted.cv_score, again.cv_score)
    assert {array.shape for array in fitted.tuned.values()} == {(8,)}
    assert fitted.cv_score.shape == fitted.n_folds.shape == (8,)
    decisions = model.predict(fitted, vectors[200:], run=run_here)
    assert decisions.dtype == bool
    assert decisions.shape == (100, 8)
    assert decisions[:, 7].all()
    in_training = model.predict(fitted, vectors[:200], run=run_here)
    assert (in_training == labels[:200]).mean() > 0.85
    assert (model.predict(fitted, vectors[200:210], run=run_here) == decisions[:10]).all()
    monkeypatch.setattr("harness.models.mlp_network.DOCUMENTS_PER_BATCH", 11)
    for module in ("linear_svm", "rbf_svm"):
        monkeypatch.setattr(f"harness.models.{module}.DOCUMENTS_PER_UNIT", 32)
    monkeypatch.setattr("harness.models.gaussian_kernel.DOCUMENTS_AT_ONCE", 13)
    assert (model.predict(fitted, vectors[200:], run=run_here) == decisions).all()
    file = io.BytesIO()
    np.savez(file, **fitted.arrays)
    file.seek(0)
    with np.load(file, allow_pickle=False) as stored:
        stored = again._replace(arrays=dict(stored))
    for array in stored.arrays.values():
        array.setflags(write=False)
    assert (model.predict(stored, vectors[200:], run=shuffled_run) == decisions).all()
    for n in (0, 3):  # documents without a term
        empty = sparse.csr_array((n, vectors.shape[1]), dtype=np.float32)
        assert model.predict(fitted, empty, run=run_here).shape == (n, 8)


# --- the rest -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", members("parallel"))
def test_workers(name):
    workers = run_arguments(configure(f"parallel={name}"))["workers"]
    assert isinstance(workers, Workers)
    assert (workers.backend, workers.count() >= 1) == (name, True)


OF_COMPARE = {"wine", "dietterich1998", "dietterich_rcv1"}


@pytest.mark.parametrize("name", members("experiment"))
def test_presets_compose_and_name_their_command(name):
    if name == "audit" and not all(find_spec(package) for package in ("mlxtend", "sacrebleu", "deepsig")):
        pytest.skip("the extra [audit] is not installed")
    command = "compare" if name in OF_COMPARE else "run"
    cfg = configure(f"experiment={name}", command=command)
    assert cfg.experiment_name == name
    assert cfg.command == command
    (compare_arguments if name in OF_COMPARE else run_arguments)(cfg)


@pytest.mark.parametrize("name", members("figure"))
def test_every_key_of_a_figure_is_heard(name):
    heard = {*KEYS, *(field.name for field in dataclasses.fields(Look))}
    assert set(configured(None, f"+figure={name}").figure) == heard | {"truth", "x_axis", "papers_minus_one"}


def test_every_yaml_says_what_it_is_or_names_its_target():
    for path in CONF.rglob("*.yaml"):
        text = path.read_text(encoding="utf-8")
        assert "_target_" in text or text.startswith("#"), Path(path).relative_to(CONF)
