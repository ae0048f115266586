"""What several test files share."""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from painting import undrawn, unpainted, unsynced

# no test depends on a clock, and the same examples are tried everywhere
settings.register_profile(
    "harness", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("harness")

# A shell that starts the tests in the background makes them, and all that they start, deaf to Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# Files that take longest: those who share the tests among them (`--dist loadfile`) begin with these, so that
# none is left alone with one at the end.
LONGEST = (
    "test_small_multiples", "test_compare_runs", "test_study", "test_sweeps", "test_size_by_category",
    "test_dask", "test_unconditional", "test_kill_full", "test_kill", "test_launchers", "nips2005",
    "test_advice_documents", "test_figures", "test_report", "test_contract", "test_category_sets_cli",
)  # fmt: skip


def pytest_collection_modifyitems(items):
    place = {name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path.stem, len(place)))


@pytest.fixture(scope="session")
def data_folder():
    """The folder of real documents, named by HARNESS_DATA; tests that need it are skipped elsewhere."""
    folder = os.environ.get("HARNESS_DATA")
    if not folder:
        pytest.skip("HARNESS_DATA does not name the folder of real documents")
    return Path(folder).resolve()


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A new folder, in which the test stands."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session", autouse=True)
def _unsynced():
    with unsynced():
        yield


@pytest.fixture(name="unpainted")
def _unpainted():
    with unpainted():
        yield


@pytest.fixture(name="undrawn")
def _undrawn():
    with undrawn():
        yield
