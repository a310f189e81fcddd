"""Cases of `neighbor_votes`."""

import numpy as np

import keras_softsort as ks
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
VALID = {
    "neighbor_votes": {"labels": LABELS, "neighbors": NEIGHBORS, "distances": np.ones([2, 3]), "num_classes": 3},
}
