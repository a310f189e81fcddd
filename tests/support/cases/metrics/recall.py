"""Cases of `recall` and `Recall`."""

import functools

import tensorflow as tf

import keras_softsort as ks
from support.cases.keras_case import Metric
from support.cases.operation import SCORES, Operation
from support.oracles import ranking_metrics

ORACLE = functools.partial(ranking_metrics.metric, "recall")
OPERATIONS = [
    Operation("recall", lambda s: ks.ops.recall(s, tf.abs(tf.round(s)), k=3, ties="mean"), SCORES, forward_only=True)
]
METRICS = [
    Metric(
        ks.Recall,
        [
            {"k": 2, "ties": "position", "name": "recall_0", "dtype": "float32"},
            {"min_label": 2.0, "no_relevant": "skip", "name": "recall_1", "dtype": "float32"},
        ],
    )
]
