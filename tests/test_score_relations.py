"""What must not change the numbers of ranking operators, losses and metrics: offsets, scales, one item far away."""

import numpy as np
import pytest
import tensorflow as tf
from support.cases import objects

from keras_softsort import ops

pytestmark = pytest.mark.default_stack_only

METRICS = {case.cls: case for case in reversed(objects.METRICS)}
LONG = {
    "ndcg": {},
    "dcg": {},
    "average_relevance_position": {},
    "mean_average_precision": {},
    "ordered_pair_accuracy": {},
    "precision": {"k": 60_000},
    "recall": {"k": 60_000},
}


@pytest.mark.parametrize("cls", METRICS, ids=lambda cls: cls.__name__)
def test_metrics_refuse_negative_weights(cls):
    labels = [[[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]]] * 2 if METRICS[cls].subject.takes_topics else [[1.0, 0.0, 2.0]] * 2
    metric, scores = METRICS[cls].make(), tf.constant([[0.1, 0.4, 0.3], [0.3, 0.2, 0.1]])
    for weights in ([1.0, -1.0], [[1.0, 1.0, 1.0], [1.0, 1.0, -1.0]]):
        with pytest.raises(ValueError, match="weights must not be negative, got -1"):
            metric.update_state(tf.constant(labels), scores, weights)
        with pytest.raises(tf.errors.InvalidArgumentError, match="weights must not be negative"):
            tf.function(lambda given: metric.update_state(tf.constant(labels), scores, given))(tf.constant(weights))


@pytest.mark.traced_eagerly
@pytest.mark.parametrize("name", LONG)
def test_long_lists_keep_their_digits(name, rng):
    scores, labels = rng.normal(size=[1, 70_000]).astype("float32"), rng.integers(0, 4, [1, 70_000])
    operator = getattr(ops, name)
    wanted = operator(tf.constant(scores, tf.float64), labels, **LONG[name])
    np.testing.assert_allclose(operator(scores, labels, **LONG[name]), wanted, rtol=1e-6)
