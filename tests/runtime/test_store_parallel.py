"""What is kept is found again, damage is noticed, and workers change nothing."""

import warnings

import numpy as np
import pytest
from units import UNIT_NAMES, UNITS, unit

from harness.errors import UserError
from harness.runtime.parallel import Workers, make_run, run_here
from harness.runtime.store import Store, digest, write_atomically


@pytest.mark.parametrize(
    ("workers", "threads"),
    [(Workers("sequential"), True), (Workers("loky", 2), True), (Workers("loky", 2), False)],
)
def test_any_number_of_workers_gives_the_same(workers, threads, tmp_path):
    run = make_run(workers, Store(tmp_path), "stage", 1)
    expected = run_here(unit, UNITS, UNIT_NAMES)
    for _ in range(2):  # the second time from the store
        found = run(unit, UNITS, UNIT_NAMES, threads=threads)
        for one, other in zip(found, expected, strict=True):
            assert (one["x"] == other["x"]).all()
            assert one["n"] == other["n"]


def shared_unit(matrix, number):
    return {"x": matrix[number]}


def test_kept_units_are_not_computed_again_and_shared_is_not_made(tmp_path):
    run = make_run(Workers("sequential"), Store(tmp_path), "stage", "a")
    run(shared_unit, UNITS[:3], UNIT_NAMES[:3], shared=lambda: np.eye(7))

    def refuse():
        raise AssertionError("made though nothing is missing")

    again = run(shared_unit, UNITS[:3], UNIT_NAMES[:3], shared=refuse)
    assert [r["x"].argmax() for r in again] == [0, 1, 2]
    other = make_run(Workers("sequential"), Store(tmp_path), "stage", "b")
    with pytest.raises(AssertionError, match="made though"):
        other(shared_unit, UNITS[:3], UNIT_NAMES[:3], shared=refuse)


def test_no_single_damaged_byte_gives_other_values(tmp_path):
    store = Store(tmp_path)
    store.save("stage", digest("k"), {"x": np.arange(20)})
    path = store.path("stage", digest("k"))
    whole = path.read_bytes()
    n_noticed = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for place in range(len(whole)):
            damaged = bytearray(whole)
            damaged[place] ^= 0x5A
            path.write_bytes(damaged)
            found = store.load("stage", digest("k"))
            n_noticed += found is None
            assert found is None or (set(found) == {"x"} and (found["x"] == np.arange(20)).all())
    assert n_noticed > len(whole) / 2


def test_no_pickle_is_read(tmp_path):
    store = Store(tmp_path)
    path = store.path("stage", digest("k"))
    path.parent.mkdir(parents=True)
    np.savez(path, __made_from__=np.array(digest("k") + " x"), x=np.array([{"a": 1}], dtype=object))
    with pytest.warns(UserWarning, match="is damaged"):
        assert store.load("stage", digest("k")) is None


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    target = tmp_path / "table.csv"
    write_atomically(target, b"old")
    with pytest.raises(TypeError):
        write_atomically(target, "not bytes")  # type: ignore[arg-type]
    assert target.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["table.csv"]


@pytest.mark.parametrize("arguments", [("dask2",), ("loky", 0), ("loky", -2), ("loky", 1.5), ("loky", True)])
def test_wrong_workers(arguments):
    with pytest.raises(UserError, match="is not allowed"):
        Workers(*arguments)


def test_equal_names_are_refused():
    with pytest.raises(ValueError, match="a name of its own"):
        make_run(Workers("sequential"), Store(None), "s")(unit, UNITS[:2], ["a", "a"])
