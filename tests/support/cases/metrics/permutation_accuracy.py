"""Cases of `PermutationAccuracy`."""

import keras_softsort as ks
from support.cases.keras_case import KerasObject

ORACLE = all  # of the places whether they are right
METRICS = [
    KerasObject(
        ks.PermutationAccuracy,
        [
            {"direction": "ASCENDING", "name": "permutationaccuracy_0", "dtype": "float32"},
            {"target": "ranks", "name": "permutationaccuracy_1", "dtype": "float32"},
        ],
    )
]
