"""What a run folder says of itself: which configuration made it, from what, when it was finished."""

import json
import platform
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info

from harness import __version__
from harness.errors import UserError
from harness.runtime.memory import MemoryWatch
from harness.runtime.store import WRITING, digest, read_regular, remove_leftovers, write_atomically
from harness.runtime.talk import status

NAME = "provenance.json"
LARGEST = 64 * 2**20
"""Bytes of it that are read; a run writes some thousands."""
LIBRARIES = (
    "numpy", "scipy", "scikit-learn", "torch", "pandas", "matplotlib", "nltk", "joblib", "hydra-core",
)  # fmt: skip
_TO_QUOTE = set(" \t\n'\"\\{}()*?;&|<>$`!#~")
AUDITED = ("mlxtend", "statsmodels", "sacrebleu", "deepsig")
"""Told where installed."""


def check_folder(out: Path, identity: Mapping[str, Any]) -> str:
    """Tell what `out` is to a run of this configuration: ``"new"``, ``"begun"`` or ``"finished"``.

    What a killed run was writing there is removed.
    """
    _refuse_inside_run(out)
    if not out.exists():
        return "new"
    if not out.is_dir():
        raise UserError(f"out={out}: it is a file; a new or empty folder is allowed")
    if all(path.name.startswith(WRITING) for path in out.iterdir()):
        remove_leftovers(out)
        return "new"
    found = read_provenance(out)
    if found is None:
        raise UserError(f"out={out}: it holds files of something else; a new or empty folder is allowed")
    if found.get("identity") != digest(dict(identity)):
        raise UserError(
            f"out={out}: it holds the run of another configuration; name another folder, or remove this one"
        )
    remove_leftovers(out)
    return "finished" if found.get("finished") else "begun"


def _refuse_inside_run(out: Path) -> None:
    """Refuse a folder below a run's; the working folder, and what is above it, may be one."""
    here = Path.cwd()
    for folder in out.absolute().parents:
        if folder == here or folder in here.parents:
            return
        if "identity" in (read_provenance(folder) or {}):
            raise UserError(f"out={out}: it lies within the run {folder}; a folder beside it is allowed")


def read_provenance(out: Path) -> dict[str, Any] | None:
    """Return what ``provenance.json`` in `out` holds, or None where there is none to be read."""
    try:
        found = json.loads(read_regular(out / NAME, LARGEST).decode())
    except (OSError, ValueError, RecursionError, UserError):
        return None
    return found if isinstance(found, dict) else None


def check_finished(folder: Path, facts: Mapping[str, Any]) -> None:
    """Refuse to draw from a run that is not finished: its tables may lack."""
    if not facts.get("finished"):
        raise UserError(f"from={folder}: its run is not finished; the folder of a finished run is needed")


def write_provenance(out: Path, facts: Mapping[str, Any]) -> None:
    """Write ``provenance.json``."""
    text = json.dumps(dict(facts), indent=2, sort_keys=False, allow_nan=False, default=str)
    write_atomically(out / NAME, (text + "\n").encode())


def command_line() -> str:
    """Return the command that is running, with quotes where a shell would read a word otherwise."""
    words = (shlex.quote(word) if set(word) & _TO_QUOTE else word for word in sys.argv[1:])
    return " ".join(["harness", *sys.argv[0].split()[1:], *words])


def describe_software() -> dict[str, Any]:
    """Return versions, platform and, in a checkout, the git commit."""
    versions = {"harness": __version__, "python": platform.python_version()}
    for library in (*LIBRARIES, *AUDITED):
        try:
            versions[library] = metadata.version(library)
        except metadata.PackageNotFoundError:
            if library in LIBRARIES:
                versions[library] = "absent"
    # the kernels, which the processor chooses, decide the last bits of what is trained
    blas = (lib for lib in threadpool_info() if lib["user_api"] == "blas")
    told = {f"{lib['internal_api']} {lib['version']} {lib.get('architecture', '')}".strip() for lib in blas}
    versions["BLAS"] = ", ".join(sorted(told))
    return {"versions": versions, "platform": platform.platform(), "git_commit": _git_commit()}


def _git_commit() -> str | None:
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return None
    try:
        command = ["git", "-C", str(root), "rev-parse", "HEAD"]
        answer = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip()


class Clock:
    """Seconds and peak memory of each stage, told when it ends; a terminal shows which one is at work.

    Attributes
    ----------
    peak_mib : dict of str to float
        Largest memory of this process and all that it started, while the stage ran.
    """

    def __init__(self, say: Any) -> None:
        self.say = say
        self.seconds: dict[str, float] = {}
        self.peak_mib: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time the block as stage `name`."""
        start = time.perf_counter()
        with MemoryWatch() as watch, status(name):
            yield
        self.seconds[name] = round(time.perf_counter() - start, 2)
        self.peak_mib[name] = watch.peak_mib
        self.say(f"{name}: {self.seconds[name]:.1f} s")

    def steps(self, name: str) -> Callable[[str], AbstractContextManager[None]]:
        """Return a function that times a step of `name`, told what step it is."""
        return lambda step: self.stage(f"{name}: {step}")
