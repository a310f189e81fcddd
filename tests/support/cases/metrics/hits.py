"""Cases of `hits` and `Hits`."""

import functools

import tensorflow as tf

import keras_softsort as ks
from support.cases.keras_case import Metric
from support.cases.operation import SCORES, Operation
from support.oracles import ranking_metrics

ORACLE = functools.partial(ranking_metrics.metric, "hits")
OPERATIONS = [
    Operation("hits", lambda s: ks.ops.hits(s, tf.abs(tf.round(s)), k=3, ties="mean"), SCORES, forward_only=True)
]
METRICS = [
    Metric(
        ks.Hits,
        [
            {"k": 2, "ties": "position", "name": "hits_0", "dtype": "float32"},
            {"min_label": 2.0, "no_relevant": "skip", "name": "hits_1", "dtype": "float32"},
        ],
    )
]
