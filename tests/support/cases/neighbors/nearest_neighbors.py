"""Cases of `nearest_neighbors`."""

import numpy as np

import keras_softsort as ks
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
