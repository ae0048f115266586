"""What functions refuse when they are called from Python: one sentence that names the argument."""

from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from beside import beside

from harness.errors import UserError


class File(str):
    """The text of a file whose path is given."""


for tag, make in {"array": np.array, "frame": lambda node: pd.DataFrame(**node), "file": File}.items():

    def construct(loader, node, make=make):
        if isinstance(node, yaml.ScalarNode):
            return make(loader.construct_scalar(node))
        whole = loader.construct_sequence if isinstance(node, yaml.SequenceNode) else loader.construct_mapping
        return make(whole(node, deep=True))

    yaml.SafeLoader.add_constructor(f"!{tag}", construct)

CASES = [(name, *case) for name, cases in beside(__file__).items() for case in cases]


@pytest.mark.parametrize(("name", "arguments", "options", "said"), CASES)
def test_the_argument_is_named(name, arguments, options, said, tmp_path):
    module, _, function = name.rpartition(".")
    for place, value in enumerate(arguments):
        if isinstance(value, File):
            (tmp_path / "given.csv").write_text(value)
            arguments = [*arguments[:place], tmp_path / "given.csv", *arguments[place + 1 :]]
    with pytest.raises((ValueError, UserError)) as caught:
        getattr(import_module(module), function)(*arguments, **options)
    assert said in str(caught.value)
    assert all(str(value) in str(caught.value) for value in arguments if isinstance(value, Path))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400
