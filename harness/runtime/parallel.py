"""Run units of work on one or many workers, in any order, keeping each as it completes."""

import contextlib
import functools
import os
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from threadpoolctl import threadpool_limits

from harness import __version__
from harness.errors import UserError, check_choice
from harness.runtime.dask import check_dask, close_client, completed_on_dask, open_client
from harness.runtime.interruption import deaf_to_interrupts, end_with_parent
from harness.runtime.store import Arrays, Store, digest
from harness.runtime.talk import UNITS, progress, say

BACKENDS = ("loky", "sequential", "dask")
MOST_JOBS = 1024


Run = Callable[..., list[Arrays]]
"""How a stage asks for its units to be computed; :func:`run_here` is the plain one."""


def run_here(
    function: Callable[..., Arrays],
    units: Sequence[tuple[Any, ...]],
    names: Sequence[str],
    *,
    shared: Callable[[], Any] | None = None,
    threads: bool = True,
    description: str = "",
) -> list[Arrays]:
    """Return ``[function(*unit) for unit in units]``, or ``function(shared(), *unit)``, keeping nothing.

    Parameters
    ----------
    function : callable
        Returns a dict of arrays (no object arrays). Defined at module level.
    units : sequence of tuples
        Arguments of each unit; small.
    names : sequence of str
        A name per unit, unique in the stage: what is kept is found again by it.
    shared : callable, optional
        Makes what all units read (a Gram matrix); called once, and only if a unit is not kept yet.
    threads : bool
        True where `function` spends its time outside the interpreter lock.
    description : str
        What the progress bar says.
    """
    first = () if shared is None else (shared(),)
    return [function(*first, *unit) for unit in units]


@dataclass(frozen=True)
class Workers:
    """Where units run: this process (``sequential``), joblib's processes and threads (``loky``), or Dask's.

    `n_jobs` workers, -1 for one per core; a Dask cluster that runs already, whose scheduler is at `address`
    (``tcp://HOST:PORT``), has its own number. Without an address, Dask's workers are processes of this
    machine, which end with this object.
    """

    backend: str = "loky"
    n_jobs: int = -1
    address: str | None = None

    def __post_init__(self) -> None:
        check_choice("parallel.backend", self.backend, BACKENDS, UserError)
        if type(self.n_jobs) is not int or self.n_jobs == 0 or not -1 <= self.n_jobs <= MOST_JOBS:
            raise UserError(
                f"parallel.n_jobs: {self.n_jobs!r} is not allowed; -1 (one per core) or 1 to {MOST_JOBS} are"
            )
        if self.backend == "dask":
            check_dask(self.address)
        elif self.address is not None:
            raise UserError(f"parallel.address: parallel={self.backend} has none; parallel=dask does")
        if self.address is not None:
            _ = self.client  # before any work is done

    def count(self) -> int:
        """Return the number of workers."""
        if self.backend == "sequential":
            return 1
        from joblib import cpu_count

        return int(cpu_count()) if self.n_jobs == -1 else self.n_jobs

    @functools.cached_property
    def client(self) -> Any:
        """The client of the Dask cluster, opened when first used and closed with this object."""
        client = open_client(self.address, self.count())
        weakref.finalize(self, close_client, client)
        return client


def make_run(workers: Workers, store: Store, stage: str, *inputs: object) -> Run:
    """Return the `run` of one stage: units in parallel, each kept under (version, stage, inputs, its name).

    `inputs` are JSON types that say what the units are made from. Every unit runs with one inner thread,
    whatever the number of workers: sums in BLAS depend on the number of threads, and the same seed must give
    the same bytes.
    """

    def run(
        function: Callable[..., Arrays],
        units: Sequence[tuple[Any, ...]],
        names: Sequence[str],
        *,
        shared: Callable[[], Any] | None = None,
        threads: bool = True,
        description: str = "",
    ) -> list[Arrays]:
        """Run the function on every unit that is not kept yet."""
        if len(set(names)) != len(names) or len(names) != len(units):
            raise ValueError("names: each unit needs a name of its own")
        keys = [digest(__version__, stage, list(inputs), name) for name in names]
        results = {i: found for i, key in enumerate(keys) if (found := store.load(stage, key)) is not None}
        missing = [i for i in range(len(units)) if i not in results]
        said = description or stage
        say(f"{said}: {len(results)} of {len(units)} units were kept, {len(missing)} are to be made", UNITS)
        if missing:
            with threadpool_limits(1):
                first = () if shared is None else (shared(),)
                jobs = [(i, tuple(units[i])) for i in missing]
                here = workers.address is None and min(workers.count(), len(jobs)) == 1
                if workers.backend == "dask" and not here:
                    done = completed_on_dask(workers.client, function, first, jobs, threads)
                    done = progress(done, len(jobs), description)
                else:
                    whole = [(i, first + arguments) for i, arguments in jobs]
                    done = completed(workers, function, whole, threads, description)
                for i, result in done:
                    store.save(stage, keys[i], result)
                    results[i] = result
                    say(f"{said}: {names[i]}, {len(results)} of {len(units)}", UNITS)
        return [results[i] for i in range(len(units))]

    return run


def completed(
    workers: Workers,
    function: Callable[..., Any],
    jobs: Sequence[tuple[Any, tuple[Any, ...]]],
    threads: bool,
    description: str,
) -> Iterator[tuple[Any, Any]]:
    """Yield (name, result) as jobs (name, arguments) complete on this machine, showing progress.

    With ``dask`` they run as with ``loky``: other machines may not see the files that a job writes.
    """
    from joblib import Parallel, delayed

    n_jobs = min(workers.count(), len(jobs))
    if n_jobs == 1:
        yield from progress((_job(function, *job) for job in jobs), len(jobs), description)
        return
    backend = "threading" if threads else "loky"
    pool = Parallel(n_jobs=n_jobs, backend=backend, return_as="generator_unordered")
    with contextlib.nullcontext() if threads else deaf_to_interrupts():
        job = delayed(_job if threads else functools.partial(_one_thread_job, os.getpid()))
        done = pool(job(function, *one) for one in jobs)
    yield from progress(done, len(jobs), description)


def _job(function: Callable[..., Any], name: Any, arguments: tuple[Any, ...]) -> tuple[Any, Any]:
    return name, function(*arguments)


def _one_thread_job(
    parent: int, function: Callable[..., Any], name: Any, arguments: tuple[Any, ...]
) -> tuple[Any, Any]:
    end_with_parent(parent)
    with threadpool_limits(1):
        return name, function(*arguments)
