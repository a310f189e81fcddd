"""Cases of `pairwise_logistic`."""

import keras_softsort as ks
from support.cases.operation import SCORES, Operation
from support.oracles import pairs as oracles

ORACLE = oracles.softplus
OPERATIONS = [Operation("pairwise_logistic", lambda d: ks.ops.pairwise_logistic(d, 2.0, tau=2.0), SCORES)]
