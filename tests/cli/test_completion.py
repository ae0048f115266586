"""Completion, asked as bash, zsh and fish ask, in the shells themselves where they are installed."""

import os
import shutil
import subprocess
import sys

import pytest

from harness.cli import COMMANDS, conf_files, main
from harness.cli.completion import candidates
from harness.packaged import POPULATIONS

BASH = """
source <(harness completion bash)
COMP_WORDS=({words})
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_harness harness
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
ZSH = """
compdef() {{ }}
compadd() {{ print -rl -- "$@" }}
source <(harness completion zsh)
words=({words}) CURRENT=${{#words}} PREFIX=${{words[-1]}}
_harness
"""
FISH = "harness completion fish | source; complete -C {line}"


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


def shell(name, *arguments):
    """Return the lines that a shell prints; the test is skipped where it is not installed."""
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    done = subprocess.run([name, *arguments], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.splitlines()


def offered(line):
    """Return what is offered for the last word of a line, those that begin as it does."""
    *before, word = line.split(" ")
    return [text for text in candidates(before[1:], word) if text.startswith(word)]


@pytest.mark.parametrize(
    ("words", "replies"),
    [
        ("harness c", ["compare ", "collect ", "cache ", "completion "]),
        ("harness run corpus =", [f"{name} " for name in conf_files.members("corpus")]),
        ("harness run corpus = ly", ["lyrl "]),
        ("harness run test = '[mcnemar,wald_f'", ["[mcnemar,wald_f1"]),
        ("harness run 'test=[wald_f'", ["test=[wald_f1"]),
        ("harness run population = data/s", ["data/some\\ table.csv "]),
        ("harness run population = ''", [*(f"{name} " for name in POPULATIONS), "bin/", "data/"]),
        ("harness nothing ''", [""]),
    ],
)
def test_bash(words, replies, here):
    assert shell("bash", "--norc", "-c", BASH.format(words=words)) == replies


def test_bash_escapes_nothing_within_quotes(here):
    replies = shell("bash", "--norc", "-c", BASH.format(words='harness run "\'population=data/s"'))
    assert replies == ["population=data/some table.csv "]


@pytest.mark.parametrize(
    ("words", "finished", "begun"),
    [
        ("harness run corpus=ly", ["corpus=lyrl"], []),
        ("harness run se", [], ["seed=", "sets."]),
        ("harness run 'test=\\[wald_f'", [], ["test=[wald_f1"]),
        ("harness collect data/", ["data/some table.csv"], ["data/deep/"]),
    ],
)
def test_zsh(words, finished, begun, here):
    lines = shell("zsh", "-f", "-c", ZSH.format(words=words))
    assert lines == ["-U", "--", *finished, "-U", "-S", "", "--", *begun]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("harness adv", ["advise"]),
        ("harness run test=[wald_f", ["test=[wald_f1"]),
        ("harness figures from=da", ["from=data/"]),
    ],
)
def test_fish(line, found, here):
    assert sorted(shell("fish", "--no-config", "-c", FISH.format(line=f"'{line}'"))) == found


@pytest.mark.parametrize("command", COMMANDS)
def test_every_group_setting_and_member_is_offered(command):
    names = {text.rstrip("=.") for text in offered(f"harness {command} ")}
    node = conf_files.compose(command)
    assert set(node) - {"command"} <= names
    for group in conf_files.chosen_by_default(conf_files.read(command)):
        members = conf_files.members(group, command)
        assert offered(f"harness {command} {group}=") == [f"{group}={name} " for name in members]


OFFERED = [
    ("harness run experiment=nips", ["experiment=nips2005 ", "experiment=nips2005_dissimilar "]),
    ("harness compare experiment=nips", []),
    ("harness run se", ["seed=", "sets."]),
    ("harness run corpus=lyrl corpus.p", ["corpus.path="]),
    ("harness cache prune=", ["prune=true ", "prune=false "]),
    ("harness run experiment=rr0434 category_sets.co", ["category_sets.costs."]),
    ("harness run ~tru", ["~truth", "~truth."]),
    ("harness run -m hydra/launcher=jo", ["hydra/launcher=joblib "]),
    ("harness run --cfg j", ["job "]),
    ("harness completion b", ["bash "]),
    ("harness advise predictions=di", ["predictions=digits "]),
    ("harness run sets.n_sets.", []),
]


@pytest.mark.parametrize(("line", "found"), OFFERED)
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
