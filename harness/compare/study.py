"""The command ``harness compare``: one function a study, in a common shell."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from harness.compare import learners, simulated_null, training_sets
from harness.compare.report_parts import Figures
from harness.drawing.style import figure_style, plain_options, save_figure
from harness.runtime.parallel import Workers, make_run
from harness.runtime.provenance import check_finished, read_provenance
from harness.runtime.run_folder import open_run
from harness.runtime.store import Store
from harness.talk import Say, progress, say
from harness.writing.captions import write_captions
from harness.writing.report import Section, bullets, write_report

# a module has `run_study` (run, stage_run, seed, **options) -> (facts for provenance.json, report), and
# `figures` (folder, what provenance.json holds, width)
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
    two runs the same run; `figure` has `formats`, `dpi` and `width`.

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
            drawn = draw_figures(out, run.facts, **figure)
            files = [f"figures/{path.name}" for path in drawn if path.suffix == ".png"]
            look = Section(
                "What to look at", [bullets(["figures/captions.md says what each figure shows", *files])]
            )
            write_report(out, replace(report, sections=[*report.sections, look]), run.facts)
        run.tell(drawn, report.sections[0].blocks[0].lines)


def redraw(folder: Path, figure: Mapping[str, Any]) -> list[Path] | None:
    """Draw the figures of a finished comparison again, from its tables; None where `folder` holds none."""
    facts = read_provenance(folder)
    if facts is None or facts.get("study") not in STUDIES:
        return None
    check_finished(folder, facts)
    return draw_figures(folder, facts, **plain_options(figure))


def draw_figures(
    out: Path, facts: Mapping[str, Any], *, formats: Sequence[str], dpi: float, width: float
) -> list[Path]:
    """Draw the figures of a study from the tables in its folder, and write their captions."""
    figures: Figures = STUDIES[facts["study"]].figures(out, facts, float(width))
    paths = []
    for stem, (make, caption) in progress(figures.items(), len(figures), "drawing figures"):
        with figure_style():
            paths += save_figure(make(caption), out / "figures", stem, formats, dpi)
    write_captions(out / "figures", {stem: caption for stem, (_, caption) in figures.items()})
    return paths
