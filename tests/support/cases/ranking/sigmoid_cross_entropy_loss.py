"""Cases of `sigmoid_cross_entropy_loss` and `SigmoidCrossEntropyLoss`."""

import keras_softsort as ks
from support.cases.keras_case import Loss
from support.oracles import items as truth

ORACLE = truth.sigmoid_cross_entropy
LOSSES = [
    Loss(
        ks.SigmoidCrossEntropyLoss,
        [{"normalization": "none", "reduction": "sum", "name": "mine"}],
        "sigmoid_cross_entropy_loss",
        labels="numbers",
        oracle=ORACLE,
        values={"sigmoid": {}, "sigmoid sum": {"normalization": "none"}},
    )
]
