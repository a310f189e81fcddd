"""Cases of `neighbor_share` and `DkNNLoss`."""

import numpy as np

import keras_softsort as ks
from support.cases.keras_case import Loss
from support.cases.operation import SEED, N, Operation, normal
from support.oracles import neighbors as oracles

ORACLE = oracles.dknn
LOSSES = [
    Loss(
        ks.DkNNLoss,
        [
            {
                "k": 1,
                "tau": 2,
                "num_queries": 1,
                "objective": "log",
                "distance": "cosine",
                "reduction": "sum",
                "name": "mine",
            },
            # So hot that noise does not show.
            {"k": 1, "tau": 1e6, "stochastic": True, "num_samples": 2, "seed": 3, "method": "soft_sort", "power": 1.5},
        ],
        "neighbor_share",
        takes="embeddings",
        noisy_with=("num_queries", "stochastic"),
        basic={"k": 1},
    )
]
OPERATIONS = [
    Operation(
        "neighbor_share",
        lambda e: ks.ops.neighbor_share(e, [0, 1, 0, 1, 1], 2, num_samples=2, seed=SEED, mask=[True] * 4 + [False]),
        [normal(N, 3)],
    )
]
# What makes a call with wrong values of single arguments valid otherwise.
VALID = {"neighbor_share": {"embeddings": np.eye(4), "labels": np.array([0, 1, 0, 1]), "num_samples": 2, "seed": SEED}}
