"""Cases of `pairwise_mse` and `PairwiseMSELoss`."""

import keras_softsort as ks
from support.cases.keras_case import Loss

LOSSES = [
    Loss(
        ks.PairwiseMSELoss,
        [
            {
                "temperature": 2.0,
                "lambda_weight": "label_diff",
                "normalization": "list",
                "reduction": "sum",
                "name": "mine",
            },
        ],
        "pairwise_mse",
    )
]
