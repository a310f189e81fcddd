"""Cases of `softmax_loss` and `SoftmaxLoss`."""

import keras_softsort as ks
from support.cases.keras_case import Loss
from support.oracles import ranking as truth

ORACLE = truth.softmax
LOSSES = [
    Loss(
        ks.SoftmaxLoss,
        [{"tau": 2.0, "lambda_weight": "mrr", "poly_epsilon": 0.5, "reduction": "sum", "name": "mine"}],
        "softmax_loss",
        oracle=ORACLE,
        labels="relevance",
        values={"softmax": {"tau": 2.0}, "poly": {"tau": 2.0, "poly_epsilon": 1.5}},
    )
]
