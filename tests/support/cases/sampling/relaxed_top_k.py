"""Cases of `relaxed_top_k`."""

import keras_softsort as ks
from keras_softsort.ops.sampling.gumbel_softmax import METHODS
from support.cases.of_scores import OfScores
from support.cases.operation import SCORES, Operation
from support.oracles import subsets as oracles

ORACLE = oracles.relaxed_subset
OPERATIONS = [
    Operation("relaxed_top_k", lambda x: ks.ops.relaxed_top_k(x, 2), SCORES),
    Operation("relaxed_top_k", lambda x: ks.ops.relaxed_top_k(x, 2, method="successive_softmax"), SCORES, "subset"),
]
# Name -> function of scores and temperature, and the ways to differentiate and map it that each run tries.
IN_EVERY_WAY = {
    "threshold": (lambda s, tau: ks.ops.relaxed_top_k(s, 2, tau), ("jacobian", "traced_second")),
    "successive softmax": (lambda s, tau: ks.ops.relaxed_top_k(s, 2, tau, method="successive_softmax"), ("forward",)),
}
OF_SCORES = [
    OfScores(
        "relaxed_top_k",
        lambda s, tau, mask, m=m: ks.ops.relaxed_top_k(s, 2, tau, method=m, mask=mask),
        m,
        # Successive softmaxes add log(1 - p) to the score of a chosen item, which rounds the others beside a large one.
        depends_on_unit=m == "successive_softmax",
        grows_with_scores=m == "successive_softmax",
        grows_in_gradient=m == "successive_softmax",
    )
    for m in METHODS
]
