"""Cases of `ndcg` and `NDCG`."""

import functools

import tensorflow as tf

import keras_softsort as ks
from support.cases.keras_case import Metric
from support.cases.operation import SCORES, Operation
from support.oracles import ranking_metrics

ORACLE = functools.partial(ranking_metrics.metric, "ndcg")
OPERATIONS = [
    Operation("ndcg", lambda s: ks.ops.ndcg(s, tf.abs(tf.round(s)), k=3, ties="mean"), SCORES, forward_only=True)
]
METRICS = [
    Metric(
        ks.NDCG,
        [
            {"k": 3, "gain": "linear", "ties": "position", "name": "ndcg_0", "dtype": "float32"},
            {"discount": "reciprocal", "no_relevant": "one", "name": "ndcg_1", "dtype": "float32"},
        ],
    )
]
