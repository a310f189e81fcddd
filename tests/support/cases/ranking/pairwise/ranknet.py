"""Cases of `ranknet` and `RankNetLoss`."""

import keras_softsort as ks
from support.cases.keras_case import Loss
from support.oracles import pairs as truth

LOSSES = [
    Loss(
        ks.RankNetLoss,
        [
            {"sigma": 2.0, "ties": "half", "normalization": "list", "reduction": "sum", "name": "mine"},
            {"lambda_weight": "dcg", "k": 3, "gain": "linear", "discount": "reciprocal", "smooth_fraction": 0.5},
        ],
        "ranknet",
        oracle=truth.list_loss,
    )
]
