"""Cases of `pairwise_soft_zero_one` and `PairwiseSoftZeroOneLoss`."""

import keras_softsort as ks
from support.cases.keras_case import Loss

LOSSES = [
    Loss(
        ks.PairwiseSoftZeroOneLoss,
        [
            {
                "temperature": 2.0,
                "lambda_weight": "label_diff",
                "normalization": "list",
                "reduction": "sum",
                "name": "mine",
            },
        ],
        "pairwise_soft_zero_one",
    )
]
