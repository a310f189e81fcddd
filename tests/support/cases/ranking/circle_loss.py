"""Cases of `circle_loss` and `CircleLoss`."""

import keras_softsort as ks
from support.cases.keras_case import Loss
from support.oracles import ranking as truth

ORACLE = truth.circle
LOSSES = [
    Loss(
        ks.CircleLoss,
        [{"tau": 0.5, "margin": 0.1, "reduction": "sum", "name": "mine"}],
        "circle_loss",
        oracle=ORACLE,
        has_frozen_scores=True,
        values={"circle": {}, "a wide circle": {"tau": 0.3, "margin": 0.6}},
    )
]
