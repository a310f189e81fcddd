"""Cases of `SpearmanCorrelation`."""

from scipy import stats

import keras_softsort as ks
from support.cases.keras_case import KerasObject

ORACLE = stats.spearmanr
METRICS = [
    KerasObject(
        ks.SpearmanCorrelation,
        [
            {"direction": "ASCENDING", "name": "spearmancorrelation_0", "dtype": "float32"},
            {"target": "ranks", "name": "spearmancorrelation_1", "dtype": "float32"},
            {"statistic": "mean_over_std", "name": "spearmancorrelation_2"},
        ],
    )
]
