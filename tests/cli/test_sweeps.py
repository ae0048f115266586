"""Sweeps lose nothing: a failing job stops no other, none is run twice, none has another's folder."""

import json
import os
import re
import signal
import sys
import threading
import time
from pathlib import Path

import pytest
from beside import beside
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import example, given
from hypothesis import strategies as st

from harness import cli
from harness.cli import main
from harness.cli.sweep import count_jobs
from harness.errors import UserError
from harness.runtime.jobs import LONGEST, Job, folder_name, is_place, locked, tabulate_headlines

KNOWN = beside(__file__)

NAMES = st.text(min_size=1, max_size=20, alphabet=st.characters(exclude_categories=["Cs"]))
VALUES = st.one_of(
    st.integers().map(str),
    st.text(max_size=300, alphabet=st.characters(exclude_categories=["Cs"])),
    st.lists(st.integers(), max_size=5).map(str),
    st.sampled_from(
        ["f1", "F1", "[a,b]", "[a, b]", "'a,b=2'", '"x"', "{a:1,b:[2]}", "null", "../p", "x" * 500]
    ),
)
OVERRIDES = st.lists(st.tuples(NAMES, VALUES).map("=".join), max_size=6)


@pytest.fixture
def study(monkeypatch):
    """Stand in for `harness compare`: finishes at once, or fails as its seed says."""

    def work(cfg):
        out = cli._output_folder()
        facts = {"finished": True, "config": {"seed": cfg.seed}}
        if (out / "provenance.json").exists():
            print(f"{out} is finished")
            return
        if cfg.seed in FAILURES:
            raise FAILURES[cfg.seed]
        (out / "provenance.json").write_text(json.dumps(facts))
        (out / "size_power.csv").write_text(f"rate\n{cfg.seed}\n")

    monkeypatch.setitem(cli.COMMANDS, "compare", work)


FAILURES = {
    20: UserError("seed: 20 is not allowed"),
    21: PermissionError(13, "Permission denied", "somewhere"),
    22: MemoryError(),
    23: ZeroDivisionError("a bug"),
    24: KeyError("lost"),
    25: SystemExit(3),
}


def sweep(capfd, *arguments, code=0):
    """Sweep over `harness compare` with one estimator: fewer files to compose for each job."""
    assert main(["compare", "-m", "estimator=[naive_bayes]", *arguments]) == code
    out, err = capfd.readouterr()
    assert "Traceback" not in err
    return out, err


def lines_of(out):
    return [line for line in out.splitlines() if line.startswith("job ")]


def folders(root):
    return sorted(path.name for path in Path(root).iterdir() if path.name != ".jobs")


def test_a_failing_job_stops_no_other(capfd, here, study):
    out, err = sweep(capfd, "out=s", "seed=20,21,22,23,24,25,1", code=1)
    assert [name.rpartition("-")[0] for name in folders("s")] == ["seed-1"]
    lines = [line for line in err.splitlines() if line.startswith("harness compare: job")]
    assert len(lines) == len(err.splitlines()) == 6
    assert lines[0] == "harness compare: job 1 (seed=20): seed: 20 is not allowed"
    assert lines[1] == "harness compare: job 2 (seed=21): somewhere: Permission denied"
    table = out[out.index("6 of 7 jobs failed:") :].splitlines()
    assert table[2].split(maxsplit=2) == ["1", "seed=20", "seed: 20 is not allowed"]
    assert "not enough memory" in table[4]
    told = [line.split(maxsplit=2)[2] for line in table[5:8]]
    assert told == ["ZeroDivisionError: a bug", "KeyError: 'lost'", "SystemExit: 3"]
    assert table[-1] == "7 jobs in s: 0 finished before, 1 run, 6 failed"


def test_the_same_command_runs_what_is_missing(capfd, here, study, monkeypatch):
    sweep(capfd, "out=s", "seed=20,1", code=1)
    before = {p: p.stat().st_mtime_ns for p in here.rglob("*.csv")}
    monkeypatch.delitem(FAILURES, 20)
    out, err = sweep(capfd, "out=s", "seed=20,1")
    assert err == ""
    assert out.count("is finished") == 1
    assert re.fullmatch(r"job 2 of 2: seed=1: finished before, s/[\w.-]+", lines_of(out)[-1])
    assert "2 jobs in s: 1 finished before, 1 run, 0 failed" in out
    assert {p: p.stat().st_mtime_ns for p in before} == before


def test_without_out_more_values_go_to_the_same_folder(capfd, here, study):
    sweep(capfd, "seed=1,2")
    out, _ = sweep(capfd, "seed=2,3")
    (folder,) = (here / "runs").iterdir()
    assert len(folders(folder)) == 3
    assert "1 finished before, 1 run" in out
    sweep(capfd, "seed=2,3", "alpha=0.1")
    assert len(list((here / "runs").iterdir())) == 2


@pytest.mark.parametrize("wrong", KNOWN["wrong_sweeps"])
def test_a_wrong_sweep_fails_before_any_job(wrong, capfd, here, study):
    out, err = sweep(capfd, "out=s", "alpha=0.1,0.2", wrong, code=2)
    assert out in ("", "2 jobs\n", "4 jobs\n")
    assert 1 <= len(err.splitlines()) <= 2
    assert list(here.iterdir()) == []


@pytest.mark.parametrize(("swept", "said"), KNOWN["how_many_jobs"])
def test_how_many_jobs_is_told_before_any_is_made(swept, said):
    with pytest.raises(UserError, match=said):
        count_jobs(OverridesParser.create().parse_overrides(swept.split()))


def test_the_first_job_is_run_before_the_last_is_composed(capfd, here, monkeypatch):
    composed = []

    def work(cfg):
        composed.append(len([path for path in (here / "s" / ".jobs").iterdir() if not path.suffix]))

    monkeypatch.setitem(cli.COMMANDS, "compare", work)
    out, _ = sweep(capfd, "out=s", "seed=1,2,3")
    assert out.startswith("3 jobs\njob 1 of 3: seed=1: ")
    assert composed == [1, 2, 3]


def test_a_job_is_composed_once(capfd, here, study, monkeypatch):
    composed, compose = [], ConfigLoaderImpl.load_configuration

    def load(self, *args, **kwargs):
        composed.append(kwargs["overrides"])
        return compose(self, *args, **kwargs)

    monkeypatch.setattr(ConfigLoaderImpl, "load_configuration", load)
    sweep(capfd, "out=s", "seed=1,2")
    assert [[text for text in one if "seed" in text and "subdir" not in text] for one in composed] == [
        ["seed=1,2"], ["seed=1"], ["seed=2"]
    ]  # fmt: skip


def test_jobs_that_are_one_run_run_once(capfd, here, study):
    out, _ = sweep(capfd, "out=s", "seed=1,1,2")
    assert "note: job 2 (seed=1) is the same run as job 1" in out
    assert "2 jobs in s: 0 finished before, 2 run" in out
    out, _ = sweep(capfd, "out=s", "cache=null,elsewhere", "seed=1")
    assert "is the same run as job 1" in out


def test_out_and_quoted_and_nested_values_may_be_swept(capfd, here, study):
    out, _ = sweep(capfd, "out=a,b", "+x={a:1},'a,b'", "seed=1")
    assert len(folders("a")) == len(folders("b")) == 2
    assert "4 jobs in a, b: 0 finished before, 4 run" in out


def test_places_that_no_sweep_can_have(capfd, here, study):
    (here / "file").write_text("text")
    for arguments in (["out=file", "seed=1,2"], ["seed=1,2", "out=good,file"]):
        _, err = sweep(capfd, *arguments, code=2)
        assert "file" in err
    assert (here / "file").read_text() == "text"
    assert main(["compare", "out=s", "seed=1"]) == 0
    before = sorted(here.rglob("*"))
    _, err = sweep(capfd, "out=s", "seed=1,2", code=2)
    assert "a sweep needs a folder of its own" in err
    assert sorted(here.rglob("*")) == before


def test_interruption_stops_the_sweep(capfd, here, monkeypatch):
    def work(cfg):
        if cfg.seed == 2:
            signal.raise_signal(signal.SIGTERM)
        (cli._output_folder() / "provenance.json").write_text('{"finished": true}')

    monkeypatch.setitem(cli.COMMANDS, "compare", work)
    _, err = sweep(capfd, "out=s", "seed=1,2,3", code=128 + signal.SIGTERM)
    assert err == "harness compare: interrupted; the same command goes on where it was\n"
    begun = [name for name in folders("s") if any((here / "s" / name).iterdir())]
    assert [name.rpartition("-")[0] for name in begun] == ["seed-1"]


def test_other_commands_sweep_too(capfd, here):
    assert main(["figures", "-m", "from=here,there"]) == 1
    out, err = capfd.readouterr()
    assert "2 jobs: 0 finished before, 0 run, 2 failed" in out
    assert "from=there" in err
    assert list(here.iterdir()) == []


def killed_sweep(launcher, *more):
    """Run a sweep whose job of seed 1 kills its process; return the exit code."""
    import hydra

    from harness.cli.conf_files import conf_folder
    from harness.cli.configuration import register_resolvers
    from harness.cli.hydra_internals import use_sweeper
    from harness.cli.sweep import JobsFailed, Sweep

    def task(cfg):
        from hydra.core.hydra_config import HydraConfig

        out = Path(HydraConfig.get().runtime.output_dir)
        if cfg.seed == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        if cfg.seed == 2:
            raise UserError("seed: 2 is not allowed")
        (out / "provenance.json").write_text('{"finished": true}')

    register_resolvers()
    use_sweeper(Sweep)
    before, sys.argv = sys.argv, ["harness compare", "-m", f"hydra/launcher={launcher}", *more]
    os.environ["HYDRA_FULL_ERROR"] = "1"
    try:
        hydra.main(version_base="1.3", config_path=str(conf_folder()), config_name="compare")(task)()
    except JobsFailed:
        return 1
    finally:
        sys.argv = before
    return 0


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(
    ("launcher", "plugin", "more"),
    [
        ("joblib", "hydra_plugins.hydra_joblib_launcher", ["hydra.launcher.n_jobs=2"]),
        ("submitit_local", "hydra_plugins.hydra_submitit_launcher", []),
    ],
)
def test_a_killed_worker_is_one_failed_job(launcher, plugin, more, capfd, here):
    pytest.importorskip(plugin)
    assert killed_sweep(launcher, *more, "out=s", "seed=0,1,2,3,4") == 1
    out, _ = capfd.readouterr()
    table = out[out.index("2 of 5 jobs failed:") :].splitlines()
    assert table[2].split(maxsplit=2)[:2] == ["2", "seed=1"]
    assert "its process was killed" in table[2]
    assert table[3].split(maxsplit=2) == ["3", "seed=2", "seed: 2 is not allowed"]
    assert "5 jobs in s: 0 finished before, 3 run, 2 failed" in out
    assert len(list(here.glob("s/*/provenance.json"))) == 3


def test_a_sweep_that_was_killed_goes_on(capfd, here, study):
    """What a killed process wrote of its job does not count."""
    sweep(capfd, "out=s", "seed=1")
    (name,) = folders("s")
    (here / "s" / name / "provenance.json").unlink()
    (here / "s" / name / "size_power.csv").unlink()
    state = here / "s" / ".jobs" / name
    state.write_text(json.dumps(json.loads(state.read_text()) | {"state": "running"}))
    out, _ = sweep(capfd, "out=s", "seed=1")
    assert "1 job in s: 0 finished before, 1 run, 0 failed" in out


@given(OVERRIDES, OVERRIDES)
@example(["scorer=F1"], ["scorer=f1"])
@example(["a='1,b=2'"], ["a='1", "b=2'"])
@example(["x=" + "y" * 400], ["x=" + "y" * 401])
@example(["x=[1,2]"], ["x=[1, 2]"])
def test_other_overrides_other_folders(one, other):
    """On a file system that takes upper and lower case for the same, too."""
    names = [folder_name(overrides, overrides) for overrides in (one, other)]
    for name, overrides in zip(names, (one, other), strict=True):
        assert folder_name([*overrides[::-1], "out=x", "++cache=y"], overrides) == name
        assert re.fullmatch(rf"[a-zA-Z0-9_][\w.-]{{,{LONGEST + 12}}}", name, re.ASCII)
    kept = [sorted(text for text in overrides if not is_place(text)) for overrides in (one, other)]
    if kept[0] != kept[1]:
        assert names[0].casefold() != names[1].casefold()


def test_a_second_sweep_waits_for_a_job_of_the_first(capfd, here, study):
    sweep(capfd, "out=s", "seed=1")
    job = here / "s" / folders("s")[0]
    (job / "provenance.json").unlink()
    held = threading.Event()

    def hold():
        with locked(job, wait=True) as mine, locked(job, wait=False) as another:
            assert (mine, another) == (True, False)
            held.set()
            time.sleep(0.3)
            (job / "provenance.json").write_text('{"finished": true}')

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait()
    out, _ = sweep(capfd, "out=s", "seed=1")
    holder.join()
    assert "1 finished before, 0 run" in out


# --- what a sweep prints: a line a job, and what was found


def test_a_line_a_job_where_it_is_wanted_and_verbose_makes_no_other_job(capfd, here, study):
    for verbose, lines, ended in (
        (1, [r"\d+\.\d s, s/seed-1-\w{12}", r"\d+\.\d s, s/seed-2-\w{12}"], "0 finished before, 2 run"),
        (0, [], "2 finished before, 0 run"),
    ):
        out, _ = sweep(capfd, "out=s", "seed=1,2", f"verbose={verbose}")
        for n, (line, said) in enumerate(zip(lines_of(out), lines, strict=True), 1):
            assert re.fullmatch(f"job {n} of 2: seed={n}: {said}", line)
        assert ("2 jobs\n" in out) == (verbose > 0)
        assert f"2 jobs in s: {ended}, 0 failed" in out


def test_the_table_at_the_end_sets_sizes_beside_settings():
    jobs = [Job(1, 2, "seed=0", (), Path("a")), Job(2, 2, "seed=10", (), Path("b"))]
    found = [{"alpha": "0.05", "mcnemar": ".041"}, {"alpha": "0.05", "wald_f1": ".050"}]
    assert tabulate_headlines(list(zip(jobs, found, strict=True))).splitlines() == [
        "Sizes, each the largest of all pairs and balances:",
        "  job  settings  alpha  mcnemar  wald_f1",
        "  1    seed=0    0.05   .041     -",
        "  2    seed=10   0.05   -        .050",
    ]
    assert tabulate_headlines([(jobs[0], {})]) == ""
