"""Populations that come with the package: found by name, in a checkout and in a wheel."""

import subprocess
import sys
from pathlib import Path

import pytest

from harness.cli import main
from harness.errors import UserError
from harness.packaged import POPULATIONS, load_population, population_file

ROOT = Path(__file__).resolve().parent.parent
FEW = [
    "sets.n_sets=5", "sets.sizes=[100]", "alphas=[0.05]", "n_replicates=50", "sets.n_truth_sets=100",
    "cache=null", "parallel=sequential", "figure=draft", "test=[mcnemar]", "balance=[natural]",
]  # fmt: skip


def test_every_name_has_a_table():
    for name in POPULATIONS:
        assert sum(len(population.categories) for population in load_population(name)) > 100


def test_a_run_from_a_name_takes_that_population(tmp_path, here, undrawn):
    few = [*FEW, "pairs=[linear_svm-rbf_svm]", "truth=[exact_zero]", "figure.formats=[png]"]
    assert main(["run", "population=rcv1-slice", "out=study", *few]) == 0
    (ran,) = load_population(tmp_path / "study" / "outcomes.csv")
    (known,) = (
        one for one in load_population("rcv1-slice") if (one.pair, one.balance) == (ran.pair, "natural")
    )
    assert (ran.counts == known.counts).all()


def test_an_unknown_name_is_told_with_those_there_are(capsys, tmp_path, here):
    assert main(["run", "population=rcv2", "out=run", *FEW]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert "population=rcv2: there is no such file, and no packaged population" in line
    assert all(name in line for name in POPULATIONS)
    assert not (tmp_path / "run").exists()


def test_a_file_without_an_ending_is_a_file(tmp_path, here):
    (tmp_path / "mine").write_text("x")
    assert population_file("mine") == Path("mine")
    assert population_file("no/such/file") == Path("no/such/file")
    (tmp_path / "rcv1-slice").write_text("x")
    assert population_file("rcv1-slice").stat().st_size > 1000
    assert population_file("./rcv1-slice") != population_file("rcv1-slice")


def test_a_package_without_its_table_says_so(monkeypatch):
    monkeypatch.setitem(POPULATIONS, "lost", "results/nowhere.csv")
    with pytest.raises(UserError, match="install the package again"):
        population_file("lost")


@pytest.mark.slow
def test_a_wheel_made_from_the_sdist_draws_the_real_curves(tmp_path):
    """The table travels through sdist and wheel; the wheel is used without the checkout."""
    build = [sys.executable, "-m", "build", "--outdir", str(tmp_path / "dist"), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    target = tmp_path / "site"
    install = [sys.executable, "-m", "pip", "install", "--no-deps", "--target", str(target), str(wheel)]
    subprocess.run(install, check=True, capture_output=True)
    for name, table in POPULATIONS.items():
        stored = target / "harness" / "populations" / f"{name}.csv"
        assert stored.read_bytes() == (ROOT / table).read_bytes()
    assert (target / "harness" / "__init__.pyi").is_file()
    program = (
        f"import sys; sys.path.insert(0, {str(target)!r}); import harness, harness.cli; "
        "print(harness.__file__); sys.exit(harness.cli.main())"
    )
    command = [sys.executable, "-c", program, "run", "population=rcv1-slice", "out=study", *FEW]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(target))
    assert (tmp_path / "study" / "figures" / "figure1.png").is_file()
