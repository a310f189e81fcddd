"""Cases of `average_relevance_position` and `AverageRelevancePosition`."""

import functools

import tensorflow as tf

import keras_softsort as ks
from support.cases.keras_case import Metric
from support.cases.operation import SCORES, Operation
from support.oracles import ranking_metrics

ORACLE = functools.partial(ranking_metrics.metric, "average_relevance_position")
OPERATIONS = [
    Operation(
        "average_relevance_position",
        lambda s: ks.ops.average_relevance_position(s, tf.abs(tf.round(s)), ties="mean"),
        SCORES,
        forward_only=True,
    )
]
METRICS = [
    Metric(
        ks.AverageRelevancePosition, [{"ties": "position", "name": "averagerelevanceposition_0", "dtype": "float32"}]
    )
]
