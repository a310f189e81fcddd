"""Cases of `match`."""

from scipy.optimize import linear_sum_assignment

import keras_softsort as ks
from support.cases.operation import PAIRS, Operation

ORACLE = linear_sum_assignment
OPERATIONS = [Operation("match", lambda cost: ks.ops.match(cost).rows, PAIRS, forward_only=True)]
