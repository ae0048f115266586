import re
import shlex
from pathlib import Path

import pytest
from composing import configured

from harness.cli import COMMANDS as WORK
from harness.cli import help_of, main
from harness.cli.conf_files import conf_folder

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
EXTENDING = "extending.md"  # what its commands name is put in place by test_docs.py


def commands_of(page):
    """Return the commands of a page: lines of its blocks of bash, and those within its sentences."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"```bash\n(.*?)```", text, re.DOTALL)
    lines = [line.split("#")[0].strip() for block in blocks for line in block.splitlines()]
    found = [line for line in lines if line.startswith("harness ")]
    if page.name == EXTENDING:
        return []
    inline = re.findall(r"`(harness (?:run|compare|advise|figures|collect|cache)(?: [^`]*)?)`", text)
    return [*found, *(words for words in inline if words.count("--") == 0 and "..." not in words)]


COMMANDS = commands_of(ROOT / "README.md")
SHOWN = [command for page in PAGES for command in commands_of(page)]
OF_HELP = [
    line.split("#")[0].strip()
    for command in WORK
    for line in help_of(command).splitlines()
    if line.startswith("  harness ")
]


def test_readme_shows_commands():
    assert len(COMMANDS) >= 12
    assert len(SHOWN) >= 50
    assert len(OF_HELP) >= 10


def is_choice(word):
    """Tell whether a word chooses which settings there are: the others may stand beside one another."""
    name, equals, _ = word.partition("=")
    return not equals or name.startswith(("+", "~", "hydra/")) or (conf_folder() / name).is_dir()


def grouped(commands):
    """Return (command, choices) -> the settings that all commands with these choices set."""
    found = {}
    for command in commands:
        name, *words = shlex.split(command)[1:]
        if "-m" in words:  # a sweep: its first job
            words = [re.sub(r"^([\w.]+=[^,\[]+),.*", r"\1", word) for word in words if word != "-m"]
        choices = tuple(sorted(filter(is_choice, words)))
        found.setdefault((name, choices), []).extend(word for word in words if not is_choice(word))
    return found


GROUPED = grouped([*SHOWN, *OF_HELP])


@pytest.mark.parametrize("chosen", GROUPED, ids=lambda chosen: " ".join([chosen[0], *chosen[1]]))
def test_shown_commands_compose(chosen):
    """Which refuses any name that does not exist."""
    command, choices = chosen
    choices = [word if "=" in word else f"from={word}" for word in choices]
    assert configured(command, *choices, *GROUPED[chosen], return_hydra_config=True).command == command


@pytest.mark.slow
def test_the_sweep_that_is_shown_runs(tmp_path, here):
    sweep = next(command for command in SHOWN if " -m experiment=smoke" in command)
    assert main(shlex.split(sweep)[1:]) == 0
    assert len(list(tmp_path.glob("runs/*/*/size_power.csv"))) == 3


def test_the_two_commands_stand_in_the_readme():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert 'pip install -e ".[test]" && harness run' in text
    assert "\npytest " in text


def test_every_figure_that_is_shown_exists():
    for name in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", (ROOT / "README.md").read_text(encoding="utf-8")):
        assert (ROOT / name).is_file(), name
