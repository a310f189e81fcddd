"""Cases of `harden`."""

import tensorflow as tf

import keras_softsort as ks
from support.cases.of_scores import OfScores
from support.cases.operation import PAIRS, Operation
from support.oracles import sorting as oracles

ORACLE = oracles.harden
OPERATIONS = [Operation("harden", lambda p: ks.ops.harden(tf.nn.softmax(p)), PAIRS)]
OF_SCORES = [
    OfScores(
        "harden",
        lambda s, tau, mask: ks.ops.harden(ks.soft_sort(s, tau, mask=mask), mask=mask),
        depends_on_order_of_ties=True,
        straight_through=True,
    )
]
