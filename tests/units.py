"""Units of work for the tests of workers: a worker imports this, and little with it."""

import os
import signal
import time
from pathlib import Path

import numpy as np

from harness import cli
from harness.runtime.parallel import Workers, make_run
from harness.runtime.store import Store
from harness.seeding import rng

UNITS = [(i,) for i in range(12)]
UNIT_NAMES = [f"unit {i}" for i in range(12)]


def unit(number):
    return {"x": rng(0, "unit", number).random(3), "n": np.array(number)}


def shared_unit(ballast, number):
    time.sleep(0.1)
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
    """Unit 5 kills its process once another unit is kept, unless it has done so before."""
    told = folder / "killed"
    if number == 5 and not told.exists():
        while not list(folder.glob("kept/stage/*/*.npz")):
            time.sleep(0.01)
        told.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return unit(number)


def always_die(number):
    time.sleep(0.5)  # Dask gives a worker up that dies before it has quite begun
    os.kill(os.getpid(), signal.SIGKILL)


def refuse(number):
    raise ValueError(f"number: {number} is not allowed")


def threads_inside(number):
    from threadpoolctl import threadpool_info

    return {"n": np.array([pool["num_threads"] for pool in threadpool_info()])}


def long_unit(number):
    time.sleep(60 if number else 0)
    return unit(number)


def run_for_long(command):
    """Run, in the place of `harness run`, one unit on Dask that ends at once and others that do not."""

    def work(cfg):
        run = make_run(Workers("dask", 2), Store(Path("cache")), "stage")
        run(long_unit, UNITS, UNIT_NAMES)

    cli.COMMANDS["run"] = work
    return cli.main(command)
