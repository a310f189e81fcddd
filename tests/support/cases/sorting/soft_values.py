"""Cases of `soft_values`."""

import tensorflow as tf

import keras_softsort as ks
from keras_softsort.ops.sorting import methods
from support.cases.of_scores import OfScores
from support.cases.op_case import DIRECTIONS, METHODS, OpCase, grid
from support.cases.operation import SCORES, Operation, masked
from support.oracles import sorting as oracles

ORACLE = oracles.soft_values
OPERATIONS = [
    Operation("soft_values", masked(ks.soft_values), SCORES),
    Operation("soft_values", masked(ks.soft_values, method="projection"), SCORES, "projection"),
]
GRID = [
    case
    for values_rank in (None, 0, 1)
    for case in grid(ks.soft_values, ORACLE, values_rank, method=METHODS, direction=DIRECTIONS)
]
FEW = [
    OpCase(ks.soft_values, ORACLE, (("method", "neural_sort"), ("direction", "ASCENDING")), masked=True, values_rank=1),
    OpCase(ks.soft_values, ORACLE, (("method", "soft_sort"), ("direction", "DESCENDING")), masked=True),
]
# Name -> function of scores and temperature, and the ways to differentiate and map it that each run tries.
IN_EVERY_WAY = {"values by projection_kl": (lambda s, tau: ks.soft_values(s, tau, method="projection_kl"), ())}
ALONG_AXIS = {
    "soft_values": lambda s, tau, **o: ks.soft_values(s, tau, top_k=2, **o),
    "soft_values by projection": lambda s, tau, **o: ks.soft_values(s, tau, method="projection", **o),
    "soft_values of values": lambda s, tau, **o: ks.soft_values(s, tau, values=s * s, **o),
    "soft_values of vectors": lambda s, tau, **o: ks.soft_values(s, tau, values=tf.stack([s, s * s], -1), **o),
}
# With each method, on scores [3, 5].
WITH_METHOD = {
    "soft_values": lambda s, method: ks.soft_values(s, method=method),
    "soft_values of vectors": lambda s, method: ks.soft_values(s, values=tf.stack([s, s * s], -1), method=method),
    "soft_values, the first": lambda s, method: ks.soft_values(s, top_k=2, method=method),
}
# Without the first and the last value, where the outliers are.
OF_SCORES = [
    OfScores(
        "soft_values",
        lambda s, tau, mask, m=m: ks.soft_values(s, tau, method=m, mask=mask)[..., 1:-1],
        m,
        depends_on_offset=True,
        depends_on_unit=True,
        grows_with_scores="projection" in m,  # whose blocks hold means of scores
    )
    for m in methods.names("values")
]
