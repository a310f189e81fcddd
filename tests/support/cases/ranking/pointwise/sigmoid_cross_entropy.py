"""Cases of `sigmoid_cross_entropy` and `SigmoidCrossEntropyLoss`."""

import keras_softsort as ks
from support.cases.keras_case import Loss

LOSSES = [
    Loss(
        ks.SigmoidCrossEntropyLoss,
        [{"normalization": "none", "reduction": "sum", "name": "mine"}],
        "sigmoid_cross_entropy",
        labels="numbers",
    )
]
