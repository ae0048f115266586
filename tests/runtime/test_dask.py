"""Units on a Dask cluster: the same bytes, whatever dies; and what is said where there is no cluster."""

import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import killing
import numpy as np
import psutil
import pytest
from composing import tabulated

import harness
from harness.cli import main
from harness.errors import UserError
from harness.runtime import dask as parallel_dask
from harness.runtime.dask import completed_on_dask
from harness.runtime.parallel import Workers, make_run, run_here
from harness.runtime.store import Store
from harness.seeding import rng

Client = pytest.importorskip("distributed", reason="Dask is not installed").Client

UNITS = [(i,) for i in range(12)]
UNIT_NAMES = [f"unit {i}" for i in range(12)]


class Cluster:
    """A scheduler and its workers, each a process started by a command."""

    def __init__(self, folder, n_workers):
        self.processes = []
        try:
            self.begin(folder, n_workers)
        except BaseException:
            self.end()
            raise

    def begin(self, folder, n_workers):
        told = folder / "scheduler.json"
        options = "--host 127.0.0.1 --port 0 --no-dashboard --dashboard-address 127.0.0.1:0".split()
        self.processes = [start("dask_scheduler", *options, "--scheduler-file", told)]
        wait_until(told.is_file)
        self.address = json.loads(told.read_text())["address"]
        options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", folder]
        self.processes += [start("dask_worker", self.address, *options) for _ in range(n_workers)]
        with Client(self.address, set_as_default=False) as client:
            if n_workers:
                client.wait_for_workers(n_workers, timeout=120)

    def end(self):
        for process in self.processes:
            process.kill()
            process.wait()


def start(program, *options):
    command = [sys.executable, "-m", f"distributed.cli.{program}", *map(str, options)]
    places = [Path(__file__).parent, Path(killing.__file__).parent, Path(harness.__file__).parent.parent]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, places)), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def wait_until(holds, seconds=120):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it does not come about"
        time.sleep(0.02)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A scheduler with three workers; tests may kill two of them."""
    cluster = Cluster(tmp_path_factory.mktemp("cluster"), 3)
    yield cluster
    cluster.end()


@pytest.fixture(scope="module")
def workers():
    """Two processes of this machine, started by the harness."""
    return Workers("dask", 2)


def unit(number):
    return {"x": rng(0, "unit", number).random(3), "n": np.array(number)}


def shared_unit(ballast, number):
    return {"x": ballast.matrix[number], "process": np.array(os.getpid())}


class Ballast:
    """A matrix that notes in a file each time it arrives somewhere."""

    def __init__(self, matrix, notes):
        self.matrix, self.notes = matrix, notes

    def __reduce__(self):
        return arrive, (self.matrix, self.notes)


def arrive(matrix, notes):
    with notes.open("a") as stream:
        stream.write(f"{os.getpid()}\n")
    return Ballast(matrix, notes)


def die_once(folder, number):
    """Unit 5 tells its process and waits for its death; done again, it finds that file and goes on."""
    told = folder / "process"
    if number == 5 and not told.is_file():
        (folder / "writing").write_text(str(os.getpid()))
        (folder / "writing").replace(told)
        time.sleep(60)
    return unit(number)


def always_die(number):
    time.sleep(0.5)  # Dask gives a worker up that dies before it has quite begun
    os.kill(os.getpid(), signal.SIGKILL)


def refuse(number):
    raise ValueError(f"number: {number} is not allowed")


def threads_inside(number):
    from threadpoolctl import threadpool_info

    return {"n": np.array([pool["num_threads"] for pool in threadpool_info()])}


def assert_same(found, expected):
    for one, other in zip(found, expected, strict=True):
        assert (one["x"] == other["x"]).all()


@pytest.mark.parametrize("threads", [True, False])
def test_the_same_as_in_this_process(workers, threads, tmp_path):
    run = make_run(workers, Store(tmp_path), "stage", 1)
    for _ in range(2):  # the second time from the store
        assert_same(run(unit, UNITS, UNIT_NAMES, threads=threads), run_here(unit, UNITS, UNIT_NAMES))
    assert len(list(tmp_path.rglob("*.npz"))) == len(UNITS)


def test_what_is_shared_is_shipped_once_a_worker(workers, tmp_path):
    notes = tmp_path / "notes"
    matrix = np.random.default_rng(0).random((12, 10_000))
    run = make_run(workers, Store(None), "stage")
    found = run(shared_unit, UNITS, UNIT_NAMES, shared=lambda: Ballast(matrix, notes))
    arrivals = notes.read_text().split()
    assert len(arrivals) == len(set(arrivals)) == 2
    assert {str(one["process"]) for one in found} <= set(arrivals)
    assert_same(found, [{"x": row} for row in matrix])


def test_a_worker_has_one_inner_thread(workers):
    found = make_run(workers, Store(None), "stage")(threads_inside, UNITS[:4], UNIT_NAMES[:4])
    assert {int(n) for one in found for n in one["n"]} == {1}


def test_an_error_of_a_unit_is_raised_here(workers):
    with pytest.raises(ValueError, match=r"^number: \d+ is not allowed$"):
        make_run(workers, Store(None), "stage")(refuse, UNITS[:2], UNIT_NAMES[:2])


def test_what_is_shared_is_shipped_again_where_all_workers_died(workers, tmp_path):
    done = []
    matrix = np.random.default_rng(0).random((12, 10))
    ballast = Ballast(matrix, tmp_path / "notes")
    for name, result in completed_on_dask(workers.client, slow_shared_unit, (ballast,), named(), False):
        if not done:
            for nanny in workers.client.cluster.workers.values():
                psutil.Process(nanny.process.process.pid).kill()
        done.append(name)
        assert (result["x"] == matrix[name]).all()
    assert sorted(done) == list(range(12))
    assert len(set((tmp_path / "notes").read_text().split())) == 4


def slow_shared_unit(ballast, number):
    time.sleep(0.1)
    return shared_unit(ballast, number)


def named():
    return [(i, (i,)) for i in range(12)]


def test_a_unit_that_kills_every_worker_is_told(workers):
    with pytest.raises(UserError, match="workers died again and again at one unit of work"):
        make_run(workers, Store(None), "stage")(always_die, UNITS[:2], UNIT_NAMES[:2])


def test_a_unit_of_a_killed_worker_is_done_elsewhere(cluster, tmp_path):
    def kill():
        wait_until((tmp_path / "process").is_file)
        os.kill(int((tmp_path / "process").read_text()), signal.SIGKILL)

    run = make_run(Workers("dask", address=cluster.address), Store(None), "stage")
    killer = threading.Thread(target=kill)
    killer.start()
    found = run(die_once, UNITS, UNIT_NAMES, shared=lambda: tmp_path)
    killer.join()
    assert_same(found, run_here(unit, UNITS, UNIT_NAMES))


def test_a_study_that_loses_a_worker_leaves_the_same_bytes(cluster, tmp_path):
    cache, seen = tmp_path / "cache", {}
    (victim,) = [p for p in cluster.processes[1:] if p.poll() is None][:1]
    study = [*killing.STUDY, killing.write_table(tmp_path / "outcomes.csv"), "sets.n_truth_sets=5000"]

    def kill():
        wait_until(lambda: list(cache.glob("rejections/*/*.npz")))
        victim.kill()
        seen["kept"] = len(list(cache.rglob("*.npz")))

    killer = threading.Thread(target=kill)
    killer.start()
    address = f"parallel.address={cluster.address}"
    tabulated(tmp_path / "dask" / "out", *study, f"cache={cache}", "parallel=dask", address)
    killer.join()
    assert 0 < seen["kept"] < len(list(cache.rglob("*.npz")))
    tabulated(tmp_path / "one" / "out", *study, "parallel=sequential")
    tables = killing.tables(tmp_path / "one")
    assert len(tables) == 3
    assert tables == killing.tables(tmp_path / "dask")


def test_workers_of_another_version_are_refused(cluster, monkeypatch):
    monkeypatch.setattr(harness, "__version__", "0.0.1")
    with pytest.raises(UserError, match=r"has harness .*, and this machine 0\.0\.1; the same versions"):
        Workers("dask", address=cluster.address)


def test_a_scheduler_without_workers_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(parallel_dask, "SECONDS", 0.5)
    cluster = Cluster(tmp_path, 0)
    try:
        with pytest.raises(UserError, match=rf"{cluster.address} has no worker; `dask worker"):
            Workers("dask", address=cluster.address)
    finally:
        cluster.end()


@pytest.mark.parametrize("listens", [False, True])
def test_no_scheduler_answers(listens, monkeypatch, capfd, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(parallel_dask, "SECONDS", 0.2)
    with socket.socket() as other:  # bound: nobody answers; listening: somebody who says nothing
        other.bind(("127.0.0.1", 0))
        if listens:
            other.listen()
        address = f"tcp://127.0.0.1:{other.getsockname()[1]}"
        assert main(["run", "parallel=dask", f"parallel.address={address}"]) == 2
    said = capfd.readouterr().err.strip()
    assert said == f"harness run: parallel.address: no Dask scheduler answers at {address}"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "address", ["host:8786", "tcp://host", "http://host:8786", "tcp://:8786", "tcp://h:123456", 8786, ""]
)
def test_a_malformed_address(address):
    with pytest.raises(UserError, match=r"parallel\.address: .* is not allowed; one like tcp://HOST:8786 is"):
        Workers("dask", address=address)


def test_an_address_is_for_dask_alone():
    with pytest.raises(UserError, match=r"parallel\.address: parallel=loky has none"):
        Workers("loky", address="tcp://host:8786")


def test_the_extra_is_named_where_it_is_missing(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=r'pip install "size-power-harness\[cluster\]"'):
        Workers("dask")


def test_an_interrupted_study_leaves_no_process(tmp_path):
    options = [killing.write_table(tmp_path / "outcomes.csv"), *killing.STUDY, "sets.n_truth_sets=50000"]
    study = killing.start(tmp_path, options, n_jobs=2, backend="dask")
    try:
        wait_until(lambda: list((tmp_path / "cache").glob("rejections/*/*.npz")))
        assert len(psutil.Process(study.pid).children(recursive=True)) >= 2
        os.killpg(study.pid, signal.SIGINT)
        assert study.wait(timeout=60) == 130
        said = (tmp_path / "stderr").read_text()
        assert said == "harness run: interrupted; the same command goes on where it was\n"
        wait_until(lambda: not [p for p in psutil.process_iter() if session(p) == study.pid], 20)
    finally:
        study.kill()
        study.wait()


def session(process):
    try:
        return os.getsid(process.pid)
    except OSError:
        return None
