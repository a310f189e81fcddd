"""Cases of `gumbel_softmax`, with and without noise, and its layer."""

import keras_softsort as ks
from keras_softsort.ops.sampling.gumbel_softmax import METHODS
from support.cases.keras_case import Layer
from support.cases.of_scores import OfScores
from support.cases.operation import SCORES, SEED, Operation
from support.oracles import subsets as oracles

ORACLE = oracles.relaxed_subset
VALID = {"gumbel_softmax": {"seed": SEED}}  # which may be left out without noise


def without_noise(scores, tau=1.0, **options):
    return ks.gumbel_softmax(scores, tau, k=2, noise_scale=0, **options)


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
    *(Operation("gumbel_softmax", lambda x, m=m: without_noise(x, method=m), SCORES, m) for m in METHODS),
]
VALID = {"gumbel_softmax": {"seed": SEED}}
# Name -> function of scores and temperature, and the ways to differentiate and map it that each run tries.
IN_EVERY_WAY = {
    "threshold": (without_noise, ("traced_second",)),
    "successive softmax": (lambda s, tau: without_noise(s, tau, method="successive_softmax"), ("forward",)),
}
OF_SCORES = [
    OfScores(
        "gumbel_softmax",
        lambda s, tau, mask: ks.gumbel_softmax(s, tau, seed=SEED, mask=mask),
        depends_on_unit=True,
        draws_noise=True,
    ),
    *(
        OfScores(
            "gumbel_softmax",
            lambda s, tau, mask, m=m: without_noise(s, tau, method=m, mask=mask),
            m,
            # Successive softmaxes add log(1 - p) to the score of a chosen item, which rounds the others beside a large
            # one.
            depends_on_unit=m == "successive_softmax",
            grows_with_scores=m == "successive_softmax",
            grows_in_gradient=m == "successive_softmax",
        )
        for m in METHODS
    ),
]
