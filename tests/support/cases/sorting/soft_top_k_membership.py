"""Cases of `soft_top_k_membership`."""

import keras_softsort as ks
from support.cases.operation import SCORES, Operation, masked
from support.oracles import projection as oracles

ORACLE = oracles.lapsum_membership
OPERATIONS = [Operation("soft_top_k_membership", masked(ks.soft_top_k_membership, k=2), SCORES)]
