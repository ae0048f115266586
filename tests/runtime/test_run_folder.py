"""The frame of every command: what a folder holds after a run that ended, was refused or failed midway."""

import json
import shlex
import sys

import pytest

from harness.errors import UserError
from harness.runtime.provenance import NAME, command_line
from harness.runtime.run_folder import open_run


def attempt(out, said, fail=None, files=()):
    with open_run(out, {"seed": 0}, lambda text, *_: said.append(text)) as run:
        if run is None:
            return
        run.note(seed=0)
        for name in files:
            (out / name).write_text("made")
        if fail:
            raise UserError(fail)


def test_what_is_refused_before_anything_is_made_leaves_nothing(tmp_path):
    with pytest.raises(UserError, match="no such thing"):
        attempt(tmp_path / "out", [], fail="no such thing")
    assert not list((tmp_path / "out").iterdir())


def test_a_run_that_fails_on_the_way_goes_on_with_the_same_command(tmp_path):
    """A worker that was killed ends in a UserError too, and what was made by then is of use."""
    out, said = tmp_path / "out", []
    with pytest.raises(UserError, match="a worker was killed"):
        attempt(out, said, fail="a worker was killed", files=["outcomes.csv"])
    assert json.loads((out / NAME).read_text())["finished"] is False
    attempt(out, said, files=["size_power.csv"])
    assert json.loads((out / NAME).read_text())["finished"] is True
    attempt(out, said)
    assert "holds this very run, finished" in said[-1]


def test_the_command_is_told_as_a_shell_reads_it(monkeypatch):
    typed = ["harness", "advise", "runs={a:[a_0,a_1],b:[b_0]}", "predictions=my file.csv", "systems=[a,b]"]
    monkeypatch.setattr(sys, "argv", typed)
    told = command_line()
    assert shlex.split(told) == typed
    assert told.endswith("'predictions=my file.csv' systems=[a,b]")
