"""Cases of `ElementwiseAccuracy`."""

import keras_softsort as ks
from support.cases.keras_case import KerasObject

METRICS = [
    KerasObject(
        ks.ElementwiseAccuracy,
        [
            {"direction": "ASCENDING", "name": "elementwiseaccuracy_0", "dtype": "float32"},
            {"target": "ranks", "name": "elementwiseaccuracy_1", "dtype": "float32"},
        ],
    )
]
