"""Cases of `sinkhorn` and its layer."""

import keras_softsort as ks
from support import models
from support.cases.keras_case import Layer
from support.cases.operation import PAIRS, Operation
from support.oracles import matching as oracles

ORACLE = oracles.sinkhorn
LAYERS = [
    Layer(
        ks.SinkhornLayer,
        [{"tau": 0.7, "num_iterations": 7, "tolerance": 1e-3, "hard": True, "learn_tau": True}],
        adapter=models.Pairs,
    )
]
OPERATIONS = [
    Operation("sinkhorn", lambda x: ks.sinkhorn(x, num_iterations=3), PAIRS),
    Operation("sinkhorn", lambda x: ks.sinkhorn(x, tolerance=1e-3, hard=True), PAIRS, "hard"),
]
