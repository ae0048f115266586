"""Run the real command in a process of its own, kill it at a moment, and look at what it leaves."""

import contextlib
import multiprocessing
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
import psutil
from painting import unpainted, unsynced

from harness.cli import main
from harness.outcomes import Population, write_outcomes

STUDY = [
    "corpus.n_documents=500", "corpus.n_topics=8", "split.n_train=150", "n_meta_categories=3",
    "sets.sizes=[50]", "sets.n_sets=20", "sets.n_truth_sets=100", "n_replicates=200", "alphas=[0.05]",
    "test=[mcnemar,bootstrap_f1]", "figure=draft", "figure.formats=[png]", "figure.dpi=30",
]  # fmt: skip
"""A study of both kinds of categories with every stage, a few seconds long."""
FEW = [
    "sets.n_sets=20", "sets.sizes=[100]", "alphas=[0.05]", "n_replicates=200", "sets.n_truth_sets=200",
    "pairs=[linear_svm-rbf_svm]", "test=[mcnemar,bootstrap_f1]", "truth=[margin]", "parallel=sequential",
    "cache=null", "figure=draft",
]  # fmt: skip
"""One of seconds, from a stored table."""
SVM = ["model=[linear_svm,rbf_svm]", "pairs=[linear_svm-rbf_svm]", "tune.enabled=false"]
HEAVY = ["harness.run.study", "sklearn.svm", "matplotlib.pyplot", "hydra", "pytest"]
"""What a command imports for seconds: a server imports it once, and every process is forked from there."""


def write_table(path: Path) -> str:
    """Write a small outcomes table and return the setting that starts from it: no corpus, no training."""
    generator = np.random.default_rng(0)
    shares = generator.dirichlet([9, 3, 2, 5, 4, 3, 4, 99], 6)
    counts = np.array([generator.multinomial(5000, row) for row in shares])
    names = tuple(f"T{i}" for i in range(6))
    write_outcomes([Population("linear_svm-rbf_svm", b, names, counts) for b in ("natural", "meta")], path)
    return f"population={path}"


def start(folder: Path, arguments, *, n_jobs=1, backend="loky", method="forkserver"):
    """Start ``harness run`` there; where it is spawned, it does all that a user's does."""
    command = ["run", "out=out", "cache=cache", *parallel(n_jobs, backend), *arguments]
    return begin(folder, command, main if method == "spawn" else main_quickly, method=method)


def main_quickly(command) -> int:
    with unpainted(), unsynced():
        return main(command)


def begin(folder: Path, command, work=main, *, method="forkserver"):
    """Start a process there, in a session of its own; with ``spawn`` it imports everything anew."""
    folder.mkdir(parents=True, exist_ok=True)
    context = multiprocessing.get_context(method)
    context.set_forkserver_preload(HEAVY)
    process = context.Process(target=work_alone, args=(folder, work, command))
    process.start()
    return process


def work_alone(folder: Path, work, command) -> None:
    os.setsid()
    os.chdir(folder)
    os.environ["MPLBACKEND"] = "nosuch"  # figures are files: a backend that does not exist is not asked for
    for name, number, mode in (("stdout", 1, "ab"), ("stderr", 2, "wb")):
        with (folder / name).open(mode) as stream:
            os.dup2(stream.fileno(), number)
    sys.exit(work(command))


def wait(process, seconds=300.0) -> int | None:
    """Return the exit code, None if the process has not ended after so many seconds."""
    process.join(seconds)
    return process.exitcode


def parallel(n_jobs: int, backend: str = "loky") -> list[str]:
    """Return the settings of so many workers."""
    return [f"parallel={backend}", f"parallel.n_jobs={n_jobs}"] if n_jobs > 1 else ["parallel=sequential"]


def send(process, number: int) -> None:
    """Send a signal; Ctrl-C reaches every process of the terminal's group."""
    (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)


def kill(folder: Path, arguments, number: int, seconds: float, *, n_jobs=1, method="forkserver") -> bool:
    """Start, send the signal after so many seconds, check how it ends; False if it was through before."""
    process = start(folder, arguments, n_jobs=n_jobs, method=method)
    code = wait(process, seconds)
    if code is not None:
        assert code == 0, (folder / "stderr").read_text()
        return False
    family = []
    with contextlib.suppress(ProcessLookupError, psutil.NoSuchProcess):  # it ends, or has no group yet
        family = psutil.Process(process.pid).children(recursive=True)
        send(process, number)
    check_end(folder, number, wait(process, 60))
    check_nobody_left(family)
    return True


def check_end(folder: Path, number: int, code: int) -> None:
    """A signal that can be heard ends in one sentence, from when the command has begun."""
    told = folder / "stderr"
    said = told.read_text() if told.is_file() else ""
    if number == signal.SIGKILL:
        assert code == -number
    elif code == 0:
        assert "Traceback" not in said
    elif code == 128 + number:
        assert said.splitlines()[-1].endswith("interrupted; the same command goes on where it was"), said
        assert "Traceback" not in said
    else:  # the interpreter itself was still starting
        assert code in (-number, 1), said
        assert not said or "KeyboardInterrupt" in said


def check_nobody_left(family, seconds=30.0) -> None:
    """Every process that the run started ends soon."""
    until = time.monotonic() + seconds
    while alive := [p for p in family if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]:
        assert time.monotonic() < until, [p.cmdline() for p in alive]
        time.sleep(0.2)


def tables(folder: Path) -> dict[str, bytes]:
    """Return the bytes of every CSV of a finished run."""
    out = folder / "out"
    assert not list(out.rglob(".writing-*"))
    return {str(path.relative_to(out)): path.read_bytes() for path in sorted(out.rglob("*.csv"))}
