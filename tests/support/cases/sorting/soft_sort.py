"""Cases of `soft_sort`, its layer and its linear operator."""

import keras_softsort as ks
from support.cases.along_axis import of_layer
from support.cases.keras_case import Layer
from support.cases.of_scores import OfScores
from support.cases.op_case import DIRECTIONS, OpCase, grid
from support.cases.operation import SCORES, VECTORS, Operation, masked, products
from support.oracles import sorting as oracles

ORACLE = oracles.soft_sort
LAYERS = [
    Layer(
        ks.SoftSortLayer,
        [
            {"tau": 0.6, "power": 2.0, "top_k": 3},
            {"tau": 0.5, "returns": "values", "hard": True, "learn_tau": True, "axis": 1},
            {"tau": 0.5, "power": 1.5, "returns": "ranks", "direction": "ASCENDING", "scale": "std"},
        ],
        gives_permutation=True,
    )
]
OPERATIONS = [
    Operation("soft_sort", masked(ks.soft_sort), SCORES),
    Operation("soft_sort", lambda s: ks.soft_sort(s, power=1.5, direction="ASCENDING"), SCORES, "power"),
    Operation("soft_sort", lambda s: ks.soft_sort(s, scale="std"), SCORES, "scale"),
    Operation(
        "LinearOperatorSoftSort", products(lambda s: ks.LinearOperatorSoftSort(s, 0.5)), VECTORS, matrix_free=True
    ),
]
# |x|^0.5 has an infinite slope at the peak, which central differences cannot follow; see the gradient tests.
GRID = grid(ks.soft_sort, ORACLE, direction=DIRECTIONS, power=[1.0, 2.0, 1.5], top_k=[None, 3])
FEW = [
    OpCase(ks.soft_sort, ORACLE, (("direction", "DESCENDING"), ("power", 2.0), ("top_k", None))),
    OpCase(ks.soft_sort, ORACLE, (("direction", "ASCENDING"), ("power", 1.5), ("top_k", 3)), masked=True),
]
# Arguments with which a call is valid but for the one wrong argument that a test passes.
VALID = {"SoftSortLayer": {"power": 2.0}}
# Name -> function of scores and temperature, and the ways to differentiate and map it that each run tries.
IN_EVERY_WAY = {"soft_sort": (ks.soft_sort, ("forward",))}
ALONG_AXIS = {
    "soft_sort": lambda s, tau, **o: ks.soft_sort(s, tau, power=2.0, **o),
    "SoftSortLayer": lambda s, tau, **o: of_layer(ks.SoftSortLayer, s, tau, returns="ranks", **o),
}
OF_SCORES = [
    OfScores("soft_sort", lambda s, tau, mask: ks.soft_sort(s, tau, mask=mask)),
    OfScores("soft_sort", lambda s, tau, mask: ks.soft_sort(s, tau, power=2.0, mask=mask), "2.0", depends_on_unit=True),
]
