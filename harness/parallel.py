"""Run units of work on one or many workers, in any order, keeping each as it completes."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from threadpoolctl import threadpool_limits

from harness import __version__
from harness.errors import UserError
from harness.store import Arrays, Store, digest

BACKENDS = ("loky", "sequential")


class Run(Protocol):
    """How a stage asks for its units to be computed; :func:`run_here` is the plain one."""

    def __call__(
        self,
        function: Callable[..., Arrays],
        units: Sequence[tuple[Any, ...]],
        names: Sequence[str],
        *,
        shared: Callable[[], Any] | None = None,
        threads: bool = True,
        description: str = "",
    ) -> list[Arrays]:
        """Return ``[function(*unit) for unit in units]``, or ``function(shared(), *unit)``.

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
        ...


def run_here(
    function: Callable[..., Arrays],
    units: Sequence[tuple[Any, ...]],
    names: Sequence[str],
    *,
    shared: Callable[[], Any] | None = None,
    threads: bool = True,
    description: str = "",
) -> list[Arrays]:
    """Run the units one after the other in this process, keeping nothing.

    Examples
    --------
    >>> import numpy as np
    >>> [int(r["x"]) for r in run_here(lambda a: {"x": np.array(a + 1)}, [(1,), (2,)], ["one", "two"])]
    [2, 3]
    """
    if shared is None:
        return [function(*unit) for unit in units]
    value = shared()
    return [function(value, *unit) for unit in units]


@dataclass(frozen=True)
class Workers:
    """Where units run: this process (``sequential``) or joblib's processes and threads (``loky``).

    Attributes
    ----------
    backend : {"loky", "sequential"}
    n_jobs : int
        Number of workers; -1 is one per core.

    Raises
    ------
    UserError
        If the backend is unknown or `n_jobs` is neither -1 nor at least 1.
    """

    backend: str = "loky"
    n_jobs: int = -1

    def __post_init__(self) -> None:
        if self.backend not in BACKENDS:
            raise UserError(
                f"parallel.backend: {self.backend!r} is not allowed; choose {' or '.join(BACKENDS)}"
            )
        if type(self.n_jobs) is not int or self.n_jobs == 0 or self.n_jobs < -1:
            raise UserError(
                f"parallel.n_jobs: {self.n_jobs!r} is not allowed; -1 (one per core) or 1, 2, ... are"
            )

    def count(self) -> int:
        """Return the number of workers."""
        if self.backend == "sequential":
            return 1
        return len(os.sched_getaffinity(0)) if self.n_jobs == -1 else self.n_jobs


def make_run(workers: Workers, store: Store, stage: str, *inputs: object) -> Run:
    """Return the `run` of one stage: units in parallel, each kept under (stage, inputs, its name).

    Every unit runs with one inner thread, whatever the number of workers: sums in BLAS depend on the
    number of threads, and the same seed must give the same bytes.

    Parameters
    ----------
    workers : Workers
    store : Store
    stage : str
        Folder of the entries.
    *inputs : object
        JSON types that say what the units are made from; part of every key, as is the version of the
        package: another version computes anew.
    """

    def run(function, units, names, *, shared=None, threads=True, description=""):
        """Run the function on every unit, kept ones aside."""
        if len(set(names)) != len(names) or len(names) != len(units):
            raise ValueError("names: each unit needs a name of its own")
        keys = [digest(__version__, stage, list(inputs), name) for name in names]
        results: list[Arrays | None] = [store.load(stage, key) for key in keys]
        missing = [i for i, result in enumerate(results) if result is None]
        if missing:
            with threadpool_limits(1):
                first = () if shared is None else (shared(),)
                jobs = [(i, first + tuple(units[i])) for i in missing]
                for i, result in completed(workers, function, jobs, threads, description):
                    store.save(stage, keys[i], result)
                    results[i] = result
        return results

    return run


def completed(
    workers: Workers,
    function: Callable[..., Any],
    jobs: Sequence[tuple[Any, tuple[Any, ...]]],
    threads: bool,
    description: str,
) -> Iterator[tuple[Any, Any]]:
    """Yield (name, result) as jobs (name, arguments) complete, showing progress after two seconds.

    Parameters
    ----------
    workers : Workers
    function : callable
    jobs : sequence of (name, arguments)
    threads : bool
        Workers are threads of this process.
    description : str
        Beside the progress bar.
    """
    from joblib import Parallel, delayed
    from tqdm import tqdm

    n_jobs = min(workers.count(), len(jobs))
    if n_jobs == 1:
        done = ((i, function(*arguments)) for i, arguments in jobs)
    elif threads:
        pool = Parallel(n_jobs=n_jobs, backend="threading", return_as="generator_unordered")
        done = pool(delayed(_plain_job)(function, i, arguments) for i, arguments in jobs)
    else:
        pool = Parallel(n_jobs=n_jobs, backend="loky", return_as="generator_unordered")
        done = pool(delayed(_one_thread_job)(function, i, arguments) for i, arguments in jobs)
    yield from tqdm(done, total=len(jobs), desc=description, delay=2, disable=None, leave=False)


def _plain_job(function, index, arguments):
    return index, function(*arguments)


def _one_thread_job(function, index, arguments):
    with threadpool_limits(1):
        return index, function(*arguments)
