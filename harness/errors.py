"""The one exception that is shown to the user as a sentence, and how any other becomes one."""

import difflib
import errno
import math
import re
import tomllib
from collections.abc import Iterable, Iterator
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from numbers import Integral, Real
from typing import Any

BROKEN = (MemoryError, BrokenExecutor)
"""Too little memory: in the process itself, or in a worker, which the kernel then kills."""
RESOLVING = re.compile(r"^\w+ raised while resolving interpolation: ")
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
GOES_ON = "the same command goes on where it was"


class UserError(Exception):
    """Bad input from the user: what is wrong, where, and what is allowed, in one sentence.

    The command line prints the message and exits with code 2, without a traceback.
    """


@contextmanager
def value_errors() -> Iterator[None]:
    """Raise what is a UserError as a ValueError, for callers from Python."""
    try:
        yield
    except UserError as error:
        raise ValueError(str(error)) from error


def require(holds: object, sentence: str, kind: type[Exception] = ValueError) -> None:
    """Raise an error that says `sentence` unless something holds."""
    if not holds:
        raise kind(sentence)


@cache
def _sentences(room: str) -> dict[str, str]:
    told = tomllib.loads(files(f"harness.{room}").joinpath("refusals.toml").read_text("utf-8"))
    return {name: " ".join(text.split()) for name, text in told.items()}


def refusal(key: str, /, **values: object) -> UserError:
    """Return what the ``refusals.toml`` of a room says, filled in; of a list every item is told.

    Examples
    --------
    >>> print(refusal("advise.no_column", where="predictions=p.csv", name="c", columns=["y_true", "a"]))
    predictions=p.csv: there is no column 'c'; it has y_true, a
    """
    room, _, name = key.partition(".")
    lists = {name: ", ".join(map(str, one)) for name, one in values.items() if isinstance(one, list | tuple)}
    return UserError(_sentences(room)[name].format(**values | lists))


FEW = 3
"""Names that are all told, wherever one of them is meant."""
AS_NEAR = 0.1
"""What a name may be less alike than the nearest one, and still be told."""


def instead(name: object, known: Iterable[object], otherwise: str | None = None) -> str:
    """Return the end of a refusal of a name: those nearest to it, or where none is near all, or `otherwise`.

    Examples
    --------
    >>> tests = ["mcnemar", "mcnemar_midp", "wald_f1", "score_f1"]
    >>> instead("mcnemar_mipd", tests)
    'did you mean mcnemar_midp?'
    >>> instead("t_test", tests)
    'choose one of mcnemar, mcnemar_midp, wald_f1, score_f1'
    """
    names = list(dict.fromkeys(map(str, known)))
    near = difflib.get_close_matches(str(name), names) if len(names) > FEW else []
    alike = [difflib.SequenceMatcher(None, one, str(name)).ratio() for one in near]
    near = [one for one, ratio in zip(near, alike, strict=True) if ratio > alike[0] - AS_NEAR]
    if near:
        return f"did you mean {' or '.join(near)}?"
    return f"choose one of {', '.join(names)}" if otherwise is None else otherwise


def check_choice(
    name: str, value: object, known: Iterable[object], kind: type[Exception] = ValueError, what: str = ""
) -> None:
    """Raise an error unless `value` is one of the `known`; `what` they are where `name` is a path of keys."""
    known = list(known)
    if value in known:
        return
    if what:
        said = instead(value, known, f"{', '.join(map(str, known))} are allowed")
        raise kind(f"{name}.{value}: there is no such {what}; {said}")
    raise kind(f"{name}: {value!r} is not allowed; {instead(value, known)}")


def check_whole(
    name: str, value: Any, least: int, most: float = math.inf, kind: type[Exception] = ValueError
) -> int:
    """Return a whole number from `least` to `most`, or raise an error."""
    whole = isinstance(value, Integral) and not isinstance(value, bool) and least <= int(value) <= most
    allowed = f"from {least:,} to {most:,}" if most < math.inf else f"from {least:,}"
    require(whole, f"{name}: {value!r} is not allowed; whole numbers {allowed} are", kind)
    return int(value)


def check_share(name: str, value: float) -> None:
    """Raise ValueError unless `value` is a number between 0 and 1, ends not included."""
    good = isinstance(value, Real) and not isinstance(value, bool) and 0 < value < 1
    require(good, f"{name}: {value!r} is not allowed; a number between 0 and 1 is")


CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def harmless(text: str) -> str:
    r"""Return a text without characters that a terminal obeys: they are written out.

    Examples
    --------
    >>> print(harmless("a\x1b[31mb\n\tc"))
    a\x1b[31mb
        c
    """
    return CONTROL.sub(lambda found: repr(found.group())[1:-1], text)


def sentence(error: BaseException) -> str:
    r"""Return an error's text on one line, without Hydra's hints on how to see a traceback.

    What cannot be printed is escaped: a file that is quoted may hold anything.

    Examples
    --------
    >>> sentence(ValueError("alpha: 2 is not allowed;\n numbers between 0 and 1 are"))
    'alpha: 2 is not allowed; numbers between 0 and 1 are'
    """
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in _line(error))


def _line(error: BaseException) -> str:
    if isinstance(error, OSError):
        where = "" if error.filename is None else f"{error.filename}: "
        advice = f"; once there is room, {GOES_ON}" if error.errno in FULL else ""
        if where or advice:
            return f"{where}{error.strerror or error}{advice}"
    if isinstance(error, BrokenExecutor):
        return f"a worker was killed, most likely because memory ran out; with parallel.n_jobs=1 {GOES_ON}"
    if isinstance(error, MemoryError):
        said = f" ({error})" if str(error) else ""
        return f"there is not enough memory{said}; with parallel.n_jobs=1, which needs less, {GOES_ON}"
    lines = [line.strip() for line in str(error).splitlines()]
    kept = [line for line in lines if line and not line.startswith(("full_key", "object_type", "See https"))]
    text = RESOLVING.sub("", " ".join(kept)) or type(error).__name__
    override = getattr(error, "override", None)  # Hydra could not read it
    return text if not isinstance(override, str) or override in text else f"{override}: {text}"
