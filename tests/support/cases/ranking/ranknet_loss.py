"""Cases of `ranknet_loss` and `RankNetLoss`."""

import functools

import keras_softsort as ks
from keras_softsort.losses import LambdaWeight
from support.cases.keras_case import Loss, by_name
from support.oracles import pairs as truth

ORACLE = functools.partial(truth.weighted_loss, cost="logistic")
OPTIONS = [
    {"normalization": "pairs"},
    {"normalization": "list", "tau": 0.4},
    {"normalization": "none"},
    {"ties": "half"},
    {"ties": "half", "normalization": "none", "tau": 2.0},
    {"lambda_weight": "ndcg"},
    {"lambda_weight": "ndcg", "ties": "half", "tau": 0.5},
    {"lambda_weight": LambdaWeight("ndcg", k=3, smooth_fraction=0.25), "normalization": "list"},
    {"lambda_weight": LambdaWeight("ndcg", gain="linear", discount="reciprocal", k=2), "normalization": "pairs"},
    {"lambda_weight": "dcg"},
    {"lambda_weight": LambdaWeight("dcg", gain="linear", discount="reciprocal", smooth_fraction=0, k=2)},
    {"lambda_weight": LambdaWeight("mrr", k=4)},
    {"lambda_weight": LambdaWeight("mrr", smooth_fraction=0.5)},
    {"lambda_weight": "map"},
    {"lambda_weight": LambdaWeight("map", k=3), "normalization": "pairs"},
    {"lambda_weight": LambdaWeight("precision", k=2)},
]
LOSSES = [
    Loss(
        ks.RankNetLoss,
        [
            {"tau": 2.0, "ties": "half", "normalization": "list", "reduction": "sum", "name": "mine"},
            {"lambda_weight": LambdaWeight("dcg", k=3, gain="linear", discount="reciprocal", smooth_fraction=0.5)},
        ],
        "ranknet_loss",
        oracle=ORACLE,
        has_frozen_scores=True,
        values={
            **by_name("ranknet", *OPTIONS),
            "label_diff": {"lambda_weight": "label_diff"},
            "version 2": {"lambda_weight": LambdaWeight("ndcg", k=2, version=2)},
            "neighbors": {"lambda_weight": LambdaWeight("dcg", version=2, neighbors_only=True)},
            "min_label": {"lambda_weight": LambdaWeight("precision", k=2, min_label=2)},
        },
    )
]
