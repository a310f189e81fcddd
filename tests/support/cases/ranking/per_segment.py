"""Cases of `per_segment`."""

import numpy as np
import tensorflow as tf

import keras_softsort as ks
from support.cases.of_scores import OfScores, labels_of
from support.cases.operation import SCORES, Operation


def of_lists(lists):
    """The losses of lists of unequal sizes, as rows."""
    rows, numbers = tf.reshape(lists, [-1]), tf.range(tf.size(lists))
    return ks.ops.per_segment(ks.ops.softmax_loss, rows, numbers % 3, numbers % 5 // 2)


def truth(lists):
    """By a loop over the lists."""
    rows, ids = np.reshape(lists, [-1]), np.arange(np.size(lists)) % 5 // 2
    found = np.zeros(len(rows))
    for own in (np.flatnonzero(ids == i) for i in range(3)):
        labels = own % 3
        found[own[0]] = np.sum(labels * (np.logaddexp.reduce(rows[own]) - rows[own]))
    return found


ORACLE = truth
OPERATIONS = [Operation("per_segment", of_lists, SCORES)]
VALID = {
    "per_segment": {
        "function": ks.ops.softmax_loss,
        "scores": np.array([0.5, -1.0, 2.0]),
        "labels": np.array([1.0, 0.0, 0.0]),
        "segments": np.array([4, 4, 2]),
    }
}


def of_rows(scores, tau, mask):
    """The losses of lists as rows, one after another."""
    labels, valid = labels_of(scores), None if mask is None else np.reshape(mask, [-1])
    segments = np.repeat(np.arange(3), labels.shape[1])
    options = {"mask": valid, "tau": tau}
    found = ks.ops.per_segment(
        ks.ops.softmax_loss, tf.reshape(scores, [-1]), tf.reshape(labels, [-1]), segments, **options
    )
    return tf.reduce_sum(tf.reshape(found, [3, -1]), axis=1)


OF_SCORES = [OfScores("per_segment", of_rows, is_loss=True, grows_with_scores=True)]
