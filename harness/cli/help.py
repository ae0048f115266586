"""What `harness` and `harness COMMAND --help` print."""

from harness import __version__

USAGE = f"""harness {__version__}: which significance test can I trust?

  harness run        measures size and power of the tests
                       harness run
                       harness run experiment=nips2005 corpus=lyrl corpus.path=FOLDER
  harness compare    compares learning algorithms on a data set
                       harness compare
                       harness compare data=csv data.csv.path=FILE data.csv.target=COLUMN
  harness advise     says which test to trust on one's own predictions
                       harness advise predictions=FILE
  harness figures    redraws the figures of a finished run
                       harness figures from=FOLDER
  harness collect    joins the tables of a sweep into one
                       harness collect FOLDER
  harness cache      lists what is kept for the next run, and prunes it
                       harness cache
                       harness cache prune=true older_than_days=30

`harness COMMAND --help` tells more. Settings are NAME=VALUE; -m NAME=VALUE,VALUE runs each in its turn.
"""

HELP = {
    "run": """harness run: size and power of significance tests that compare two classifiers.

It trains the models on part of a corpus, keeps the rest as the truth, draws evaluation sets from it,
and counts how often each test rejects. With nothing else it uses a synthetic corpus, offline.

Choices (NAME=MEMBER, or NAME=[MEMBER,MEMBER] for balance, model, test, truth):

{groups}

Examples:
  harness run
  harness run experiment=nips2005 corpus=lyrl corpus.path=FOLDER
  harness run population=rcv1-slice
  harness run population=FILE test=[mcnemar_midp,bootstrap_f1] sets.sizes=[100,1000]
  harness run -m seed=0,1,2

`harness run --cfg job` prints every setting; `out=FOLDER` is where a run writes.
""",
    "compare": """harness compare: compare learning algorithms on one data set or several.

It trains each algorithm on a hold-out split and in five two-fold cross-validations, for many seeds, and
tests every pair: McNemar's test, the 5x2cv paired t test and the combined F test. Over several data sets
it ranks them: Friedman's test, Nemenyi's critical difference, Holm's comparisons with the baseline. With
nothing else it compares four classifiers on the wine data, offline.

Choices (NAME=MEMBER, or NAME=[MEMBER,MEMBER] for data and estimator):

{groups}

Examples:
  harness compare
  harness compare experiment=wine
  harness compare data=csv data.csv.path=FILE data.csv.target=COLUMN estimator=[svm_rbf_scaled,random_forest]
  harness compare data=[wine,iris,breast_cancer,digits] baseline=random_forest
  harness compare variance.n_splits=20 +variance.hyperparameters.random_forest.max_depth=[2,4,8]
  harness compare data=digits scorer=f1_macro n_seeds=50
  harness compare +estimator.knn._target_=sklearn.neighbors.KNeighborsClassifier
  harness compare experiment=dietterich1998
  harness compare experiment=dietterich_rcv1 corpus=lyrl corpus.path=FOLDER

`harness compare --cfg job` prints every setting; `out=FOLDER` is where it writes.
""",
    "advise": """harness advise: which significance test may be trusted on these predictions?

It takes a table of the truth and of what two systems or more predicted, measures each test's size where both
of a pair are equally good and its power where they are not, on items like these, and recommends one.

Choices (NAME=[MEMBER,MEMBER]):

{groups}

Examples:
  harness advise predictions=FILE
  harness advise predictions=FILE truth_column=gold systems=[svm,mlp] positive=spam measure=f1
  harness advise predictions=FILE measure=error difference=0.005
  harness advise predictions=FILE threshold=0.5 alpha=0.01
  harness advise predictions=FILE category=sports
  harness advise predictions=LOGS task=gsm8k metric=exact_match filter=strict-match

`harness advise --cfg job predictions=FILE` prints every setting; `out=FOLDER` is where it writes.
""",
    "figures": """harness figures: redraw every figure of a finished run or comparison from its tables.

Those of `harness compare` take figure.width, figure.dpi and figure.formats alone.

Examples:
  harness figures from=FOLDER
  harness figures from=FOLDER figure.papers_minus_one=true
  harness figures from=FOLDER figure.formats=[png] figure.dpi=300

`harness figures --cfg job from=FOLDER` prints every setting.
""",
    "collect": """harness collect: one table of every finished run below a folder, joined into one tidy CSV.

Its columns are `run`, the settings that differ between the runs, and those of the table. Runs that are not
finished are named and left out.

Examples:
  harness collect FOLDER
  harness collect FOLDER table=size_power_by_category to=all.csv
  harness collect FOLDER table=verdicts
  harness collect FOLDER spread=seed          # besides, how far each rate moves from seed to seed

`harness collect --cfg job from=FOLDER` prints every setting.
""",
    "cache": """harness cache: what is kept for the next run, by stage, and the removal of what is asked for.

With prune=true it removes what no run can use: damaged entries, and what killed runs were writing.
With older_than_days=N as well it removes whole entries, those made longer ago; 0 is all of them.
Files that are not the cache's own are left alone.

Examples:
  harness cache
  harness cache cache=FOLDER stage=[fit,decisions]
  harness cache prune=true
  harness cache prune=true older_than_days=30

`harness cache --cfg job` prints every setting.
""",
}
