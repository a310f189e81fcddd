"""Cases of `dknn_loss` and `DkNNLoss`."""

import functools

import numpy as np
import tensorflow as tf

import keras_softsort as ks
from support.cases.keras_case import Loss, by_name
from support.cases.of_scores import OfScores, each_list
from support.cases.operation import CLASSES, SEED, N, Operation, normal
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
            {
                "k": 1,
                "tau": 1e6,
                "stochastic": True,
                "num_samples": 2,
                "seed": 3,
                "scale": "std",
                "method": "soft_sort",
                "power": 1.5,
            },
        ],
        "dknn_loss",
        takes="embeddings",
        draws_noise_with=("num_queries", "stochastic"),
        basic={"k": 1},
        values=by_name(
            "dknn",
            {},
            {"distance": "euclidean", "num_queries": 3},
            {"distance": "cosine", "method": "soft_sort", "power": 1.5},
            {"distance": "cityblock", "num_queries": 3},
            {"distance": "dot", "objective": "log"},
            {"method": "soft_sort", "objective": "log", "num_queries": 3},
        ),
    )
]
OPERATIONS = [
    Operation(
        "dknn_loss",
        lambda e: ks.ops.dknn_loss(e, [0, 1, 0, 1, 1], 2, num_samples=2, seed=SEED, mask=[True] * 4 + [False]),
        [normal(N, 3)],
    )
]
# Arguments with which a call is valid but for the one wrong argument that a test passes.
VALID = {"dknn_loss": {"embeddings": np.eye(4), "labels": np.array([0, 1, 0, 1]), "num_samples": 2, "seed": SEED}}
# With each method, on scores [3, 5].
WITH_METHOD = {
    "dknn_loss": lambda s, method: ks.ops.dknn_loss(s, CLASSES, 1, method=method),
    "DkNNLoss": lambda s, method: ks.DkNNLoss(1, num_queries=1, method=method)(CLASSES, s),
    "DkNNLoss, log": lambda s, method: ks.DkNNLoss(1, num_queries=1, objective="log", method=method)(CLASSES, s),
}


def of_points(scores, tau, mask, objective="linear"):
    """The sum of the losses of each list."""

    def total(points, labels, mask):
        return tf.reduce_sum(ks.ops.dknn_loss(points, labels, 2, 4 * tau**2, mask=mask, objective=objective))

    return each_list(total, scores, mask)


# Distances are measured about the mean, so a point far away costs the others digits.
OF_SCORES = [
    OfScores(
        "dknn_loss",
        functools.partial(of_points, objective=objective),
        option=objective,
        is_loss=True,
        grows_with_scores=True,
        grows_in_gradient=True,
    )
    for objective in ("linear", "log")
]
