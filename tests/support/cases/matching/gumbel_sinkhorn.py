"""Cases of `gumbel_sinkhorn` and its layer."""

import keras_softsort as ks
from support import models
from support.cases.keras_case import Layer
from support.cases.of_scores import OfScores, matrices, rows
from support.cases.operation import PAIRS, SEED, Operation
from support.oracles import matching as oracles

ORACLE = oracles.sinkhorn
LAYERS = [
    Layer(
        ks.GumbelSinkhornLayer,
        [
            {"tau": 0.6, "num_samples": 2, "noise_scale": 0.1, "num_iterations": 5, "seed": 3},
            {"tau": 0.5, "hard": True, "scale": "std", "tolerance": 0.1, "learn_tau": True},
        ],
        adapter=models.Pairs,
    )
]
OPERATIONS = [Operation("gumbel_sinkhorn", lambda x: ks.ops.gumbel_sinkhorn(x, seed=SEED, num_iterations=3), PAIRS)]
# Arguments with which a call is valid but for the one wrong argument that a test passes.
VALID = {"gumbel_sinkhorn": {"logits": PAIRS[0]}}
# Name -> function of scores and temperature, and the ways to differentiate and map it that each run tries.
IN_EVERY_WAY = {
    "gumbel_sinkhorn": (lambda x, tau: ks.ops.gumbel_sinkhorn(x, tau, seed=SEED, num_samples=2, num_iterations=4), ())
}
OF_SCORES = [
    OfScores(
        "gumbel_sinkhorn",
        lambda s, tau, mask: ks.ops.gumbel_sinkhorn(matrices(s), tau, seed=SEED, row_mask=rows(mask)),
        depends_on_unit=True,
        draws_noise=True,
    )
]
