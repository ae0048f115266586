"""Tables of cases that lie beside a test file, in a file of its name."""

from pathlib import Path

import yaml


def beside(file):
    return yaml.safe_load(Path(file).with_suffix(".yaml").read_text(encoding="utf-8"))
