from harness.nulls import project as project
from harness.outcomes import count_outcomes as count_outcomes
from harness.packaged import load_population as load_population
from harness.runtime.plugins import plugin as plugin
from harness.significance.result import TestResult as TestResult
from harness.two_systems import Comparison as Comparison
from harness.two_systems import compare_predictions as compare_predictions
from harness.two_systems.advice import Advice as Advice
from harness.two_systems.advice import advise_predictions as advise_predictions

__version__: str
