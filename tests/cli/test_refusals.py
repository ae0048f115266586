"""What the commands refuse: one sentence, exit code 2, and nothing written.

What a setting may be is tested on the models (test_settings.py), what a reader refuses with the reader.
"""

import ctypes
import pickle
import sys
from pathlib import Path

import fake_run
import numpy as np
import pytest
from beside import beside
from killing import write_table

from harness.cli import main
from harness.errors import instead
from harness.runtime.store import Store, digest

KNOWN = beside(__file__)
FILES = KNOWN["files"] | {"deep/provenance.json": "[" * 10**5}
DAMAGE = {
    "empty": lambda data: b"",
    "words": lambda data: data.replace(b"100,size", b"many,size").replace(b",100,", b",x,"),
    "random": lambda data: bytes(range(256)) * 9,
    "cut": lambda data: data[:-20],
}
DEFAULTS = {
    "run": "population=outcomes.csv out=result cache=kept parallel=sequential",
    "compare": "out=result cache=kept parallel=sequential",
    "advise": "predictions=p.csv out=result cache=kept parallel=sequential",
}


class Ran:
    """Leaves a mark where it is unpickled."""

    def __reduce__(self):
        return Path.touch, (Path("it_ran"),)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A folder with good and bad input of every kind, in which the commands are given."""
    folder = tmp_path_factory.mktemp("world")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "evil.pkl").write_bytes(pickle.dumps(Ran()))
    (folder / "locked").mkdir()
    write_table(folder / "outcomes.csv")
    Store(folder / "store").save("fit", digest(1), {"x": np.arange(3)})
    few = {"sizes": [100], "alphas": (0.05,), "truths": ["margin"], "pairs": ["linear_svm-mlp"]}
    whole = (fake_run.write(folder / "study", **few) / "size_power.csv").read_bytes()
    for name, damage in DAMAGE.items():
        (folder / name).mkdir()
        (folder / name / "size_power.csv").write_bytes(damage(whole))
    fake_run.write_sweep(folder / "sweep", **few)
    return folder


def tree(folder):
    """What lies below a folder, and when files were written."""
    return {path: path.is_dir() or path.lstat().st_mtime_ns for path in folder.rglob("*")}


def check(line, said, capfd):
    """Give a command, with the defaults that it does not set itself, where nothing may change."""
    command, *given = line.split(" ")
    own = {text.lstrip("+~").partition("=")[0] for text in given}
    defaults = [text for text in DEFAULTS.get(command, "").split() if text.partition("=")[0] not in own]
    before = tree(Path())
    assert main([command, *defaults, *given]) == 2
    out, err = capfd.readouterr()
    assert "Traceback" not in out
    assert err.count("\n") == 1
    assert err.startswith(f"harness {command}: " if command in "run compare advise collect" else "harness")
    for words in said:
        assert words in err
    assert tree(Path()) == before


KNOWN["lines"]["lines"]["run seed=" + "9" * 5000] = "4300 digits"
# each takes half a second, nearly all of it for reading the configuration
ONE_IN_FOUR = [
    pytest.param(
        line, [said] if isinstance(said, str) else said, id=line[:80], marks=pytest.mark.slow if n % 4 else ()
    )
    for lines in KNOWN["lines"].values()
    for n, (line, said) in enumerate(lines.items())
]


@pytest.mark.parametrize(("line", "said"), ONE_IN_FOUR)
def test_one_sentence_and_nothing_written(line, said, world, monkeypatch, capfd):
    monkeypatch.chdir(world)
    check(line, said, capfd)


@pytest.fixture
def permissions():
    """Root may do all; for a test this thread gives up the rights to pass over permissions."""
    if sys.platform != "linux":
        pytest.skip("the rights are those of Linux")
    libc, header, rights = ctypes.CDLL(None), (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    assert libc.capget(header, rights) == 0
    before = rights[0]
    rights[0] &= ~0b110  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH
    assert libc.capset(header, rights) == 0
    yield
    rights[0] = before
    assert libc.capset(header, rights) == 0


LOCKED = [("outcomes.csv", "", "outcomes.csv"), ("locked", " out=locked/result", "locked/result"),
          ("locked", " cache=locked/kept", "locked cannot be written")]  # fmt: skip


@pytest.mark.parametrize(("place", "more", "said"), LOCKED)
def test_without_permission(place, more, said, world, permissions, monkeypatch, capfd):
    monkeypatch.chdir(world)
    Path(place).chmod(0o000 if Path(place).is_file() else 0o555)
    try:
        check(f"run{more}", (said,), capfd)
    finally:
        Path(place).chmod(0o755)


def test_names_that_are_as_near_are_told_together():
    names = ["sets.n_sets", "nulls.n_sets", "seed", "alphas"]
    assert instead("n_sets", names) == "did you mean sets.n_sets or nulls.n_sets?"
    assert instead("nothing", names, "leave it out") == "leave it out"
    assert instead("a", ["a1", "a2"]) == "choose one of a1, a2"
