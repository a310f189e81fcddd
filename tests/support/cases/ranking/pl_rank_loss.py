"""Cases of `pl_rank_loss` and `PLRankLoss`."""

import keras_softsort as ks
from support.cases.keras_case import Loss
from support.oracles import pl_rank as truth

ORACLE = truth.expected_loss
LOSSES = [
    Loss(
        ks.PLRankLoss,
        [
            {"k": 3, "gain": "linear", "discount": [1.0, 0.5], "normalization": "none", "num_samples": 5, "seed": 3},
            {"discount": "reciprocal", "reduction": "sum", "name": "mine", "seed": 3},
        ],
        "pl_rank_loss",
        labels="relevance",
        draws_noise=True,
        call={"seed": [3, 4], "num_samples": 4},
        # The mean over samples is compared with the oracle.
        values={
            "pl-rank": {},
            "pl-rank cut": {"k": 2},
            "pl-rank linear": {"gain": "linear", "discount": "reciprocal"},
            "pl-rank dcg": {"k": 3, "discount": [2.0, 1.0], "normalization": "none"},
        },
    )
]
