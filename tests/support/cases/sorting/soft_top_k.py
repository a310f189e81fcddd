"""Cases of `soft_top_k` and its layer."""

import keras_softsort as ks
from support.cases.along_axis import of_layer
from support.cases.keras_case import Layer
from support.cases.of_scores import OfScores
from support.cases.op_case import METHODS, OpCase, grid
from support.cases.operation import SCORES, Operation
from support.oracles import sorting as oracles

ORACLE = oracles.soft_top_k
LAYERS = [
    Layer(
        ks.SoftTopKLayer,
        [
            {"k": 2, "tau": 0.3, "method": "soft_sort", "power": 2.0, "direction": "ASCENDING"},
            {"k": 2, "tau": 0.6, "returns": "weights", "hard": True},
            {"k": 3, "tau": 0.6, "returns": "membership", "learn_tau": True, "axis": 1},
            {"k": 2, "tau": 0.6, "method": "lapsum", "returns": "membership", "scale": "std"},
        ],
    )
]
OPERATIONS = [Operation("soft_top_k", lambda s: ks.soft_top_k(s, 2), SCORES)]
GRID = grid(ks.soft_top_k, ORACLE, k=[3], method=METHODS)
FEW = [OpCase(ks.soft_top_k, ORACLE, (("k", 3), ("method", method)), masked=True) for method in METHODS]
ALONG_AXIS = {
    "soft_top_k": lambda s, tau, **o: ks.soft_top_k(s, 2, tau, **o).values,
    "soft_top_k, weights": lambda s, tau, **o: ks.soft_top_k(s, 2, tau, hard=True, **o).weights,
    "SoftTopKLayer": lambda s, tau, **o: of_layer(ks.SoftTopKLayer, s, tau, k=2, returns="weights", **o),
}
# With each method, on scores [3, 5].
WITH_METHOD = {
    "soft_top_k": lambda s, method: ks.soft_top_k(s, 2, method=method).values,
    "SoftTopKLayer": lambda s, method: ks.SoftTopKLayer(2, method=method)(s),
}
OF_SCORES = [OfScores("soft_top_k", lambda s, tau, mask: ks.soft_top_k(s, 2, tau, mask=mask).weights)]
