"""Cases of `ElementwiseAccuracy`."""

import numpy as np

import keras_softsort as ks
from support.cases.keras_case import Metric

ORACLE = np.mean  # the share of right places
METRICS = [
    Metric(
        ks.ElementwiseAccuracy,
        [
            {"direction": "ASCENDING", "name": "elementwiseaccuracy_0", "dtype": "float32"},
            {"target": "ranks", "name": "elementwiseaccuracy_1", "dtype": "float32"},
        ],
        takes_matrices=True,
    )
]
