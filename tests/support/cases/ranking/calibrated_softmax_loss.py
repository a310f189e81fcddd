"""Cases of `calibrated_softmax_loss` and `CalibratedSoftmaxLoss`."""

import keras_softsort as ks
from support.cases.keras_case import Loss
from support.oracles import ranking as truth

ORACLE = truth.calibrated_softmax
LOSSES = [
    Loss(
        ks.CalibratedSoftmaxLoss,
        [{"tau": 2.0, "virtual_label": 0.5, "lambda_weight": "ndcg", "reduction": "sum", "name": "mine"}],
        "calibrated_softmax_loss",
        oracle=ORACLE,
        labels="relevance",
        values={"calibrated softmax": {"tau": 2.0, "virtual_label": 0.5}},
    )
]
