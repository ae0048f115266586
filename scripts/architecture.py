"""Draw the rooms of ``harness/`` and their imports: docs/architecture.svg.

    python scripts/architecture.py            # 1 if the picture differs from the code
    python scripts/architecture.py --write

A room is a folder, or a file that lies flat in ``harness/``. An arrow leads to a room that is imported;
those that follow from others are left out, so that the picture can be read.
"""

import argparse
import ast
import functools
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "architecture.svg"
WIDE = 116  # of a room and the space beside it
PAPER = "#ffffff"
STYLE = 'font-family="sans-serif" font-size="13"'
MARKER = (
    '<marker id="to" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<path d="M0 0L8 4L0 8z" fill="#8a93a5"/></marker>'
)


def rooms() -> dict[str, list[Path]]:
    """Return the files of each room."""
    found: dict[str, list[Path]] = {}
    package = ROOT / "harness"
    for path in sorted(package.rglob("*.py")):
        found.setdefault(path.relative_to(package).with_suffix("").parts[0], []).append(path)
    return {name: files for name, files in found.items() if not name.startswith("__") and name != "conf"}


def imported(path: Path) -> Iterator[str]:
    """Yield the rooms that a file imports from, also within functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "harness":
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("harness."):
            yield str(node.module).split(".")[1]


@functools.cache
def arrows() -> dict[str, set[str]]:
    """Return the rooms that each room imports."""
    known = rooms()
    return {
        name: {target for path in files for target in imported(path) if target in known} - {name}
        for name, files in known.items()
    }


def reduced(graph: dict[str, set[str]]) -> Iterator[tuple[str, str]]:
    """Yield the arrows that do not follow from others."""

    def reach(start: str) -> set[str]:
        found: set[str] = set()
        todo = [start]
        while todo:
            fresh = graph[todo.pop()] - found
            found |= fresh
            todo += fresh
        return found

    below = {name: reach(name) for name in graph}
    for name, targets in graph.items():
        for target in sorted(targets):
            if not any(target in below[other] for other in targets - {target}):
                yield name, target


def layers() -> list[list[str]]:
    """Return the rooms in rows, each above all that it imports, beside those it shares arrows with."""
    known, below = rooms(), dict[str, set[str]]()
    for name, target in reduced(arrows()):
        below.setdefault(name, set()).add(target)
    height: dict[str, int] = {}

    def climb(name: str) -> int:
        if name not in height:
            height[name] = 1 + max((climb(target) for target in below.get(name, ())), default=-1)
        return height[name]

    rows: list[list[str]] = [[] for _ in range(1 + max(climb(name) for name in known))]
    for name in known:
        rows[height[name]].append(name)
    place = {name: (i + 0.5) / len(row) for row in rows for i, name in enumerate(row)}
    both = {name: {*below.get(name, ()), *(up for up in below if name in below[up])} for name in known}
    for _ in range(20):
        for row in rows:
            row.sort(key=lambda name: sum(place[other] for other in both[name]) / max(len(both[name]), 1))
            place |= {name: (i + 0.5) / len(row) for i, name in enumerate(row)}
    return rows[::-1]


def picture() -> str:
    """Return the rooms and arrows as SVG."""
    rows, known = layers(), rooms()
    widest, step = max(map(len, rows)), 78
    at = {
        name: (round((i + 0.5) * widest * WIDE / len(row)), 30 + step * y)
        for y, row in enumerate(rows)
        for i, name in enumerate(row)
    }
    size = f"{widest * WIDE} {30 + step * len(rows) - 50}"
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" {STYLE}>', MARKER]
    lines += [f'<rect width="100%" height="100%" fill="{PAPER}"/>']
    for name, target in reduced(arrows()):
        (x, y), (to_x, to_y) = at[name], at[target]
        lines.append(
            f'<path d="M{x} {y + 14}C{x} {y + 44} {to_x} {to_y - 50} {to_x} {to_y - 18}" fill="none" '
            f'stroke="#8a93a5" marker-end="url(#to)"/>'
        )
    for name, (x, y) in at.items():
        fill, label = ("#e3ecfa", f"{name}/") if len(known[name]) > 1 else ("#f1f1ee", name)
        lines.append(
            f'<rect x="{x - WIDE // 2 + 5}" y="{y - 14}" width="{WIDE - 10}" height="28" rx="5" '
            f'fill="{fill}" stroke="#5b6474"/>'
        )
        lines.append(f'<text x="{x}" y="{y + 4}" text-anchor="middle">{label}</text>')
    return "\n".join([*lines, "</svg>", ""])


def main() -> int:
    """Compare the picture with the code, or draw it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="draw the picture anew")
    if parser.parse_args().write:
        PICTURE.write_text(picture(), encoding="utf-8")
    elif PICTURE.read_text(encoding="utf-8") != picture():
        print("docs/architecture.svg differs from the code; --write draws it anew", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
