"""Cases of `PermutationAccuracy`."""

import keras_softsort as ks
from support.cases.keras_case import Metric

ORACLE = all  # whether all places are right
METRICS = [
    Metric(
        ks.PermutationAccuracy,
        [
            {"direction": "ASCENDING", "name": "permutationaccuracy_0", "dtype": "float32"},
            {"target": "ranks", "name": "permutationaccuracy_1", "dtype": "float32"},
        ],
        takes_matrices=True,
    )
]
