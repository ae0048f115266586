"""A run that was killed goes on when the same command is given again, and ends in the same bytes."""

import contextlib
import json
import random
import signal
import time

import killing
import psutil
import pytest
from killing import STUDY, SVM, kill, parallel, send, start, tables, wait, write_table

from harness.cli import main
from harness.runtime import interruption

pytestmark = pytest.mark.usefixtures("unpainted")
SENTENCE = "harness run: interrupted; the same command goes on where it was\n"


def survive(tmp_path, arguments, n_rounds, seed, method):
    """Kill a study `n_rounds` times twice at random moments; return how many kills met it at work."""
    undisturbed = tmp_path / "undisturbed"
    began = time.monotonic()
    assert wait(start(undisturbed, arguments, method=method), 600) == 0
    seconds = time.monotonic() - began
    expected, n_met = tables(undisturbed), 0
    assert {"size_power.csv", "outcomes.csv", "tables/truth_rules.csv"} <= set(expected)
    draw, signals = random.Random(seed), (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
    for place in range(n_rounds):
        folder, n_jobs = tmp_path / f"round {place}", 1 + place % 2
        # the first signal of a round cannot be heard
        moments = [(number, draw.uniform(0, seconds)) for number in (signals[0], draw.choice(signals))]
        for number, moment in moments:
            n_met += kill(folder, arguments, number, moment, n_jobs=n_jobs, method=method)
        with contextlib.chdir(folder):
            assert main(["run", "out=out", "cache=cache", *parallel(n_jobs), *arguments]) == 0
        assert tables(folder) == expected, f"round {place}: {moments}"
    return n_met


def test_a_run_survives_two_random_moments(tmp_path):
    small = ["balance=[natural]", "truth=[sampling_interval,margin]"]
    survive(tmp_path, [*STUDY, *SVM, *small], 1, 1, "forkserver")


@pytest.mark.slow
def test_a_run_survives_25_random_moments_twice_each(tmp_path):
    models = ["model=[linear_svm,mlp]", "pairs=[linear_svm-mlp]", "model.mlp.n_epochs=3"]
    n_met = survive(tmp_path, [*STUDY, *models, "tune.enabled=false"], 25, 0, "spawn")
    print(f"{n_met} of 50 kills met a run at work")
    assert n_met >= 25


@pytest.fixture
def no_children(monkeypatch):
    """Leave the children of this process alone: the server that later tests fork from is one of them."""
    monkeypatch.setattr(interruption, "end_children", lambda: None)


@pytest.mark.usefixtures("no_children")
def test_an_interruption_that_a_library_loses_is_repeated(monkeypatch, capsys):
    monkeypatch.setattr(interruption, "AGAIN_AFTER", 0.1)

    def work():
        with contextlib.suppress(KeyboardInterrupt):  # as a broad `except` around an import does
            signal.raise_signal(signal.SIGTERM)
        time.sleep(60)
        return 0

    before = signal.getsignal(signal.SIGALRM)
    assert interruption.until_told(work, lambda: print("ended")) == 128 + signal.SIGTERM
    assert capsys.readouterr().out == "ended\n"
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
    assert signal.getsignal(signal.SIGALRM) is before


@pytest.mark.usefixtures("no_children")
def test_an_error_into_which_a_library_turns_it_is_no_error():
    def work():
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt as error:
            raise ImportError("initialisation failed") from error

    assert interruption.until_told(work, lambda: None) == 128 + signal.SIGINT


def test_another_error_stays_one():
    def work():
        raise ImportError("initialisation failed")

    with pytest.raises(ImportError):
        interruption.until_told(work, lambda: None)


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_a_signal_ends_a_run_and_its_workers_in_one_sentence(tmp_path, number):
    long = ["sets.n_truth_sets=50000", "sets.sizes=[50,60,70,80]"]
    process = start(tmp_path, [write_table(tmp_path / "outcomes.csv"), *STUDY, *long], n_jobs=2)
    family, until = [], time.monotonic() + 60
    while len(family) < 3 and time.monotonic() < until:  # two workers and a keeper of their files
        assert process.is_alive(), (tmp_path / "stderr").read_text()
        time.sleep(0.1)
        family = psutil.Process(process.pid).children(recursive=True)
    send(process, number)
    assert wait(process, 60) == 128 + number
    assert (tmp_path / "stderr").read_text() == SENTENCE
    killing.check_nobody_left(family)
    assert json.loads((tmp_path / "out" / "provenance.json").read_text())["finished"] is False
    assert not list(tmp_path.rglob(".writing-*"))
