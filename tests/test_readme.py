"""The commands that README and CONTRIBUTING show are commands that work."""

import re
import shlex
from pathlib import Path

import pytest

from harness.cli import HELP, main

ROOT = Path(__file__).resolve().parent.parent
BLOCKS = re.findall(r"```bash\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
COMMANDS = [
    line.split("#")[0].strip()
    for block in BLOCKS
    for line in block.splitlines()
    if line.startswith("harness ")
]
OF_HELP = [
    line.strip() for text in HELP.values() for line in text.splitlines() if line.startswith("  harness ")
]


def test_readme_shows_commands():
    assert len(COMMANDS) >= 5
    assert len(OF_HELP) >= 10


@pytest.mark.parametrize("command", dict.fromkeys([*COMMANDS, *OF_HELP]))
def test_shown_commands_compose(command, capfd, tmp_path, monkeypatch):
    """`--cfg job` composes the whole configuration, and refuses any name that does not exist."""
    monkeypatch.chdir(tmp_path)
    words = [word.replace("seed=0,1,2", "seed=0") for word in shlex.split(command)[1:] if word != "-m"]
    assert main([*words, "--cfg", "job"]) == 0
    assert "command:" in capfd.readouterr().out


@pytest.mark.slow
def test_the_sweep_of_the_readme_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sweep = next(command for command in COMMANDS if " -m " in command)
    assert main(shlex.split(sweep)[1:]) == 0
    assert len(list(tmp_path.glob("runs/*/*/size_power.csv"))) == 3


def test_the_two_commands_stand_in_the_readme():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert 'pip install -e ".[test]" && harness run' in text
    assert "\npytest " in text


def test_every_figure_that_is_shown_exists():
    for name in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", (ROOT / "README.md").read_text(encoding="utf-8")):
        assert (ROOT / name).is_file(), name
