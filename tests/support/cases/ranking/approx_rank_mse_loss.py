"""Cases of `approx_rank_mse_loss` and `ApproxRankMSELoss`."""

import keras_softsort as ks
from support.cases.keras_case import Loss
from support.oracles import ranking as truth

ORACLE = truth.approx_rank_mse
LOSSES = [
    Loss(
        ks.ApproxRankMSELoss,
        [{"tau": 0.5, "discount": "reciprocal", "reduction": "sum", "name": "mine"}],
        "approx_rank_mse_loss",
        oracle=ORACLE,
        values={"rank errors": {}, "plain rank errors": {"tau": 0.3, "discount": None}},
    )
]
