"""The frame in which every command works: one folder, one clock, one ``provenance.json``."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness.errors import UserError
from harness.runtime import provenance
from harness.runtime.store import LOCK, digest
from harness.runtime.talk import PLACES, Say


class RunFolder:
    """A folder in which a run is at work.

    Attributes
    ----------
    lines : list of str
        What is shown when the run has ended well.
    """

    def __init__(self, out: Path, identity: Mapping[str, Any], say: Say) -> None:
        self.out, self.say, self.clock = out, say, provenance.Clock(say)
        self.lines: list[str] = []
        self._facts: dict[str, Any] = {
            "finished": False, "identity": digest(dict(identity)), "command": provenance.command_line(),
            **provenance.describe_software(),
        }  # fmt: skip

    @property
    def facts(self) -> dict[str, Any]:
        """What ``provenance.json`` says of the run by now."""
        timed = {"seconds": self.clock.seconds, "peak_mib": self.clock.peak_mib}
        return self._facts | {name: value for name, value in timed.items() if value}

    def note(self, **facts: Any) -> None:
        """Add to what ``provenance.json`` says, and write it."""
        self._facts |= facts
        provenance.write_provenance(self.out, self.facts)

    def begin(
        self, config: Mapping[str, Any], n_sets: int, facts: Mapping[str, Any], warnings: Sequence[str]
    ) -> None:
        """Write what is known before a size/power study's work, and show its warnings."""
        numbers = {"seed": config["seed"], "n_sets": n_sets, "n_replicates": config["n_replicates"]}
        self.note(**numbers, config=dict(config), **facts, warnings=warnings)
        for warning in warnings:
            self.say(f"note: {warning}")

    def tell(self, drawn: Sequence[Path], found: Sequence[str]) -> None:
        """Show figures and findings when the run has ended."""
        self.lines += ["\nFigures:", *(f"  {path}" for path in drawn if path.suffix == ".png")]
        self.lines += ["\nFindings:", *(f"  {number}. {text}" for number, text in enumerate(found, start=1))]


@contextmanager
def open_run(out: Path, identity: Mapping[str, Any], say: Say) -> Iterator[RunFolder | None]:
    """Hold a run's folder while it works, and call the run finished at the end.

    Yields
    ------
    RunFolder or None
        None where `out` holds this very run, finished; there is nothing to do then.
    """
    state, summary = provenance.check_folder(out, identity), out / "summary.md"
    if state == "finished":
        say(f"{out} holds this very run, finished; summary: {summary}", PLACES)
        yield None
        return
    run = RunFolder(out, identity, say)
    try:
        yield run
    except UserError:
        if state == "new" and [path.name for path in out.glob("*") if path.name != LOCK] == [provenance.NAME]:
            (out / provenance.NAME).unlink()  # nothing was begun; else the same command goes on
        raise
    run.note(finished=True)
    for line in run.lines:
        say(line)
    say(f"\nSummary: {summary}; as a page: {out / 'report.html'}", PLACES)
