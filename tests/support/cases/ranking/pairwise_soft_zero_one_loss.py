"""Cases of `pairwise_soft_zero_one_loss` and `PairwiseSoftZeroOneLoss`."""

import functools

import keras_softsort as ks
from support.cases.keras_case import Loss
from support.oracles import pairs as truth

ORACLE = functools.partial(truth.weighted_loss, cost="soft_zero_one")
LOSSES = [
    Loss(
        ks.PairwiseSoftZeroOneLoss,
        [{"tau": 2.0, "lambda_weight": "label_diff", "normalization": "list", "reduction": "sum", "name": "mine"}],
        "pairwise_soft_zero_one_loss",
        oracle=ORACLE,
        has_frozen_scores=True,
        values={"zero-one": {"tau": 2.0}, "zero-one, mrr": {"normalization": "none", "lambda_weight": "mrr"}},
    )
]
