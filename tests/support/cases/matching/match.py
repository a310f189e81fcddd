"""Cases of `match`."""

from scipy.optimize import linear_sum_assignment

import keras_softsort as ks
from support.cases.matching import linear_assignment
from support.cases.of_scores import OfScores, matrices, rows
from support.cases.operation import PAIRS, Operation

ORACLE = linear_sum_assignment
OPERATIONS = [Operation("match", lambda cost: ks.ops.match(cost).rows, PAIRS, forward_only=True)]
# Costs [sets, n, m], as scores of assignments and as distances.
KINDS = {name: linear_assignment.KINDS[name] for name in ("normal", "ties", "integers")}
KINDS["distances"] = lambda rng, shape: -linear_assignment.KINDS["near"](rng, shape)
OF_SCORES = [
    OfScores(
        "match",
        lambda s, tau, mask: ks.ops.match(matrices(s), row_mask=rows(mask)).rows,
        depends_on_order_of_ties=True,
        forward_only=True,
    )
]
