"""Cases of `SetLoss`, of sets of numbers."""

import tensorflow as tf
from scipy.optimize import linear_sum_assignment

import keras_softsort as ks
from support.cases.keras_case import Loss

register = tf.keras.utils.register_keras_serializable(package="tests")


@register
def squared_distances(targets, predictions):
    """Of all pairs of numbers: [batch, m, n]. Plain distances have many best matchings, which rounding picks from."""
    return tf.square(targets[:, :, tf.newaxis] - predictions[:, tf.newaxis, :])


@register
def squared_errors(targets, predictions):
    return tf.square(targets - predictions)


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
        },
        {**FUNCTIONS, "prediction_mask": above_minus_two, "reduction": "sum", "name": "mine"},
    ],
    takes="set",
    basic={**FUNCTIONS, "normalization": "none"},
)
LOSSES = [SET_LOSS]
