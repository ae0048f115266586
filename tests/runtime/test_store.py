import io
import json
import os
import random
import socket
import tracemalloc
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
from composing import tabulated
from killing import STUDY, SVM, tables
from units import UNIT_NAMES, UNITS, unit

from harness.collect.join import collect, find_runs
from harness.compare.report_parts import read_table as read_algorithm_table
from harness.errors import UserError
from harness.results.names import read_table
from harness.runtime.jobs import read_state, state_file, write_state
from harness.runtime.parallel import Workers, make_run, run_here
from harness.runtime.provenance import LARGEST, NAME, check_folder, read_provenance
from harness.runtime.store import Store, digest, open_regular, read_entry, read_regular, write_atomically

KEY = digest("k")


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path)


@pytest.fixture
def entry(store):
    """Where the entry of `KEY` would lie."""
    path = store.path("fit", KEY)
    path.parent.mkdir(parents=True)
    return path


# --- workers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("workers", "threads"),
    [(Workers("sequential"), True), (Workers("loky", 2), True), (Workers("loky", 2), False)],
)
def test_any_number_of_workers_gives_the_same(workers, threads, store):
    run = make_run(workers, store, "stage", 1)
    for _ in range(2):  # the second time from the store
        found = run(unit, UNITS, UNIT_NAMES, threads=threads)
        for one, other in zip(found, run_here(unit, UNITS, UNIT_NAMES), strict=True):
            assert (one["x"] == other["x"]).all()
            assert one["n"] == other["n"]


def shared_unit(matrix, number):
    return {"x": matrix[number]}


def test_kept_units_are_not_computed_again_and_shared_is_not_made(store):
    def refuse():
        raise AssertionError("made though nothing is missing")

    run = make_run(Workers("sequential"), store, "stage", "a")
    run(shared_unit, UNITS[:3], UNIT_NAMES[:3], shared=lambda: np.eye(7))
    again = run(shared_unit, UNITS[:3], UNIT_NAMES[:3], shared=refuse)
    assert [r["x"].argmax() for r in again] == [0, 1, 2]
    other = make_run(Workers("sequential"), store, "stage", "b")
    with pytest.raises(AssertionError, match="made though"):
        other(shared_unit, UNITS[:3], UNIT_NAMES[:3], shared=refuse)


@pytest.mark.parametrize("arguments", [("dask2",), ("loky", 0), ("loky", -2), ("loky", 1.5), ("loky", True)])
def test_wrong_workers(arguments):
    with pytest.raises(UserError, match="is not allowed"):
        Workers(*arguments)


def test_equal_names_are_refused():
    with pytest.raises(ValueError, match="a name of its own"):
        make_run(Workers("sequential"), Store(None), "s")(unit, UNITS[:2], ["a", "a"])


# --- entries ---------------------------------------------------------------------------------------


def test_every_kind_of_array_comes_back(store):
    arrays = {
        "none": np.empty((0, 3)), "number": np.array(3.5), "words": np.array(["a", "ü"]),
        "turned": np.asfortranarray(np.arange(6).reshape(2, 3)), "bits": np.array([True, False]),
    }  # fmt: skip
    store.save("fit", KEY, arrays)
    found = store.load("fit", KEY)
    assert set(found) == set(arrays)
    for name, array in arrays.items():
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
        assert (found[name] == array).all()


def test_no_single_damaged_byte_gives_other_values(store):
    store.save("fit", KEY, {"x": np.arange(20)})
    path = store.path("fit", KEY)
    whole, n_noticed = path.read_bytes(), 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for place in range(len(whole)):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x5A]) + whole[place + 1 :])
            found = store.load("fit", KEY)
            n_noticed += found is None
            assert found is None or (set(found) == {"x"} and (found["x"] == np.arange(20)).all())
    assert n_noticed > len(whole) / 2


def test_an_entry_in_anothers_place_is_none(store, entry):
    store.save("fit", digest(1), {"x": np.arange(3)})
    store.path("fit", digest(1)).rename(entry)
    with pytest.warns(UserWarning, match="belongs to another unit"):
        assert store.load("fit", KEY) is None


def header(shape, dtype="<f8"):
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": dtype, "fortran_order": False, "shape": shape})
    return stream.getvalue()


def packed(content, compression=zipfile.ZIP_STORED):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        archive.writestr("x.npy", content)
    return stream.getvalue()


def pickled():
    stream = io.BytesIO()
    np.savez(stream, __made_from__=np.array(KEY + " x"), x=np.array([{"a": 1}], dtype=object))
    return stream.getvalue()


DAMAGED = {
    "bomb": packed(header((2**27,), "|u1") + bytes(2**27), zipfile.ZIP_DEFLATED),
    "declares 256 TiB": packed(header((2**45,)) + bytes(100)),
    "declares 1 GiB": packed(header((2**27,)) + bytes(100)),
    "negative shape": packed(header((-1, -100), "|u1") + bytes(100)),
    "a pickle": pickled(), "no zip": header((2**45,)), "empty": b"", "two bytes": b"PK",
}  # fmt: skip


@pytest.mark.parametrize("kind", DAMAGED)
def test_a_damaged_entry_takes_no_memory(kind, store, entry):
    entry.write_bytes(DAMAGED[kind])
    tracemalloc.start()
    try:
        with pytest.warns(UserWarning, match="is damaged"):
            assert store.load("fit", KEY) is None
        assert tracemalloc.get_traced_memory()[1] < 2**22
    finally:
        tracemalloc.stop()


def run(folder, cache):
    """Tabulate a study with every stage in this process; return its CSVs and what it warned of."""
    given = ["truth=[sampling_interval,exact_null]", "nulls.path_sizes=[50]", "nulls.n_sets=20"]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        tabulated(folder / "out", *STUDY, *SVM, *given, "parallel=sequential", f"cache={cache}")
    return tables(folder), [str(one.message) for one in told]


def is_noticed(entry):
    try:
        read_entry(entry, entry.stem)
    except Exception:
        return True
    return False


def test_random_damage_of_a_runs_cache_changes_no_table(tmp_path):
    """Every entry is damaged, by turns cut short, with one bit flipped, and with many."""
    expected, _ = run(tmp_path / "first", tmp_path / "cache")
    entries, draw, n_noticed = sorted((tmp_path / "cache").rglob("*.npz")), random.Random(0), 0
    kinds = {"fit", "decisions", "rejections", "truths", "nulls"}
    assert {entry.parents[1].name for entry in entries} == kinds
    for number, entry in enumerate(entries):
        content = bytearray(entry.read_bytes())
        for _ in range((0, 1, 30)[number % 3]):
            content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
        entry.write_bytes(content if number % 3 else content[: draw.randrange(len(content))])
        assert number % 3 or is_noticed(entry)
        n_noticed += is_noticed(entry)  # a bit of the zip's dates and permissions means nothing
    assert len(entries) >= 30
    assert n_noticed > 0.8 * len(entries)
    found, told = run(tmp_path / "damaged", tmp_path / "cache")
    assert found == expected
    told = [line for line in told if "is damaged" in line]
    assert len(told) == n_noticed
    assert all(line.startswith("cache entry") and line.endswith("it is made anew") for line in told)
    assert not any(is_noticed(entry) for entry in entries)


# --- files -----------------------------------------------------------------------------------------


def test_a_failed_write_leaves_the_old_file_and_nothing_else_and_files_follow_the_umask(tmp_path):
    target, before = tmp_path / "table.csv", os.umask(0o027)
    try:
        write_atomically(target, b"old")
    finally:
        os.umask(before)
    with pytest.raises(TypeError):
        write_atomically(target, "not bytes")  # type: ignore[arg-type]
    assert target.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["table.csv"]
    assert target.stat().st_mode & 0o777 == 0o640


def test_a_regular_file_is_read(tmp_path):
    (tmp_path / "x").write_bytes(b"abc")
    (tmp_path / "link").symlink_to(tmp_path / "x")
    assert read_regular(tmp_path / "x") == read_regular(tmp_path / "link", 3) == b"abc"
    with pytest.raises(UserError, match="3 bytes are too many; 2 are allowed"):
        read_regular(tmp_path / "x", 2)
    with pytest.raises(FileNotFoundError):
        read_regular(tmp_path / "absent")


def device(name):
    return lambda path: path.symlink_to(f"/dev/{name}")


def listening(path):
    with socket.socket(socket.AF_UNIX) as end:
        here = Path.cwd()
        os.chdir(path.parent)  # the address has a length of at most 107
        end.bind(path.name)
        os.chdir(here)


def huge(path):
    with path.open("wb") as stream:
        stream.truncate(2**40)


SPECIAL = {name: device(name) for name in ("zero", "full", "null", "tty")}
SPECIAL |= {"pipe": os.mkfifo, "folder": Path.mkdir, "huge": huge, "socket": listening}


@pytest.mark.parametrize("kind", SPECIAL)
def test_no_special_file_is_read(kind, tmp_path):
    SPECIAL[kind](tmp_path / "x")
    with pytest.raises((UserError, OSError), match="regular file|bytes are too many|No such device"):
        open_regular(tmp_path / "x")


@pytest.mark.parametrize("kind", ["pipe", "folder", "huge"])
def test_every_reader_opens_regular_files_alone(kind, tmp_path, store, entry):
    make, state = SPECIAL[kind], state_file(tmp_path / "job")
    state.parent.mkdir(parents=True)
    for path in (state, entry, tmp_path / "t.csv"):
        make(path)
    for read in (read_table, read_algorithm_table):
        with pytest.raises((UserError, OSError)):
            read(tmp_path / "t.csv")
    assert read_state(state) == {}
    with pytest.warns(UserWarning, match="it is made anew"):
        assert store.load("fit", KEY) is None
    if kind != "folder":
        write_state(tmp_path / "job", {"state": "waiting"})
        assert read_state(state) == {"state": "waiting"}
        store.save("fit", KEY, {"x": np.arange(3)})
        assert store.load("fit", KEY)["x"].tolist() == [0, 1, 2]
    make(tmp_path / NAME)
    assert read_provenance(tmp_path) is None
    with pytest.raises(UserError, match="it holds files of something else"):
        check_folder(tmp_path, {})
    assert find_runs(tmp_path)[0] == []


@pytest.mark.parametrize("kind", ["pipe", "zero", "folder"])
def test_collect_neither_reads_nor_overwrites_a_special_file(kind, tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / NAME).write_text(json.dumps({"finished": True, "overrides": []}))
    (tmp_path / "b" / "size_power.csv").write_text("x\n1\n")
    SPECIAL[kind](tmp_path / "a" / "size_power.csv")
    SPECIAL[kind](tmp_path / "to.csv")
    found = collect(tmp_path)
    assert found.n_runs == 1
    assert found.left_out == ["a: it has no table size_power"]
    with pytest.raises((UserError, OSError), match="to=|regular"):
        collect(tmp_path, to=tmp_path / "to.csv")


@pytest.mark.parametrize("text", ["[" * 200_000, '{"a":' * 200_000, '{"state": "fini', 3 * 2**30])
def test_a_record_that_says_nothing(text, tmp_path):
    assert read_state(tmp_path / NAME) == {}
    with (tmp_path / NAME).open("wb") as stream:
        stream.truncate(text) if isinstance(text, int) else stream.write(text.encode())
    assert read_provenance(tmp_path) is None
    assert read_state(tmp_path / NAME) == {}


def test_the_largest_record_is_read(tmp_path):
    (tmp_path / NAME).write_text('{"a": 1}' + " " * (LARGEST - 8))
    assert read_provenance(tmp_path) == {"a": 1}
