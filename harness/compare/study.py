"""The command ``harness compare``: one function a study, in a common shell."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from harness.compare import learners, simulated_null, training_sets
from harness.drawing.save import draw
from harness.drawing.style import Look
from harness.results.selection import check_no_choice
from harness.runtime.parallel import Workers, make_run
from harness.runtime.run_folder import open_run
from harness.runtime.store import Store
from harness.runtime.talk import Say, say
from harness.writing.report import figures_section, write_report

# a module has `run_study` (run, stage_run, seed, **options) -> (facts for provenance.json, report), and
# `figures` (folder, what provenance.json holds)
STUDIES: dict[str, Any] = {
    "learners": learners, "simulated_null": simulated_null, "training_sets": training_sets,
}  # fmt: skip


def compare(
    *,
    study: str,
    out: Path,
    config: Mapping[str, Any],
    figure: Mapping[str, Any],
    cache: Path | None,
    workers: Workers,
    options: Mapping[str, Any],
    say: Say = say,
) -> None:
    """Run one study of learning algorithms and leave its tables, figures and summary in `out`.

    `study` is a key of `STUDIES`, and `options` are its own keywords; `config`, with `seed`, is what makes
    two runs the same run; `figure` is the node of that name.

    Raises
    ------
    UserError
        If the input cannot be used; `out` is left as it was.
    """
    with open_run(out, config, say) as run:
        if run is None:
            return
        run.note(study=study, seed=config["seed"], config=dict(config))
        facts, report = STUDIES[study].run_study(
            run, partial(make_run, workers, Store(cache)), config["seed"], **options
        )
        run.note(**facts)
        with run.clock.stage("figures and summary"):
            drawn = redraw(out, run.facts, figure, out / "figures")
            write_report(out, replace(report, sections=[*report.sections, figures_section(out)]), run.facts)
        run.tell(drawn, report.sections[0].blocks[0].lines)


def redraw(folder: Path, facts: Mapping[str, Any], figure: Mapping[str, Any], out: Path) -> list[Path]:
    """Draw the figures of a study from the tables in its folder to `out`, and write their captions."""
    check_no_choice(figure, "a comparison")
    return draw(out, STUDIES[facts["study"]].figures(folder, facts), Look.of(figure))
