"""Cases of `relaxed_top_k`."""

import keras_softsort as ks
from support.cases.operation import SCORES, Operation
from support.oracles import subsets as oracles

ORACLE = oracles.relaxed_subset
OPERATIONS = [
    Operation("relaxed_top_k", lambda x: ks.relaxed_top_k(x, 2), SCORES),
    Operation("relaxed_top_k", lambda x: ks.relaxed_top_k(x, 2, method="successive_softmax"), SCORES, "subset"),
]
