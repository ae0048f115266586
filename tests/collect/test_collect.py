import csv
import json
import random
from pathlib import Path

import pytest
from refusal import refusal

from harness.cli import main
from harness.collect import join
from harness.collect.join import collect
from harness.errors import UserError


def make_run(folder, overrides=(), config=None, table="rate\n0.5\n", finished=True, **others):
    """Leave what a run leaves, with as little work as can be."""
    folder.mkdir(parents=True)
    facts = {"finished": finished, "config": config or {}}
    if overrides is not None:
        facts["overrides"] = list(overrides)
    (folder / "provenance.json").write_text(json.dumps(facts))
    (folder / "size_power.csv").write_text(table)
    for name, text in others.items():
        (folder / f"{name}.csv").write_text(text)


@pytest.fixture
def sweep(tmp_path):
    root = tmp_path / "sweep"
    for seed in (2, 0, 1):
        config = {"seed": seed, "sets": {"n_sets": 20}, "alphas": [0.05]}
        given = [f"seed={seed}", "sets.n_sets=20", "alphas=[0.05]"]
        make_run(root / f"seed-{seed}", given, config, f"test,rate\nmcnemar,0.{seed}10\nsign,\n")
    return root


def read(path):
    with path.open(newline="") as stream:
        return list(csv.reader(stream))


def test_one_tidy_table(sweep):
    found = collect(sweep)
    assert found == (sweep / "collected_size_power.csv", ["seed"], 3, 6, [])
    rows = [[f"seed-{n}", str(n), *row] for n in range(3) for row in (["mcnemar", f"0.{n}10"], ["sign", ""])]
    assert read(found.path) == [["run", "seed", "test", "rate"], *rows]
    names = [path.name for path in sorted(sweep.iterdir())]
    assert names == ["collected_size_power.csv", "seed-0", "seed-1", "seed-2"]


def test_again_it_gives_the_same_bytes_whatever_the_order_on_disk(sweep, tmp_path):
    first = collect(sweep).path.read_bytes()
    assert collect(sweep).path.read_bytes() == first
    other = tmp_path / "moved"
    other.mkdir()
    names = [path.name for path in sweep.iterdir() if path.is_dir()]
    random.Random(1).shuffle(names)
    for name in names:
        (sweep / name).rename(other / name)
    assert collect(other).path.read_bytes() == first


def test_columns_are_united_and_clashes_renamed(tmp_path):
    one, two = {"test": {"x": {}}, "seed": 1}, {"test": {"y": {}, "z": {}}, "seed": 0}
    make_run(tmp_path / "s" / "a", ["test=[x]", "seed=1"], one, "test,run,rate\nx,1,0.1\n")
    make_run(tmp_path / "s" / "b", ["test=[y, z]"], two, "test,sd\ny,0.2\n")
    assert read(collect(tmp_path / "s").path) == [
        ["setting_run", "seed", "setting_test", "test", "run", "rate", "sd"],
        ["a", "1", "[x]", "x", "1", "0.1", ""],
        ["b", "0", "[y,z]", "y", "", "", "0.2"],
    ]
    assert collect(tmp_path / "s").n_rows == 2  # its own table is known again


def test_what_is_not_finished_is_named(sweep, capfd):
    make_run(sweep / "begun", finished=False)
    (sweep / "damaged").mkdir()
    (sweep / "damaged" / "provenance.json").write_text("{")
    (sweep / ".jobs").mkdir()
    failed = {"state": "failed", "reason": "seed: -1 is not allowed"}
    (sweep / ".jobs" / "seed--1").write_text(json.dumps(failed))
    (sweep / ".jobs" / "seed-0").write_text(json.dumps({"state": "finished"}))
    make_run(sweep / "other", table="")
    (sweep / "other" / "size_power.csv").unlink()
    assert main(["collect", str(sweep)]) == 0
    out, err = capfd.readouterr()
    assert err.splitlines() == [
        "warning: begun: it is not finished; it is left out",
        "warning: damaged: it is not finished; it is left out",
        "warning: seed--1: it failed: seed: -1 is not allowed; it is left out",
        "warning: other: it has no table size_power; it is left out",
    ]
    assert out.splitlines()[-1] + "\n" == f"{sweep}/collected_size_power.csv: 6 rows of 3 runs\n"


def test_runs_that_kept_no_overrides(tmp_path):
    make_run(tmp_path / "s" / "a", None, {"seed": 0, "sets": {"n_sets": 5, "sizes": [1, 2]}})
    make_run(tmp_path / "s" / "b", ["seed=1"], {"seed": 1, "sets": {"n_sets": 5, "sizes": [1, 3]}})
    assert read(collect(tmp_path / "s").path)[0] == ["run", "seed", "sets.sizes", "rate"]


def test_runs_in_folders_of_folders_and_fields_with_commas_quotes_and_lines(tmp_path):
    make_run(tmp_path / "r" / "x" / "one", ["seed=1"], {"seed": 1})
    make_run(tmp_path / "r" / "two", [], {"seed": 0}, table='name,x\n"a,""b""\nc",1\n')
    make_run(tmp_path / "r" / "two" / "copy of another")
    (tmp_path / "r" / "x" / "loop").symlink_to(tmp_path / "r")
    assert read(collect(tmp_path / "r").path)[1:] == [
        ["two", "0", 'a,"b"\nc', "1", ""],
        ["x/one", "1", "", "", "0.5"],
    ]


REFUSED = [
    ("absent", {}, "from=absent: there is no such folder"),
    ("thesis.csv", {}, "there is no such folder"),
    ("empty", {}, "no finished run is in it"),
    ("begun", {}, "no finished run is in it; a: it is not finished"),
    ("sweep", {"table": "verdicts"}, "no run in sweep has 'verdicts'; size_power are there"),
    ("sweep", {"table": "../x"}, "table: '../x' is not allowed"),
    ("sweep", {"to": "sweep/seed-0/all.csv"}, "it lies in the folder of a run"),
    ("sweep", {"to": "sweep/seed-0/figures/deep/all.csv"}, "it lies in the folder of a run"),
    ("sweep/seed-0", {}, "it lies in the folder of a run"),
    ("sweep", {"to": "thesis.csv"}, "it was not written by `harness collect`"),
    ("sweep", {"to": "picture.csv"}, "it was not written by `harness collect`"),
    ("sweep", {"to": "empty"}, "it is a folder"),
]


def test_what_is_refused_leaves_nothing(sweep, tmp_path, here):
    (tmp_path / "empty").mkdir()
    make_run(tmp_path / "begun" / "a", finished=False)
    (tmp_path / "thesis.csv").write_text("run,chapter\n1,2\n")
    (tmp_path / "picture.csv").write_bytes(b"\x89PNG\xff\xfe")
    before = sorted(tmp_path.rglob("*"))
    for folder, more, said in REFUSED:
        more = {key: Path(value) if key == "to" else value for key, value in more.items()}
        assert said in refusal(collect, Path(folder), **more)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("table", ["a,b\n1,2\n3\n", "a,b\n1,2,3\n", "a,a\n1,2\n", ""])
def test_a_damaged_table_is_refused_and_the_old_result_kept(table, sweep):
    kept = collect(sweep).path.read_bytes()
    (sweep / "seed-1" / "size_power.csv").write_text(table)
    with pytest.raises(UserError, match="seed-1/size_power.csv: "):
        collect(sweep)
    assert (sweep / "collected_size_power.csv").read_bytes() == kept
    assert not list(sweep.glob(".writing*"))


def test_one_run_alone_goes_elsewhere(sweep, tmp_path, capfd):
    assert main(["collect", str(sweep / "seed-0"), f"to={tmp_path / 'new' / 'one.csv'}"]) == 0
    assert read(tmp_path / "new" / "one.csv")[1] == ["seed-0", "mcnemar", "0.010"]


@pytest.mark.parametrize("name", ["a b (c)", "it's", "x=1,y=[2]", "back\\slash"])
def test_any_path_may_stand_first(name, here, capfd):
    make_run(Path(name) / "a")
    assert main(["collect", name]) == 0, capfd.readouterr().err
    assert (Path(name) / "collected_size_power.csv").is_file()


def test_memory_does_not_grow_with_the_tables(tmp_path, monkeypatch):
    """Only the fields of a few rows are held at a time."""
    alive, most = 0, 0

    class Field(str):
        def __init__(self, _):
            nonlocal alive, most
            alive += 1
            most = max(most, alive)

        def __del__(self):
            nonlocal alive
            alive -= 1

    read_rows = join._read

    def counted(path):
        return ([Field(field) for field in row] for row in read_rows(path))

    monkeypatch.setattr(join, "_read", counted)
    for i in range(2):
        rows = "mcnemar,0.05\n" * 1_000
        make_run(tmp_path / f"{i}", [f"seed={i}"], {"seed": i}, f"test,rate\n{rows}")
    assert collect(tmp_path).n_rows == 2_000
    assert 2 <= most <= 20
