import functools
import re

import pytest
from beside import beside
from composing import composed

from harness.compare.study import compare
from harness.errors import UserError

KNOWN = beside(__file__)

TWO = "estimator=[decision_tree,naive_bayes]"
NULL, CORPUS = "experiment=dietterich1998", "experiment=dietterich_rcv1"
VARIANCE = "+variance.hyperparameters."


@pytest.mark.parametrize(("arguments", "said"), KNOWN["wrong_settings"])
def test_wrong_settings(arguments, said):
    names = {argument.split("=")[0].lstrip("+") for argument in arguments}
    given = [] if {"estimator", "experiment"} & names else [TWO]
    with pytest.raises(UserError, match=re.escape(said)) as caught:
        composed(*given, *arguments)
    assert "\n" not in str(caught.value)


@functools.cache
def composed_once(study):
    given = composed(study, *["n_documents=1500", "training_sets.n_truth=300"] * (study == CORPUS))
    if study == CORPUS:
        given["options"]["load_corpus"] = functools.cache(given["options"]["load_corpus"])
    return given


@pytest.mark.parametrize(("study", "changed", "said"), KNOWN["wrong_points"])
def test_wrong_points_leave_no_folder(study, changed, said, tmp_path):
    given = composed_once(study)
    given = given | {"options": given["options"] | changed}
    with pytest.raises(UserError, match=re.escape(said)):
        compare(out=tmp_path / "new", say=lambda *_: None, **given)
    assert not list(tmp_path.glob("new/*"))
