"""Cases of `LambdaWeight`, which losses of pairs and of softmaxes take."""

import keras_softsort as ks
from support.cases.keras_case import KerasObject

LAMBDA_WEIGHTS = [
    KerasObject(
        ks.losses.LambdaWeight,
        [
            {"metric": "dcg", "k": 3, "gain": "linear", "discount": "reciprocal", "version": 2, "neighbors_only": True},
            {"metric": "ndcg", "smooth_fraction": 0.5},
            {"metric": "precision", "k": 2, "min_label": 2.0},
        ],
    )
]
