"""Cases of `dcg` and `DCG`."""

import functools

import tensorflow as tf

import keras_softsort as ks
from support.cases.keras_case import Metric
from support.cases.operation import SCORES, Operation
from support.oracles import ranking_metrics

ORACLE = functools.partial(ranking_metrics.metric, "dcg")
OPERATIONS = [
    Operation("dcg", lambda s: ks.ops.dcg(s, tf.abs(tf.round(s)), k=3, ties="mean"), SCORES, forward_only=True)
]
METRICS = [
    Metric(
        ks.DCG,
        [
            {"k": 3, "gain": "linear", "name": "dcg_0", "dtype": "float32"},
            {"discount": "reciprocal", "ties": "position", "name": "dcg_1", "dtype": "float32"},
        ],
    )
]
