"""Cases of `gumbel_softmax` and its layer."""

import keras_softsort as ks
from support.cases.keras_case import Layer
from support.cases.of_scores import OfScores
from support.cases.operation import SCORES, SEED, Operation
from support.oracles import subsets as oracles

ORACLE = oracles.relaxed_subset
LAYERS = [
    Layer(
        ks.GumbelSoftmaxLayer,
        [
            {"tau": 0.7, "k": 2, "hard": True, "seed": 3},
            {"tau": 0.6, "k": 2, "method": "successive_softmax", "hard": False, "learn_tau": True, "axis": 1},
        ],
        draws_noise=True,
    )
]
OPERATIONS = [
    Operation("gumbel_softmax", lambda x: ks.gumbel_softmax(x, seed=SEED), SCORES),
    Operation("gumbel_softmax", lambda x: ks.gumbel_softmax(x, seed=SEED, k=2, hard=True), SCORES, "subset"),
]
OF_SCORES = [
    OfScores(
        "gumbel_softmax",
        lambda s, tau, mask: ks.gumbel_softmax(s, tau, seed=SEED, mask=mask),
        depends_on_unit=True,
        draws_noise=True,
    )
]
