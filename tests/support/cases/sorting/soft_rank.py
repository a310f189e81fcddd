"""Cases of `soft_rank` and its layer."""

import keras_softsort as ks
from keras_softsort.ops.sorting import methods
from support.cases.along_axis import of_layer
from support.cases.keras_case import Layer
from support.cases.of_scores import OfScores
from support.cases.op_case import DIRECTIONS, METHODS, OpCase, grid
from support.cases.operation import SCORES, Operation, masked
from support.oracles import sorting as oracles

ORACLE = oracles.soft_rank
LAYERS = [
    Layer(
        ks.SoftRankLayer,
        [
            {"tau": 0.4, "method": "soft_sort", "power": 2.0, "direction": "ASCENDING", "axis": 1},
            {"tau": 0.7, "method": "projection_kl", "scale": "std", "learn_tau": True, "hard": True},
        ],
    )
]
OPERATIONS = [
    Operation("soft_rank", masked(ks.soft_rank, method="soft_sort"), SCORES),
    Operation("soft_rank", masked(ks.soft_rank, method="projection_kl"), SCORES, "projection"),
]
GRID = grid(ks.soft_rank, ORACLE, method=METHODS, direction=DIRECTIONS)
FEW = [
    OpCase(ks.soft_rank, ORACLE, (("method", method), ("direction", "ASCENDING")), masked=True) for method in METHODS
]
# Name -> function of scores and temperature, and the ways to differentiate and map it that each run tries.
IN_EVERY_WAY = {
    "ranks": (ks.soft_rank, ("traced_second", "gradient_of_map")),
    "ranks by LapSum": (lambda s, tau: ks.soft_rank(s, tau, method="lapsum"), ("forward",)),
    "ranks by projection": (lambda s, tau: ks.soft_rank(s, tau, method="projection"), ()),
}
ALONG_AXIS = {
    "soft_rank": ks.soft_rank,
    "soft_rank by projection": lambda s, tau, **o: ks.soft_rank(s, tau, method="projection", hard=True, **o),
    "SoftRankLayer": lambda s, tau, **o: of_layer(ks.SoftRankLayer, s, tau, **o),
}
# With each method, on scores [3, 5].
WITH_METHOD = {
    "soft_rank": lambda s, method: ks.soft_rank(s, method=method),
    "SoftRankLayer": lambda s, method: ks.SoftRankLayer(method=method)(s),
}
OF_SCORES = [
    OfScores("soft_rank", lambda s, tau, mask, m=m: ks.soft_rank(s, tau, method=m, mask=mask), m)
    for m in methods.names("ranks")
]
