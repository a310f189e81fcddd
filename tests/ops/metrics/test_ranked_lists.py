"""The decorator that makes a metric of a formula for lists."""

import inspect

import numpy as np
import pytest
import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort.ops.metrics.ranked_lists import Measures, can_be_ranked, metric, metric_arguments

SCORES, LABELS = [[0.3, 0.9, 0.4]], [[0.0, 2.0, 1.0]]


@metric(can_be_ranked, factor=arguments.positive_number)
def label_sum(lists, *, factor=2.0, **shared):
    """The sum of the labels, times a factor."""
    assert not shared
    total = tf.reduce_sum(lists.weighted(lists.labels), axis=-1)
    return Measures(factor * total, lists.mean_weights() * tf.ones_like(total), tf.cast(total > 0, total.dtype))


def test_a_metric_has_the_options_of_its_formula_and_the_shared_arguments():
    parameters = inspect.signature(label_sum).parameters
    assert list(parameters) == ["scores", "labels", "factor", "mask", "weights"]
    assert parameters["factor"].default == 2.0
    assert label_sum.__doc__ == "The sum of the labels, times a factor."


def test_a_metric_returns_the_values_of_valid_items():
    np.testing.assert_allclose(label_sum(SCORES, LABELS), [6.0])
    np.testing.assert_allclose(label_sum(SCORES, LABELS, factor=1.0, mask=[[True, True, False]]), [2.0])
    np.testing.assert_allclose(label_sum(SCORES, [[0.0, np.nan, 1.0]], weights=[[1.0, 0.0, 3.0]]), [6.0])
    np.testing.assert_allclose(label_sum([SCORES[0], [np.nan, 1.0, 2.0]], LABELS * 2), [6.0, np.nan])


def test_a_metric_gives_all_measures_of_checked_arguments():
    args = metric_arguments(SCORES, LABELS, None, [[1.0, 2.0, 3.0]])
    found = label_sum.measures(args, **label_sum.check(factor=1))
    np.testing.assert_allclose(found, [[7.0], [2.0], [1.0]])


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"factor": 0}, ValueError, "factor must be positive"),
        ({"k": 2}, TypeError, "label_sum has no argument 'k'"),
        ({"weights": [[-1.0, 1.0, 1.0]]}, ValueError, "weights must not be negative"),
    ],
)
def test_a_metric_checks_its_arguments(options, error, message):
    with pytest.raises(error, match=message):
        label_sum(SCORES, LABELS, **options)
