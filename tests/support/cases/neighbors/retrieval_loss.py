"""Cases of `retrieval_loss` and `RetrievalLoss`."""

import numpy as np
import tensorflow as tf

import keras_softsort as ks
from support.cases.keras_case import Loss
from support.cases.of_scores import OfScores, each_list
from support.cases.operation import normal
from support.oracles import retrieval as oracles

ORACLE = oracles.soft_metric
# Options that are compared with the oracle.
METRIC_OPTIONS = [
    {"metric": "average_precision"},
    {"metric": "average_precision", "k": 3},
    {"metric": "average_precision", "k": 2, "divisor": "at_most_k"},
    {"metric": "ndcg"},
    {"metric": "ndcg", "k": 2},
    {"metric": "mrr"},
    {"metric": "mrr", "k": 2},
    {"metric": "precision", "k": 3},
    {"metric": "recall", "k": 3},
]
LOSSES = [
    Loss(
        ks.RetrievalLoss,
        [
            # The first is what XLA compiles: this one has no loops.
            {"metric": "mrr", "memory_size": 6},
            {"k": 1, "divisor": "at_most_k"},
            {
                "metric": "ndcg",
                "k": 2,
                "tau": 0.5,
                "distance": "euclidean",
                "scale": "std",
                "reduction": "sum",
                "name": "mine",
            },
        ],
        "retrieval_loss",
        takes="embeddings",
        target=lambda labels: np.argmax(labels, axis=1) % 2,  # two classes
        draws_noise_with=("memory_size",),
    )
]
# Arguments with which a call is valid but for the one wrong argument that a test passes.
VALID = {
    "retrieval_loss": {
        "candidates": np.float64(normal(2, 3)),
        "labels": np.array([0, 1]),
        "candidate_labels": np.array([1, 0]),
    }
}


def of_points(scores, tau, mask):
    """The sum of the losses of each list."""

    def loss(embeddings, labels, valid):
        options = {"tau": 4 * tau**2, "distance": "squared_euclidean", "mask": valid}
        return tf.reduce_sum(ks.ops.retrieval_loss(embeddings, labels=labels, **options))

    return each_list(loss, scores, mask)


# Distances are measured about the mean, so a point far away costs the others digits.
OF_SCORES = [OfScores("retrieval_loss", of_points, is_loss=True, grows_with_scores=True, grows_in_gradient=True)]
