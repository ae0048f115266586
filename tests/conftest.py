"""What several test files share."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_folder():
    """The folder of real documents, named by HARNESS_DATA; tests that need it are skipped elsewhere."""
    folder = os.environ.get("HARNESS_DATA")
    if not folder:
        pytest.skip("HARNESS_DATA does not name the folder of real documents")
    return Path(folder).resolve()
