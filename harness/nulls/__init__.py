"""Whether H0 holds on a population, populations in which it does, and the path from those to the real one.

:mod:`harness.nulls.rules` judges a real population by the papers' rules. :func:`exact_null` and
:func:`joint_null_of` make populations in which H0 holds exactly; :func:`path` and :func:`alternative` lead
from there to the real one.
"""

from harness.nulls.path import NoAlternative, alternative, distance, path, reach
from harness.nulls.projection import (
    NoProjection,
    divergence,
    exact_null,
    joint_null,
    joint_null_of,
    project,
    project_patterns,
)
from harness.nulls.rules import (
    exact_zero,
    half_document,
    margin,
    population_test,
    sampling_interval,
    scaled_sd,
)

__all__ = [
    "NoAlternative", "NoProjection", "alternative", "distance", "divergence", "exact_null", "exact_zero",
    "half_document", "joint_null", "joint_null_of", "margin", "path", "population_test", "project",
    "project_patterns", "reach", "sampling_interval", "scaled_sd",
]  # fmt: skip
