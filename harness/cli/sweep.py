"""Sweeps (`-m`): Hydra's own sweeper, which loses no job to another's failure and repeats none."""

import functools
import itertools
import math
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, Quote, QuotedString, RangeSweep
from hydra.core.plugins import Plugins
from hydra.plugins.sweeper import Sweeper
from omegaconf import DictConfig, OmegaConf

from harness.cli.conf_files import conf_folder
from harness.cli.configuration import CONFIG_ERRORS, keeps_a_run, run_name
from harness.cli.hydra_internals import BASIC_LAUNCHER
from harness.errors import BROKEN, UserError, sentence
from harness.results.folder import headline
from harness.runtime import jobs as job_files
from harness.runtime.jobs import Job
from harness.runtime.provenance import NAME, read_provenance
from harness.runtime.talk import PLACES, progress, say, set_verbosity

MOST_JOBS = 100_000
NO_WORD = "its process ended without a word"
FINISHED = ("finished", "finished before")


class JobsFailed(Exception):
    """At least one job of the sweep failed; all that could be run was run, and the table is printed."""


class Sweep(Sweeper):
    """Runs the same jobs as the sweeper it stands for, each in a folder that no other job can have.

    How each job ended is read from its file (:mod:`harness.runtime.jobs`) and not from what the launcher
    returns: a launcher gives up all returns where one worker is killed.
    """

    hydra_context: Any
    config: Any
    launcher: Any

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
        if not keeps_a_run(config):  # only the files on how its jobs stand
            self.temporary = tempfile.mkdtemp(prefix="harness-sweep-")
            return self.temporary
        if any(override.get_key_element().lstrip("+") == "out" for override in parsed):
            return None
        same = [o.get_key_element() if o.is_sweep_override() else str(o.input_line) for o in parsed]
        return f"runs/{run_name(config, config.command)}-sweep-{job_files.hash_overrides(same)[:8]}"

    def sweep(self, arguments: list[str]) -> None:
        """Run what is missing and report what failed.

        Raises JobsFailed if a job failed, UserError if the sweep itself cannot be run; then no job was.
        """
        try:
            params = [f"{key}={value}" for key, value in self.params.items()]
            parsed = OverridesParser.create().parse_overrides([*params, *arguments])
            n = count_jobs(parsed)
            verbose = [self.config.get("verbose"), *_plain_values(parsed, "verbose")][-1]
            set_verbosity(verbose)
            say(f"{n:,} job{'s' if n > 1 else ''}")
            self._try_choices(parsed)
            jobs: list[Job] = []
            for batch in self._batches(n, self._compose_jobs(parsed, n)):
                jobs += batch
                self._launch(batch)
            set_verbosity(verbose)  # a job in this process has chosen its own
            self._report(jobs)
        finally:
            if self.temporary is not None:
                shutil.rmtree(self.temporary, ignore_errors=True)

    def _try_choices(self, parsed: Sequence[Override]) -> None:
        """Compose the first job with each other choice of a group, or `out`: a wrong one stops the sweep."""
        choices = choices_of(parsed)
        first = {key: values[0] for key, values in choices.items()}
        tried = []
        for key, values in choices.items():
            plain = key.lstrip("+~").partition("@")[0]
            if plain == "out" or (conf_folder() / plain).is_dir():
                tried += [first | {key: value} for value in values[1:]]
        for job in tried:
            self._folder_of(list(job.values()))

    def _folder_of(self, overrides: Sequence[str]) -> Path:
        """Return the sweep's folder for a job, whose configuration can be composed."""
        cfg = self.hydra_context.config_loader.load_sweep_config(self.config, list(overrides))
        folder = Path(str(OmegaConf.select(cfg, "hydra.sweep.dir")))
        if (folder / NAME).exists():
            raise UserError(f"out={folder}: it holds a run; a sweep needs a folder of its own")
        if folder.exists() and not folder.is_dir():
            raise UserError(f"out={folder}: it is a file; a new or empty folder is allowed")
        return folder

    def _compose_jobs(self, parsed: Sequence[Override], n: int) -> Iterator[Job]:
        """Yield each job when it is composed and its folder is named."""
        swept = {override.get_key_element() for override in parsed if override.is_sweep_override()}
        numbers: dict[Path, int] = {}
        for number, overrides in enumerate(itertools.product(*choices_of(parsed).values()), start=1):
            own = [text for text in overrides if text.partition("=")[0] in swept]
            label, name = " ".join(own), job_files.folder_name(overrides, own)
            full = (*overrides, f"hydra.sweep.subdir='{name}'")
            out = self._folder_of(full) / name
            if out in numbers:
                say(f"note: job {number} ({label}) is the same run as job {numbers[out]}")
                continue
            numbers[out] = number
            job = Job(number, n, label, full, out)
            job_files.announce(job)
            yield job

    def _batches(self, n: int, jobs: Iterator[Job]) -> Iterator[list[Job]]:
        """Yield the jobs as the launcher takes them: Hydra's own one by one, others all that may be."""
        if self.config.hydra.launcher._target_ == BASIC_LAUNCHER:
            yield from ([job] for job in jobs)
            return
        jobs = progress(jobs, n, "composing the jobs")
        while batch := list(itertools.islice(jobs, self.max_batch_size or n)):
            yield batch

    def _launch(self, jobs: Sequence[Job]) -> None:
        """Run the jobs; where the launcher itself breaks, run on with those that it left."""
        try:
            self.launcher.launch([job.overrides for job in jobs], initial_job_idx=jobs[0].number - 1)
        except Exception as error:
            if _is_interruption(error):
                raise
            self._go_on(jobs, error)

    def _go_on(self, jobs: Sequence[Job], error: Exception) -> None:
        states = [job_files.settle(job).get("state") for job in jobs]
        died = [job for job, state in zip(jobs, states, strict=True) if state == "running"]
        waiting = [job for job, state in zip(jobs, states, strict=True) if state == "waiting"]
        if len(died) == 1 or len(jobs) == 1:
            for job in died or waiting:
                reason = f"its process was killed ({type(error).__name__})" if died else _tell(error)
                job_files.fail(job, reason)
                _say_failure(str(self.config.command), job_files.read_state(job_files.state_file(job.out)))
            died, waiting = [], waiting if died else []
        for job in died:  # one was killed and took the others with it: alone, each shows which it is
            self._launch([job])
        if len(waiting) == len(jobs):  # the launcher did not start any
            for job in waiting:
                self._launch([job])
        elif waiting:
            self._launch(waiting)

    def _report(self, jobs: Sequence[Job]) -> None:
        """Print what was found, the table of failures and the end line."""
        states = [(job, job_files.settle(job)) for job in jobs]
        failed = [
            (j, state.get("reason", NO_WORD)) for j, state in states if state.get("state") not in FINISHED
        ]
        n_before = sum(state.get("state") == "finished before" for _, state in states)
        n_run = len(jobs) - n_before - len(failed)
        lost = {job.number for job, _ in failed}
        table = job_files.tabulate_headlines([(j, headline(j.out)) for j in jobs if j.number not in lost])
        if table:
            say(f"\n{table}")
        if failed:
            say("\n" + job_files.tabulate_failures(failed, len(jobs)), PLACES)
        where = "" if self.temporary else f" in {', '.join(sorted({str(job.out.parent) for job in jobs}))}"
        n_jobs = "1 job" if len(jobs) == 1 else f"{len(jobs)} jobs"
        say(f"\n{n_jobs}{where}: {n_before} finished before, {n_run} run, {len(failed)} failed", PLACES)
        if failed:
            raise JobsFailed(f"{len(failed)} of {len(jobs)} jobs failed")


def count_jobs(parsed: Sequence[Override]) -> int:
    """Return how many jobs a sweep has, without making any; at most `MOST_JOBS` are allowed."""
    counts = {override.get_key_element(): _count_values(override) for override in parsed}
    n = math.prod(counts.values())
    if not 0 < n <= MOST_JOBS:
        many = f"{n:,}" if n < 10**12 else "a trillion or more"
        raise UserError(f"a sweep of {many} jobs is not allowed; from 1 to {MOST_JOBS:,} are")
    return n


def _count_values(override: Override) -> int:
    if not override.is_sweep_override():
        return 1
    if not override.is_discrete_sweep():
        raise UserError(f"{override.input_line}: it is no list of values; a list of them is needed")
    value: Any = override.value()
    if not isinstance(value, RangeSweep):
        return len(value.list)
    start, stop, step = float(value.start or 0), float(value.stop or 0), float(value.step)
    if not math.isfinite(start + stop + step) or step == 0:
        raise UserError(f"{override.input_line}: a range goes from one number to another by a step, not by 0")
    return max(0, math.ceil((stop - start) / step))


def _plain_values(parsed: Sequence[Override], key: str) -> list[Any]:
    """Return what a setting is given on the line; Hydra gives it to the jobs alone."""
    named = [override for override in parsed if override.get_key_element().lstrip("+") == key]
    return [override.value() for override in named if not override.is_sweep_override()]


def choices_of(parsed: Sequence[Override]) -> dict[str, list[str]]:
    """Return the overrides among which jobs choose, by key."""
    choices: dict[str, list[str]] = {}
    for override in parsed:
        key, swept = override.get_key_element(), override.is_sweep_override()
        values = override.sweep_string_iterator() if swept else [override.get_value_element_as_str()]
        choices[key] = [f"{key}={value}" for value in values]
    return choices


def work_on_job(task: Callable[[Any], None], cfg: DictConfig) -> None:
    """Run one job, in whichever process, and write to its file how it ended; `task` raises where it fails."""
    out = Path(HydraConfig.get().runtime.output_dir)
    with job_files.locked(out, wait=True):
        state = job_files.read_state(job_files.state_file(out))
        job_files.write_state(out, state | {"state": "running"})
        start = time.perf_counter()
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
            set_verbosity(cfg.get("verbose"))
            seconds = None if before else time.perf_counter() - start
            say(job_files.tell_end(state, seconds, out if keeps_a_run(cfg) else None))
        job_files.write_state(out, state)


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
    text, kind = sentence(error), type(error).__name__
    return text if text == kind else f"{kind}: {text}"
