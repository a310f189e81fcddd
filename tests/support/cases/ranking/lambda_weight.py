"""Cases of `LambdaWeight`, which losses of pairs and of softmaxes take."""

import tensorflow as tf

import keras_softsort as ks
from support.cases.keras_case import KerasObject

register = tf.keras.utils.register_keras_serializable(package="tests")


@register
def root_gain(labels):
    return labels**0.5


@register
def root_discount(ranks):
    return (1 + ranks) ** -0.5


LAMBDA_WEIGHTS = [
    KerasObject(
        ks.losses.LambdaWeight,
        [
            {"metric": "dcg", "k": 3, "gain": "linear", "discount": "reciprocal", "version": 2, "neighbors_only": True},
            {"metric": "ndcg", "smooth_fraction": 0.5},
            {"metric": "precision", "k": 2, "min_label": 2.0},
        ],
    )
]
