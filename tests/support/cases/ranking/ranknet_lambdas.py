"""Cases of `ranknet_lambdas`."""

import tensorflow as tf

import keras_softsort as ks
from support.cases.of_scores import LABELS, OfScores
from support.cases.operation import SCORES, N, Operation
from support.oracles import pairs as oracles

ORACLE = oracles.list_loss  # the lambdas are its gradient
OPERATIONS = [
    Operation(
        "ranknet_lambdas", lambda s: ks.ops.ranknet_lambdas(s, tf.range(2.0 * N)[::2] + s), SCORES, forward_only=True
    )
]
OF_SCORES = [
    OfScores(
        "ranknet_lambdas",
        lambda s, tau, mask: ks.ops.ranknet_lambdas(s, tf.constant(LABELS, s.dtype), tau=tau, mask=mask),
        depends_on_unit=True,
        depends_on_order_of_ties=True,
        forward_only=True,
    )
]
