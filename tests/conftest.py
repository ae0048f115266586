"""What several test files share."""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from painting import unpainted

# no test depends on a clock, and the same examples are tried everywhere
settings.register_profile(
    "harness", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("harness")

# A shell that starts the tests in the background makes them, and all that they start, deaf to Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def data_folder():
    """The folder of real documents, named by HARNESS_DATA; tests that need it are skipped elsewhere."""
    folder = os.environ.get("HARNESS_DATA")
    if not folder:
        pytest.skip("HARNESS_DATA does not name the folder of real documents")
    return Path(folder).resolve()


@pytest.fixture(name="unpainted")
def _unpainted():
    with unpainted():
        yield
