"""Cases of `soft_top_k_membership`."""

import keras_softsort as ks
from support.cases.operation import SCORES, Operation, masked
from support.oracles import projection as oracles

ORACLE = oracles.lapsum_membership
OPERATIONS = [Operation("soft_top_k_membership", masked(ks.ops.soft_top_k_membership, k=2), SCORES)]
# Of scores and temperatures, with the ways to differentiate and map that are tried each time.
IN_EVERY_WAY = {
    "membership by LapSum": (
        lambda s, tau: ks.ops.soft_top_k_membership(s, 2, tau),
        ("gradient_in_strict_map", "traced_second"),
    ),
    "membership": (lambda s, tau: ks.ops.soft_top_k_membership(s, 2, tau, method="neural_sort"), ()),
}
# With each method, on scores [3, 5].
WITH_METHOD = {
    "soft_top_k_membership": lambda s, method: ks.ops.soft_top_k_membership(s, 2, method=method),
}
