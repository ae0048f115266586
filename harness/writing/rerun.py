"""What a report says of how its run is done again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.writing.table_text import escape_markdown

HEADING = "How to run this again"
REDRAW = "harness figures from=FOLDER"


def rerun_lines(
    provenance: Mapping[str, Any], commands: Sequence[str] = (REDRAW,), notes: Sequence[str] = ()
) -> list[str]:
    r"""Return the command of a run and others, the seed, seconds and memory, as lines of Markdown.

    Parameters
    ----------
    provenance : mapping
        What ``provenance.json`` holds.
    commands : sequence of str
        What may be run beside it.
    notes : sequence of str
        Sentences on those commands.

    Examples
    --------
    >>> print("\n".join(rerun_lines({"command": "harness run", "seed": 3, "peak_mib": {"tests": 80.5}})))
    ```
    harness run
    harness figures from=FOLDER
    ```
    <BLANKLINE>
    - Seed: 3. The same configuration and seed give the same bytes in every CSV.
    - Peak memory over all processes: 80.5 MiB.
    """
    seed = provenance.get("seed")
    lines = [
        f"Seed: {'not recorded' if seed is None else seed}. The same configuration and seed give the same "
        "bytes in every CSV.",
        *notes,
    ]
    seconds = provenance.get("seconds") or {}
    if seconds:
        lines.append("Seconds: " + ", ".join(f"{stage} {value:g}" for stage, value in seconds.items()) + ".")
    peak = provenance.get("peak_mib") or {}
    if peak:
        lines.append(f"Peak memory over all processes: {max(peak.values()):g} MiB.")
    shown = [provenance.get("command") or "(command not recorded)", *commands]
    fenced = ["```", *(" ".join(str(command).split()) for command in shown), "```", ""]
    return [*fenced, *(f"- {escape_markdown(line)}" for line in lines)]
