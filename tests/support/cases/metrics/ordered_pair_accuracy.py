"""Cases of `ordered_pair_accuracy` and `OrderedPairAccuracy`."""

import functools

import tensorflow as tf

import keras_softsort as ks
from support.cases.keras_case import Metric
from support.cases.operation import SCORES, Operation
from support.oracles import ranking_metrics

ORACLE = functools.partial(ranking_metrics.metric, "ordered_pair_accuracy")
OPERATIONS = [
    Operation(
        "ordered_pair_accuracy",
        lambda s: ks.ops.ordered_pair_accuracy(s, tf.abs(tf.round(s)), ties="mean"),
        SCORES,
        forward_only=True,
    )
]
METRICS = [
    Metric(
        ks.OrderedPairAccuracy,
        [
            {"ties": "position", "name": "orderedpairaccuracy_0", "dtype": "float32"},
            {"average": "lists", "keep_zero_weights": True, "name": "orderedpairaccuracy_1", "dtype": "float32"},
        ],
    )
]
