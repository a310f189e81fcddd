"""Cases of `neural_sort`, its layer and its linear operator."""

import keras_softsort as ks
from support.cases.along_axis import of_layer
from support.cases.keras_case import Layer
from support.cases.of_scores import OfScores
from support.cases.op_case import DIRECTIONS, OpCase, grid
from support.cases.operation import SCORES, VECTORS, Operation, masked, products
from support.oracles import sorting as oracles

ORACLE = oracles.neural_sort
LAYERS = [
    Layer(
        ks.NeuralSortLayer,
        [
            {"tau": 0.7},
            {"tau": 0.5, "top_k": 2, "hard": True, "direction": "ASCENDING", "axis": 1},
            {"tau": 0.7, "returns": "values", "top_k": 3},
            {"tau": 2.0, "returns": "ranks", "direction": "ASCENDING", "scale": "std", "learn_tau": True},
        ],
        gives_permutation=True,
        also_try_first_options=True,
    )
]
OPERATIONS = [
    Operation("neural_sort", masked(ks.neural_sort), SCORES),
    Operation("neural_sort", lambda s: ks.neural_sort(s, top_k=2, hard=True), SCORES, "hard"),
    Operation(
        "LinearOperatorNeuralSort", products(lambda s: ks.LinearOperatorNeuralSort(s, 0.5)), VECTORS, matrix_free=True
    ),
]
GRID = grid(ks.neural_sort, ORACLE, direction=DIRECTIONS, top_k=[None, 3])
FEW = [
    OpCase(ks.neural_sort, ORACLE, (("direction", "DESCENDING"), ("top_k", None))),
    OpCase(ks.neural_sort, ORACLE, (("direction", "ASCENDING"), ("top_k", 3)), masked=True),
]
# Name -> function of scores and temperature, and the ways to differentiate and map it that each run tries.
IN_EVERY_WAY = {"neural_sort": (ks.neural_sort, ("persistent", "gradient_in_strict_map", "traced_second"))}
ALONG_AXIS = {
    "neural_sort": lambda s, tau, **o: ks.neural_sort(s, tau, top_k=2, **o),
    "NeuralSortLayer": lambda s, tau, **o: of_layer(ks.NeuralSortLayer, s, tau, **o),
    "NeuralSortLayer, values": lambda s, tau, **o: of_layer(ks.NeuralSortLayer, s, tau, returns="values", top_k=2, **o),
}
OF_SCORES = [OfScores("neural_sort", lambda s, tau, mask: ks.neural_sort(s, tau, mask=mask))]
