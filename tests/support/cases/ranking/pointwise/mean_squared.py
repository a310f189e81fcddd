"""Cases of `mean_squared` and `MeanSquaredLoss`."""

import keras_softsort as ks
from support.cases.keras_case import Loss

LOSSES = [
    Loss(
        ks.MeanSquaredLoss,
        [{"normalization": "none", "reduction": "sum", "name": "mine"}],
        "mean_squared",
        labels="numbers",
    )
]
