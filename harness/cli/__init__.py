"""The console script: one Hydra application per command."""

import contextlib
import importlib
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from harness import __version__
from harness.cli.conf_files import help_of, usage
from harness.errors import BROKEN, UserError, harmless, instead, sentence
from harness.runtime.interruption import until_told
from harness.runtime.talk import PLACES, USUAL, is_wanted, say, set_verbosity


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0, 1 (a job of a sweep failed) or 2 (bad input).

    Without `arguments`, those of the process.
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
        print(usage(), end="")
        return 0
    if arguments[0] == "--version":
        print(__version__)
        return 0
    command, *overrides = arguments
    if command == "completion":
        return _complete(overrides)
    if command not in COMMANDS:
        said = instead(command, (*COMMANDS, "completion"))
        print(f"harness: {command!r} is no command; {said}", file=sys.stderr)
        return 2
    if {"-h", "--help"} & set(overrides):
        print(help_of(command), end="")
        return 0
    warnings.showwarning = _warn
    warnings.filterwarnings("ignore", r"\d+ tasks (have been|which were)")  # of joblib
    said = f"harness {command}: interrupted; the same command goes on where it was"
    return until_told(lambda: _launch(command, overrides), lambda: print(said, file=sys.stderr, flush=True))


def _complete(arguments: list[str]) -> int:
    """Print a shell's script, or answer it; this command takes no settings, and Hydra no part in it."""
    from harness.cli.completion import complete

    try:
        for line in complete(arguments):
            print(line)
    except UserError as error:
        print(f"harness completion: {sentence(error)}", file=sys.stderr)
        return 2
    return 0


def _warn(message: object, *_: object, **__: object) -> None:
    if is_wanted(USUAL):
        print(f"warning: {harmless(' '.join(str(message).split()))}", file=sys.stderr)


def _launch(command: str, overrides: list[str]) -> int:
    """Compose the configuration and run the command's task, once or once per job of the sweep."""
    os.environ["HYDRA_FULL_ERROR"] = "1"  # else Hydra itself prints several lines and exits with 1
    os.environ["MPLBACKEND"] = "agg"  # figures are files; another backend may not exist
    import hydra

    from harness.cli.conf_files import conf_folder
    from harness.cli.configuration import CONFIG_ERRORS, register_resolvers, use_plugins
    from harness.cli.hydra_internals import checked_compositions, reworded, use_sweeper
    from harness.cli.sweep import JobsFailed, Sweep

    expected = (UserError, OSError, RecursionError, *BROKEN, *CONFIG_ERRORS)
    sweeping = bool({"-m", "--multirun", "hydra.mode=MULTIRUN"} & set(overrides))
    begun, failed = [], []

    def refuse(error: Exception) -> int:
        print(f"harness {command}: {sentence(reworded(error, command, overrides))}", file=sys.stderr)
        return 2

    def task(cfg: Any) -> None:
        """Run one job of Hydra; a sweep itself reports what fails in it."""
        begun.append(True)
        try:
            _run_job(command, cfg)
        except expected as error:
            if sweeping:
                raise
            failed.append(refuse(error))

    register_resolvers()
    use_sweeper(Sweep)
    before = sys.argv
    sys.argv = [f"harness {command}", *overrides]
    try:
        _check_line(command, overrides)
        use_plugins(overrides)
        sys.argv[1:] = _name_bare_path(command, overrides)
        with checked_compositions():
            hydra.main(version_base="1.3", config_path=str(conf_folder()), config_name=command)(task)()
    except JobsFailed:
        return 1
    except Exception as error:  # Hydra meets an override that it cannot read with any exception
        if begun and not isinstance(error, expected):
            raise
        return refuse(error)
    finally:
        sys.argv = before
    return 2 if failed else 0


def _run_job(command: str, cfg: Any) -> None:
    """Do the command's work for one configuration, in whichever process a launcher put it."""
    from harness.cli.configuration import keeps_a_run, register_resolvers, use_plugins
    from harness.runtime.lock import hold_folder

    warnings.showwarning = _warn
    register_resolvers()
    try:
        loaded = use_plugins(_overrides())  # a launcher may have put the job in another process
        if not sys.argv[0].startswith("harness "):  # another process, whose own arguments say nothing
            sys.argv = [f"harness {command}", *_overrides()]
        _listen_to(cfg)
        if list(cfg.get("plugins") or ()) != loaded:
            raise UserError("plugins: a preset cannot name them, only the command line, plugins=[FILE.py]")
        if not keeps_a_run(cfg):
            COMMANDS[command](cfg)
            return
        with hold_folder(_output_folder()):
            COMMANDS[command](cfg)
            _note_overrides()
    finally:
        _remove_if_empty(_output_folder())


def _listen_to(cfg: Any) -> None:
    """Take how much is to be said from `verbose`."""
    from hydra.core.hydra_config import HydraConfig
    from hydra.types import RunMode

    set_verbosity(cfg.get("verbose"), within_sweep=HydraConfig.get().mode == RunMode.MULTIRUN)


def _note_overrides() -> None:
    """Write the job's overrides to its provenance, where `harness collect` finds them."""
    from harness.runtime.provenance import read_provenance, write_provenance

    facts = read_provenance(_output_folder())
    if facts is not None and "overrides" not in facts:
        write_provenance(_output_folder(), facts | {"overrides": _overrides()})


def _check_line(command: str, overrides: list[str]) -> None:
    """Refuse what Hydra would not name well, or what would replace the command's own configuration."""
    from harness.cli.conf_files import conf_folder, members, preset_command
    from harness.cli.hydra_internals import parse_flags
    from harness.cli.settings import check_command

    def refuse(message: str) -> NoReturn:
        raise UserError(f"{message}; settings are NAME=VALUE, and `harness {command} --help` tells more")

    flags = parse_flags(overrides, refuse)
    if flags.config_path is not None or flags.config_name is not None:
        refuse("--config-path and --config-name are not allowed")
    if flags.config_dir is not None and (Path(flags.config_dir) / f"{command}.yaml").exists():
        refuse(f"--config-dir={flags.config_dir}: {command}.yaml is not allowed there, only groups of it")
    for text in flags.overrides:
        key, _, value = text.partition("=")
        places = [place.strip(" '\"[]") for place in value.split(",")]
        plain = all(place.startswith("file://") for place in places)
        if key.lstrip("+~").startswith("hydra.searchpath") and not plain:  # a package would be imported
            raise UserError(f"{text} is not allowed; hydra.searchpath=[file:///FOLDER], plain folders, is")
        if key == "":
            raise UserError(f"{text!r} has no name before the =; settings are NAME=VALUE")
        if key == "experiment":  # Hydra stops at groups that the preset's own command has, and this one lacks
            for name in value.split(","):
                check_command(command, preset_command(name))
        elif value == "null" and key.isidentifier() and (conf_folder() / key).is_dir():
            raise UserError(f"{key}: null is not allowed; choose from {', '.join(members(key))}")


def _name_bare_path(command: str, overrides: list[str]) -> list[str]:
    """Write the path that stands first, as in `harness collect FOLDER`, as the override that it is."""
    if command != "collect" or not overrides or overrides[0].startswith(("-", "from=")):
        return overrides
    first, *others = overrides
    if "=" in first and not Path(first).exists():
        return overrides
    from hydra.core.override_parser.types import Quote, QuotedString

    return [f"from={QuotedString(first, Quote.single).with_quotes()}", *others]


def _run(cfg: Any) -> None:
    from harness.cli.arguments import run_arguments
    from harness.run.training import Job

    given = run_arguments(cfg)
    evaluation, nulls = given.pop("evaluation"), given.pop("nulls")
    job = Job(out=_output_folder(), say=say, **given)
    if cfg.get("category_sets") is None:
        from harness.run.study import run_study

        run_study(job, evaluation, nulls)
    else:
        from harness.category_sets.study import run_category_sets

        run_category_sets(job)


def _compare(cfg: Any) -> None:
    from harness.cli.arguments import compare_arguments
    from harness.compare.study import compare

    compare(out=_output_folder(), say=say, **compare_arguments(cfg, _overrides()))


def _advise(cfg: Any) -> None:
    from harness.advise.study import advise
    from harness.cli.arguments import advise_arguments

    advise(out=_output_folder(), say=say, **advise_arguments(cfg, say))


def _overrides() -> list[str]:
    """Return what was set on the command line of this job."""
    from hydra.core.hydra_config import HydraConfig

    return [str(text) for text in HydraConfig.get().overrides.task]


def _output_folder() -> Path:
    """Return where this job writes: `out`, or its own folder of a sweep."""
    from hydra.core.hydra_config import HydraConfig

    return Path(HydraConfig.get().runtime.output_dir)


def _figures(cfg: Any) -> None:
    from harness.cli.arguments import figure_arguments
    from harness.run import study
    from harness.runtime.provenance import check_finished, read_provenance
    from harness.writing.page import refresh_page

    folder, out, figure, workers = figure_arguments(cfg)
    facts = read_provenance(folder) or {}
    module = next((name for key, name in REDRAW.items() if key in facts), None)
    try:
        if module is None:
            drawn = study.redraw(folder, figure, out, workers=workers)
        else:
            check_finished(folder, facts)
            drawn = importlib.import_module(module).redraw(folder, facts, figure, out)
        page = refresh_page(folder) if out == folder / "figures" else None
    except (LookupError, TypeError, AttributeError, ValueError, RecursionError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise UserError(f"from={folder}: provenance.json or a table there is damaged ({reason})") from error
    for path in [*drawn, page] if page else drawn:
        say(str(path), PLACES)


def _collect(cfg: Any) -> None:
    from harness.cli.arguments import collect_arguments
    from harness.collect.spread import collect_runs

    collect_runs(**collect_arguments(cfg), say=say, warn=_warn)


def _cache(cfg: Any) -> None:
    from harness.cli.arguments import cache_arguments
    from harness.runtime.cache import show_cache

    show_cache(say=say, **cache_arguments(cfg))


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
# a key of provenance.json that `harness run` lacks -> the module that redraws the figures of such a folder
REDRAW = {
    "study": "harness.compare.study",
    "predictions": "harness.advise.study",
    "spread_over": "harness.collect.spread",
    "category_sets": "harness.category_sets.study",
}
