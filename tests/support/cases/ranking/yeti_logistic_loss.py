"""Cases of `yeti_logistic_loss` and `YetiLogisticLoss`."""

import keras_softsort as ks
from support.cases.keras_case import Loss
from support.cases.tf_ranking import PARITY

ORACLE = PARITY["yeti_logistic_loss"]  # with the same noise
LOSSES = [
    Loss(
        ks.YetiLogisticLoss,
        [
            {
                "tau": 2.0,
                "lambda_weight": "ndcg",
                "normalization": "list",
                "num_samples": 2,
                "noise_scale": 0.5,
                "seed": 3,
                "reduction": "sum",
                "name": "mine",
            }
        ],
        "yeti_logistic_loss",
        labels="numbers",
        draws_noise=True,
        call={"seed": [3, 4], "num_samples": 4},
    )
]
