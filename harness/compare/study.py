"""The command ``harness compare``: one function a study, in a common shell."""

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from harness.compare import simulated_null_report, training_sets_report
from harness.compare.comparison import compare_learners
from harness.compare.comparison_figures import draw_comparison
from harness.compare.simulated_null_study import simulated_null
from harness.compare.training_sets_study import training_sets
from harness.drawing.style import plain_options
from harness.errors import UserError
from harness.runtime.parallel import Workers, make_run
from harness.runtime.provenance import (
    NAME,
    Clock,
    check_finished,
    check_folder,
    command_line,
    describe_software,
    read_provenance,
    write_provenance,
)
from harness.runtime.store import Store, digest
from harness.writing.page import NAME as PAGE
from harness.writing.page import write_page

Say = Callable[[str], None]


def compare(
    *,
    study: str,
    out: Path,
    config: Mapping[str, Any],
    seed: int,
    figure: Mapping[str, Any],
    cache: Path | None,
    workers: Workers,
    options: Mapping[str, Any],
    say: Say = print,
) -> None:
    """Run one study of learning algorithms and leave its tables, figures and summary in `out`.

    Parameters
    ----------
    study : str
        A key of `STUDIES`.
    out : Path
        Where the run writes; new, empty, or of the same configuration.
    config : mapping
        JSON types that make two runs the same run; written to ``provenance.json``.
    seed : int
    figure : mapping
        `formats`, `dpi` and `width`.
    cache : Path or None
        Folder of kept units of work.
    workers : Workers
    options : mapping
        The study's own keywords.
    say : callable
        Shows a line to the user.

    Raises
    ------
    UserError
        If the input cannot be used; `out` is left as it was.
    """
    state = check_folder(out, config)
    if state == "finished":
        say(f"{out} holds this very run, finished; summary: {out / 'summary.md'}")
        return
    clock = Clock(say)
    facts: dict[str, Any] = {
        "finished": False,
        "identity": digest(dict(config)),
        "command": command_line(),
        "study": study,
        "seed": seed,
        "config": dict(config),
        **describe_software(),
    }
    write_provenance(out, facts)
    stage_run = functools.partial(make_run, workers, Store(cache))
    try:
        found, lines = STUDIES[study](
            out=out, seed=seed, stage_run=stage_run, clock=clock, figure=figure, say=say, **options
        )
    except UserError:
        if state == "new":
            (out / NAME).unlink(missing_ok=True)
        raise
    facts |= dict(found) | {"seconds": clock.seconds, "peak_mib": clock.peak_mib}
    write_provenance(out, facts)
    write_page(out)
    write_provenance(out, facts | {"finished": True})
    say("\n" + "\n".join(lines))
    say(f"\nSummary: {out / 'summary.md'}; as a page: {out / PAGE}")


def redraw(folder: Path, figure: Mapping[str, Any]) -> list[Path] | None:
    """Draw the figures of a finished comparison again, from its tables; None where `folder` holds none.

    Parameters
    ----------
    folder : Path
    figure : mapping
        `formats`, `dpi` and `width`; other keys are for figures of ``harness run``.

    Raises
    ------
    UserError
        If the comparison is not finished.
    """
    facts = read_provenance(folder)
    if facts is None or facts.get("study") not in FIGURES:
        return None
    check_finished(folder, facts)
    return FIGURES[facts["study"]](folder, facts, **plain_options(figure))


# study -> function(out, seed, stage_run, clock, figure, say, **options) -> (facts for provenance.json, lines)
STUDIES: dict[str, Callable[..., tuple[Mapping[str, Any], list[str]]]] = {
    "learners": compare_learners,
    "simulated_null": simulated_null,
    "training_sets": training_sets,
}
# study -> function(folder, what provenance.json holds, formats, dpi, width) -> paths
FIGURES: dict[str, Callable[..., list[Path]]] = {
    "learners": draw_comparison,
    "simulated_null": lambda folder, facts, **figure: simulated_null_report.draw_figures(
        folder, facts["config"]["simulated_null"], **figure
    ),
    "training_sets": lambda folder, facts, **figure: training_sets_report.draw_figures(
        folder, facts, facts["config"]["training_sets"], **figure
    ),
}
