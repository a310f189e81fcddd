"""Cases of `spearman_correlation` and `SpearmanCorrelation`."""

from scipy import stats

import keras_softsort as ks
from support.cases.keras_case import Metric
from support.cases.operation import SCORES, Operation

ORACLE = stats.spearmanr
OPERATIONS = [
    Operation("spearman_correlation", lambda s: ks.ops.spearman_correlation(s, -(s**2)), SCORES, forward_only=True)
]
METRICS = [
    Metric(
        ks.SpearmanCorrelation,
        [
            {"direction": "ASCENDING", "name": "spearmancorrelation_0", "dtype": "float32"},
            {"target": "ranks", "name": "spearmancorrelation_1", "dtype": "float32"},
            {"statistic": "mean_over_std", "name": "spearmancorrelation_2"},
        ],
        takes_matrices=True,
    )
]
