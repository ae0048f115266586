"""Draw the rooms of ``harness/`` and their imports into docs/architecture.md.

    python scripts/architecture.py            # 1 if the page differs from the code
    python scripts/architecture.py --write

A room is a folder, or a file that lies flat in ``harness/``. An arrow leads to a room that is imported;
those that follow from others are left out, so that the picture can be read.
"""

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "architecture.md"
PICTURE = re.compile(r"(?<=<!-- picture -->\n).*?(?=<!-- end -->)", re.DOTALL)


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


def picture() -> str:
    """Return the rooms and arrows as a Mermaid diagram."""
    known = rooms()
    lines = ["```mermaid", "flowchart BT"]
    lines += [f"  {name}[{name}/]" if len(files) > 1 else f"  {name}" for name, files in known.items()]
    lines += [f"  {name} --> {target}" for name, target in reduced(arrows())]
    return "\n".join([*lines, "```", ""])


def main() -> int:
    """Compare the page with the code, or write it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="draw the picture anew")
    chosen = parser.parse_args()
    text = PAGE.read_text(encoding="utf-8")
    drawn = PICTURE.sub(lambda _: picture(), text)
    if chosen.write:
        PAGE.write_text(drawn, encoding="utf-8")
    elif drawn != text:
        print("docs/architecture.md differs from the code; --write draws it anew", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
