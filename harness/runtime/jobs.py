"""The jobs of a sweep: the name of each one's folder, and a small file that says how it stands.

The file lies in ``.jobs`` in the sweep's folder and is locked by the process that works on the job, so that
no two processes work in one folder, and a job that died is told from one that still runs: on any launcher.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from harness.errors import UserError
from harness.runtime.store import read_regular

FOLDER = ".jobs"
# These say where and how to run, not what: jobs that differ in nothing else are one run, in one folder.
PLACES = ("out", "cache", "parallel", "device")
LARGEST = 2**20  # bytes of a job's file
LONGEST = 80  # characters of a folder's name before its hash


class Job(NamedTuple):
    """One job of a sweep.

    Attributes
    ----------
    number : int
        From 1.
    label : str
        The overrides that are its own, not those of the whole sweep.
    overrides : tuple of str
        All of them, as Hydra takes them.
    out : Path
        Its folder.
    """

    number: int
    label: str
    overrides: tuple[str, ...]
    out: Path


def folder_name(overrides: Sequence[str], own: Sequence[str]) -> str:
    """Return the name of a job's folder: its `own` overrides made readable, and a hash of all, in any order.

    Overrides of places (`out`, `cache`, `parallel`, `device`) do not count. Other sets of overrides have
    other names, on file systems without upper case too; no name needs quotes in an override or a shell.

    Examples
    --------
    >>> folder_name(["seed=1", "sets.sizes=[100,300]"], ["seed=1"])
    'seed-1-47afbb45142b'
    >>> folder_name(["sets.sizes=[100,300]", "seed=1", "cache=null"], ["seed=1"])
    'seed-1-47afbb45142b'
    """
    text = " ".join(item for item in own if not is_place(item))
    readable = re.sub(r"[^A-Za-z0-9._-]+", "_", text.replace("=", "-")).lstrip("._-")
    return f"{readable[:LONGEST] or 'job'}-{hash_overrides(overrides)}"


def hash_overrides(overrides: Sequence[str]) -> str:
    """Return 12 hexadecimal digits that stand for a set of overrides, those of places left out."""
    kept = sorted(text for text in overrides if not is_place(text))
    return hashlib.sha256(json.dumps(kept).encode()).hexdigest()[:12]


def is_place(override: str) -> bool:
    """Tell whether an override only says where or how to run.

    Examples
    --------
    >>> is_place("parallel.n_jobs=2"), is_place("++out=here"), is_place("output=1")
    (True, True, False)
    """
    return override.partition("=")[0].lstrip("+~").partition(".")[0] in PLACES


def state_file(out: Path) -> Path:
    """Return the file that says how the job of folder `out` stands."""
    return out.parent / FOLDER / out.name


def read_state(path: Path) -> dict[str, Any]:
    """Return what a job's file says; an empty dict where there is none or it is damaged."""
    try:
        found = json.loads(read_regular(path, LARGEST).decode())
    except (OSError, ValueError, RecursionError, UserError):
        return {}
    return found if isinstance(found, dict) else {}


@contextlib.contextmanager
def locked(path: Path, *, wait: bool) -> Iterator[int | None]:
    """Hold the lock of a job's file; yields its descriptor, or None where another process holds it.

    Parameters
    ----------
    path : Path
    wait : bool
        Wait until the other process has done with the job.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o666)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise UserError(f"{path}: it is no regular file; remove it, and give the same command again")
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield None
            return
        except OSError:  # a file system without locks
            pass
        yield descriptor
    finally:
        os.close(descriptor)


def write_state(descriptor: int, state: dict[str, Any]) -> None:
    """Write a job's file in place: the lock lies on the file itself."""
    data = (json.dumps(state) + "\n").encode()
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, data, 0)


def announce(job: Job) -> None:
    """Write that the job waits for its turn, unless another process works on it."""
    with locked(state_file(job.out), wait=False) as descriptor:
        if descriptor is not None:
            write_state(
                descriptor,
                {"state": "waiting", "number": job.number, "label": job.label, "overrides": job.overrides},
            )


def settle(job: Job) -> dict[str, Any]:
    """Return how the job stands once no process works on it; ``running`` then means that it died."""
    with locked(state_file(job.out), wait=True):
        return read_state(state_file(job.out))


def fail(job: Job, reason: str) -> None:
    """Write that the job failed, for what happened to it and not in it."""
    with locked(state_file(job.out), wait=True) as descriptor:
        if descriptor is not None:
            write_state(descriptor, read_state(state_file(job.out)) | {"state": "failed", "reason": reason})


def tabulate_failures(failed: Sequence[tuple[Job, str]], n_jobs: int) -> str:
    """Return the table of what failed and why.

    Examples
    --------
    >>> print(tabulate_failures([(Job(2, "seed=-1", (), Path("x")), "seed: -1 is not allowed")], 3))
    1 of 3 jobs failed:
      job  overrides  reason
      2    seed=-1    seed: -1 is not allowed
    """
    rows = [("job", "overrides", "reason")]
    rows += [(str(job.number), job.label or "none", reason) for job, reason in failed]
    widths = [max(len(row[i]) for row in rows) for i in (0, 1)]
    lines = [f"  {job:<{widths[0]}}  {label:<{widths[1]}}  {reason}" for job, label, reason in rows]
    return "\n".join([f"{len(failed)} of {n_jobs} job{'s' if n_jobs > 1 else ''} failed:", *lines])
