"""A worker process of this machine that is killed: one sentence, and no finished unit is lost."""

import os
import signal
import time
from concurrent.futures import BrokenExecutor

import pytest

from harness import cli
from harness.cli import main
from harness.errors import sentence
from harness.runtime.parallel import Workers, make_run
from harness.runtime.store import Store

UNITS = [(i,) for i in range(8)]
NAMES = [f"unit {i}" for i in range(8)]


def die_once(folder, number):
    """Unit 7 kills its process once another unit is kept, unless it has done so before."""
    import numpy as np

    told = folder / "killed"
    if number == 7 and not told.exists():
        while not list(folder.glob("kept/stage/*/*.npz")):
            time.sleep(0.01)
        told.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return {"n": np.array(number)}


def run_units(folder):
    run = make_run(Workers("loky", 2), Store(folder / "kept"), "stage")
    return run(die_once, UNITS, NAMES, shared=lambda: folder, threads=False)


@pytest.mark.filterwarnings("default")  # loky warns that a worker stopped
def test_the_same_command_goes_on(tmp_path, monkeypatch, capfd):
    monkeypatch.setitem(cli.COMMANDS, "compare", lambda cfg: run_units(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert main(["compare", "out=out"]) == 2
    said = capfd.readouterr().err.strip().splitlines()[-1]
    assert "a worker was killed" in said
    assert "parallel.n_jobs" in said
    assert "the same command goes on where it was" in said
    kept = {p: p.stat().st_mtime_ns for p in tmp_path.glob("kept/stage/*/*.npz")}
    assert 0 < len(kept) < 8
    assert [int(one["n"]) for one in run_units(tmp_path)] == list(range(8))
    assert all(path.stat().st_mtime_ns == made for path, made in kept.items())


def test_it_is_told_in_a_sentence():
    assert sentence(BrokenExecutor("long and\nof many lines")).startswith("a worker was killed")
