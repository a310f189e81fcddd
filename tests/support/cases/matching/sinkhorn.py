"""Cases of `sinkhorn` and its layer."""

import numpy as np
import tensorflow as tf

import keras_softsort as ks
from support import models
from support.cases.keras_case import Layer
from support.cases.of_scores import OfScores, matrices, rows
from support.cases.operation import PAIRS, Operation
from support.oracles import matching as oracles

ORACLE = oracles.sinkhorn
LAYERS = [
    Layer(
        ks.SinkhornLayer,
        [{"tau": 0.7, "num_iterations": 7, "tolerance": 1e-3, "hard": True, "scale": "std", "learn_tau": True}],
        adapter=models.Pairs,
    )
]
OPERATIONS = [
    Operation("sinkhorn", lambda x: ks.sinkhorn(x, num_iterations=3), PAIRS),
    Operation("sinkhorn", lambda x: ks.sinkhorn(x, tolerance=1e-3, hard=True), PAIRS, "hard"),
    Operation("sinkhorn", lambda x: ks.sinkhorn(x, row_sums=tf.nn.softmax(x[..., 0])), PAIRS, "sums"),
    Operation("sinkhorn", lambda x: ks.sinkhorn(x, marginal_penalty=1.0), PAIRS, "penalty"),
    Operation("sinkhorn", lambda x: ks.sinkhorn(x, tolerance=1e-3, implicit_gradient=True), PAIRS, "implicit"),
    Operation("sinkhorn", lambda x: ks.sinkhorn(x, scale="std"), PAIRS, "scale"),
]
# Arguments with which a call is valid but for the one wrong argument that a test passes.
VALID = {"sinkhorn": {"logits": PAIRS[0]}}
# Name -> function of scores and temperature, and the ways to differentiate and map it that each run tries.
IN_EVERY_WAY = {
    "sinkhorn": (lambda x, tau: ks.sinkhorn(x, tau, num_iterations=4), ("traced_second",)),
    "sinkhorn of a masked row": (
        lambda x, tau: ks.sinkhorn(x, tau, row_mask=[True, False, True], num_iterations=4),
        (),
    ),
    "sinkhorn with a tolerance": (lambda x, tau: ks.sinkhorn(x, tau, tolerance=1e-3, num_iterations=70), ()),
    "sinkhorn with sums": (lambda x, tau: ks.sinkhorn(x, tau, row_sums=[1.0, 0.5, 2.0], num_iterations=4), ()),
    "sinkhorn with a penalty": (lambda x, tau: ks.sinkhorn(x, tau, marginal_penalty=0.5, num_iterations=4), ()),
    "sinkhorn with an implicit gradient": (
        lambda x, tau: ks.sinkhorn(x, tau, tolerance=1e-13, num_iterations=150, implicit_gradient=True),
        (),
    ),
    "sinkhorn in segments": (lambda x, tau: ks.sinkhorn(x, tau, num_iterations=40), ()),
}
RNG = np.random.default_rng(4)
SQUARE, WIDE, TALL = (RNG.normal(size=(2, *shape)) for shape in [(4, 4), (3, 5), (5, 3)])
ROW_MASK = np.array([[True, False, True, True], [True, True, True, True]])
ROW_SUMS, WIDE_SUMS = RNG.uniform(0.5, 2, [2, 4]), RNG.uniform(0.5, 2, [2, 3])
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
# Sums of rows and columns: of other mass on each side, and at a penalty.
SUMS = {
    "sums": (SQUARE, {"row_sums": ROW_SUMS, "column_sums": ROW_SUMS[::-1]}),
    "sums of rows": (WIDE, {"row_sums": WIDE_SUMS}),
    "sums of columns": (TALL, {"column_sums": WIDE_SUMS}),
    "sums and masks": (SQUARE, {"row_sums": ROW_SUMS, "row_mask": ROW_MASK, "column_mask": COLUMN_MASK}),
    "penalty": (WIDE, {"row_sums": WIDE_SUMS, "marginal_penalty": 0.6}),
    "penalty and masks": (SQUARE, {"row_mask": ROW_MASK, "column_mask": COLUMN_MASK, "marginal_penalty": 2.0}),
}
OF_SCORES = [
    OfScores("sinkhorn", lambda s, tau, mask: ks.sinkhorn(matrices(s), tau, row_mask=rows(mask))),
    OfScores(
        "sinkhorn",
        lambda s, tau, mask: ks.sinkhorn(matrices(s), tau, row_mask=rows(mask), marginal_penalty=1.0),
        "penalty",  # at which the mass of the matrix grows with its logits
        depends_on_offset=True,
        depends_on_unit=True,
        grows_with_scores=True,
        grows_in_gradient=True,
    ),
]
