"""Cases of `neighbor_votes`."""

import numpy as np
import tensorflow as tf

import keras_softsort as ks
from support.cases.of_scores import OfScores, each_list
from support.cases.operation import Operation, normal
from support.oracles import neighbors as oracles

ORACLE = oracles.votes
LABELS, NEIGHBORS = np.int32([0, 2, 1, 1, 0]), np.int32([[0, 3, 4], [2, 1, 0]])
OPERATIONS = [
    Operation(
        "neighbor_votes",
        lambda distances: ks.ops.neighbor_votes(LABELS, NEIGHBORS, distances, 3, votes="distance"),
        [np.square(normal(2, 3))],
    )
]
# Arguments with which a call is valid but for the one wrong argument that a test passes.
VALID = {"neighbor_votes": {"labels": LABELS, "neighbors": NEIGHBORS, "distances": np.ones([2, 3]), "num_classes": 3}}


def of_halves(scores, tau, mask):
    """The votes of the other half of the items on each of the first half."""

    def votes(items, labels, valid):
        queries, references = tf.split(tf.reshape(items, [labels.shape[0], 1]), 2)
        found = ks.ops.nearest_neighbors(queries, references, 2)
        return ks.ops.neighbor_votes(tf.split(labels, 2)[1], *found, 4, votes="distance")

    return each_list(votes, scores, mask)


OF_SCORES = [
    OfScores("neighbor_votes", of_halves, forward_only=True, depends_on_order_of_ties=True, grows_with_scores=True)
]
