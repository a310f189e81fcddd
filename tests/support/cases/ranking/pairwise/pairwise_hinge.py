"""Cases of `pairwise_hinge` and `PairwiseHingeLoss`."""

import keras_softsort as ks
from support.cases.keras_case import Loss

LOSSES = [
    Loss(
        ks.PairwiseHingeLoss,
        [
            {
                "temperature": 2.0,
                "lambda_weight": "ndcg",
                "normalization": "list",
                "reduction": "sum",
                "name": "mine",
            },
        ],
        "pairwise_hinge",
    )
]
