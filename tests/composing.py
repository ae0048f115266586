"""The configuration of a command without starting it, and a study up to its tables."""

import copy
import functools

from hydra import compose, initialize_config_dir

from harness.cli.arguments import compare_arguments, run_arguments
from harness.cli.conf_files import conf_folder
from harness.cli.configuration import register_resolvers
from harness.run.study import tabulate
from harness.run.training import Job
from harness.runtime.run_folder import open_run


def configured(command, *overrides, **options):
    """Return the configuration that a command would have."""
    return copy.deepcopy(_configured(command, overrides, **options))


@functools.cache
def _configured(command, overrides, **options):
    register_resolvers()
    with initialize_config_dir(str(conf_folder()), version_base="1.3"):
        return compose(command, overrides=list(overrides), **options)


def composed(*overrides):
    """Return the arguments that `harness compare` would give to its study."""
    return compare_arguments(configured("compare", "out=nowhere", *overrides), overrides)


def tabulated(out, *overrides):
    """Leave the tables of a study in a folder, without figures and summary, and return it."""
    given = run_arguments(configured("run", "out=unused", "cache=null", *overrides))
    evaluation, nulls = given.pop("evaluation"), given.pop("nulls")
    job = Job(out=out, say=lambda *_: None, **given)
    with open_run(out, job.config, job.say) as run:
        tabulate(job, evaluation, nulls, run)
    return out
