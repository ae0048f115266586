from pathlib import Path

import pytest
from joblib.externals.loky import get_reusable_executor
from killing import FEW, write_table
from painting import undrawn

from harness.cli import main


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """The setting that starts from a small outcomes table."""
    return write_table(tmp_path_factory.mktemp("table") / "outcomes.csv")


@pytest.fixture(scope="module")
def expected(table, tmp_path_factory):
    """The tables of a sweep whose job ran in this process, by the job's folder."""
    with pytest.MonkeyPatch.context() as patch, undrawn():
        patch.chdir(tmp_path_factory.mktemp("basic"))
        return sweep(table, "basic")


def sweep(table, launcher, *more):
    """Sweep where no `out` is set; return the tables by the jobs' folders."""
    own = ["balance=[natural]", "seed=choice(0)", f"hydra/launcher={launcher}"]
    assert main(["run", "-m", table, *FEW, *own, *more]) == 0
    return {path: path.read_bytes() for path in sorted(Path("runs").glob("*/*/*.csv"))}


@pytest.mark.filterwarnings("default")  # the launchers of Hydra are not ours to mend
@pytest.mark.parametrize(
    ("launcher", "plugin", "more"),
    [
        pytest.param("joblib", "joblib", ["hydra.launcher.n_jobs=2"], marks=pytest.mark.slow),
        pytest.param("submitit_local", "submitit", [], marks=pytest.mark.slow),
    ],
)
def test_same_bytes_in_same_folders(launcher, plugin, more, table, expected, here):
    """A job is a process that imports for seconds: one is enough; a slow test of sweeps has five."""
    pytest.importorskip(f"hydra_plugins.hydra_{plugin}_launcher", reason="`cluster` is not installed")
    get_reusable_executor().shutdown(wait=True)  # workers of an earlier test keep its working folder
    assert len({path.parent for path in expected}) == 1
    assert sweep(table, launcher, *more) == expected
    get_reusable_executor().shutdown(wait=True)


def test_the_slurm_array_composes(capfd):
    pytest.importorskip("hydra_plugins.hydra_submitit_launcher", reason="`cluster` is not installed")
    options = ["hydra/launcher=slurm_array", "hydra.launcher.partition=long", "hydra.launcher.mem_gb=4"]
    assert main(["run", "--cfg", "hydra", *options]) == 0
    said = capfd.readouterr().out
    wanted = {"cpus_per_task: 8", "mem_gb: 4", "partition: long", "array_parallelism: 32"}
    assert wanted <= {line.strip() for line in said.splitlines()}
    assert "SlurmLauncher" in said
