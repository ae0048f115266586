"""What `harness compare` refuses, in a sentence that names the setting and what is allowed."""

import functools
import re

import pytest
from composing import composed

from harness.compare.study import compare
from harness.errors import UserError

TWO = "estimator=[decision_tree,naive_bayes]"
NULL, CORPUS = "experiment=dietterich1998", "experiment=dietterich_rcv1"
VARIANCE = "+variance.hyperparameters."


WRONG_SETTINGS = [
    (["test_share=0.99"], "test_share: 0.99 of the 178 samples of wine leaves 1 in the training set"),
    (["scorer=beauty"], "scorer: 'beauty' is not allowed"),
    (["scorer=f1"], "scorer: f1 cannot score the data wine: Target is multiclass"),
    (["data=[breast_cancer,iris]", "scorer=f1"], "scorer: f1 cannot score the data iris"),
    (["estimator=[svm]"], "at least two"),
    (["estimator=[]"], "none is chosen"),
    (["+estimator.bad._target_=sklearn.svm.SVR"], "estimator.bad: SVR is not allowed; a classifier is"),
    (["+estimator.bad=3"], "estimator.bad: it has no _target_"),
    (["+estimator.svm.colour=red", "estimator=[svm,naive_bayes]"], "colour"),
    (["data.wine.name=moons"], "data.wine: name: 'moons' is not allowed; choose one of wine, iris"),
    (["data=csv", "data.csv.target=y"], "path"),
    (["baseline=svm"], "baseline: 'svm' is not allowed; choose one of decision_tree, naive_bayes"),
    (["baseline=3"], "baseline: 3 is not allowed"),
    ([f"{VARIANCE}svm.C=[1,2]"], "variance.hyperparameters.svm: there is no such key"),
    ([f"{VARIANCE}decision_tree.depth=[1,2]"], "decision_tree.depth: there is no such key"),
    ([f"{VARIANCE}decision_tree.max_depth=3"], "max_depth: 3 is not allowed; a list"),
    ([f"{VARIANCE}decision_tree.max_depth=[3,3]"], "names one twice"),
    ([f"{VARIANCE}decision_tree=3"], "variance.hyperparameters.decision_tree: 3"),
    ([NULL, "variance={n_splits:2}"], "it has no meaning in this study"),
    ([NULL, "alpha=0.1"], "it has no meaning in this study"),
    ([NULL, "tests=[sign]"], "tests: 'sign' is not allowed; choose one of resampled_t"),
]


@pytest.mark.parametrize(("arguments", "said"), WRONG_SETTINGS)
def test_wrong_settings(arguments, said):
    names = {argument.split("=")[0].lstrip("+") for argument in arguments}
    given = [] if {"estimator", "experiment"} & names else [TWO]
    with pytest.raises(UserError, match=re.escape(said)) as caught:
        composed(*given, *arguments)
    assert "\n" not in str(caught.value)


@functools.cache
def composed_once(study):
    return composed(study, *["n_documents=1500", "training_sets.n_truth=300"] * (study == CORPUS))


WRONG_POINTS = [
    (NULL, {"errors": [0.1]}, "errors: [0.1]"),
    (NULL, {"differences": [0.3]}, "difference: 0.3"),
    (NULL, {"n_examples": 301}, "n_examples: 301"),
    (NULL, {"n_folds": 400}, "n_folds: 400"),
    (NULL, {"test_share": 0.001}, "test_share: 0.001"),
    (CORPUS, {"sizes": [41]}, "n_examples: 41"),
    (CORPUS, {"n_folds": 60, "sizes": [40]}, "n_folds: 60"),
    (CORPUS, {"topic": "FOOTBALL"}, "topic: 'FOOTBALL'"),
    (CORPUS, {"n_truth": 2000}, "n_truth: 2000"),
    (CORPUS, {"nulls": [], "kept_terms": []}, "nulls, kept_terms: both are empty"),
]


@pytest.mark.parametrize(("study", "changed", "said"), WRONG_POINTS)
def test_wrong_points_leave_no_folder(study, changed, said, tmp_path):
    given = composed_once(study)
    given = given | {"options": given["options"] | changed}
    with pytest.raises(UserError, match=re.escape(said)):
        compare(out=tmp_path / "new", say=lambda *_: None, **given)
    assert not list(tmp_path.glob("new/*"))


def test_the_preset_of_the_wine_report():
    options = composed("experiment=wine")["options"]
    assert options["setting"]["n_seeds"] == 200
    assert [data.name for data in options["data"]] == ["wine"]
    assert {"logistic_regression", "random_forest", "svm"} <= set(options["estimators"])
