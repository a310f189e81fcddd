"""Cases of `linear_assignment`."""

from scipy.optimize import linear_sum_assignment

import keras_softsort as ks
from support.cases.operation import PAIRS, Operation

ORACLE = linear_sum_assignment
OPERATIONS = [Operation("linear_assignment", ks.linear_assignment, PAIRS, forward_only=True)]
# What makes a call with wrong values of single arguments valid otherwise.
VALID = {"linear_assignment": {"scores": PAIRS[0]}}
