"""Sweeps on other launchers: the same bytes as one job after the other."""

from pathlib import Path

import pytest
from joblib.externals.loky import get_reusable_executor
from killing import write_table
from painting import undrawn

from harness.cli import main

QUICK = [
    "sets.n_sets=10", "sets.sizes=[50]", "alphas=[0.05]", "n_replicates=100", "sets.n_truth_sets=100",
    "test=[mcnemar]", "truth=[exact_zero]", "pairs=[linear_svm-rbf_svm]", "balance=[natural]",
    "figure=draft", "figure.dpi=30", "cache=null", "parallel=sequential",
]  # fmt: skip


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """The setting that starts from a small outcomes table."""
    return write_table(tmp_path_factory.mktemp("table") / "outcomes.csv")


@pytest.fixture(scope="module")
def expected(table, tmp_path_factory):
    """The tables of a sweep whose jobs ran one after the other, by the jobs' folders."""
    with pytest.MonkeyPatch.context() as patch, undrawn():
        patch.chdir(tmp_path_factory.mktemp("basic"))
        return sweep(table, "seed=0,1", "basic")


def sweep(table, seeds, launcher, *more):
    """Sweep where no `out` is set; return the tables by the jobs' folders."""
    arguments = ["run", "-m", table, *QUICK, seeds, f"hydra/launcher={launcher}", *more]
    assert main(arguments) == 0
    return {path: path.read_bytes() for path in sorted(Path("runs").glob("*/*/*.csv"))}


@pytest.mark.filterwarnings("default")  # the launchers of Hydra are not ours to mend
@pytest.mark.parametrize(
    ("seeds", "n_jobs", "launcher", "plugin", "more"),
    [
        ("seed=0,1", 2, "joblib", "hydra_plugins.hydra_joblib_launcher", ["hydra.launcher.n_jobs=2"]),
        ("seed=choice(0)", 1, "submitit_local", "hydra_plugins.hydra_submitit_launcher", []),
    ],
)
def test_same_bytes_in_same_folders(
    seeds, n_jobs, launcher, plugin, more, table, expected, tmp_path, monkeypatch
):
    """A job is a process that imports for seconds: of submitit, one is enough."""
    pytest.importorskip(plugin, reason="the extra `cluster` is not installed")
    get_reusable_executor().shutdown(wait=True)  # workers of an earlier test keep its working folder
    monkeypatch.chdir(tmp_path)
    wanted = [path for path in expected if n_jobs == 2 or path.parent.name.startswith("seed-0-")]
    assert len({path.parent for path in wanted}) == n_jobs
    assert sweep(table, seeds, launcher, *more) == {path: expected[path] for path in wanted}
    get_reusable_executor().shutdown(wait=True)


def test_the_slurm_array_composes(capfd):
    pytest.importorskip("hydra_plugins.hydra_submitit_launcher", reason="`cluster` is not installed")
    options = ["hydra/launcher=slurm_array", "hydra.launcher.partition=long", "hydra.launcher.mem_gb=4"]
    assert main(["run", "--cfg", "hydra", *options]) == 0
    said = capfd.readouterr().out
    for line in (
        "SlurmLauncher",
        "cpus_per_task: 8",
        "mem_gb: 4",
        "partition: long",
        "array_parallelism: 32",
    ):
        assert line in said
