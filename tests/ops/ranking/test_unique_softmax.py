"""UniqueSoftmax has the same values and gradients however its choices are made."""

import numpy as np
import pytest
import tensorflow as tf

import keras_softsort as ks
from keras_softsort.ops.core.tracing import lowering_for

UNKNOWN = [tf.TensorSpec([None, None], tf.float32)]


def expected(scores, labels, weights, mask):
    """The losses, and the gradient of their sum, by the formula in float64."""
    losses, gradient = np.zeros(len(scores)), np.zeros(scores.shape)
    for b, own in enumerate(np.float64(scores)):
        for i in np.flatnonzero(mask[b]):
            chosen_from = [i, *np.flatnonzero(mask[b] & (labels[b] < labels[b, i]))]
            total = np.logaddexp.reduce(own[chosen_from])
            gain = weights[b, i] * (2.0 ** labels[b, i] - 1)
            losses[b] += gain * (total - own[i])
            gradient[b, chosen_from] += gain * np.exp(own[chosen_from] - total)
            gradient[b, i] -= gain
    return losses, gradient


WAYS = {
    "known sizes, TF": ("cpu", None, False),
    "unknown sizes, TF": ("cpu", UNKNOWN, False),
    "known sizes, XLA": ("cpu", None, True),
    "unknown sizes, XLA": ("cpu", UNKNOWN, True),
    "pairs, XLA": ("tpu", None, True),
}
# The sizes and spans that are tried each time, not only nightly.
QUICK = {
    "unknown sizes, TF": {(20, 1), (200, 100), (1100, 1)},
    "known sizes, XLA": {(20, 100)},
    "pairs, XLA": {(200, 1)},
}


@pytest.mark.slow
# Short, long, and too long for float32 sums; in range, and too far apart for exponentials.
@pytest.mark.parametrize(
    ("way", "size", "span"),
    [
        pytest.param(way, size, span, marks=[] if (size, span) in QUICK.get(way, ()) else [pytest.mark.nightly])
        for way in WAYS
        for size in (20, 200, 1100)
        for span in (1, 100)
    ],
)
def test_values_and_gradients(way, size, span):
    target, signature, compiled = WAYS[way]
    random = np.random.default_rng(size)
    scores, labels = random.normal(size=(2, size)) * span, random.integers(0, 5, size=(2, size))
    weights, mask = random.uniform(size=(2, size)), random.uniform(size=(2, size)) < 0.8
    scores, labels, weights = np.float32(scores), np.float32(labels), np.float32(weights)

    @tf.function(jit_compile=compiled, input_signature=signature, autograph=False)
    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            losses = ks.ops.unique_softmax_loss(x, labels, mask=mask, weights=weights)
        return losses, tape.gradient(losses, x)

    with lowering_for(target):
        losses, gradient = step(tf.constant(scores))
    true_losses, true_gradient = expected(scores, labels, weights, mask)
    np.testing.assert_allclose(losses, true_losses, rtol=1e-6)
    np.testing.assert_allclose(gradient, true_gradient, atol=1e-6 * np.abs(true_gradient).max())


@pytest.mark.slow
def test_gains_of_high_labels_over_small_exponentials_do_not_overflow():
    scores, labels = np.full((1, 40), -69, np.float32), np.full((1, 40), 30, np.float32)
    scores[0, 0], labels[0, -1] = 0, 1
    step = tf.function(lambda x: ks.ops.unique_softmax_loss(x, labels), autograph=False)
    x = tf.constant(scores)
    with tf.GradientTape() as tape:
        tape.watch(x)
        losses = step(x)
    true_losses, true_gradient = expected(scores, labels, np.ones_like(scores), np.ones_like(scores, bool))
    np.testing.assert_allclose(losses, true_losses, rtol=1e-6)
    np.testing.assert_allclose(tape.gradient(losses, x), true_gradient, rtol=1e-5)
