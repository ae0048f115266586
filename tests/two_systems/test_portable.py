"""What other systems lack: without what POSIX alone has, and without torch, all of it is imported."""

import subprocess
import sys

PROGRAM = """
import builtins, importlib, os, pkgutil, signal, sys, types
from pathlib import Path

POSIX = {"fcntl", "resource", "termios", "pwd", "grp"}
LACKING = {
    "os": {"O_NONBLOCK", "O_NOFOLLOW", "O_CLOEXEC", "sched_getaffinity", "fork", "pwrite", "umask", "getuid"},
    "signal": {"SIGHUP", "SIGALRM", "SIGKILL", "setitimer", "ITIMER_REAL", "pthread_sigmask"},
}


def without(name):
    copy, whole = types.ModuleType(name), vars(sys.modules[name])
    vars(copy).update({key: value for key, value in whole.items() if key not in LACKING[name]})
    return copy


def imported(name, globals=None, *others, **more):
    ours = str((globals or {}).get("__name__")).startswith("harness")
    if name.partition(".")[0] == "torch" or (ours and name in POSIX):
        raise ModuleNotFoundError(name)
    found = before(name, globals, *others, **more)
    return windows[name] if ours and name in windows else found


windows = {name: without(name) for name in LACKING}
before, builtins.__import__ = builtins.__import__, imported

import harness, harness.cli

for found in pkgutil.walk_packages(harness.__path__, "harness."):
    if not found.name.startswith(("harness.__main__", "harness.models.")):
        importlib.import_module(found.name)
assert harness.cli.main(["run", "--help"]) == 0

y, a, b = [1, 1, 0, 0] * 9, [1, 0, 0, 0] * 9, [1, 1, 1, 0] * 9
print(harness.compare_predictions(y, a, b, "error", test="mcnemar_exact").counts.tolist())

from harness.runtime.interruption import deaf_to_interrupts, until_told
from harness.runtime.lock import hold_folder
from harness.runtime.parallel import Workers
from harness.runtime.store import Store, digest

folder = Path(sys.argv[1])
with deaf_to_interrupts(), hold_folder(folder / "out"):
    Store(folder).save("stage", digest(1), {"x": harness.count_outcomes([1, 0], [1, 0], [0, 0])})
print(Store(folder).load("stage", digest(1))["x"].tolist(), Workers().count() >= 1)
print(until_told(lambda: signal.raise_signal(signal.SIGINT), lambda: print("ended")))
"""


def test_without_posix_and_torch(tmp_path):
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-4:] == [
        "[9, 9, 0, 0, 0, 9, 0, 9]", "[0, 0, 1, 0, 0, 0, 0, 1] True", "ended", "130",
    ], done.stderr  # fmt: skip
