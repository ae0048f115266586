"""End well when told to: a signal ends a command as Ctrl-C does, with all the processes that it started."""

import contextlib
import functools
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import psutil

# Windows has neither SIGHUP nor timers nor masks: there nothing repeats an interruption that was lost, and
# Ctrl-C reaches the workers too
SIGNALS = [signal.Signals[name] for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
ALARMS = [signal.SIGALRM] if hasattr(signal, "SIGALRM") else []
AGAIN_AFTER = 5.0
"""Seconds after which an interruption is repeated that was lost: in an import, or a destructor."""


def until_told(work: Callable[[], int], say: Callable[[], None]) -> int:
    """Return the exit code of `work`, or 128 and the number of the signal that ended it.

    When a signal of `SIGNALS` arrives that is not ignored, KeyboardInterrupt is raised in `work`, and again
    until it ends; then `say` tells the user, once nothing that `work` started is left.
    """
    received: list[int] = []
    before = _listen(received)
    try:
        try:
            code = work()
        except KeyboardInterrupt:
            received = received or [signal.SIGINT]
            code = 1
        except Exception:  # a library may turn the interruption into an error of its own
            if not received:
                raise
            code = 1
        if received and code != 0:
            for number in before:
                signal.signal(number, signal.SIG_IGN)
            end_children()
            say()
            code = 128 + received[0]
        return code
    finally:
        if before:
            _set_alarm(0)
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)  # None: it was set outside Python


def _listen(received: list[int]) -> dict[signal.Signals, Any]:
    """Note in `received` every signal that arrives and interrupt the main thread; return the old handlers."""

    def interrupt(number: int, frame: object) -> None:
        """Stop whatever the main thread does."""
        if number not in ALARMS:
            received.append(number)
        _set_alarm(AGAIN_AFTER)
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():  # Python lets no other set handlers
        return {}
    before = {number: signal.getsignal(number) for number in SIGNALS + ALARMS}
    heard = {number: handler for number, handler in before.items() if handler is not signal.SIG_IGN}
    for number in heard:
        signal.signal(number, interrupt)
    return heard


def _set_alarm(seconds: float) -> None:
    if ALARMS:
        signal.setitimer(signal.ITIMER_REAL, seconds)


def end_children() -> None:
    """Ask every process that this one started to end, but for the keepers of semaphores and temporary files.

    Those clean up and end by themselves once this process has ended.
    """
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if not any("resource_tracker" in part for part in child.cmdline()):
                child.terminate()


@contextlib.contextmanager
def deaf_to_interrupts() -> Iterator[None]:
    """Start processes that do not hear Ctrl-C, which a terminal sends to all; this one ends them.

    What arrives meanwhile is heard after the block.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing import resource_tracker

    from joblib.externals.loky.backend import resource_tracker as trackers_of_joblib

    for trackers in (resource_tracker, trackers_of_joblib):
        trackers.ensure_running()  # where they start within the block, they let the signal in again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@functools.cache
def end_with_parent(parent: int, seconds: float = 1.0) -> None:
    """End this worker soon after its parent process, of number `parent`, was killed.

    Nobody waits for its work then. Windows keeps a dead parent's number, so that it is looked up too.
    """

    def watch() -> None:
        while os.getppid() == parent and psutil.pid_exists(parent):
            time.sleep(seconds)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
