"""Cases of `kendall_tau` and `KendallTau`."""

from scipy import stats

import keras_softsort as ks
from support.cases.keras_case import Metric
from support.cases.operation import SCORES, Operation

ORACLE = stats.kendalltau
OPERATIONS = [Operation("kendall_tau", lambda s: ks.ops.kendall_tau(s, -(s**2)), SCORES, forward_only=True)]
METRICS = [
    Metric(
        ks.KendallTau,
        [
            {"direction": "ASCENDING", "name": "kendalltau_0", "dtype": "float32"},
            {"target": "ranks", "name": "kendalltau_1", "dtype": "float32"},
            {"statistic": "mean_over_std", "name": "kendalltau_2"},
        ],
        takes_matrices=True,
    )
]
