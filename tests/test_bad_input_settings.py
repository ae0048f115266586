"""Settings of every command that cannot be used: one sentence, exit code 2, nothing left behind."""

import pickle
from pathlib import Path

import pytest
from bad_input import COMMON, FULL, LEARNERS, STORED, bad, both, named, refuse, text

HUGE = str(10**12)

NUMBERS = [
    bad("run sets.sizes=[-5]", "sets.sizes: -5 is not allowed; a whole number from 1 to 1,000,000,000 is"),
    bad("run sets.sizes=[1.5]", "sets.sizes: 1.5"),
    bad("run sets.sizes=[true]", "sets.sizes: True"),
    bad("run sets.sizes=[null]", "sets.sizes: None"),
    bad("run sets.sizes=100", "sets.sizes: 100 is not allowed; a list of at least one is"),
    bad("run sets.sizes=[[1]]", "sets.sizes: [1]"),
    bad(f"run sets.sizes=[{10**18}]", "from 1 to 1,000,000,000"),
    bad(f"run sets.sizes=[{10**30}]", "from 1 to 1,000,000,000"),
    bad(f"run sets.n_sets={HUGE}", f"sets.n_sets: {HUGE}", "from 1 to 10,000,000"),
    bad(f"run sets.n_truth_sets={HUGE}", "sets.n_truth_sets", "from 100 to 10,000,000"),
    bad(f"run n_replicates={HUGE}", "n_replicates", "from 1 to 10,000,000"),
    bad("run sets.n_truth_sets=99", "sets.n_truth_sets: 99", "from 100 to 10,000,000"),
    bad("run sets.replacement=5", "sets.replacement: 5", "true or false"),
    bad("run seed=null", "seed: None"),
    bad("run seed=1.5", "seed: 1.5"),
    bad("run seed=[1]", "seed: [1]"),
    bad("run seed=nan", "seed: nan is not allowed; a finite number is"),
    bad("run seed=" + "9" * 5000, "4300 digits", name="run seed of 5000 digits"),
    bad("run alphas=[nan]", "alphas: nan"),
    bad("run alphas=[inf]", "alphas: inf"),
    bad("run alphas=[-0.1]", "alphas: -0.1", "between 0 and 1"),
    bad("run alphas=[0.05,text]", "alphas: 'text'"),
    bad("run alphas=[1e-320]", "alphas: 1e-320", "between 0 and 1"),
    bad("run alphas={a:0.1}", "alphas"),
    bad("run nulls.h=[nan]", "nulls.h: nan"),
    bad("run nulls.h=[-1]", "nulls.h: -1"),
    bad("run nulls.path_sizes=[0]", "nulls.path_sizes: 0"),
    bad("run nulls.prevalence_sizes=[text]", "nulls.prevalence_sizes: 'text'"),
    bad("run balance=[reweighted] prevalences=[nan]", "prevalences: nan"),
    bad("run balance=[reweighted] prevalences=[]", "prevalences: [] is not allowed; a list"),
    bad("run balance=[meta] balance.meta.low=text", "balance.meta: one of its values is of the wrong type"),
    bad(f"run balance=[meta] n_meta_categories={HUGE}", f"n_meta_categories: {HUGE}", "from 1 to 10,000"),
    bad("run truth.margin.margin=-1", "truth.margin", "-1"),
    bad("run truth.margin.margin=nan", "truth.margin.margin: nan", "a finite number"),
    bad("run truth.margin.margin=text", "truth.margin"),
    bad("run truth=[population_test] truth.population_test.level=2", "truth.population_test"),
    bad("run truth=[scaled_sd] truth.scaled_sd.c=inf", "truth.scaled_sd.c: inf"),
    bad("run test=[dcf] test.dcf.prior=2", "test.dcf", "prior"),
    bad("run parallel.n_jobs=-2", "parallel.n_jobs: -2", "1 to 1024"),
    bad("run parallel.n_jobs=1000000000", "parallel.n_jobs: 1000000000", "1 to 1024"),
]

KINDS = [
    bad("run sets=5", "sets: 5 is not allowed; its parts are sizes"),
    bad("run split=null", "split: None"),
    bad("run ~seed", "seed"),
    bad("run ~sets.sizes", "sets.sizes: it is missing"),
    bad("run ~nulls.h", "nulls.h: it is missing"),
    bad("run ~figure", "figure: it is missing"),
    bad("run ~cache", "cache: it is missing"),
    bad("run corpus=null", "corpus: null is not allowed; choose from lyrl, rcv1"),
    bad("run figure=null", "figure: null is not allowed; choose from draft, papers"),
    bad("run pairs=[]", "pairs: []"),
    bad("run pairs=[5]", "pairs: 5 is not allowed; names are"),
    bad("run pairs=x", "pairs: 'x'"),
    bad("run +corpus.topic_names={1:a,b:c}", "corpus.topic_names", "keys of one kind"),
    bad("run +test.x=5", "test.x: 5"),
    bad("run +category_sets=5", "category_sets: 5"),
    bad("run tune.enabled=maybe", "tune.enabled: 'maybe'", "true or false"),
    bad("run figure.formats=[svg]", "figure.formats: 'svg'", "pdf, png"),
    bad("run figure.formats=png", "figure.formats: 'png'", "a list"),
    bad("run figure.dpi=text", "figure.dpi: 'text'", "30 to 1200"),
    bad("run figure.dpi=1000000", "figure.dpi: 1000000", "30 to 1200"),
    bad("run figure.width=nan", "figure.width: nan"),
    bad("run figure.x_axis=cubic", "figure.x_axis: 'cubic'", "log, linear"),
    bad("run figure.truth=other", "figure.truth: 'other'", "margin"),
    bad("run figure.papers_minus_one=maybe", "figure.papers_minus_one: 'maybe'"),
    bad("run +figure.nonsense=1", "figure.nonsense: there is no such key"),
    bad("run parallel.backend=slurm", "parallel.backend: 'slurm'", "loky"),
    bad("run experiment=../x", "../x"),
]

TARGETS = [
    bad("run corpus._target_=builtins.eval", "'builtins.eval' is not allowed", "of harness.corpora"),
    bad("run model.linear_svm._target_=os.system", "'os.system' is not allowed"),
    bad("run features._target_=subprocess.run", "'subprocess.run' is not allowed"),
    bad("run parallel._target_=pickle.loads", "'pickle.loads' is not allowed"),
    bad("run +balance.x._target_=harness.seeding.rng +balance.x.seed=1", "harness.balance.Balance is"),
    bad("run +model.x._target_=harness.seeding.rng +model.x.seed=1", "classes of harness.models, are"),
    bad("run +truth.x._target_=harness.seeding.rng +truth.x.seed=1", "functions of harness.nulls, are"),
    bad(
        "compare +estimator.x._target_=os.system",
        "classes of sklearn and xgboost, are",
    ),
    bad("compare +estimator.x._target_=sklearn.nothing", "'sklearn.nothing' is not allowed"),
    bad("compare +estimator.x._target_=sklearn.datasets.load_iris", "is not allowed; estimators, classes of"),
    bad("compare +estimator.x._target_=sklearn.linear_model.LinearRegression", "a classifier is"),
    bad("figures from=x parallel._target_=os.system", "'os.system' is not allowed"),
]

LINES = [
    bad("run --nonsense", "unrecognized arguments: --nonsense", "harness run --help"),
    bad("run --cfg nonsense", "invalid choice: 'nonsense'"),
    bad("run foo", "foo"),
    bad("run =5", "'=5' has no name before the ="),
    bad("run sets.sizes=[1,2", "sets.sizes=[1,2"),
    bad("run --config-dir=absent", "absent"),
    bad("run seed=${nope}", "nope"),
    bad("run out=", "out: '' is not allowed; the name of a folder is"),
    bad("run cache=", "cache: '' is not allowed; the name of a folder (or null) is"),
    bad("run cache=[a]", "cache: ['a']"),
]

MODELS = [
    bad("run model.linear_svm.C=nan", "model.linear_svm.C: nan"),
    bad("run model.linear_svm.C_grid=[]", "C_grid"),
    bad("run model.linear_svm.n_folds=1", "n_folds"),
    bad("run model.mlp.n_hidden=0", "n_hidden"),
    bad("run model.mlp.held_share=1", "held_share"),
    bad("run +model.linear_svm.colour=red", "model.linear_svm", "colour"),
    bad(f"run n_documents={HUGE}", f"n_documents: {HUGE}", "1 to 1,000,000,000"),
    bad(f"run n_documents=100 split.n_train={HUGE}", "n_train"),
    bad("run corpus.n_topics=104", "n_topics=104", "1 to 103"),
    bad("run corpus.topical_share=nan", "corpus.topical_share: nan"),
    bad("run corpus.topical_share=1", "topical_share=1", "between 0 and 1"),
    bad("run corpus.seed=-1", "seed=-1"),
    bad("run n_documents=100 split.order=null", "split.order: None", "choose one of random, chronological"),
    bad("run corpus._target_=harness.corpora.rcv1_topics.keep_frequent", "corpus"),
]

COMPARE = [
    bad("compare n_seeds=0", "n_seeds: 0"),
    bad(f"compare n_seeds={HUGE}", "n_seeds", "from 1 to 1,000,000"),
    bad("compare n_seeds=[1]", "n_seeds: [1]"),
    bad("compare alpha=1", "alpha: 1", "between 0 and 1"),
    bad("compare alpha=nan", "alpha: nan"),
    bad("compare test_share=0.999", "test_share: 0.999", "178 samples of wine"),
    bad("compare test_share=text", "test_share: 'text'"),
    bad("compare scorer=nonsense", "scorer: 'nonsense'"),
    bad("compare scorer=roc_auc", "scorer: roc_auc cannot score the data wine"),
    bad("compare study=x", "study: 'x'", "choose one of learners"),
    bad("compare figure.dpi=inf", "figure.dpi: inf"),
    bad("compare +nonsense=1", "nonsense: there is no such key"),
    bad("compare ~n_seeds", "n_seeds: it is missing"),
    bad("compare ~figure.dpi", "figure.dpi: it is missing"),
    bad("compare data=null", "data: null is not allowed"),
    bad("compare estimator=[svm]", "estimator: svm is left; at least two"),
    bad("compare +estimator.x=5", "estimator.x: it has no _target_"),
    bad("compare +estimator.decision_tree.nonsense=1", "estimator.decision_tree", "'nonsense'"),
    bad("compare +estimator.decision_tree.max_depth=nan", "estimator.decision_tree.max_depth: nan"),
    bad("compare out=", "out: ''"),
]

STUDIES = [
    bad("compare experiment=dietterich1998 n_trials=0", "n_trials: 0"),
    bad(f"compare experiment=dietterich1998 n_trials={HUGE}", "n_trials", "from 1 to 100,000,000"),
    bad("compare experiment=dietterich1998 tests=[[a]]", "tests: ['a'] is not allowed; names are"),
    bad("compare experiment=dietterich1998 alphas=[2]", "alphas: 2"),
    bad("compare experiment=dietterich1998 ~simulated_null.errors", "simulated_null.errors: it is missing"),
    bad("compare experiment=dietterich1998 simulated_null.test_share=nan", "simulated_null.test_share: nan"),
    bad(f"compare experiment=dietterich1998 simulated_null.n_examples={HUGE}", "from 4 to 1,000,000"),
    bad(f"compare experiment=dietterich1998 simulated_null.n_resamples={HUGE}", "from 2 to 10,000"),
    bad("compare experiment=dietterich_rcv1 training_sets.learner=forest", "training_sets.learner: 'forest'"),
    bad("compare experiment=dietterich_rcv1 training_sets.topic=5", "training_sets.topic: 5"),
    bad("compare experiment=smoke", "one of `harness run`, not of `harness compare`"),
    bad("run experiment=rr0434 category_sets.size=0", "category_sets.size: 0"),
    bad(f"run experiment=rr0434 category_sets.n_subsets={HUGE}", "category_sets.n_subsets", "10,000,000"),
    bad("run experiment=rr0434 ~category_sets.costs", "category_sets.costs: it is missing"),
]


class Ran:
    """Leaves a mark where it is unpickled."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return Path.touch, (self.mark,)


def evil(folder):
    (folder / "evil.pkl").write_bytes(pickle.dumps(Ran(folder / "it_ran")))


PICKLE = "_target_=pandas.read_pickle +hydra.callbacks.x.filepath_or_buffer=../evil.pkl"
CALLBACK = text(
    "own/figure/own.yaml",
    "# @package _global_\nhydra:\n  callbacks:\n    x:\n      _target_: pandas.read_pickle\n"
    "      filepath_or_buffer: ../evil.pkl\n",
)
LOGGED = text(
    "own/hydra/job_logging/own.yaml",
    "version: 1\nhandlers:\n  f:\n    class: logging.FileHandler\n    filename: ../it_ran\n"
    "root:\n  handlers: [f]\n",
)
MADE = text(
    "own/hydra/hydra_logging/own.yaml",
    "version: 1\nformatters:\n  f:\n    (): pathlib.Path.touch\n    self: ../it_ran\n",
)
PRIMARY = text("own/run.yaml", "hydra:\n  searchpath: [pkg://antigravity]\n")
CODE = [
    bad(f"run +hydra.callbacks.x.{PICKLE}", "hydra.callbacks: x is not allowed", make=evil),
    bad(f"run seed=0,1 +hydra.callbacks.x.{PICKLE} -m", "hydra.callbacks: x is not allowed", make=evil),
    bad(f"run +hydra.callbacks.x.{PICKLE} --cfg hydra", "hydra.callbacks: x is not allowed", make=evil),
    bad("run figure=own --config-dir=../own", "hydra.callbacks: x is", make=both(evil, CALLBACK)),
    bad("run hydra/job_logging=own --config-dir=../own", "one of none, disabled, stdout is", make=LOGGED),
    bad("run hydra/hydra_logging=own --config-dir=../own", "hydra.hydra_logging: its", make=MADE),
    bad("run --config-dir=../own", "run.yaml is not allowed there", make=PRIMARY),
    bad("run --config-path=../own", "--config-path and --config-name are not allowed", make=PRIMARY),
    bad("run -cn advise", "--config-path and --config-name are not allowed"),
    bad("run hydra/job_logging=default", "one of none, disabled, stdout is"),
    bad("run hydra.searchpath=[pkg://antigravity]", "hydra.searchpath is not allowed"),
    bad("run ++hydra.searchpath=[../own]", "hydra.searchpath is not allowed"),
    bad("run seed=0,1 hydra.launcher._target_=os.system -m", "hydra.launcher._target_: 'os.system'"),
    bad("run seed=0,1 hydra.sweeper._target_=os.system -m", "hydra.sweeper._target_: 'os.system'"),
    bad("run seed=0,1 hydra.sweeper.max_batch_size=-1 -m", "hydra.sweeper.max_batch_size: -1"),
    bad("run hydra.job.chdir=true seed=-1", "hydra.job.chdir: True is not allowed"),
    bad("run hydra.output_subdir=../../x", "hydra.output_subdir: '../../x' is not allowed"),
    bad("run +hydra.job.env_set.PYTHONPATH=../own", "hydra.job.env_set"),
    bad("run test.mcnemar._target_=harness.runtime.store.digest", "tests, functions of harness.significance"),
    bad("run +test.x={_target_:harness.writing.page.write_page,measure:f1}", "'harness.writing.html"),
    bad("run corpus._target_=harness.runtime.store.hash_file", "'harness.runtime.store.hash_file' is"),
    bad("run experiment_name=../../x", "experiment_name"),
]

OF_ADVISE = [
    bad("advise figure.width=-1", "figure.width: -1 is not allowed; 5 to 20 inches are"),
    bad("advise figure.dpi=nan", "figure.dpi: nan is not allowed; a finite number is"),
    bad("advise +figure.x=inf", "figure.x: inf is not allowed"),
    bad("advise figure.formats=[exe]", "choose one of pdf, png"),
    bad("advise plan=null", "plan: None is not allowed; its parts are n_sets"),
    bad("advise ~plan", "plan: it is missing"),
    bad("advise ~plan.h", "plan.h: it is missing"),
    bad("advise ~seed", "seed: it is missing"),
    bad("advise ~parallel", "parallel: it is missing"),
    bad("advise ~measure", "'measure' does not exist"),
    bad("advise out='\t'", r"out: '\t' is not allowed; the name of a folder is"),
    bad("advise n_replicates=inf", "n_replicates: inf is not allowed"),
    bad("advise separator=inf", "separator: inf is not allowed"),
]
PREDICTIONS = text("p.csv", "y_true,a,b\n" + "1,1,0\n0,0,1\n1,0,1\n" * 9)


@pytest.mark.parametrize("case", named(CODE[:-1]))
def test_code_from_a_configuration(case, tmp_path, monkeypatch, capfd):
    refuse(case, COMMON + STORED, tmp_path, monkeypatch, capfd)


@pytest.mark.parametrize("case", named(CODE[-1:]))
def test_a_name_that_is_a_path(case, tmp_path, monkeypatch, capfd):
    refuse(case, ("cache=null",), tmp_path, monkeypatch, capfd)


@pytest.mark.parametrize("case", named(OF_ADVISE))
def test_advise(case, tmp_path, monkeypatch, capfd):
    PREDICTIONS(tmp_path)
    refuse(case, (*COMMON, "predictions=../p.csv"), tmp_path, monkeypatch, capfd)


@pytest.mark.parametrize("case", named(NUMBERS + KINDS + TARGETS[:7] + LINES))
def test_run(case, tmp_path, monkeypatch, capfd):
    refuse(case, COMMON + STORED, tmp_path, monkeypatch, capfd)


@pytest.mark.parametrize("case", named(MODELS))
def test_run_with_training(case, tmp_path, monkeypatch, capfd):
    refuse(case, COMMON + FULL, tmp_path, monkeypatch, capfd)


@pytest.mark.parametrize("case", named(COMPARE + TARGETS[7:11]))
def test_compare(case, tmp_path, monkeypatch, capfd):
    refuse(case, COMMON + LEARNERS, tmp_path, monkeypatch, capfd)


@pytest.mark.parametrize("case", named(STUDIES))
def test_studies(case, tmp_path, monkeypatch, capfd):
    refuse(case, COMMON, tmp_path, monkeypatch, capfd)
