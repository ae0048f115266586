"""The console script: one Hydra application a command."""

import os
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from harness import __version__
from harness.errors import UserError

USAGE = f"""harness {__version__}: which significance test can I trust?

  harness run        measures size and power of the tests
                       harness run
                       harness run experiment=nips2005 corpus=lyrl corpus.path=FOLDER
  harness compare    compares learning algorithms on a data set
                       harness compare
                       harness compare data=csv data.path=FILE data.target=COLUMN
  harness figures    redraws the figures of a finished run
                       harness figures from=FOLDER

`harness COMMAND --help` tells more. Settings are NAME=VALUE; -m NAME=VALUE,VALUE runs each in its turn.
"""

HELP = {
    "run": """harness run: size and power of significance tests that compare two classifiers.

It trains the models on part of a corpus, keeps the rest as the truth, draws evaluation sets from it,
and counts how often each test rejects. With nothing else it uses a synthetic corpus, offline.

Choices (NAME=MEMBER, or NAME=[MEMBER,MEMBER] for balance, model, test, truth):

{groups}

Examples:
  harness run
  harness run experiment=nips2005 corpus=lyrl corpus.path=FOLDER
  harness run population=FILE test=[mcnemar_midp,bootstrap_f1] sets.sizes=[100,1000]
  harness run -m seed=0,1,2

`harness run --cfg job` prints every setting; `out=FOLDER` is where a run writes.
""",
    "compare": """harness compare: compare learning algorithms on a data set.

It trains each algorithm on a hold-out split and in five two-fold cross-validations, for many seeds, and
tests every pair: McNemar's test, the 5x2cv paired t test and the combined F test. With nothing else it
compares four classifiers on the wine data, offline.

Choices (NAME=MEMBER, or NAME=[MEMBER,MEMBER] for estimator):

{groups}

Examples:
  harness compare
  harness compare experiment=wine
  harness compare data=csv data.path=FILE data.target=COLUMN estimator=[svm_rbf_scaled,random_forest]
  harness compare data=digits scorer=f1_macro n_seeds=50
  harness compare +estimator.knn._target_=sklearn.neighbors.KNeighborsClassifier
  harness compare experiment=dietterich1998
  harness compare experiment=dietterich_rcv1 corpus=lyrl corpus.path=FOLDER

`harness compare --cfg job` prints every setting; `out=FOLDER` is where it writes.
""",
    "figures": """harness figures: redraw every figure of a finished run from its tables.

Examples:
  harness figures from=FOLDER
  harness figures from=FOLDER figure.papers_minus_one=true

`harness figures --cfg job from=FOLDER` prints every setting.
""",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0, 1 (a job of a sweep failed) or 2 (bad input).

    Parameters
    ----------
    arguments : sequence of str, optional
        The command and its overrides; the process's own by default.
    """
    arguments = list(sys.argv[1:] if arguments is None else arguments)
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
    return _launch(command, overrides)


def _help(command: str) -> str:
    """Return a command's help; Hydra's own takes seconds to list the groups."""
    from harness.config import conf_folder

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
    print(f"warning: {' '.join(str(message).split())}", file=sys.stderr)


def _launch(command: str, overrides: list[str]) -> int:
    """Compose the configuration and run the command's task, once or once a job of the sweep."""
    os.environ["HYDRA_FULL_ERROR"] = "1"  # else Hydra itself prints several lines and exits with 1
    import hydra

    from harness.config import CONFIG_ERRORS, conf_folder, register_resolvers

    failures: list[str] = []

    def task(cfg: Any) -> None:
        """Run one job of Hydra."""
        try:
            _check_preset(command, cfg)
            COMMANDS[command](cfg)
        except (UserError, OSError, *CONFIG_ERRORS) as error:
            failures.append(_sentence(error))
            print(f"harness {command}: {failures[-1]}", file=sys.stderr)
        finally:
            _remove_if_empty(_output_folder())

    register_resolvers()
    before = sys.argv
    sys.argv = [f"harness {command}", *overrides]
    try:
        _check_named_presets(command, overrides)
        hydra.main(version_base="1.3", config_path=str(conf_folder()), config_name=command)(task)()
    except KeyboardInterrupt:
        print(f"harness {command}: interrupted; the same command goes on where it was", file=sys.stderr)
        return 130
    except (UserError, OSError, *CONFIG_ERRORS) as error:
        print(f"harness {command}: {_sentence(error)}", file=sys.stderr)
        return 2
    finally:
        sys.argv = before
    if not failures:
        return 0
    return 1 if {"-m", "--multirun"} & set(overrides) else 2


def _sentence(error: BaseException) -> str:
    """Return an error's text on one line, without Hydra's hints on how to see a traceback."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror or error}"
    lines = [line.strip() for line in str(error).splitlines()]
    kept = [line for line in lines if line and not line.startswith(("full_key", "object_type", "See https"))]
    return " ".join(kept) or type(error).__name__


def _check_preset(command: str, cfg: Any) -> None:
    """Refuse a preset that was made for another command."""
    _refuse_unless(command, str(cfg.get("command")))


def _check_named_presets(command: str, overrides: list[str]) -> None:
    """Do so before Hydra, which stops at groups that the other command lacks."""
    from harness.config import conf_folder

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
    from harness.config import run_arguments
    from harness.study import run_study

    run_study(out=_output_folder(), say=_say, **run_arguments(cfg))


def _run_category_sets(cfg: Any) -> None:
    from harness.config import category_set_arguments
    from harness.study_category_sets import run_category_sets

    run_category_sets(out=_output_folder(), say=_say, **category_set_arguments(cfg))


def _compare(cfg: Any) -> None:
    from hydra.core.hydra_config import HydraConfig

    from harness.compare import compare
    from harness.config_compare import compare_arguments

    overrides = list(HydraConfig.get().overrides.task)
    compare(out=_output_folder(), say=_say, **compare_arguments(cfg, overrides))


def _output_folder() -> Path:
    """Return where this job writes: `out`, or its own folder of a sweep."""
    from hydra.core.hydra_config import HydraConfig

    return Path(HydraConfig.get().runtime.output_dir)


def _figures(cfg: Any) -> None:
    from harness.config import figure_arguments
    from harness.study import redraw

    folder = Path(str(cfg["from"]))
    for path in redraw(folder, **figure_arguments(cfg)):
        _say(str(path))


def _say(text: str) -> None:
    print(text, flush=True)


def _remove_if_empty(out: Path) -> None:
    """Take back the folder that Hydra made before the input was checked."""
    for folder in (out, out.parent):
        try:
            if folder.resolve() != Path.cwd():
                folder.rmdir()
        except OSError:
            return


COMMANDS: dict[str, Callable[[Any], None]] = {"run": _run, "compare": _compare, "figures": _figures}
