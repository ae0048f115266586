"""Pipes, devices, sockets, absurd sizes and deep JSON where a file is read: refused at once."""

import json
import os
import socket
from pathlib import Path

import numpy as np
import pytest

from harness.cli import main
from harness.collect.join import collect, find_runs
from harness.compare.report_parts import read_table as read_algorithm_table
from harness.errors import UserError
from harness.results.names import read_table
from harness.runtime.jobs import read_state, state_file, write_state
from harness.runtime.provenance import LARGEST, NAME, check_folder, read_provenance
from harness.runtime.store import Store, digest, open_regular, read_regular, write_atomically


def pipe(path):
    os.mkfifo(path)


def device(name):
    return lambda path: path.symlink_to(f"/dev/{name}")


def listening(path):
    with socket.socket(socket.AF_UNIX) as end:
        here = Path.cwd()
        os.chdir(path.parent)  # the address has a length of at most 107
        end.bind(path.name)
        os.chdir(here)


def folder(path):
    path.mkdir()


def huge(path):
    with path.open("wb") as stream:
        stream.truncate(2**40)


SPECIAL = [pipe, device("zero"), device("full"), device("null"), device("tty"), folder, huge]
KINDS = pytest.mark.parametrize("make", [*SPECIAL, listening], ids=lambda make: getattr(make, "__name__", ""))


@KINDS
def test_no_special_file_is_read(make, tmp_path):
    make(tmp_path / "x")
    with pytest.raises((UserError, OSError), match="regular file|bytes are too many|No such device"):
        open_regular(tmp_path / "x")


@KINDS
def test_provenance(make, tmp_path):
    make(tmp_path / NAME)
    assert read_provenance(tmp_path) is None
    with pytest.raises(UserError, match="it holds files of something else"):
        check_folder(tmp_path, {})
    assert find_runs(tmp_path)[0] == []


def test_provenance_of_three_gigabytes_and_deep_json(tmp_path):
    with (tmp_path / NAME).open("wb") as stream:
        stream.truncate(3 * 2**30)
    assert read_provenance(tmp_path) is None
    for text in ("[" * 200_000, '{"a":' * 200_000):
        (tmp_path / NAME).write_text(text)
        assert read_provenance(tmp_path) is None
    (tmp_path / NAME).write_text('{"a": 1}' + " " * (LARGEST - 8))
    assert read_provenance(tmp_path) == {"a": 1}


@KINDS
def test_job_files_and_cache_entries(make, tmp_path):
    state, store, key = state_file(tmp_path / "job"), Store(tmp_path), digest("a")
    for path in (state, entry := store.path("fit", key)):
        path.parent.mkdir(parents=True)
        make(path)
    assert read_state(state) == {}
    with pytest.warns(UserWarning, match="it is made anew"):
        assert store.load("fit", key) is None
    if make is not folder:
        write_state(tmp_path / "job", {"state": "waiting"})
        assert read_state(state) == {"state": "waiting"}
        store.save("fit", key, {"x": np.arange(3)})
        assert store.load("fit", key)["x"].tolist() == [0, 1, 2]
        assert entry.is_file()


@pytest.mark.parametrize("text", ["[" * 200_000, '{"state": "fini', None])
def test_a_job_file_that_says_nothing(text, tmp_path):
    if text is not None:
        (tmp_path / "job").write_text(text)
    assert read_state(tmp_path / "job") == {}


@KINDS
@pytest.mark.parametrize("read", [read_table, read_algorithm_table])
def test_tables(make, read, tmp_path):
    make(tmp_path / "t.csv")
    with pytest.raises((UserError, OSError)):
        read(tmp_path / "t.csv")


@pytest.fixture
def runs(tmp_path):
    for name in "ab":
        (tmp_path / "runs" / name).mkdir(parents=True)
        (tmp_path / "runs" / name / NAME).write_text(json.dumps({"finished": True, "overrides": []}))
        (tmp_path / "runs" / name / "size_power.csv").write_text("x\n1\n")
    return tmp_path / "runs"


@KINDS
def test_collect_writes_over_no_special_file(make, runs):
    make(runs / "to.csv")
    with pytest.raises((UserError, OSError), match="to=|regular"):
        collect(runs, to=runs / "to.csv")


@pytest.mark.parametrize("make", [pipe, device("zero"), folder])
def test_collect_reads_no_special_table(make, runs):
    (runs / "a" / "size_power.csv").unlink()
    make(runs / "a" / "size_power.csv")
    found = collect(runs)
    assert found.n_runs == 1
    assert found.left_out == ["a: it has no table size_power"]


@pytest.mark.parametrize(
    "text", ["[" * 10**5, '{"study": "learners", "finished": true}', '{"finished": true}']
)
def test_figures_of_a_folder_that_is_damaged(text, tmp_path, capfd):
    (tmp_path / NAME).write_text(text)
    (tmp_path / "size_power.csv").write_text("pair\n1\n")
    for name in ("trials", "rejections"):
        (tmp_path / f"{name}.csv").write_text("a\n1\n")
    assert main(["figures", f"from={tmp_path}", "parallel=sequential"]) == 2
    said = capfd.readouterr().err.strip().splitlines()
    assert len(said) == 1
    assert said[0].startswith("harness figures: ")


def test_files_follow_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        write_atomically(tmp_path / "x", b"1")
    finally:
        os.umask(before)
    assert (tmp_path / "x").stat().st_mode & 0o777 == 0o640


def test_a_regular_file_is_read(tmp_path):
    (tmp_path / "x").write_bytes(b"abc")
    (tmp_path / "link").symlink_to(tmp_path / "x")
    assert read_regular(tmp_path / "x") == read_regular(tmp_path / "link", 3) == b"abc"
    with pytest.raises(UserError, match="3 bytes are too many; 2 are allowed"):
        read_regular(tmp_path / "x", 2)
    with pytest.raises(FileNotFoundError):
        read_regular(tmp_path / "absent")
