"""What the tests of bad input share: a case, and what must hold of every one."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from harness.cli import main
from harness.outcomes import Population, write_outcomes

EVERY = 5
COUNTS = [[90, 30, 20, 50, 40, 30, 40, 4700], [60, 20, 30, 50, 30, 40, 30, 4740]]
COMMON = ("parallel=sequential", "out=result", "cache=kept")
STORED = (
    "population=../outcomes.csv", "sets.n_sets=5", "sets.sizes=[100]", "alphas=[0.05]", "n_replicates=50",
    "sets.n_truth_sets=100", "test=[mcnemar]", "truth=[margin]", "balance=[natural]", "figure=draft",
)  # fmt: skip
FULL = (
    "model=[linear_svm,mlp]", "pairs=[linear_svm-mlp]", "tune.enabled=false", "split.n_train=2",
    *STORED[1:],
)  # fmt: skip
LEARNERS = ("n_seeds=2", "estimator=[decision_tree,naive_bayes]", "figure.formats=[png]", "figure.dpi=60")


class Bad(NamedTuple):
    """One bad input.

    Attributes
    ----------
    name : str
    arguments : str
        The command and its settings, separated by blanks; the working folder has nothing in it, and what
        `make` left lies beside it, as ``../NAME``.
    said : tuple of str
        What the one line on standard error must hold.
    make : callable, optional
        Makes the input in a folder.
    """

    name: str
    arguments: str
    said: tuple[str, ...]
    make: Callable[[Path], object] | None = None


def bad(arguments: str, *said: str, make: Callable[[Path], object] | None = None, name: str = "") -> Bad:
    return Bad(name or arguments, arguments, said, make)


def named(cases: list[Bad]) -> list:
    """Return the cases as parameters of a test, each under its own name; one in `EVERY` is quick to reach.

    Each takes half a second, nearly all of it for reading the configuration.
    """
    assert len({case.name for case in cases}) == len(cases)
    return [
        pytest.param(case, id=case.name.replace("../", "")[:80], marks=pytest.mark.slow if i % EVERY else ())
        for i, case in enumerate(cases)
    ]


def write_stored(path: Path) -> Path:
    """Write a good outcomes table."""
    import numpy as np

    write_outcomes([Population("linear_svm-mlp", "natural", ("T1", "T2"), np.array(COUNTS))], path)
    return path


def compose(case: Bad, defaults: tuple[str, ...]) -> list[str]:
    """Return the command line: the case's settings, and those defaults that it does not set itself."""
    command, *settings = case.arguments.split(" ")
    own = {setting.lstrip("+~").partition("=")[0] for setting in settings}
    return [command, *(text for text in defaults if text.partition("=")[0] not in own), *settings]


def tree(folder: Path) -> dict[str, bytes | None]:
    """Return what lies below a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def refuse(case: Bad, defaults: tuple[str, ...], tmp_path: Path, monkeypatch, capfd) -> None:
    """Run a case in this process: exit code 2, one line, nothing left."""
    work = tmp_path / "work"
    work.mkdir()
    write_stored(tmp_path / "outcomes.csv")
    if case.make is not None:
        case.make(tmp_path)
    monkeypatch.chdir(work)
    command, *settings = compose(case, defaults)
    before = set(tmp_path.iterdir())
    code = main([command, *settings])
    out, err = capfd.readouterr()
    check_refusal(code, out, err, command, case.said)
    assert tree(work) == {}
    assert set(tmp_path.iterdir()) == before


def check_refusal(code: int, out: str, err: str, command: str, said: tuple[str, ...]) -> None:
    """Check exit code and the one line on standard error."""
    assert code == 2, err
    assert "Traceback" not in out + err
    lines = err.strip().splitlines()
    assert len(lines) == 1, err
    assert lines[0].startswith(f"harness {command}: ")
    for text in said:
        assert text in lines[0]


def text(name, content, encoding="utf-8"):
    """Return what makes a file of this text (or these bytes)."""
    data = content if isinstance(content, bytes) else content.encode(encoding)

    def make(folder):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    return make


def both(*makers):
    return lambda folder: [maker(folder) for maker in makers]
