"""Damaged and foreign entries of a real run's cache: each is told of once, and the tables stay the same."""

import io
import random
import tracemalloc
import warnings
import zipfile

import numpy as np
import pytest
from composing import tabulated
from killing import STUDY, SVM, tables

from harness.runtime.store import Store, digest, read_entry

KINDS = {"fit", "decisions", "rejections", "truths", "nulls"}
GIVEN = [
    *STUDY, *SVM, "truth=[sampling_interval,exact_null]", "parallel=sequential", "nulls.path_sizes=[50]",
    "nulls.n_sets=20",
]  # fmt: skip


def run(folder, cache):
    """Tabulate the study in this process; return its CSVs and what it warned of."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        tabulated(folder / "out", *GIVEN, f"cache={cache}")
    return tables(folder), [str(one.message) for one in told]


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """The folder of a real run's cache, its entries and its tables."""
    folder = tmp_path_factory.mktemp("damage")
    expected, _ = run(folder / "first", folder / "cache")
    entries = sorted((folder / "cache").rglob("*.npz"))
    assert {entry.parents[1].name for entry in entries} == KINDS
    return folder, entries, expected


def is_noticed(entry):
    try:
        read_entry(entry, entry.stem)
    except Exception:
        return True
    return False


def flip(content, draw):
    place = draw.randrange(len(content))
    return content[:place] + bytes([content[place] ^ 1 << draw.randrange(8)]) + content[place + 1 :]


def test_random_damage_changes_no_table(kept):
    """Every entry is damaged, by turns cut short, with one bit flipped, and with many."""
    folder, entries, expected = kept
    draw, n_noticed = random.Random(0), 0
    for number, entry in enumerate(entries):
        content = entry.read_bytes()
        if number % 3 == 0:
            entry.write_bytes(content[: draw.randrange(len(content))])
            assert is_noticed(entry)
        else:
            for _ in range(1 if number % 3 == 1 else 30):
                entry.write_bytes(flip(entry.read_bytes(), draw))
        n_noticed += is_noticed(entry)  # a bit of the zip's dates and permissions means nothing
    assert len(entries) >= 30
    assert n_noticed > 0.8 * len(entries)
    found, told = run(folder / "damaged", folder / "cache")
    assert found == expected
    told = [line for line in told if "is damaged" in line]
    assert len(told) == n_noticed
    assert all(line.startswith("cache entry") and line.endswith("it is made anew") for line in told)
    assert not any(is_noticed(entry) for entry in entries)


def test_an_entry_in_anothers_place_is_none(tmp_path):
    store = Store(tmp_path)
    one, other = digest(1), digest(2)
    store.save("fit", one, {"x": np.arange(3)})
    store.path("fit", other).parent.mkdir(parents=True, exist_ok=True)
    store.path("fit", one).rename(store.path("fit", other))
    with pytest.warns(UserWarning, match="belongs to another unit"):
        assert store.load("fit", other) is None


def header(shape, dtype="<f8"):
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": dtype, "fortran_order": False, "shape": shape})
    return stream.getvalue()


def packed(compression, **members):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return stream.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        packed(zipfile.ZIP_DEFLATED, x=header((2**27,), "|u1") + bytes(2**27)),
        packed(zipfile.ZIP_STORED, x=header((2**45,)) + bytes(100)),
        packed(zipfile.ZIP_STORED, x=header((2**27,)) + bytes(100)),
        packed(zipfile.ZIP_STORED, x=header((-1, -100), "|u1") + bytes(100)),
        header((2**45,)),
        b"",
        b"PK",
    ],
    ids=["bomb", "declares 256 TiB", "declares 1 GiB", "negative shape", "no zip", "empty", "two bytes"],
)
def test_what_an_entry_declares_takes_no_memory(content, tmp_path):
    store, key = Store(tmp_path), digest("k")
    path = store.path("fit", key)
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    tracemalloc.start()
    try:
        with pytest.warns(UserWarning, match="is damaged"):
            assert store.load("fit", key) is None
        assert tracemalloc.get_traced_memory()[1] < 2**22
    finally:
        tracemalloc.stop()


def test_every_kind_of_array_comes_back(tmp_path):
    store, key = Store(tmp_path), digest("k")
    arrays = {
        "none": np.empty((0, 3)),
        "number": np.array(3.5),
        "words": np.array(["a", "ü"]),
        "turned": np.asfortranarray(np.arange(6).reshape(2, 3)),
        "bits": np.array([True, False]),
    }
    store.save("fit", key, arrays)
    found = store.load("fit", key)
    assert set(found) == set(arrays)
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype
        assert found[name].shape == array.shape
        assert (found[name] == array).all()
