"""Ranks by sums of exponentials and by all pairs are the same, whichever a list gets."""

import numpy as np
import pytest
import tensorflow as tf

from keras_softsort.ops.ranking import _sigmoid_ranks as module
from keras_softsort.ops.ranking._sigmoid_ranks import sigmoid_ranks

TAU = 0.5
# Below and above what each number of nodes can span, in units of the temperature.
SPANS = [0.0, 11.3, 11.5, 27.0, 40.0, 81.0, 82.0, 1e3]
SIZES = [7, 249, 250, 600]
SIGNATURES = {"known sizes": None, "unknown sizes": [tf.TensorSpec([None, None], tf.float32)] * 2}


def expected(scores, upstream, mask):
    """The ranks and the gradient of their sum weighted by `upstream`, from all pairs in float64."""
    leads = (np.float64(scores)[:, None, :] - np.float64(scores)[:, :, None]) / TAU
    shares = np.exp(-np.logaddexp(0, -leads)) * mask[:, None, :]
    slopes = np.exp(-np.logaddexp(0, leads) - np.logaddexp(0, -leads)) * mask[:, None, :] * mask[:, :, None] / TAU
    differences = upstream[:, :, None] - upstream[:, None, :]
    return 0.5 + shares.sum(2), (differences * slopes).sum(1)


def lists(size, span, seed=0):
    """Scores whose largest and lowest are valid and `span` temperatures apart, and what masked items may hold."""
    random = np.random.default_rng(seed)
    scores = random.uniform(size=(3, size)) * span * TAU
    scores[:, 0], scores[:, 1] = 0, span * TAU
    mask = random.uniform(size=scores.shape) < 0.8
    mask[:, :2] = True
    scores[~mask] = 1e30
    return np.float32(scores + 3), mask, np.float32(random.normal(size=scores.shape) * mask)


def with_gradient(mask):
    def step(scores, upstream):
        with tf.GradientTape() as tape:
            tape.watch(scores)
            ranks = sigmoid_ranks(scores, tf.constant(TAU), tf.constant(mask))
        return ranks, tape.gradient(ranks, scores, output_gradients=upstream)

    return step


@pytest.mark.slow
@pytest.mark.parametrize(
    ("signature", "compiled"),
    [
        ("known sizes", True),
        ("unknown sizes", False),
        pytest.param("known sizes", False, marks=pytest.mark.nightly),
        pytest.param("unknown sizes", True, marks=pytest.mark.nightly),
    ],
)
@pytest.mark.parametrize("size", SIZES)
def test_values_and_gradients_are_those_of_all_pairs(size, compiled, signature):
    _, mask, _ = lists(size, 1)
    step = tf.function(
        with_gradient(mask), jit_compile=compiled, input_signature=SIGNATURES[signature], autograph=False
    )
    for span in SPANS:
        scores, _, upstream = lists(size, span)
        ranks, gradient = step(tf.constant(scores), tf.constant(upstream))
        true_ranks, true_gradient = expected(scores, upstream, mask)
        np.testing.assert_allclose(np.where(mask, ranks, 0), np.where(mask, true_ranks, 0), rtol=2e-6)
        largest = max(np.abs(true_gradient).max(), 1)
        np.testing.assert_allclose(gradient, true_gradient, atol=largest * max(2e-6, 1e-7 * span))


@pytest.mark.parametrize("size", [300, 600])
def test_second_derivatives_are_those_of_all_pairs(size):
    scores = tf.constant(np.random.default_rng(1).uniform(0, 5, size=(1, size)), tf.float32)  # up to 10 temperatures
    found = []
    for dtype in (tf.float32, tf.float64):  # in float64, by all pairs
        x = tf.cast(scores, dtype)
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                value = tf.reduce_sum(1 / sigmoid_ranks(x, tf.constant(TAU, dtype), tf.ones_like(x, tf.bool)))
            slope = tf.reduce_sum(tf.square(inner.gradient(value, x)))
        found.append(outer.gradient(slope, x).numpy())
    np.testing.assert_allclose(found[0], found[1], atol=1e-4 * np.abs(found[1]).max())


def test_the_temperature_has_its_gradient():
    scores = tf.constant(np.random.default_rng(2).uniform(0, 4, size=(2, 300)), tf.float32)  # up to 10 temperatures
    found = []
    for dtype in (tf.float32, tf.float64):  # float32 takes 32 nodes, and float64 all pairs
        x, tau = tf.cast(scores, dtype), tf.constant([[0.4], [2.0]], dtype)
        with tf.GradientTape() as tape:
            tape.watch(tau)
            value = tf.reduce_sum(1 / sigmoid_ranks(x, tau, tf.ones_like(x, tf.bool)))
        found.append(tape.gradient(value, tau).numpy())
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5)


def test_a_long_list_needs_no_pairs():
    size, some = 100_000, [0, 17, 99_999]
    scores = np.random.default_rng(3).normal(size=(1, size)).astype("float32")
    ranks = sigmoid_ranks(tf.constant(scores), tf.constant(TAU), tf.ones_like(scores, tf.bool))
    leads = (np.float64(scores) - np.float64(scores[0, some])[:, None]) / TAU
    np.testing.assert_allclose(ranks.numpy()[0, some], 0.5 + (1 / (1 + np.exp(-leads))).sum(1), rtol=2e-6)


@pytest.fixture
def counts(monkeypatch):
    """The number of nodes of each sum of exponentials that is made."""
    found = []

    class Counted(module.ExponentialSums):
        def __init__(self, scores, tau, count):
            found.append(int(count))
            super().__init__(scores, tau, count)

    monkeypatch.setattr(module, "ExponentialSums", Counted)
    return found


@pytest.mark.parametrize(
    ("size", "span", "count"),
    [(249, 5, None), (250, 11.3, 32), (250, 11.5, 83), (300, 50, None), (900, 81, 172), (900, 82, None)],
)
def test_as_many_nodes_as_the_scores_need(size, span, count, counts):
    scores, mask, _ = lists(size, span)
    # Run eagerly, so that only the chosen branch is built.
    sigmoid_ranks(tf.constant(scores), tf.constant(TAU), tf.constant(mask))
    assert counts == ([] if count is None else [count])


def test_gradients_of_scores_and_tau_share_their_sums(counts):
    scores, mask, _ = lists(300, 5)
    scores, tau = tf.constant(scores), tf.constant(TAU)
    with tf.GradientTape() as tape:
        tape.watch([scores, tau])
        ranks = sigmoid_ranks(scores, tau, tf.constant(mask))
    tape.gradient(ranks, [scores, tau])
    assert len(counts) == 2  # one for the ranks, and one for both gradients


@pytest.mark.parametrize("count", [20, 32, 66, module.MAX_NODES])
def test_nodes_integrate_what_they_say(count):
    times, shares = (np.float64(each[:count]) for each in (module._TIMES, module._SHARES))
    span = float(module.largest_span(count))
    for distance, is_exact in ((span, True), (span + 1, False)):
        sums = np.exp(np.linspace(np.log(2) - distance, np.log(2), 500))[:, None]
        falls = np.exp(-times * sums)
        assert (np.abs((shares * times * falls).sum(1) * sums[:, 0] - 1).max() < 3e-7) == is_exact
        assert (np.abs((shares * times**2 * falls).sum(1) * sums[:, 0] ** 2 - 1).max() < 2e-6) == is_exact
