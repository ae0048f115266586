"""The jobs of a sweep: the name of each one's folder, and a small file that holds its state.

The file lies in ``.jobs`` in the sweep's folder. Beside it lies the lock of the process that works on the
job: no two processes work in one folder, and a job that died can be told from one that still runs.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

from harness.errors import UserError
from harness.runtime import lock
from harness.runtime.store import read_regular, write_atomically

FOLDER = ".jobs"
# These say where and how to run, not what: jobs that differ in nothing else are one run, in one folder.
PLACES = ("out", "cache", "parallel", "device", "verbose")
LARGEST = 2**20  # bytes of a job's file
LONGEST = 80  # characters of a folder's name before its hash


class Job(NamedTuple):
    """One job of a sweep, numbered from 1 to `n_jobs`; `label` holds the overrides that only this job has."""

    number: int
    n_jobs: int
    label: str
    overrides: tuple[str, ...]
    out: Path


def folder_name(overrides: Sequence[str], own: Sequence[str]) -> str:
    """Return the name of a job's folder: its `own` overrides made readable, and a hash of all, in any order.

    Different overrides have different names, also on file systems that ignore case; overrides of `PLACES`
    do not count. No name needs quotes in an override or a shell.

    Examples
    --------
    >>> folder_name(["sets.sizes=[100,300]", "seed=1", "cache=null"], ["seed=1"])
    'seed-1-47afbb45142b'
    """
    text = " ".join(item for item in own if not is_place(item))
    readable = re.sub(r"[^A-Za-z0-9._-]+", "_", text.replace("=", "-")).lstrip("._-")
    return f"{readable[:LONGEST] or 'job'}-{hash_overrides(overrides)}"


def hash_overrides(overrides: Sequence[str]) -> str:
    """Return 12 hexadecimal digits of a set of overrides without those of `PLACES`."""
    kept = sorted(text for text in overrides if not is_place(text))
    return hashlib.sha256(json.dumps(kept).encode()).hexdigest()[:12]


def is_place(override: str) -> bool:
    """Return whether an override only says where or how to run."""
    return override.partition("=")[0].lstrip("+~").partition(".")[0] in PLACES


def state_file(out: Path) -> Path:
    """Return the file that holds the state of the job of folder `out`."""
    return out.parent / FOLDER / out.name


def read_state(path: Path) -> dict[str, Any]:
    """Return the state that a job's file holds; an empty dict where there is none or it is damaged."""
    try:
        found = json.loads(read_regular(path, LARGEST).decode())
    except (OSError, ValueError, RecursionError, UserError):
        return {}
    return found if isinstance(found, dict) else {}


def write_state(out: Path, state: dict[str, Any]) -> None:
    """Write the state of the job of folder `out`."""
    write_atomically(state_file(out), (json.dumps(state) + "\n").encode())


def locked(out: Path, *, wait: bool) -> AbstractContextManager[bool]:
    """Hold the lock of the job of folder `out`; yields False where another process holds it."""
    return lock.locked(state_file(out).with_name(f"{out.name}.lock"), wait=wait)


def announce(job: Job) -> None:
    """Write that the job waits for its turn, unless another process works on it."""
    with locked(job.out, wait=False) as held:
        if held:
            waiting = {"state": "waiting", "number": job.number, "n_jobs": job.n_jobs}
            write_state(job.out, waiting | {"label": job.label, "overrides": job.overrides})


def settle(job: Job) -> dict[str, Any]:
    """Return the job's state once no process works on it; ``running`` then means that it died."""
    with locked(job.out, wait=True):
        return read_state(state_file(job.out))


def fail(job: Job, reason: str) -> None:
    """Write that the job failed, for a reason outside the job itself."""
    with locked(job.out, wait=True):
        write_state(job.out, read_state(state_file(job.out)) | {"state": "failed", "reason": reason})


def tabulate_failures(failed: Sequence[tuple[Job, str]], n_jobs: int) -> str:
    """Return the table of what failed and why."""
    rows = [("job", "overrides", "reason")]
    rows += [(str(job.number), job.label or "none", reason) for job, reason in failed]
    widths = [max(len(row[i]) for row in rows) for i in (0, 1)]
    lines = [f"  {job:<{widths[0]}}  {label:<{widths[1]}}  {reason}" for job, label, reason in rows]
    return "\n".join([f"{len(failed)} of {n_jobs} job{'s' if n_jobs > 1 else ''} failed:", *lines])


def tabulate_headlines(found: Sequence[tuple[Job, Mapping[str, str]]]) -> str:
    """Return the table of sizes that jobs found, beside what was set in each; empty where none has any."""
    heads = list(dict.fromkeys(name for _, numbers in found for name in numbers))
    rows = [["job", "settings", *heads]]
    for job, numbers in found:
        rows.append([str(job.number), job.label or "none", *(numbers.get(head, "-") for head in heads)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows]
    title = "Sizes, each the largest of all pairs and balances:"
    return "\n".join([title, *(f"  {line.rstrip()}" for line in lines)]) if heads else ""


def tell_end(state: Mapping[str, Any], seconds: float | None, out: Path | None) -> str:
    """Return the line of a job that ended well; `seconds` is None where it had been finished before."""
    took = "finished before" if seconds is None else f"{seconds:.1f} s"
    here = Path.cwd()
    where = "" if out is None else f", {out.relative_to(here) if out.is_relative_to(here) else out}"
    label = state.get("label") or "no setting of its own"
    return f"job {state.get('number')} of {state.get('n_jobs')}: {label}: {took}{where}"
