import re
import sys

import pytest

from harness.runtime.parallel import Workers, make_run
from harness.runtime.provenance import Clock
from harness.runtime.store import Store
from harness.runtime.talk import PLACES, UNITS, progress, say, set_verbosity


@pytest.fixture(autouse=True)
def usual():
    set_verbosity(1)
    yield
    set_verbosity(1)


def make_terminal(monkeypatch):
    """Make standard error a terminal, as tqdm sees it."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)


SAID = [
    (0, False, ["where"]),
    (1, False, ["where", "usual"]),
    (2, False, ["where", "usual", "unit"]),
    (0, True, []),
    (1, True, []),
    (2, True, ["where", "usual"]),
    ("loud", False, ["where", "usual"]),
]


@pytest.mark.parametrize(("verbose", "within_sweep", "said"), SAID)
def test_as_much_is_said_as_is_wanted(verbose, within_sweep, said, capsys):
    set_verbosity(verbose, within_sweep=within_sweep)
    say("where", PLACES)
    say("usual")
    say("unit", UNITS)
    assert capsys.readouterr().out.splitlines() == said


def test_nothing_that_a_terminal_would_obey_is_said(capsys):
    say("a\x1b[31mb")
    assert capsys.readouterr().out == "a\\x1b[31mb\n"


def shown(capsys):
    """Return what is shown of ten items that take a second."""
    assert list(progress(range(10), 10, "counting", delay=0, mininterval=0)) == list(range(10))
    return capsys.readouterr().err


def test_a_bar_has_count_and_time_left_on_a_terminal_alone(capsys, monkeypatch):
    make_terminal(monkeypatch)
    assert "counting:  50%" in (told := shown(capsys))
    assert "5/10 [" in told
    assert "<00:" in told
    for verbose in (0, 2):
        set_verbosity(verbose)
        assert shown(capsys) == ""


def test_without_a_terminal_a_stage_is_one_line_and_has_no_bar(capsys):
    assert shown(capsys) == ""
    with Clock(say).stage("training 12 models"):
        pass
    told = capsys.readouterr()
    assert re.fullmatch(r"training 12 models: \d\.\d s\n", told.out)
    assert told.err == ""


def test_a_terminal_shows_which_stage_is_at_work(capsys, monkeypatch):
    make_terminal(monkeypatch)
    with Clock(say).stage("training 12 models"):
        assert "training 12 models ..." in capsys.readouterr().err
    assert capsys.readouterr().out.startswith("training 12 models: ")


def double(number):
    import numpy as np

    return {"number": np.array(2 * number)}


def test_each_unit_and_what_was_kept_is_told_where_all_is_wanted(capsys, tmp_path):
    set_verbosity(2)
    run = make_run(Workers("sequential"), Store(tmp_path), "double", "input")
    run(double, [(1,), (2,)], ["one", "two"], description="doubling")
    run(double, [(1,), (2,), (3,)], ["one", "two", "three"], description="doubling")
    assert capsys.readouterr().out.splitlines() == [
        "doubling: 0 of 2 units were kept, 2 are to be made",
        "doubling: one, 1 of 2",
        "doubling: two, 2 of 2",
        "doubling: 2 of 3 units were kept, 1 are to be made",
        "doubling: three, 3 of 3",
    ]
