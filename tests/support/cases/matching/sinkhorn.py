"""Cases of `sinkhorn` and its layer."""

import numpy as np

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
# What makes a call with wrong values of single arguments valid otherwise.
VALID = {"sinkhorn": {"logits": PAIRS[0]}}
# Of scores and temperatures, with the ways to differentiate and map that are tried each time.
IN_EVERY_WAY = {
    "sinkhorn": (lambda x, tau: ks.sinkhorn(x, tau, num_iterations=4), ("jacobian",)),
    "sinkhorn of a masked row": (
        lambda x, tau: ks.sinkhorn(x, tau, row_mask=[True, False, True], num_iterations=4),
        (),
    ),
    "sinkhorn with a tolerance": (lambda x, tau: ks.sinkhorn(x, tau, tolerance=1e-3, num_iterations=70), ()),
    "sinkhorn in segments": (lambda x, tau: ks.sinkhorn(x, tau, num_iterations=40), ()),
}
RNG = np.random.default_rng(4)
SQUARE, WIDE, TALL = (RNG.normal(size=(2, *shape)) for shape in [(4, 4), (3, 5), (5, 3)])
ROW_MASK = np.array([[True, False, True, True], [True, True, True, True]])
COLUMN_MASK = np.array([[False, True, True, True], [True, False, True, True]])
# Matrices with masks, of any proportion.
INPUTS = {
    "square": (SQUARE, {}),
    "wide": (WIDE, {}),
    "tall": (TALL, {}),
    "row mask": (SQUARE, {"row_mask": ROW_MASK}),
    "column mask": (SQUARE, {"column_mask": COLUMN_MASK}),
    "both masks": (SQUARE, {"row_mask": ROW_MASK, "column_mask": COLUMN_MASK}),
}
