"""Cases of `linear_assignment`."""

import numpy as np
from scipy.optimize import linear_sum_assignment

import keras_softsort as ks
from support.cases.of_scores import OfScores, matrices, rows
from support.cases.operation import PAIRS, Operation

ORACLE = linear_sum_assignment
OPERATIONS = [Operation("linear_assignment", ks.linear_assignment, PAIRS, forward_only=True)]
# Arguments with which a call is valid but for the one wrong argument that a test passes.
VALID = {"linear_assignment": {"scores": PAIRS[0]}}
# Matrices [lists, n, m] with ties, far from 0, and whose best assignments compete.
KINDS = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "negative": lambda rng, shape: -5 - rng.random(shape),
    "large": lambda rng, shape: 1e6 * rng.normal(size=shape),
    "integers": lambda rng, shape: rng.integers(-100, 100, shape).astype(float),
    # Equal once rounded to float32.
    "far": lambda rng, shape: 2.0**27 + rng.integers(0, 10, shape),
    "ties": lambda rng, shape: rng.integers(0, 3, shape).astype(float),
    "equal": lambda rng, shape: np.full(shape, 2.5),
    "sums": lambda rng, shape: rng.normal(size=(shape[0], shape[1], 1)) + rng.normal(size=(shape[0], 1, shape[2])),
    "products": lambda rng, shape: np.tile(
        -np.outer(np.arange(shape[1]), np.arange(shape[2])).astype(float), (2, 1, 1)
    ),
    "near": lambda rng, shape: (
        -abs(rng.normal(size=(shape[0], shape[1], 1)) - rng.normal(size=(shape[0], 1, shape[2])))
    ),
}
OF_SCORES = [
    OfScores(
        "linear_assignment",
        lambda s, tau, mask: ks.linear_assignment(matrices(s), row_mask=rows(mask)),
        depends_on_order_of_ties=True,
        forward_only=True,
    )
]
