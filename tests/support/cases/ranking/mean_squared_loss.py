"""Cases of `mean_squared_loss` and `MeanSquaredLoss`."""

import keras_softsort as ks
from support.cases.keras_case import Loss
from support.oracles import items as truth

ORACLE = truth.mean_squared
LOSSES = [
    Loss(
        ks.MeanSquaredLoss,
        [{"normalization": "none", "reduction": "sum", "name": "mine"}],
        "mean_squared_loss",
        labels="numbers",
        oracle=ORACLE,
        values={"squared error": {}},
    )
]
