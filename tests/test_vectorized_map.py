"""A tape around `tf.vectorized_map` has the gradient of a tape around a loop, for every public operator, or raises.

`tf.vectorized_map` drops custom gradients, so the operations of an operator must have the right gradient themselves.
"""

import numpy as np
import pytest
import tensorflow as tf
from support.cases import of_scores, relations

import keras_softsort as ks

pytestmark = [pytest.mark.default_stack_only]

# Two batches of the three lists that operators as functions of scores take.
LISTS = np.float32([[-2, -10, 14, 10, -8, 24], [-4, 18, -12, 8, 22, -10], [10, -14, 6, -16, 18, 0]]) / 16
BATCHES = tf.constant(np.stack([LISTS, 0.8 * LISTS[:, ::-1]]))
LABELS = tf.constant([[2.0, 0.0, 1.0, 1.0, 0.0, 3.0]])
ORDER = tf.constant([2, 0, 1, 5, 3, 4])

# Operators whose custom gradients are not those of their operations, or were not. The others are tried nightly.
QUICK = {"per_segment", "plackett_luce_loss"}
# The gradient of their operations is wrong, and an error.
RAISES = {"per_segment", "sinkhorn_divergence", "transport_cost"}
OPERATORS = [each for each in relations.ALL if not each.forward_only]
DISTRIBUTIONS = {
    "log_prob": lambda scores: ks.PlackettLuce(scores).log_prob(ORDER),
    "log_prob of the first": lambda scores: ks.PlackettLuce(scores, top_k=2).log_prob(ORDER[:2]),
    "entropy": lambda scores: ks.PlackettLuce(scores, top_k=2).entropy(),
    "divergence": lambda scores: ks.PlackettLuce(scores, top_k=2).kl_divergence(ks.PlackettLuce(0.5 * scores, top_k=2)),
    "relaxed": lambda scores: ks.RelaxedPlackettLuce(scores, 0.5).sample(seed=[1, 2]),
}
LOSSES = {
    "breslow": lambda scores: ks.PlackettLuceLoss()(LABELS, scores),
    "first": lambda scores: ks.PlackettLuceLoss(ties="first")(LABELS, scores),
    "wide": lambda scores: ks.PlackettLuceLoss()(LABELS, 100 * scores),
}


def loop(function, batches):
    return tf.stack([function(each) for each in tf.unstack(batches)])


def results(mapper, function, batches):
    with tf.GradientTape() as tape:
        tape.watch(batches)
        found = mapper(function, batches)
        total = tf.reduce_sum(found * of_scores.weights(found[0]))
    return found, tape.gradient(total, batches)


def check(function, batches=BATCHES):
    expected = results(loop, function, batches)
    assert np.any(expected[1] != 0)
    for found, truth in zip(results(tf.vectorized_map, function, batches), expected, strict=True):
        np.testing.assert_allclose(found, truth, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    "subject",
    [pytest.param(each, marks=[] if each.name in QUICK else [pytest.mark.nightly]) for each in OPERATORS],
    ids=str,
)
def test_of_an_operator(subject):
    def function(scores):
        return subject.function(scores, tf.constant(0.5), None)

    if subject.name in RAISES:
        with pytest.raises(LookupError, match=r"around tf\.vectorized_map: take it inside, or use tf\.map_fn"):
            results(tf.vectorized_map, function, BATCHES)
    else:
        check(function)


@pytest.mark.parametrize("name", [pytest.param(each, marks=pytest.mark.nightly) for each in DISTRIBUTIONS])
def test_of_a_distribution(name):
    check(DISTRIBUTIONS[name], BATCHES[:, :1])


@pytest.mark.parametrize("name", [pytest.param(each, marks=pytest.mark.nightly) for each in LOSSES])
def test_of_a_loss(name):
    check(LOSSES[name], BATCHES[:, :1])
