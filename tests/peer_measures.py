"""Each measure of one system, by scikit-learn."""

import numpy as np
from sklearn import metrics

from harness.measures import check_measure


def peer_measure(measure, y, said, weights=None, **costs):
    """Return the measure of decisions, in which each document may have a weight."""
    y, said = np.asarray(y, dtype=bool), np.asarray(said, dtype=bool)
    if measure in ("f1", "precision", "recall"):
        function = getattr(metrics, f"{measure}_score")
        return function(y, said, sample_weight=weights, zero_division=0)
    if measure == "error":
        return 1 - metrics.accuracy_score(y, said, sample_weight=weights)
    miss, alarm = (1 - metrics.recall_score(y == c, said == c, sample_weight=weights) for c in (True, False))
    own = check_measure(measure, **costs)
    return own["cost_fn"] * own["prior"] * miss + own["cost_fp"] * (1 - own["prior"]) * alarm
