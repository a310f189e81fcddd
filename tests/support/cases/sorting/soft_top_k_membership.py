"""Cases of `soft_top_k_membership`."""

import tensorflow as tf

import keras_softsort as ks
from keras_softsort.ops.sorting import methods
from support.cases.of_scores import OfScores
from support.cases.operation import SCORES, Operation, masked
from support.oracles import projection as oracles

ORACLE = oracles.lapsum_membership
OPERATIONS = [
    Operation("soft_top_k_membership", masked(ks.ops.soft_top_k_membership, k=2), SCORES),
    *(
        Operation(
            "soft_top_k_membership", masked(ks.ops.soft_top_k_membership, k=[1, 3], method=method), SCORES, method
        )
        for method in ("projection", "projection_kl")
    ),
]
# Name -> function of scores and temperature, and the ways to differentiate and map it that each run tries.
IN_EVERY_WAY = {
    "membership by LapSum": (
        lambda s, tau: ks.ops.soft_top_k_membership(s, 2, tau),
        ("gradient_in_strict_map", "traced_second"),
    ),
    "membership by projection": (lambda s, tau: ks.ops.soft_top_k_membership(s, 2, tau, method="projection"), ()),
    "membership by entropic projection": (
        lambda s, tau: ks.ops.soft_top_k_membership(s, 2, tau, method="projection_kl"),
        (),
    ),
    "membership": (lambda s, tau: ks.ops.soft_top_k_membership(s, 2, tau, method="neural_sort"), ()),
}
ALONG_AXIS = {
    "soft_top_k_membership": lambda s, tau, **o: ks.ops.soft_top_k_membership(s, 2, tau, **o),
    "soft_top_k_membership of k per list": lambda s, tau, axis=-1, **o: ks.ops.soft_top_k_membership(
        s, tf.cast(1 + tf.math.argmax(s, axis) % 2, tf.int32), tau, axis=axis, method="neural_sort", **o
    ),
}
# With each method, on scores [3, 5].
WITH_METHOD = {"soft_top_k_membership": lambda s, method: ks.ops.soft_top_k_membership(s, 2, method=method)}
OF_SCORES = [
    OfScores(
        "soft_top_k_membership",
        lambda s, tau, mask, m=m: ks.ops.soft_top_k_membership(s, 2, tau, method=m, mask=mask),
        m,
    )
    for m in methods.names("membership")
]
