"""Cases of `nearest_neighbors`."""

import numpy as np
import tensorflow as tf

import keras_softsort as ks
from support.cases.of_scores import OfScores, each_list
from support.cases.operation import N, Operation, normal
from support.oracles import neighbors as oracles

ORACLE = oracles.nearest
OPERATIONS = [
    Operation(
        "nearest_neighbors",
        lambda queries: ks.ops.nearest_neighbors(queries, normal(N, 2), 2).distances,
        [normal(3, 2)],
        forward_only=True,
    )
]
# Arguments with which a call is valid but for the one wrong argument that a test passes.
VALID = {"nearest_neighbors": {"queries": np.ones([2, 3]), "references": np.eye(3)}}


def of_halves(scores, tau, mask):
    """The distances of the first half of the items to two of the other half, which takes no mask."""

    def distances(items, labels, valid):
        return ks.ops.nearest_neighbors(*tf.split(tf.reshape(items, [labels.shape[0], 1]), 2), 2).distances / tau**2

    return each_list(distances, scores, mask)


OF_SCORES = [OfScores("nearest_neighbors", of_halves, forward_only=True, grows_with_scores=True)]
