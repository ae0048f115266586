"""A wrong name gets the names nearest to it, in one sentence; all of them only where none is near."""

import pytest

from harness.cli import main
from harness.errors import instead

NEAR_NAMES = [
    ("rnu", "harness: 'rnu' is no command; did you mean run?"),
    ("run test=[mcnemar_mipd]", "run: test: there is no 'mcnemar_mipd'; did you mean mcnemar_midp?"),
    ("run sets.n_set=4", "harness run: sets.n_set: there is no such setting; did you mean sets.n_sets?"),
    (
        "run nulls.replicate_tests=[bootstrap_f]",
        "'bootstrap_f' is not allowed; did you mean bootstrap_f1 or bootstrap_t_f1?",
    ),
    ("run hydra/launcher=jobib", "hydra/launcher: there is no 'jobib'; did you mean joblib?"),
    ("compare experiment=dietterich_rcv1 tests=[kfold]", "'kfold' is not allowed; did you mean kfold_t?"),
    ("zzz", "choose one of run, compare, advise, figures, collect, cache, completion"),
    ("run truth=[zzz]", "truth: there is no 'zzz'; choose one of exact_null, exact_zero, "),
    ("run sets.qqqqqqqq=3", "`harness run --cfg job` prints those there are"),
]


@pytest.mark.parametrize(("line", "said"), NEAR_NAMES)
def test_the_nearest_names_are_told_or_all_where_none_is_near(line, said, capfd, tmp_path, here):
    assert main(line.split()) == 2
    (told,) = capfd.readouterr().err.splitlines()
    assert said in told
    assert list(tmp_path.iterdir()) == []


def test_names_of_a_plugin_are_told_too(capfd, tmp_path, here):
    (tmp_path / "mine.py").write_text(
        "import harness\n\n@harness.plugin('test', measure='error')\ndef quincunx(counts): ...\n"
    )
    assert main(["run", "plugins=[mine.py]", "test=[quincux]"]) == 2
    assert capfd.readouterr().err == "harness run: test: there is no 'quincux'; did you mean quincunx?\n"


def test_names_that_are_as_near_are_told_together():
    names = ["sets.n_sets", "nulls.n_sets", "seed", "alphas"]
    assert instead("n_sets", names) == "did you mean sets.n_sets or nulls.n_sets?"
    assert instead("nothing", names, "leave it out") == "leave it out"
    assert instead("a", ["a1", "a2"]) == "choose one of a1, a2"
