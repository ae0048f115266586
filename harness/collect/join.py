"""The command ``harness collect``: the tables of many runs as one, with the settings that differ."""

import csv
import io
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from harness.errors import UserError, refusal
from harness.runtime.jobs import FOLDER, read_state
from harness.runtime.provenance import NAME, read_provenance
from harness.runtime.store import open_regular, replacing
from harness.writing.table_text import neutralise, restore

SPREAD = "spread_over"  # in provenance.json, what tells a folder of harness/collect/spread.py from a run's
PREFIX = "setting_"  # in front of a setting whose name is a column of the table


class Run(NamedTuple):
    """A finished run below the folder.

    Attributes
    ----------
    name : str
        Its folder, relative to the one that is looked through.
    overrides : tuple of str or None
        As given on its command line; None for runs that did not keep them.
    config : dict
        Resolved.
    """

    name: str
    folder: Path
    overrides: tuple[str, ...] | None
    config: dict[str, Any]


class Collected(NamedTuple):
    """What was written: where, from how many runs, how many rows, and a line for each run left out.

    `settings` are the columns of what differs between the runs.
    """

    path: Path
    settings: list[str]
    n_runs: int
    n_rows: int
    left_out: list[str]


def collect(folder: Path, *, table: str = "size_power", to: Path | None = None) -> Collected:
    """Join one table of every finished run below `folder` into one CSV.

    The first column is `run`, the run's folder; the next are the settings that differ between the runs; then
    come the table's own columns, the union of all runs', empty where a run has none. Values are
    copied as they stand. One row is held in memory at a time.
    """
    name = table.removesuffix(".csv")
    runs, left_out = runs_with(folder, name)
    headers = [_read_header(run.folder / f"{name}.csv") for run in runs]
    to = to or folder / f"collected_{name}.csv"
    _check_target(to, set(headers[0]).intersection(*headers))
    n_rows = _write(to, _join(runs, f"{name}.csv", headers))
    return Collected(to, joined_settings(runs, name), len(runs), n_rows, left_out)


def runs_with(folder: Path, name: str) -> tuple[list[Run], list[str]]:
    """Return the finished runs in `folder` that have the table `name`, and a line for each other."""
    if not re.fullmatch(r"[\w-]+", name):
        raise refusal("collect.table_name", name=name)
    if not folder.is_dir():
        raise refusal("collect.no_folder", folder=folder)
    finished, left_out = find_runs(folder)
    if not finished:
        more = f", and {len(left_out) - 1} more" if len(left_out) > 1 else ""
        told = f"{left_out[0]}{more}" if left_out else "the folder of a sweep is needed"
        raise refusal("collect.no_run", folder=folder, told=told)
    runs = [run for run in finished if (run.folder / f"{name}.csv").is_file()]
    lacking = [f"{run.name}: it has no table {name}" for run in finished if run not in runs]
    if not runs:
        there = sorted({path.stem for run in finished for path in run.folder.glob("*.csv")}) or ["no tables"]
        raise refusal("collect.no_table", folder=folder, name=name, there=there)
    return runs, [*left_out, *lacking]


def find_runs(folder: Path) -> tuple[list[Run], list[str]]:
    """Return the finished runs at and below `folder`, sorted by name, and a line for each other one."""
    finished: list[Run] = []
    left_out: dict[str, str] = {}
    for path in _walk(folder, set()):
        facts = read_provenance(path)
        name = path.relative_to(folder).as_posix() if path != folder else path.resolve().name
        if facts is not None and SPREAD in facts:
            continue
        if facts is not None and facts.get("finished"):
            overrides, config = facts.get("overrides"), facts.get("config")
            kept = tuple(map(str, overrides)) if isinstance(overrides, list) else None
            finished.append(Run(name, path, kept, config if isinstance(config, dict) else {}))
        elif (path / NAME).exists():
            left_out[name] = "it is not finished"
    done = {run.name for run in finished}
    for path in _state_files(folder):
        name = (path.parent.parent / path.name).relative_to(folder).as_posix()
        state = read_state(path)
        if name not in done and state:
            reason = state.get("reason") or left_out.get(name) or "it was not run"
            left_out[name] = f"it failed: {reason}" if state.get("state") == "failed" else reason
    finished.sort(key=lambda run: run.name)
    return finished, [f"{name}: {left_out[name]}" for name in sorted(left_out)]


def _walk(folder: Path, seen: set[Path]) -> Iterator[Path]:
    """Yield the folders of runs; what lies inside one is its own."""
    if folder.resolve() in seen:
        return
    seen.add(folder.resolve())
    if (folder / NAME).is_file():
        yield folder
        return
    for path in folder.iterdir():
        if path.is_dir() and not path.name.startswith("."):
            yield from _walk(path, seen)


def _state_files(folder: Path) -> Iterator[Path]:
    for root, folders, _ in os.walk(folder):
        if FOLDER in folders:
            yield from (Path(root) / FOLDER).iterdir()
        folders[:] = [name for name in folders if not name.startswith(".")]


def differing_settings(runs: Sequence[Run]) -> dict[str, list[str]]:
    """Return the settings in which the runs differ, each with its value as text for every run.

    Those that were given on a command line; where a run did not keep its overrides, all of the resolved
    configuration.

    Examples
    --------
    >>> a = Run("a", Path("a"), ("seed=1",), {"seed": 1, "alpha": 0.05})
    >>> b = Run("b", Path("b"), (), {"seed": 0, "alpha": 0.05})
    >>> differing_settings([a, b])
    {'seed': ['1', '0']}
    """
    if all(run.overrides is not None for run in runs):
        settings = [dict(_split_override(text) for text in run.overrides or ()) for run in runs]
        configs = [run.config for run in runs]
    else:
        settings, configs = [dict(_flatten(run.config)) for run in runs], [{} for _ in runs]
    both = list(zip(configs, settings, strict=True))
    keys = sorted({key for given in settings for key in given})
    found = {key: [_value(config, key, given) for config, given in both] for key in keys}
    return {key: values for key, values in found.items() if len(set(values)) > 1}


def _split_override(text: str) -> tuple[str, str]:
    key, _, value = text.lstrip("+~").partition("=")
    quoted = re.fullmatch(r"(['\"])(.*)\1", value, re.DOTALL)
    return key, quoted.group(2) if quoted else value


def _value(config: Mapping[str, Any], key: str, given: Mapping[str, str]) -> str:
    """Return a setting as the configuration has it; of a group, what was chosen."""
    node: Any = config
    for part in key.replace("/", ".").split("."):
        if not isinstance(node, Mapping) or part not in node:
            return given.get(key, "")
        node = node[part]
    return given[key].replace(" ", "") if isinstance(node, Mapping) and key in given else to_text(node)


def to_text(value: object) -> str:
    """Return a value of the configuration as a command line has it; of a group's members, their names.

    Examples
    --------
    >>> to_text([100, None, "x"]), to_text(True), to_text({"mlp": {}, "rbf_svm": {}})
    ('[100,null,x]', 'true', '[mlp,rbf_svm]')
    """
    if isinstance(value, Mapping | list | tuple):
        return f"[{','.join(to_text(item) for item in value)}]"
    return value if isinstance(value, str) else json.dumps(value)


def _flatten(node: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    for key, value in node.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", to_text(value)


def _join(runs: Sequence[Run], name: str, headers: Sequence[Sequence[str]]) -> Iterator[list[str]]:
    """Yield the header and then the rows of run after run."""
    settings = differing_settings(runs)
    columns = list(dict.fromkeys(column for header in headers for column in header))
    yield [*setting_columns(runs, headers), *columns]
    for i, (run, header) in enumerate(zip(runs, headers, strict=True)):
        front, path = [run.name, *(values[i] for values in settings.values())], run.folder / name
        for number, row in enumerate(_read(path), start=1):
            if len(row) != len(header):
                numbers = {"number": number, "n": len(row), "wanted": len(header)}
                raise refusal("collect.fields", path=path, **numbers)
            if number > 1:
                values = dict(zip(header, row, strict=True))
                yield front + [values.get(column, "") for column in columns]


def joined_settings(runs: Sequence[Run], name: str) -> list[str]:
    """Return the columns of a joined table that hold what differs between the runs."""
    return setting_columns(runs, [_read_header(run.folder / f"{name}.csv") for run in runs])[1:]


def setting_columns(runs: Sequence[Run], headers: Sequence[Sequence[str]]) -> list[str]:
    """Return the first columns of a joined table: the run, and the settings that differ."""
    taken = {column for header in headers for column in header}
    own: list[str] = []
    for key in ("run", *differing_settings(runs)):
        while key in taken or key in own:
            key = PREFIX + key
        own.append(key)
    return own


def _read(path: Path) -> Iterator[list[str]]:
    try:
        with io.TextIOWrapper(open_regular(path), encoding="utf-8", newline="") as stream:
            yield from ([restore(field) for field in row] for row in csv.reader(stream))
    except (csv.Error, UnicodeDecodeError) as error:
        raise refusal("collect.unreadable", path=path, error=error) from error


def _read_header(path: Path) -> list[str]:
    header = next(_read(path), [])
    if not header or len(set(header)) != len(header):
        raise refusal("collect.no_header", path=path)
    return header


def _check_target(to: Path, common: set[str]) -> None:
    """Refuse to write into a run's folder or over what is no collected table."""
    for parent in to.absolute().parents:
        if (parent / NAME).exists():
            raise refusal("collect.in_a_run", to=to)
    if to.is_dir():
        raise refusal("collect.a_folder", to=to)
    if to.exists():
        try:
            header = _read_header(to)
        except (UserError, OSError):
            header = []
        if not header or header[0].removeprefix(PREFIX) != "run" or not common <= set(header):
            raise refusal("collect.not_ours", to=to)


def _write(to: Path, rows: Iterator[list[str]]) -> int:
    """Write the rows so that a reader sees the old file or the new one; return how many below the header."""
    n = -1
    with replacing(to, "w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        for row in rows:
            writer.writerow([neutralise(field) for field in row])
            n += 1
    return n
