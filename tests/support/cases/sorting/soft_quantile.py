"""Cases of `soft_quantile` and its layer."""

import tensorflow as tf

import keras_softsort as ks
from support.cases.along_axis import of_layer
from support.cases.keras_case import Layer
from support.cases.of_scores import OfScores
from support.cases.op_case import METHODS, OpCase, grid
from support.cases.operation import SCORES, Operation, masked
from support.oracles import sorting as oracles

ORACLE = oracles.soft_quantile
LAYERS = [
    Layer(
        ks.SoftQuantileLayer,
        [
            {"q": [0.25, 0.5], "tau": 0.6, "method": "soft_sort", "power": 2.0, "axis": 1},
            {"q": [0.5], "tau": 0.6, "scale": "std", "learn_tau": True},
        ],
    )
]
OPERATIONS = [Operation("soft_quantile", masked(ks.ops.soft_quantile, q=0.3), SCORES)]
GRID = grid(ks.ops.soft_quantile, ORACLE, q=[0.3, (0.0, 0.55, 1.0)], method=METHODS)
FEW = [
    OpCase(ks.ops.soft_quantile, ORACLE, (("q", (0.0, 0.55, 1.0)), ("method", method)), masked=True)
    for method in METHODS
]
# Name -> function of scores and temperature, and the ways to differentiate and map it that each run tries.
IN_EVERY_WAY = {"quantiles": (lambda s, tau: ks.ops.soft_quantile(s, [0.3, 0.6], tau), ())}
ALONG_AXIS = {
    "soft_quantile": lambda s, tau, **o: ks.ops.soft_quantile(s, [0.3, 0.5, 0.6], tau, **o),
    "SoftQuantileLayer": lambda s, tau, **o: of_layer(ks.SoftQuantileLayer, s, tau, q=[0.3, 0.6], **o),
}
# With each method, on scores [3, 5].
WITH_METHOD = {
    "soft_quantile": lambda s, method: ks.ops.soft_quantile(s, 0.3, method=method),
    "SoftQuantileLayer": lambda s, method: ks.SoftQuantileLayer(0.3, method=method)(s),
}
OF_SCORES = [
    OfScores(
        "soft_quantile",
        lambda s, tau, mask: ks.ops.soft_quantile(s, 0.5, tau, mask=mask)[:, tf.newaxis],
        depends_on_offset=True,
        depends_on_unit=True,
    )
]
