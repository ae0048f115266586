"""The configuration of `harness compare` without starting it."""

from hydra import compose, initialize_config_dir

from harness.cli.arguments import compare_arguments
from harness.cli.configuration import conf_folder, register_resolvers


def composed(*overrides):
    """Return the arguments that the command would give to its study."""
    register_resolvers()
    with initialize_config_dir(str(conf_folder()), version_base="1.3"):
        cfg = compose("compare", overrides=["out=nowhere", *overrides])
    return compare_arguments(cfg, overrides)
