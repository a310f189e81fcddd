"""Cases of `set_loss` and `SetLoss`, of sets of numbers."""

import numpy as np
import tensorflow as tf
from scipy.optimize import linear_sum_assignment

import keras_softsort as ks
from support.cases.keras_case import Loss
from support.cases.of_scores import OfScores, first
from support.cases.operation import SCORES, Operation

register = tf.keras.utils.register_keras_serializable(package="tests")


@register
def squared_distances(targets, predictions):
    """Squared distances of all pairs: [batch, m, n]. Plain ones have many best matchings, and rounding would choose."""
    return tf.square(targets[:, :, tf.newaxis] - predictions[:, tf.newaxis, :])


@register
def squared_errors(targets, predictions):
    return tf.square(targets - predictions)


@register
def absolute_errors(targets, predictions):
    return tf.abs(targets - predictions)


@register
def tenth_of_squares(predictions):
    return 0.1 * tf.square(predictions)


@register
def not_negative(labels):
    return labels >= 0


@register
def above_minus_two(predictions):
    return predictions > -2


ORACLE = linear_sum_assignment  # of each set by itself
FUNCTIONS = {"pair_cost": squared_distances, "matched_loss": squared_errors}
SET_LOSS = Loss(
    ks.SetLoss,
    [
        {
            **FUNCTIONS,
            "unmatched_loss": tenth_of_squares,
            "target_mask": not_negative,
            "normalization": "set",
            "class_loss": absolute_errors,
        },
        {
            **FUNCTIONS,
            "unmatched_loss": tenth_of_squares,
            "unmatched_weight": 0.5,
            "prediction_mask": above_minus_two,
            "skip_nan": True,
            "reduction": "sum",
            "name": "mine",
        },
    ],
    "set_loss",
    takes="set",
    basic={**FUNCTIONS, "normalization": "none"},
)
LOSSES = [SET_LOSS]
OPERATIONS = [
    Operation(
        "set_loss",
        lambda predictions: ks.ops.set_loss(tf.zeros([2, 3]), predictions, squared_distances, squared_errors),
        SCORES,
    )
]
# Arguments with which a call is valid but for the one wrong argument that a test passes.
VALID = {"set_loss": {"targets": np.zeros([2, 3]), "predictions": np.ones([2, 4]), **FUNCTIONS}}


def of_halves(scores, tau, mask):
    """The losses of the first half of the items as targets and the other half as predictions."""
    targets, predictions = tf.split(scores / tau, 2, axis=1)
    return ks.ops.set_loss(targets, predictions, **FUNCTIONS, target_mask=first(mask))


OF_SCORES = [
    OfScores(
        "set_loss",
        of_halves,
        is_loss=True,
        depends_on_order_of_ties=True,
        grows_with_scores=True,
        grows_in_gradient=True,
    )
]
