import subprocess
import sys
from pathlib import Path

import pytest
from composing import configured
from killing import FEW

from harness.cli.arguments import run_arguments
from harness.errors import UserError
from harness.packaged import POPULATIONS, load_population, population_file

ROOT = Path(__file__).resolve().parent.parent


def test_every_name_has_a_table():
    for name in POPULATIONS:
        assert sum(len(population.categories) for population in load_population(name)) > 100


def test_a_run_from_a_name_takes_that_population():
    given = run_arguments(configured("run", "out=unused", "population=rcv1-slice"))
    assert given["population_file"] == population_file("rcv1-slice")


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
