"""Cases of `alpha_dcg` and `AlphaDCG`."""

import functools

import numpy as np
import tensorflow as tf

import keras_softsort as ks
from support.cases.keras_case import Metric
from support.cases.operation import SCORES, Operation
from support.oracles import ranking_metrics

ORACLE = functools.partial(ranking_metrics.metric, "alpha_dcg")
OPERATIONS = [
    Operation(
        "alpha_dcg",
        lambda s: ks.ops.alpha_dcg(s, tf.stack([tf.abs(tf.round(s)), tf.abs(s)], -1), k=3),
        SCORES,
        forward_only=True,
    )
]
METRICS = [
    Metric(
        ks.AlphaDCG,
        [{"k": 3, "alpha": 0.25, "discount": "reciprocal", "name": "alphadcg_0", "dtype": "float32"}],
        takes_topics=True,
    )
]
# Arguments with which a call is valid but for the one wrong argument that a test passes.
VALID = {"alpha_dcg": {"labels": np.ones([2, 3, 2])}}
