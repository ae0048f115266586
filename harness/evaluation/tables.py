"""The two long tables of a study: each test's rejections, and where each rule takes H0 for true."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.evaluation.plans import Plan
from harness.evaluation.questions import Question
from harness.evaluation.rates import dead_categories
from harness.evaluation.rejections import Test
from harness.measures import costs_text
from harness.runtime.store import Arrays

if TYPE_CHECKING:
    import pandas as pd


def _columns(
    plan: Plan, shape: tuple[int, ...], axes: Mapping[str, tuple[int, Sequence[Any]]]
) -> dict[str, Any]:
    """Return a table's key columns: the plan's, and values along their axis of an array of `shape`."""
    n_rows = int(np.prod(shape))
    columns: dict[str, Any] = {
        "pair": np.repeat(plan.pair, n_rows),
        "balance": np.repeat(plan.balance, n_rows),
        "prevalence": np.repeat(np.nan if plan.prevalence is None else plan.prevalence, n_rows),
    }
    for name, (axis, values) in axes.items():
        place = [1] * len(shape)
        place[axis] = shape[axis]
        columns[name] = np.broadcast_to(np.asarray(values).reshape(place), shape).ravel()
    return columns


def rejections_table(
    plan: Plan,
    units: Sequence[Arrays],
    tests: Sequence[Test],
    questions: Sequence[Question],
    sizes: Sequence[int],
    alphas: Sequence[float],
    n_sets: int,
    fewest: Mapping[tuple[str, float, int], int],
) -> "pd.DataFrame":
    """Return one plan's counts, one row for each category, test, level and size.

    Parameters
    ----------
    plan : Plan
    units : sequence of dict
        What :func:`harness.evaluation.rejections.count_rejections` made of each category.
    tests : sequence of Test
    questions : sequence of Question
    sizes, alphas : sequences
    n_sets : int
    fewest : mapping of (measure, alpha, n_documents) to int
        What :func:`harness.evaluation.under_rules.fewest_to_reject` returns.
    """
    import pandas as pd

    shape = (len(plan.categories), len(tests), len(alphas), len(sizes))
    costs = {place: costs_text(question.costs) for question in questions for place in question.places}
    axes: dict[str, tuple[int, Sequence[Any]]] = {
        "category": (0, plan.categories),
        "test": (1, [test.name for test in tests]),
        "measure": (1, [test.measure for test in tests]),
        "costs": (1, [costs[place] for place in range(len(tests))]),
        "alpha": (2, alphas),
        "n_documents": (3, sizes),
    }
    columns = _columns(plan, shape, axes)
    dead = np.zeros(shape, dtype=bool)
    for t, a, s in np.ndindex(shape[1:]):
        needed = fewest[tests[t].measure, alphas[a], sizes[s]]
        dead[:, t, a, s] = dead_categories(plan.truth, sizes[s], needed, alphas[a])
    for name in ("n_rejected", "n_wrong_direction"):
        columns[name] = np.stack([unit[name].transpose(1, 2, 0) for unit in units]).ravel()
    for name in ("n_degenerate", "n_convention"):
        counted = np.stack([unit[name].T for unit in units])
        columns[name] = np.broadcast_to(counted[:, :, None, :], shape).ravel()
    return pd.DataFrame(columns | {"n_sets": n_sets, "dead": dead.ravel()})


def truths_table(
    plan: Plan,
    units: Sequence[Arrays],
    rules: Sequence[str],
    questions: Sequence[Question],
    sizes: Sequence[int],
    alphas: Sequence[float],
) -> "pd.DataFrame":
    """Return where H0 counts as true, one row for each category, rule, question, level and size.

    Parameters
    ----------
    plan : Plan
    units : sequence of dict
        What :func:`harness.evaluation.under_rules.judge_truth` made of each category.
    rules : sequence of str
    questions : sequence of Question
    sizes, alphas : sequences
    """
    import pandas as pd

    shape = (len(plan.categories), len(rules), len(questions), len(alphas), len(sizes))
    axes: dict[str, tuple[int, Sequence[Any]]] = {
        "category": (0, plan.categories),
        "truth": (1, rules),
        "measure": (2, [question.measure for question in questions]),
        "costs": (2, [costs_text(question.costs) for question in questions]),
        "alpha": (3, alphas),
        "n_documents": (4, sizes),
    }
    columns = _columns(plan, shape, axes)
    return pd.DataFrame(columns | {"holds": np.stack([unit["holds"] for unit in units]).ravel()})
