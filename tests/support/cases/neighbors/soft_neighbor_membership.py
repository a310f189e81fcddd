"""Cases of `soft_neighbor_membership` and `DkNNLayer`."""

import keras_softsort as ks
from support import models
from support.cases.keras_case import Layer
from support.cases.of_scores import OfScores, first, sides
from support.cases.operation import SEED, N, Operation, normal
from support.oracles import neighbors as oracles

ORACLE = oracles.soft_neighbors
LAYERS = [
    Layer(
        ks.DkNNLayer,
        [
            {"k": 2, "tau": 0.7, "distance": "cityblock", "method": "soft_sort", "power": 1.5, "scale": "std"},
            {"k": 1, "tau": 0.6, "stochastic": True, "num_samples": 2, "seed": 3, "learn_tau": True},
        ],
        adapter=models.Neighbors,
        draws_noise_with=("stochastic",),
    )
]
OPERATIONS = [
    Operation(
        "soft_neighbor_membership",
        lambda q, c: ks.ops.soft_neighbor_membership(q, c, 2, distance="cityblock"),
        [normal(2, 3, 4), normal(2, N, 4) / 2],
    )
]
# Arguments with which a call is valid but for the one wrong argument that a test passes.
VALID = {"soft_neighbor_membership": {"num_samples": 2, "seed": SEED}}
# With each method, on scores [3, 5].
WITH_METHOD = {
    "soft_neighbor_membership": lambda s, method: ks.ops.soft_neighbor_membership(
        s[:, :, None], s[:, ::-1, None], 2, method=method
    ),
    "DkNNLayer": lambda s, method: ks.DkNNLayer(2, method=method)([s[:, :, None], s[:, ::-1, None]]),
}
# Distances are measured about the mean, so a point far away costs the others digits.
OF_SCORES = [
    OfScores(
        "soft_neighbor_membership",
        lambda s, tau, mask, m=m: ks.ops.soft_neighbor_membership(
            *sides(s)[::-1], 2, 4 * tau**2, mask=first(mask), method=m
        ),
        m,
        grows_with_scores=True,
        grows_in_gradient=True,
    )
    for m in ("neural_sort", "soft_sort")
]
