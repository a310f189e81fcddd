"""Cases of `mean_average_precision` and `MeanAveragePrecision`."""

import functools

import tensorflow as tf

import keras_softsort as ks
from support.cases.keras_case import Metric
from support.cases.operation import SCORES, Operation
from support.oracles import ranking_metrics

ORACLE = functools.partial(ranking_metrics.metric, "mean_average_precision")
OPERATIONS = [
    Operation(
        "mean_average_precision",
        lambda s: ks.ops.mean_average_precision(s, tf.abs(tf.round(s)), k=3, ties="mean", divisor="at_most_k"),
        SCORES,
        forward_only=True,
    )
]
METRICS = [
    Metric(
        ks.MeanAveragePrecision,
        [
            {"k": 2, "ties": "position", "name": "meanaverageprecision_0", "dtype": "float32"},
            {"k": 1, "divisor": "at_most_k", "name": "meanaverageprecision_2", "dtype": "float32"},
            {"min_label": 2.0, "no_relevant": "skip", "name": "meanaverageprecision_1", "dtype": "float32"},
        ],
    )
]
