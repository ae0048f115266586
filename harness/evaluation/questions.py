"""What the tests of a study ask: whether A and B differ in a measure, at the costs that it may have."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from numpy.typing import NDArray

from harness.evaluation.rejections import Test


class Question(NamedTuple):
    """A measure, with its costs if it has any, and the tests of its difference.

    Attributes
    ----------
    places : list of int
        Of its tests among all.
    """

    measure: str
    costs: dict[str, float]
    difference: Callable[..., NDArray[Any]]
    places: list[int]

    @property
    def name(self) -> str:
        """What names the measure in a generator."""
        return "/".join([self.measure, *(f"{key}={value}" for key, value in sorted(self.costs.items()))])


def ask(tests: Sequence[Test]) -> list[Question]:
    """Return the questions that the tests answer, in order of first appearance."""
    found: dict[tuple[object, ...], Question] = {}
    for place, test in enumerate(tests):
        costs = dict(getattr(test.difference, "keywords", {}))
        key = (test.measure, *sorted(costs.items()))
        found.setdefault(key, Question(test.measure, costs, test.difference, [])).places.append(place)
    return list(found.values())
