"""Cases of `pairwise_hinge_loss` and `PairwiseHingeLoss`."""

import functools

import keras_softsort as ks
from keras_softsort.losses import LambdaWeight
from support.cases.keras_case import Loss
from support.cases.ranking.lambda_weight import root_discount, root_gain
from support.oracles import pairs as truth

ORACLE = functools.partial(truth.weighted_loss, cost="hinge")
LOSSES = [
    Loss(
        ks.PairwiseHingeLoss,
        [{"tau": 2.0, "lambda_weight": "ndcg", "normalization": "list", "reduction": "sum", "name": "mine"}],
        "pairwise_hinge_loss",
        oracle=ORACLE,
        has_frozen_scores=True,
        values={
            "hinge": {},
            "hinge, list": {"tau": 0.5, "normalization": "list", "lambda_weight": "ndcg"},
            "functions": {"lambda_weight": LambdaWeight("ndcg", version=2, gain=root_gain, discount=root_discount)},
        },
    )
]
