"""Units on the workers of a Dask cluster, one started on this machine or one that runs already.

Not through joblib's Dask backend: it ships a shared value once as well, but where the workers that hold it
die, it ends the stage (FutureCancelledError); here the value is shipped again and the missing units are done.
"""

import contextlib
import importlib.util
import logging
import queue
import re
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from threadpoolctl import threadpool_limits

from harness.errors import GOES_ON, UserError

SECONDS = 10  # for a scheduler to answer, and for it to have a worker
SECONDS_ALONE = 60  # that work waits for a new worker once all are gone
N_ROUNDS = 4  # in a row, in which workers died and no unit was completed
# What the same bytes depend on.
SAME = ("harness", "numpy", "scipy", "sklearn")
# Ctrl-C reaches all processes of a terminal: the workers leave it to the command, which ends them.
DEAF = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
# Units that are not made for threads wait for each other where a worker has several.
ALONE = threading.Lock()


def check_dask(address: object) -> None:
    """Refuse a malformed address, and any where Dask is not installed."""
    if importlib.util.find_spec("distributed") is None:
        raise UserError('parallel=dask: Dask is not installed; pip install "size-power-harness[cluster]"')
    well_formed = isinstance(address, str) and re.fullmatch(r"(tcp|tls)://[^\s:/]+:\d{1,5}", address)
    if address is not None and not well_formed:
        raise UserError(f"parallel.address: {address!r} is not allowed; one like tcp://HOST:8786 is")


def open_client(address: str | None, n_jobs: int) -> Any:
    """Return a client of the scheduler at `address`, or of `n_jobs` new processes of this machine.

    Raises UserError if no scheduler answers, it has no worker, or a worker's versions differ from ours.
    """
    distributed: Any = importlib.import_module("distributed")
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # errors reach the user as a sentence
    if address is None:
        cluster = distributed.LocalCluster(
            n_workers=n_jobs, threads_per_worker=1, processes=True, host="127.0.0.1",
            dashboard_address=None, memory_limit=None, silence_logs=logging.CRITICAL,
            # its small web server starts even without the dashboard, at port 8787 if it is not told another
            scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
            preload=[DEAF],
        )  # fmt: skip
        return distributed.Client(cluster, set_as_default=False)
    try:
        with warnings.catch_warnings():  # a sentence of our own tells of other versions
            warnings.simplefilter("ignore")
            options = {"timeout": SECONDS, "set_as_default": False}
            client = _within(SECONDS, lambda: distributed.Client(address, **options))
    except Exception as error:  # whatever listens there may answer anything
        raise UserError(f"parallel.address: no Dask scheduler answers at {address}") from error
    try:
        _check_workers(client, address)
    except BaseException:
        client.close()
        raise
    return client


def _within(seconds: float, make: Callable[[], Any]) -> Any:
    """Return what `make` makes, or raise TimeoutError: a client waits for ever for a silent scheduler."""
    made: Future[Any] = Future()

    def work() -> None:
        try:
            made.set_result(make())
        except Exception as error:
            made.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    return made.result(timeout=seconds + 1)


def close_client(client: Any) -> None:
    """Leave the cluster, and end it if it was started here."""
    cluster = client.cluster
    with contextlib.suppress(Exception):  # the scheduler may be gone
        client.close()
    if cluster is not None:
        with contextlib.suppress(Exception):
            cluster.close()


def _check_workers(client: Any, address: str) -> None:
    from distributed import TimeoutError as TooLate

    try:
        client.wait_for_workers(1, timeout=SECONDS)
    except TooLate as error:
        raise UserError(
            f"parallel.address: the scheduler at {address} has no worker; `dask worker {address}` starts one"
        ) from error

    def tell() -> dict[str, str | None]:  # nested, to travel by value: a worker may lack this package
        import importlib
        import platform

        found: dict[str, str | None] = {"Python": platform.python_version()}
        for name in SAME:
            try:
                found[name] = importlib.import_module(name).__version__
            except ImportError:
                found[name] = None
        return found

    here = tell()
    for worker, there in client.run(tell).items():
        for name in here:
            if there[name] != here[name]:
                raise UserError(
                    f"parallel.address: worker {worker} has {name} {there[name] or 'not installed'}, and "
                    f"this machine {here[name]}; the same versions are needed"
                )


def completed_on_dask(
    client: Any,
    function: Callable[..., Any],
    first: tuple[Any, ...],
    jobs: Sequence[tuple[Any, tuple[Any, ...]]],
    threads: bool,
) -> Iterator[tuple[Any, Any]]:
    """Yield (name, result) as jobs (name, arguments) complete; those of a worker that dies are done again.

    `first` are the first arguments of all jobs, shipped once to each worker; with `threads` jobs may run in
    several threads of one process. Raises UserError if the cluster is lost, or workers die again and again.
    """
    left = dict(jobs)
    n_fruitless = 0
    while left:
        n_before = len(left)
        for name, result in _ship_and_wait(client, (function, first, threads), dict(left)):
            del left[name]
            yield name, result
        n_fruitless = n_fruitless + 1 if len(left) == n_before else 0
        if n_fruitless == N_ROUNDS:
            raise _deadly()


def _ship_and_wait(client: Any, shared: Any, jobs: Mapping[Any, Any]) -> Iterator[tuple[Any, Any]]:
    """Yield the results of one round: all of them, unless what is shared was lost with the workers."""
    from distributed import CancelledError, KilledWorker

    try:
        client.wait_for_workers(1, timeout=SECONDS_ALONE)
    except Exception as error:
        raise _lost(client) from error
    try:
        (future,) = client.scatter([shared], broadcast=True, hash=False)
    except Exception as error:  # a worker died meanwhile: the next round finds those that are left
        if client.status != "running":
            raise _lost(client) from error
        return
    futures = client.map(_work, [future] * len(jobs), list(jobs.values()), pure=False, batch_size=500)
    names = dict(zip((f.key for f in futures), jobs, strict=True))
    try:
        for ended in _as_they_end(client, futures):
            kept = [future for future in ended if future.status != "cancelled"]
            try:
                results = client.gather(kept)
            except CancelledError:  # the results were lost on the way; the next round does them again
                continue
            yield from zip((names[future.key] for future in kept), results, strict=True)
    except KilledWorker as error:
        raise _deadly() from error


def _as_they_end(client: Any, futures: list[Any]) -> Iterator[list[Any]]:
    """Yield futures as they end, all that have, and release them and their results."""
    ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
    n_left = len(futures)
    for future in futures:
        future.add_done_callback(ended.put)
    futures.clear()
    last_seen = time.monotonic()
    while n_left:
        try:
            batch = [ended.get(timeout=5)]
            batch += [ended.get_nowait() for _ in range(ended.qsize())]
        except queue.Empty:
            if client.scheduler_info()["workers"]:
                last_seen = time.monotonic()
            if client.status != "running" or time.monotonic() - last_seen > SECONDS_ALONE:
                raise _lost(client) from None
        else:
            n_left -= len(batch)
            yield batch


def _lost(client: Any) -> UserError:
    where = "the workers" if client.status == "running" else "the scheduler"
    return UserError(f"parallel=dask: {where} cannot be reached any more; once they can, {GOES_ON}")


def _deadly() -> UserError:
    return UserError(
        "parallel=dask: workers died again and again at one unit of work, most likely because memory ran "
        f"out; with fewer of them on a machine {GOES_ON}"
    )


def _work(shared: Any, arguments: tuple[Any, ...]) -> Any:
    """Do one job on a worker, with one inner thread.

    The limit is not set back: other threads of the worker may be at work, and it is the process's.
    """
    function, first, threads = shared
    threadpool_limits(1)
    with contextlib.nullcontext() if threads else ALONE:
        return function(*first, *arguments)
