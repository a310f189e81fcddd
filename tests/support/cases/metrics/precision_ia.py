"""Cases of `precision_ia` and `PrecisionIA`."""

import functools

import numpy as np
import tensorflow as tf

import keras_softsort as ks
from support.cases.keras_case import Metric
from support.cases.operation import SCORES, Operation
from support.oracles import ranking_metrics

ORACLE = functools.partial(ranking_metrics.metric, "precision_ia")
OPERATIONS = [
    Operation(
        "precision_ia",
        lambda s: ks.ops.precision_ia(s, tf.stack([tf.abs(tf.round(s)), tf.abs(s)], -1), k=3, ties="mean"),
        SCORES,
        forward_only=True,
    )
]
METRICS = [
    Metric(
        ks.PrecisionIA,
        [
            {
                "k": 2,
                "ties": "position",
                "min_label": 2.0,
                "no_relevant": "skip",
                "name": "precisionia_0",
                "dtype": "float32",
            }
        ],
        takes_topics=True,
    )
]
# Arguments with which a call is valid but for the one wrong argument that a test passes.
VALID = {"precision_ia": {"labels": np.ones([2, 3, 2])}}
