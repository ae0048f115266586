"""What is told while work goes on, how much of it (the setting `verbose`), and the bars of a terminal."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from harness.errors import harmless

PLACES, USUAL, UNITS = 0, 1, 2
"""How much must be wanted for a line to be said: where results lie, what is usual, each unit of work."""
Item = TypeVar("Item")


class Say(Protocol):
    """Tells a line to the user, if as much is wanted."""

    def __call__(self, text: str, level: int = USUAL, /) -> None:
        """Tell it."""


@dataclass
class _Wanted:
    level: int = USUAL
    bars: bool = True


_WANTED = _Wanted()


def set_verbosity(verbose: object, *, within_sweep: bool = False) -> None:
    """Choose how much is said from now on; a job of a sweep says nothing, unless all is wanted.

    What is no level is refused with the other settings, and stands for the usual one until then.
    """
    level = verbose if isinstance(verbose, int) else USUAL
    _WANTED.level = (USUAL if level == UNITS else -1) if within_sweep else level
    _WANTED.bars = level == USUAL


def is_wanted(level: int) -> bool:
    """Tell whether lines of a level are said."""
    return level <= _WANTED.level


def say(text: str, level: int = USUAL, /) -> None:
    """Print a line, if as much is wanted, without what a terminal would obey."""
    if is_wanted(level):
        print(harmless(text), flush=True)


def progress(items: Iterable[Item], total: int | None, description: str, **options: Any) -> Iterator[Item]:
    """Yield the items with a bar of their number and the time left, after two seconds, on a terminal."""
    with bar(description, **{"total": total, "delay": 2} | options) as shown:
        for item in items:
            yield item
            shown.update()


def bar(description: str, **options: Any) -> Any:
    """Return a bar of tqdm, to be used with `with`; nothing is shown where there is no terminal."""
    from tqdm import tqdm

    disable = None if _WANTED.bars else True
    return tqdm(desc=description, disable=disable, leave=False, **options)


@contextmanager
def status(text: str) -> Iterator[None]:
    """Show on a terminal what is being done, while the block runs."""
    with bar(text, bar_format="{desc} ...", total=0):
        yield
