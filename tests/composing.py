"""The configuration of a command without starting it."""

from hydra import compose, initialize_config_dir

from harness.cli.arguments import compare_arguments
from harness.cli.conf_files import conf_folder
from harness.cli.configuration import register_resolvers


def configured(command, *overrides):
    """Return the configuration that a command would have."""
    register_resolvers()
    with initialize_config_dir(str(conf_folder()), version_base="1.3"):
        return compose(command, overrides=list(overrides))


def composed(*overrides):
    """Return the arguments that `harness compare` would give to its study."""
    return compare_arguments(configured("compare", "out=nowhere", *overrides), overrides)
