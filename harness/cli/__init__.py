"""The console script: one Hydra application a command."""

import contextlib
import os
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from harness import __version__
from harness.cli.help import HELP, USAGE
from harness.errors import BROKEN, UserError, harmless, sentence
from harness.runtime.interruption import until_told


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0, 1 (a job of a sweep failed) or 2 (bad input).

    Parameters
    ----------
    arguments : sequence of str, optional
        The command and its overrides; the process's own by default.
    """
    for name in ("stdout", "stderr"):  # None where the caller closed it, as in `harness ... >&-`
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # until the process ends
    try:
        code = _main(list(sys.argv[1:] if arguments is None else arguments))
        sys.stdout.flush()
        return code
    except OSError as error:  # standard output is full or closed
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # for what Python itself still flushes at its end
        if not isinstance(error, BrokenPipeError):
            print(f"harness: standard output: {sentence(error)}", file=sys.stderr)
        return 2


def _main(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE, end="")
        return 0
    if arguments[0] == "--version":
        print(__version__)
        return 0
    command, *overrides = arguments
    if command not in COMMANDS:
        print(f"harness: {command!r} is no command; {', '.join(COMMANDS)} are", file=sys.stderr)
        return 2
    if {"-h", "--help"} & set(overrides):
        print(_help(command), end="")
        return 0
    warnings.showwarning = _show_warning
    warnings.filterwarnings("ignore", r"\d+ tasks (have been|which were)")  # of joblib
    said = f"harness {command}: interrupted; the same command goes on where it was"
    return until_told(lambda: _launch(command, overrides), lambda: print(said, file=sys.stderr, flush=True))


def _help(command: str) -> str:
    """Return a command's help; Hydra's own takes seconds to list the groups."""
    from harness.cli.configuration import conf_folder

    primary = (conf_folder() / f"{command}.yaml").read_text(encoding="utf-8")
    groups = []
    for name in sorted(re.findall(r"^  - (\w+):", primary, re.MULTILINE)):
        members = sorted((conf_folder() / name).glob("*.yaml"))
        mine = [path.stem for path in members if name != "experiment" or _preset_command(path) == command]
        groups.append(f"  {name}: {', '.join(mine)}")
    return HELP[command].format(groups="\n".join(groups))


def _preset_command(path: Path) -> str | None:
    """Return the command that a preset, or the one it builds on, names; read as text, without Hydra."""
    text = path.read_text(encoding="utf-8")
    found = re.search(r"^command: *(\w+)", text, re.MULTILINE)
    if found:
        return found.group(1)
    parents = [path.with_name(f"{name}.yaml") for name in re.findall(r"^  - (\w+)$", text, re.MULTILINE)]
    return next((_preset_command(parent) for parent in parents if parent.is_file()), None)


def _show_warning(message, category, filename, lineno, file=None, line=None):
    print(f"warning: {harmless(' '.join(str(message).split()))}", file=sys.stderr)


def _launch(command: str, overrides: list[str]) -> int:
    """Compose the configuration and run the command's task, once or once a job of the sweep."""
    os.environ["HYDRA_FULL_ERROR"] = "1"  # else Hydra itself prints several lines and exits with 1
    os.environ["MPLBACKEND"] = "agg"  # figures are files; another backend may not exist
    import hydra

    from harness.cli.configuration import CONFIG_ERRORS, conf_folder, register_resolvers
    from harness.cli.hydra_internals import checked_compositions, use_sweeper
    from harness.cli.sweep import JobsFailed, Sweep

    expected = (UserError, OSError, RecursionError, *BROKEN, *CONFIG_ERRORS)
    failures: list[str] = []
    sweeping = bool({"-m", "--multirun", "hydra.mode=MULTIRUN"} & set(overrides))

    begun: list[bool] = []

    def task(cfg: Any) -> None:
        """Run one job of Hydra; what fails in a sweep is told by the sweep."""
        begun.append(True)
        try:
            _run_job(command, cfg)
        except expected as error:
            if sweeping:
                raise
            failures.append(sentence(error))
            print(f"harness {command}: {failures[-1]}", file=sys.stderr)

    register_resolvers()
    use_sweeper(Sweep)
    before = sys.argv
    sys.argv = [f"harness {command}", *overrides]
    try:
        _check_flags(command, overrides)
        _check_groups(overrides)
        _check_named_presets(command, overrides)
        sys.argv[1:] = _name_bare_path(command, overrides)
        with checked_compositions():
            hydra.main(version_base="1.3", config_path=str(conf_folder()), config_name=command)(task)()
    except JobsFailed:
        return 1
    except expected as error:
        print(f"harness {command}: {sentence(error)}", file=sys.stderr)
        return 2
    except Exception as error:  # Hydra meets an override that it cannot read with any exception
        if begun:
            raise
        print(f"harness {command}: {sentence(error)}", file=sys.stderr)
        return 2
    finally:
        sys.argv = before
    return 2 if failures else 0


def _run_job(command: str, cfg: Any) -> None:
    """Do the command's work for one configuration, in whichever process a launcher put it."""
    from harness.cli.configuration import register_resolvers
    from harness.runtime.lock import hold_folder

    warnings.showwarning = _show_warning
    register_resolvers()
    if not sys.argv[0].startswith("harness "):  # another process, whose own arguments say nothing
        sys.argv = [f"harness {command}", *_overrides()]
    try:
        _check_preset(command, cfg)
        if "out" not in cfg:
            COMMANDS[command](cfg)
            return
        with hold_folder(_output_folder()):
            COMMANDS[command](cfg)
            _note_overrides()
    finally:
        _remove_if_empty(_output_folder())


def _note_overrides() -> None:
    """Write the job's overrides to its provenance, where `harness collect` finds them."""
    from harness.runtime.provenance import read_provenance, write_provenance

    facts = read_provenance(_output_folder())
    if facts is not None and "overrides" not in facts:
        write_provenance(_output_folder(), facts | {"overrides": _overrides()})


def _check_flags(command: str, overrides: list[str]) -> None:
    """Refuse an option that Hydra does not have, or that would replace the command's own configuration."""
    from harness.cli.hydra_internals import parse_flags

    def refuse(message: str) -> NoReturn:
        raise UserError(f"{message}; settings are NAME=VALUE, and `harness {command} --help` tells more")

    flags = parse_flags(overrides, refuse)
    if flags.config_path is not None or flags.config_name is not None:
        refuse("--config-path and --config-name are not allowed")
    if flags.config_dir is not None and (Path(flags.config_dir) / f"{command}.yaml").exists():
        refuse(f"--config-dir={flags.config_dir}: {command}.yaml is not allowed there, only groups of it")
    for text in flags.overrides:
        if text.lstrip("+~").startswith("hydra.searchpath"):
            refuse("hydra.searchpath is not allowed")


def _check_groups(overrides: list[str]) -> None:
    """Refuse ``GROUP=null`` and ``=VALUE``, which Hydra would not name."""
    from harness.cli.configuration import conf_folder

    for override in overrides:
        key, _, value = override.partition("=")
        if key == "":
            raise UserError(f"{override!r} has no name before the =; settings are NAME=VALUE")
        if value == "null" and key.isidentifier() and key != "experiment" and (conf_folder() / key).is_dir():
            members = ", ".join(sorted(path.stem for path in (conf_folder() / key).glob("*.yaml")))
            raise UserError(f"{key}: null is not allowed; choose from {members}")


def _name_bare_path(command: str, overrides: list[str]) -> list[str]:
    """Write the path that stands first, as in `harness collect FOLDER`, as the override that it is."""
    key = BARE_PATHS.get(command)
    if key is None or not overrides or overrides[0].startswith(("-", f"{key}=")):
        return overrides
    first, *others = overrides
    if "=" in first and not Path(first).exists():
        return overrides
    from hydra.core.override_parser.types import Quote, QuotedString

    return [f"{key}={QuotedString(first, Quote.single).with_quotes()}", *others]


def _check_preset(command: str, cfg: Any) -> None:
    """Refuse a preset that was made for another command."""
    _refuse_unless(command, str(cfg.get("command")))


def _check_named_presets(command: str, overrides: list[str]) -> None:
    """Do so before Hydra, which stops at groups that the other command lacks."""
    from harness.cli.configuration import conf_folder

    for override in overrides:
        key, _, names = override.partition("=")
        for name in names.split(",") if key == "experiment" else ():
            path = conf_folder() / "experiment" / f"{name}.yaml"
            if re.fullmatch(r"\w+", name) and path.is_file():
                _refuse_unless(command, _preset_command(path))


def _refuse_unless(command: str, named: object) -> None:
    if named is not None and named != command:
        raise UserError(f"experiment: this preset is one of `harness {named}`, not of `harness {command}`")


def _run(cfg: Any) -> None:
    if cfg.get("category_sets") is not None:
        _run_category_sets(cfg)
        return
    from harness.cli.arguments import run_arguments
    from harness.run.study import run_study

    run_study(out=_output_folder(), say=_say, **run_arguments(cfg))


def _run_category_sets(cfg: Any) -> None:
    from harness.category_sets.study import run_category_sets
    from harness.cli.arguments import category_set_arguments

    run_category_sets(out=_output_folder(), say=_say, **category_set_arguments(cfg))


def _compare(cfg: Any) -> None:
    from harness.cli.arguments import compare_arguments
    from harness.compare.study import compare

    compare(out=_output_folder(), say=_say, **compare_arguments(cfg, _overrides()))


def _advise(cfg: Any) -> None:
    from harness.advise.study import advise
    from harness.cli.arguments import advise_arguments

    arguments = advise_arguments(cfg, _say)
    advise(out=_output_folder(), say=_say, **arguments)


def _overrides() -> list[str]:
    """Return what was set on the command line of this job."""
    from hydra.core.hydra_config import HydraConfig

    return [str(text) for text in HydraConfig.get().overrides.task]


def _output_folder() -> Path:
    """Return where this job writes: `out`, or its own folder of a sweep."""
    from hydra.core.hydra_config import HydraConfig

    return Path(HydraConfig.get().runtime.output_dir)


def _figures(cfg: Any) -> None:
    from harness.advise import study as advise
    from harness.category_sets import study as category_sets
    from harness.cli.arguments import figure_arguments
    from harness.collect import spread
    from harness.compare import study as compare
    from harness.run import study
    from harness.writing.html.page import refresh_page

    arguments = figure_arguments(cfg)
    folder = arguments.pop("folder")
    drawn = None
    try:
        for part in (compare, advise, spread, category_sets):
            drawn = drawn or part.redraw(folder, arguments["figure"])
        drawn = study.redraw(folder, **arguments) if drawn is None else drawn
        page = refresh_page(folder)
    except (LookupError, TypeError, AttributeError, ValueError, RecursionError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise UserError(f"from={folder}: provenance.json or a table there is damaged ({reason})") from error
    for path in [*drawn, page] if page else drawn:
        _say(str(path))


def _collect(cfg: Any) -> None:
    from harness.cli.arguments import collect_arguments
    from harness.collect.spread import collect_runs

    def warn(text: str) -> None:
        """Tell of a run that is left out."""
        print(f"warning: {harmless(text)}", file=sys.stderr)

    collect_runs(**collect_arguments(cfg), say=_say, warn=warn)


def _cache(cfg: Any) -> None:
    from harness.cli.arguments import cache_arguments
    from harness.runtime.cache import show_cache

    show_cache(say=_say, **cache_arguments(cfg))


def _say(text: str) -> None:
    print(harmless(text), flush=True)


def _remove_if_empty(out: Path) -> None:
    """Remove the folder that Hydra made before the input was checked, unless another run begins there."""
    with contextlib.suppress(OSError):
        for folder in (out, out.parent):
            if folder.resolve() != Path.cwd():
                folder.rmdir()


COMMANDS: dict[str, Callable[[Any], None]] = {
    "run": _run,
    "compare": _compare,
    "advise": _advise,
    "figures": _figures,
    "collect": _collect,
    "cache": _cache,
}
# command -> the setting that a path in front of all others is
BARE_PATHS = {"collect": "from"}
