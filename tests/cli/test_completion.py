import os
import shutil
import subprocess
import sys

import pytest
from beside import beside

from harness.cli import COMMANDS, conf_files, main
from harness.cli.completion import candidates

KNOWN = beside(__file__)

OPTIONS = {"bash": "--norc", "zsh": "-f", "fish": "--no-config"}


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a command `harness`, and with files and folders to be completed."""
    command = tmp_path / "bin" / "harness"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m harness "$@"\n')
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{command.parent}{os.pathsep}{os.environ['PATH']}")
    (tmp_path / "data" / "deep").mkdir(parents=True)
    (tmp_path / "data" / "some table.csv").touch()
    (tmp_path / "data" / ".hidden").touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def offered(line):
    """Return what is offered for the last word of a line, those that begin as it does."""
    *before, word = line.split(" ")
    return [text for text in candidates(before[1:], word) if text.startswith(word)]


@pytest.mark.parametrize(("shell", "words", "replies"), KNOWN["shells"])
def test_the_shells_themselves(shell, words, replies, here):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    command = [shell, OPTIONS[shell], "-c", KNOWN["scripts"][shell].replace("TYPED", words)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert done.stdout.splitlines() == replies


@pytest.mark.parametrize("command", COMMANDS)
def test_every_group_setting_and_member_is_offered(command):
    names = {text.rstrip("=.") for text in offered(f"harness {command} ")}
    node = conf_files.compose(command)
    assert set(node) - {"command"} <= names
    for group in conf_files.chosen_by_default(conf_files.read(command)):
        members = conf_files.members(group, command)
        assert offered(f"harness {command} {group}=") == [f"{group}={name} " for name in members]


@pytest.mark.parametrize(("line", "found"), KNOWN["offered"])
def test_what_is_offered(line, found):
    assert offered(line) == found


def test_a_member_that_was_named_is_not_offered_again():
    assert "test=[wald_f1,wald_f1" not in offered("harness run test=[wald_f1,wald_")


def test_an_answer_is_quick_and_imports_nothing_large():
    program = (
        "import sys; from harness.cli import main\n"
        "main(['completion', 'bash', '--query', 'run', 'test', '='])\n"
        "heavy = {'torch', 'sklearn', 'pandas', 'numpy', 'hydra', 'omegaconf'} & set(sys.modules)\n"
        "print('HEAVY', sorted(heavy))"
    )
    before = os.times().children_user
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "mcnemar_midp \n" in answer.stdout
    assert answer.stdout.endswith("HEAVY []\n")
    assert os.times().children_user - before < 1  # seconds of its processor, whatever else runs


def test_another_shell_and_help(capfd):
    assert main(["completion", "csh"]) == 2
    assert capfd.readouterr().err == (
        "harness completion: 'csh' is no shell; choose one of bash, zsh, fish\n"
    )
    assert main(["completion", "--help"]) == 0
    assert "in ~/.zshrc" in capfd.readouterr().out
