"""Size and power of significance tests that compare two classifiers.

What a notebook needs is here by name, and imported when it is first used; everything else is imported from
where it stands, as ``from harness.significance.mcnemar import mcnemar``.

Examples
--------
>>> import harness
>>> counts = harness.count_outcomes([1, 1, 1, 0, 0], [1, 1, 0, 0, 0], [1, 0, 0, 1, 0])
>>> counts.tolist()
[1, 0, 1, 1, 0, 1, 0, 1]
"""

from importlib import import_module

__version__ = "0.3.0.dev0"

_WHERE = {
    "Advice": "two_systems.advice",
    "Comparison": "two_systems",
    "TestResult": "significance.result",
    "advise_predictions": "two_systems.advice",
    "compare_predictions": "two_systems",
    "count_outcomes": "outcomes",
    "load_population": "packaged",
    "plugin": "runtime.plugins",
    "project": "nulls",
}
"""Name -> the module that holds it; ``__init__.pyi`` says the same to type checkers."""

__all__ = ["__version__", *_WHERE]


def __getattr__(name: str) -> object:
    """Import a name of :data:`_WHERE` when it is asked for."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    """Return the module's names, those not imported yet as well."""
    return sorted({*globals(), *_WHERE})
