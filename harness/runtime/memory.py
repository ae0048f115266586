"""Memory of this process and of all that it started, watched while work goes on."""

import threading

import psutil

SECONDS_BETWEEN = 0.5


def memory_mib() -> float:
    """Return the memory that this process and all of its descendants hold now, MiB.

    On Linux it is the proportional set size: a page that several processes share counts once. Elsewhere it
    is each process's own memory.
    """
    this = psutil.Process()
    return round(sum(_held(process) for process in [this, *this.children(recursive=True)]) / 2**20, 1)


def _held(process: psutil.Process) -> int:
    try:
        held = process.memory_full_info()
    except psutil.Error:  # it ended meanwhile
        return 0
    return int(getattr(held, "pss", held.uss))


class MemoryWatch:
    """Keeps in `peak_mib` the largest :func:`memory_mib` seen while its block runs."""

    def __enter__(self) -> "MemoryWatch":
        """Begin to watch."""
        self.peak_mib = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Look for the last time."""
        self._ended.set()
        self._thread.join()
        self._look()

    def _watch(self) -> None:
        while not self._ended.wait(SECONDS_BETWEEN):
            self._look()

    def _look(self) -> None:
        self.peak_mib = max(self.peak_mib, memory_mib())
