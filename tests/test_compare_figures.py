"""`harness figures from=FOLDER` on folders of `harness compare`: the run's figures, from tables alone."""

import shutil
from pathlib import Path

import pytest

from harness.cli import main

DRAWN = ["figure.formats=[png]", "figure.dpi=60"]
HERE = [*DRAWN, "parallel=sequential", "cache=null"]
TWO = "estimator=[decision_tree,naive_bayes]"
RESULTS = Path(__file__).resolve().parent.parent / "results"
STUDIES = {
    "one data set": ["n_seeds=2", TWO],
    "several": ["n_seeds=2", "data=[wine,iris]", TWO, "scorer=f1_macro"],
    "simulated": [
        "experiment=dietterich1998", "n_trials=200", "simulated_null.differences=[0.05]",
        "simulated_null.sizes=[100]",
    ],
    "training sets": [
        "experiment=dietterich_rcv1", "n_trials=6", "n_documents=1500", "training_sets.n_truth=300",
        "training_sets.n_terms=200", "training_sets.sizes=[40,80]", "training_sets.kept_terms=[0.5]",
        "training_sets.n_resamples=5", "training_sets.n_folds=5",
    ],
}  # fmt: skip
FIGURES = {"one data set": 2, "several": 5, "simulated": 3, "training sets": 2}


def files(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.parametrize("study", STUDIES)
def test_the_figures_are_redrawn_from_the_tables_alone(study, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    assert main(["compare", *STUDIES[study], *HERE, "out=made"]) == 0
    before = files(tmp_path / "made" / "figures")
    assert len(before) == FIGURES[study] + 1  # captions.md
    for path in (*(tmp_path / "made" / "figures").iterdir(), tmp_path / "made" / "summary.md"):
        path.unlink()
    shutil.move(tmp_path / "made", tmp_path / "elsewhere")
    assert main(["figures", "from=elsewhere", *DRAWN]) == 0
    assert files(tmp_path / "elsewhere" / "figures") == before
    assert capfd.readouterr().out.count(".png") >= FIGURES[study]


@pytest.mark.skipif(not RESULTS.is_dir(), reason="results stand in a checkout alone")
@pytest.mark.parametrize("name", ["wine", "dietterich1998"])
def test_the_figures_of_the_results(name, tmp_path, capfd):
    shutil.copytree(RESULTS / name, tmp_path / name)
    shutil.rmtree(tmp_path / name / "figures")
    assert main(["figures", f"from={tmp_path / name}", "figure.formats=[png]", "figure.dpi=60"]) == 0
    assert b"data:image/png" in (tmp_path / name / "report.html").read_bytes()
    mine = sorted(path.stem for path in (tmp_path / name / "figures").glob("*.png"))
    assert mine == sorted(path.stem for path in (RESULTS / name / "figures").glob("*.png"))
    assert (tmp_path / name / "figures" / "captions.md").read_bytes() == (
        RESULTS / name / "figures" / "captions.md"
    ).read_bytes()


def test_a_run_that_is_not_finished(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "begun").mkdir()
    (tmp_path / "begun" / "provenance.json").write_text('{"study": "learners", "finished": false}')
    assert main(["figures", "from=begun"]) == 2
    assert "from=begun: its run is not finished" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("setting", "said"), [("figure.dpi=5", "figure.dpi: 5"), ("figure.formats=[gif]", "'gif'")]
)
def test_options_that_cannot_be_drawn(setting, said, tmp_path, capfd):
    (tmp_path / "provenance.json").write_text('{"study": "learners", "finished": true}')
    assert main(["figures", f"from={tmp_path}", setting]) == 2
    assert said in capfd.readouterr().err
