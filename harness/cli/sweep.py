"""Sweeps (`-m`): Hydra's own sweeper, which loses no job to another's failure and repeats none."""

import functools
import itertools
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, Quote, QuotedString
from hydra.core.plugins import Plugins
from hydra.plugins.sweeper import Sweeper
from omegaconf import DictConfig, OmegaConf

from harness.cli.configuration import CONFIG_ERRORS, run_name
from harness.errors import BROKEN, UserError, sentence
from harness.provenance import NAME, read_provenance
from harness.sweep_jobs import (
    Job,
    announce,
    fail,
    folder_name,
    hash_overrides,
    locked,
    read_state,
    settle,
    state_file,
    tabulate_failures,
    write_state,
)


class JobsFailed(Exception):
    """At least one job of the sweep failed; all that could be run was run, and the table is printed."""


class Sweep(Sweeper):
    """Runs the same jobs as the sweeper it stands for, each in a folder that no other job can have.

    How each job ended is read from its file (:mod:`harness.sweep_jobs`) and not from what the launcher
    returns: a launcher gives up all returns where one worker is killed.
    """

    def __init__(self, max_batch_size: int | None, params: Mapping[str, str] | None = None):
        self.max_batch_size = max_batch_size
        self.params = dict(params or {})
        self.temporary: str | None = None  # stands for the sweep's folder where the command keeps nothing

    def setup(self, *, hydra_context: Any, task_function: Callable[..., Any], config: DictConfig) -> None:
        """Choose the sweep's folder before the launcher looks at it."""
        parsed = OverridesParser.create().parse_overrides(list(config.hydra.overrides.task))
        folder = self._choose_folder(config, parsed)
        if folder is not None:
            config.hydra.sweep.dir = folder
            quoted = QuotedString(folder, Quote.single).with_quotes()
            config.hydra.overrides.hydra.append(f"hydra.sweep.dir={quoted}")
        self.config, self.hydra_context = config, hydra_context
        work = functools.partial(work_on_job, task_function)
        self.launcher = Plugins.instance().instantiate_launcher(
            hydra_context=hydra_context, task_function=work, config=config
        )

    def _choose_folder(self, config: DictConfig, parsed: Sequence[Override]) -> str | None:
        """Return the folder of a sweep that has no `out`; more values of its keys do not change it."""
        if any(text.startswith("hydra.sweep.dir=") for text in config.hydra.overrides.hydra):
            return None
        if "out" not in config:  # the command keeps nothing: only the files on how its jobs stand
            self.temporary = tempfile.mkdtemp(prefix="harness-sweep-")
            return self.temporary
        if any(override.get_key_element().lstrip("+") == "out" for override in parsed):
            return None
        same = [o.get_key_element() if o.is_sweep_override() else str(o.input_line) for o in parsed]
        return f"runs/{run_name(config, config.command)}-sweep-{hash_overrides(same)[:8]}"

    def sweep(self, arguments: list[str]) -> None:
        """Run what is missing and tell what failed.

        Raises
        ------
        JobsFailed
            If a job failed.
        UserError
            If the sweep itself cannot be run; then no job was.
        """
        try:
            params = [f"{key}={value}" for key, value in self.params.items()]
            jobs = self._list_jobs(OverridesParser.create().parse_overrides([*params, *arguments]))
            for job in jobs:
                announce(job)
            n = self.max_batch_size or len(jobs)
            for i in range(0, len(jobs), n):
                self._launch(jobs[i : i + n])
            self._report(jobs)
        finally:
            if self.temporary is not None:
                shutil.rmtree(self.temporary, ignore_errors=True)

    def _list_jobs(self, parsed: list[Override]) -> list[Job]:
        """Compose every job, so that a wrong override stops the sweep before any, and name its folder."""
        assert self.hydra_context is not None
        assert self.config is not None
        swept = {override.get_key_element() for override in parsed if override.is_sweep_override()}
        jobs: dict[Path, Job] = {}
        for number, overrides in enumerate(combine(parsed), start=1):
            own = [text for text in overrides if text.partition("=")[0] in swept]
            label, name = " ".join(own), folder_name(overrides, own)
            full = (*overrides, f"hydra.sweep.subdir='{name}'")
            cfg = self.hydra_context.config_loader.load_sweep_config(self.config, list(full))
            out = Path(str(OmegaConf.select(cfg, "hydra.sweep.dir"))) / name
            if (out.parent / NAME).exists():
                raise UserError(f"out={out.parent}: it holds a run; a sweep needs a folder of its own")
            if out in jobs:
                print(f"note: job {number} ({label}) is the same run as job {jobs[out].number}", flush=True)
                continue
            jobs[out] = Job(number, label, full, out)
        return list(jobs.values())

    def _launch(self, jobs: Sequence[Job]) -> None:
        """Run the jobs; where the launcher itself breaks, run on with those that it left."""
        assert self.launcher is not None
        try:
            self.launcher.launch([job.overrides for job in jobs], initial_job_idx=jobs[0].number - 1)
        except Exception as error:
            if _is_interruption(error):
                raise
            self._go_on(jobs, error)

    def _go_on(self, jobs: Sequence[Job], error: Exception) -> None:
        states = {job.number: settle(job).get("state") for job in jobs}
        died = [job for job in jobs if states[job.number] == "running"]
        waiting = [job for job in jobs if states[job.number] == "waiting"]
        if len(died) == 1 or len(jobs) == 1:
            for job in died or waiting:
                killed = f"its process was killed ({type(error).__name__})"
                fail(job, _tell(error) if job in waiting else killed)
                self._say_failure(job)
            died, waiting = [], waiting if died else []
        for job in died:  # one was killed and took the others with it: alone, each shows which it is
            self._launch([job])
        if len(waiting) == len(jobs):  # the launcher did not come as far as any
            for job in waiting:
                self._launch([job])
        elif waiting:
            self._launch(waiting)

    def _say_failure(self, job: Job) -> None:
        state = read_state(state_file(job.out))
        _say_failure(str(self.config and self.config.command), state)

    def _report(self, jobs: Sequence[Job]) -> None:
        """Print the table of failures and the end line."""
        states = [(job, settle(job)) for job in jobs]
        failed = [(job, state.get("reason", NO_WORD)) for job, state in states if not _is_done(state)]
        n_before = sum(state.get("state") == "finished before" for _, state in states)
        n_run = len(jobs) - n_before - len(failed)
        if failed:
            print("\n" + tabulate_failures(failed, len(jobs)))
        where = "" if self.temporary else f" in {', '.join(sorted({str(job.out.parent) for job in jobs}))}"
        n_jobs = "1 job" if len(jobs) == 1 else f"{len(jobs)} jobs"
        print(f"\n{n_jobs}{where}: {n_before} finished before, {n_run} run, {len(failed)} failed")
        sys.stdout.flush()
        if failed:
            raise JobsFailed(f"{len(failed)} of {len(jobs)} jobs failed")


def combine(parsed: Sequence[Override]) -> list[tuple[str, ...]]:
    """Return the overrides of every job: each value of a sweep with each of the others."""
    choices: dict[str, list[str]] = {}
    for override in parsed:
        key = override.get_key_element()
        if not override.is_sweep_override():
            values = [override.get_value_element_as_str()]
        elif override.is_discrete_sweep():
            values = [str(value) for value in override.sweep_string_iterator()]
        else:
            raise UserError(f"{override.input_line}: it is no list of values; a list of them is needed")
        choices[key] = [f"{key}={value}" for value in values]
    return list(itertools.product(*choices.values()))


NO_WORD = "its process ended without a word"


def _is_done(state: dict[str, Any]) -> bool:
    return state.get("state") in ("finished", "finished before")


def work_on_job(task: Callable[[Any], None], cfg: DictConfig) -> None:
    """Run one job, in whichever process, and write to its file how it ended.

    Parameters
    ----------
    task : callable
        Does the work of `cfg`; raises where it fails.
    cfg : DictConfig
    """
    hydra_cfg = HydraConfig.get()
    out = Path(hydra_cfg.runtime.output_dir)
    with locked(state_file(out), wait=True) as descriptor:
        assert descriptor is not None
        state = read_state(state_file(out))
        write_state(descriptor, state | {"state": "running"})
        print(f"job {state.get('number')}: {state.get('label') or 'no setting of its own'}", flush=True)
        before = bool((read_provenance(out) or {}).get("finished"))
        try:
            task(cfg)
        except (Exception, SystemExit) as error:
            if _is_interruption(error):
                raise
            state |= {"state": "failed", "reason": _tell(error)}
            _say_failure(str(cfg.command), state)
        else:
            state |= {"state": "finished before" if before else "finished"}
        write_state(descriptor, state)


def _say_failure(command: str, state: dict[str, Any]) -> None:
    where = f"job {state.get('number')} ({state.get('label') or 'no setting of its own'})"
    print(f"harness {command}: {where}: {state.get('reason')}", file=sys.stderr, flush=True)


def _is_interruption(error: BaseException | None) -> bool:
    """Tell whether a library made the error of a Ctrl-C, after which no job may begin."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _tell(error: BaseException) -> str:
    """Return the reason in one line; what nobody foresaw with its type in front."""
    if isinstance(error, (UserError, OSError, *BROKEN, *CONFIG_ERRORS)):
        return sentence(error)
    text = sentence(error)
    return text if text == type(error).__name__ else f"{type(error).__name__}: {text}"
