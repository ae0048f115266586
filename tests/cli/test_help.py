import re

import pytest

from harness.cli import COMMANDS, conf_files, help_of
from harness.cli.conf_files import WIDTH, usage

DRAWN = "figure"  # its words are long


def listed(command):
    """Return heading -> {member: its words} of a command's help."""
    found = {}
    for line in help_of(command).splitlines():
        heading = re.fullmatch(r"  (\w+(?:, o[nf] [\w ]+)?):", line)
        member = re.fullmatch(r"    (\w+)(?:  +(.*))?", line)
        if heading:
            current = found.setdefault(heading[1], {})
        elif member:
            current[member[1]] = member[2]
    return found


@pytest.mark.parametrize("command", ["run", "compare", "advise"])
def test_every_member_is_listed_once_with_a_few_words(command):
    found = listed(command)
    for group in conf_files.chosen_by_default(conf_files.read(command)):
        parts = [part for heading, part in found.items() if heading.partition(",")[0] == group]
        names = [name for part in parts for name in part]
        assert sorted(names) == conf_files.members(group, command)
        for part in parts if group != DRAWN else ():
            for name, words in part.items():
                assert words == conf_files.first_words(f"{group}/{name}") != ""


@pytest.mark.parametrize("command", COMMANDS)
def test_lines_fit(command):
    assert max(map(len, [*help_of(command).splitlines(), *usage().splitlines()])) <= WIDTH


@pytest.mark.parametrize("command", ["run", "advise"])
def test_tests_stand_below_their_measure(command):
    found = {heading: part for heading, part in listed(command).items() if heading.startswith("test")}
    others = found.pop("test, of other packages")
    assert {conf_files.read(f"test/{name}")[name]["_target_"].split(".")[2] for name in others} == {"others"}
    assert list(found) == [f"test, on {m}" for m in ("F1", "error", "precision", "recall", "another measure")]
    for heading, part in found.items():
        measures = {conf_files.read(f"test/{name}")[name]["measure"] for name in part}
        own = heading.removeprefix("test, on ").lower()
        assert measures == ({"dcf", "balanced_error"} if own == "another measure" else {own})


def test_presets_of_other_commands_are_left_out():
    assert "nips2005" in listed("run")["experiment"]
    assert "wine" not in listed("run")["experiment"]
    assert sorted(listed("compare")["experiment"]) == ["dietterich1998", "dietterich_rcv1", "wine"]
