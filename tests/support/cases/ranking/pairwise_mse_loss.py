"""Cases of `pairwise_mse_loss` and `PairwiseMSELoss`."""

import functools

import keras_softsort as ks
from support.cases.keras_case import Loss
from support.oracles import pairs as truth

ORACLE = functools.partial(truth.weighted_loss, cost="squared")
LOSSES = [
    Loss(
        ks.PairwiseMSELoss,
        [{"tau": 2.0, "lambda_weight": "label_diff", "normalization": "list", "reduction": "sum", "name": "mine"}],
        "pairwise_mse_loss",
        oracle=ORACLE,
        has_frozen_scores=True,
        values={"squared": {"tau": 2.0}, "squared, weighted": {"normalization": "none", "lambda_weight": "label_diff"}},
    )
]
