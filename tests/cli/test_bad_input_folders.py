"""Data sets, finished runs and places that cannot be used, and disks that are locked or full."""

import ctypes
import os
import shutil
import sys
from pathlib import Path

import pytest
from bad_input import (
    COMMON,
    LEARNERS,
    STORED,
    bad,
    both,
    check_refusal,
    compose,
    named,
    refuse,
    text,
    tree,
    write_stored,
)
from painting import undrawn

from harness.cli import main


def rewritten(what, change, said="size_power.csv"):
    """Return the case of a finished run whose table was changed before its figures are drawn again."""

    def make(folder):
        path = folder / "run" / "size_power.csv"
        data = path.read_bytes()
        path.unlink()
        if change is not None:
            path.write_bytes(change(data))

    return bad("figures from=../run", said, make=make, name=f"figures {what}")


FIGURES = [
    bad("figures from=../absent", "absent", "size_power.csv"),
    bad("figures from=/dev/null", "/dev/null"),
    bad("figures from=../outcomes.csv", "outcomes.csv"),
    bad("figures", "from", name="figures from nothing"),
    rewritten("of an empty table", lambda data: b""),
    rewritten("of text", lambda data: data.replace(b"100,size", b"many,size").replace(b",100,", b",x,")),
    rewritten("of random bytes", lambda data: bytes(range(256)) * 9),
    rewritten("cut within a row", lambda data: data[:-20]),
    bad("figures from=../run figure.truth=other", "figure.truth: other"),
]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished run, from a table."""
    folder = tmp_path_factory.mktemp("finished")
    case = bad("run", make=None)
    write_stored(folder / "outcomes.csv")
    before = Path.cwd()
    os.chdir(folder)
    try:
        defaults = ("parallel=sequential", f"out={folder / 'run'}", "cache=null", "population=outcomes.csv")
        with undrawn():
            assert main(compose(case, defaults + STORED[1:])) == 0
    finally:
        os.chdir(before)
    return folder / "run"


@pytest.mark.parametrize("case", named(FIGURES))
def test_figures(case, finished, tmp_path, monkeypatch, capfd):
    shutil.copytree(finished, tmp_path / "run")
    made = case.make or (lambda folder: None)
    made(tmp_path)
    before = tree(tmp_path / "run")
    refuse(case._replace(make=None), ("parallel=sequential", "figure=draft"), tmp_path, monkeypatch, capfd)
    assert tree(tmp_path / "run") == before


PLACES = [
    bad("run out=../d", "files of something else", make=text("d/thesis.tex", "mine")),
    bad("run out=../a.txt/below", "a.txt", make=text("a.txt", "mine")),
    bad("run out=/proc/nothing", "/proc/nothing"),
    bad("run out=/dev/null", "/dev/null"),
    bad("run out=../a.txt", "a.txt", make=text("a.txt", "mine")),
    bad("run out=../run", "another configuration", make=text("run/provenance.json", '{"identity": "x"}')),
    bad(
        "run out=../run/again",
        "it lies within the run",
        make=both(text("run/provenance.json", '{"identity": "x"}'), text("run/again/file", "")),
    ),
    bad(
        "run out=../run/new", "it lies within the run", make=text("run/provenance.json", '{"identity": "x"}')
    ),
    bad("run cache=../a.txt", "a.txt is a file; a folder is needed", make=text("a.txt", "mine")),
    bad("compare cache=../a.txt", "a.txt is a file; a folder is needed", make=text("a.txt", "mine")),
]


@pytest.mark.parametrize("case", named(PLACES))
def test_places(case, tmp_path, monkeypatch, capfd):
    own = STORED if case.arguments.startswith("run") else LEARNERS
    case.make and case.make(tmp_path)
    before = tree(tmp_path)
    refuse(case._replace(make=None), COMMON + own, tmp_path, monkeypatch, capfd)
    after = tree(tmp_path)
    assert {name: after[name] for name in before} == before


def stored(tmp_path):
    write_stored(tmp_path / "outcomes.csv")
    work = tmp_path / "work"
    work.mkdir()
    return work, compose(bad("run"), ("parallel=sequential", *STORED))


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


@pytest.mark.parametrize("what", ["population", "out", "cache"])
def test_without_permission(what, permissions, tmp_path, monkeypatch, capfd):
    work, command = stored(tmp_path)
    monkeypatch.chdir(work)
    place = {"population": tmp_path / "outcomes.csv", "out": work, "cache": tmp_path / "locked"}[what]
    (tmp_path / "locked").mkdir()
    place.chmod(0o000 if what == "population" else 0o555)
    code = main([*command, "out=result", "cache=../locked/kept" if what == "cache" else "cache=null"])
    said = {"population": "outcomes.csv", "out": "result", "cache": "locked cannot be written"}[what]
    check_refusal(code, *capfd.readouterr(), "run", (said,))
    place.chmod(0o755)
    assert tree(work) == {}
    assert tree(tmp_path / "locked") == {}
