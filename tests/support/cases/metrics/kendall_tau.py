"""Cases of `KendallTau`."""

from scipy import stats

import keras_softsort as ks
from support.cases.keras_case import KerasObject

ORACLE = stats.kendalltau
METRICS = [
    KerasObject(
        ks.KendallTau,
        [
            {"direction": "ASCENDING", "name": "kendalltau_0", "dtype": "float32"},
            {"target": "ranks", "name": "kendalltau_1", "dtype": "float32"},
            {"statistic": "mean_over_std", "name": "kendalltau_2"},
        ],
    )
]
