"""Cases of `expected_reciprocal_rank` and `ExpectedReciprocalRank`."""

import functools

import tensorflow as tf

import keras_softsort as ks
from support.cases.keras_case import Metric
from support.cases.operation import SCORES, Operation
from support.oracles import ranking_metrics

ORACLE = functools.partial(ranking_metrics.metric, "expected_reciprocal_rank")
OPERATIONS = [
    Operation(
        "expected_reciprocal_rank",
        lambda s: ks.ops.expected_reciprocal_rank(s, tf.abs(tf.round(s)), k=3, max_label=9.0),
        SCORES,
        forward_only=True,
    )
]
METRICS = [
    Metric(
        ks.ExpectedReciprocalRank,
        [
            {"k": 2, "max_label": 6.0, "name": "expectedreciprocalrank_0", "dtype": "float32"},
            {"max_label": 5.0, "no_relevant": "skip", "name": "expectedreciprocalrank_1", "dtype": "float32"},
        ],
    )
]
