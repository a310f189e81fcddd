"""Projections of scores at their kinks, where neighbors are exactly tau apart and are pooled, and just beside them."""

import numpy as np
import pytest
import tensorflow as tf
from support import modes
from support.gradients import fixed_weights, tape_gradients
from support.oracles import projection as truth

import keras_softsort as ks
from keras_softsort.ops.core.tracing import lowering_for
from keras_softsort.ops.sorting._permutahedron import isotonic

OPERATORS = {"ranks": ks.soft_rank, "values": ks.soft_values}
TARGETS = ["cpu", "gpu", "tpu"]
METHODS = ["projection", "projection_kl"]
# Scores and temperatures that are multiples of each other: as binary numbers, as thirds and tenths, with ties, and with
# blocks whose means are no binary numbers.
INTEGERS = np.array([[1, 2, 3, 4, 5, 6, 7], [5, 6, 7, 8, 7, 5, 2], [5, 5, 4, 2, 2, 1, -1], [9, 3, 3, 8, 8, 2, 1]])
LISTS = {
    ("ranks", "projection"): [(INTEGERS, 1), (INTEGERS / 10, 0.1), (INTEGERS / 3, 1 / 3)],
    ("values", "projection"): [(INTEGERS, 1), (INTEGERS, 0.5), (INTEGERS / 10, 10), (INTEGERS / 3, 1.5)],
    # The level of one score is s / tau + log rank.
    ("ranks", "projection_kl"): [(-np.log([[2, 7, 1, 3, 6, 5, 4]]), 1), (-0.3 * np.log([[1, 1.5, 3, 4, 10]]), 0.3)],
    ("values", "projection_kl"): [(INTEGERS, 1), (INTEGERS, 0.5), (INTEGERS / 10, 10)],
}
CASES = [(*key, scores, tau) for key, cases in LISTS.items() for scores, tau in cases]
EACH = pytest.mark.parametrize(("kind", "method", "scores", "tau"), CASES, ids=lambda each: str(each)[:12])


def slopes(kind, method, scores, tau, dtype="float64", mode="op_by_op"):  # noqa: PLR0917
    tensors = [tf.constant(scores, dtype), tf.constant(tau, dtype)]
    weights = tf.constant(fixed_weights(scores.shape), dtype)
    _, found = modes.run(mode, lambda s, t, _: OPERATORS[kind](s, t, method=method), tensors, weights)
    return [each.numpy() for each in found]


@pytest.mark.slow
@EACH
def test_the_gradient_is_that_of_the_pooled_scores(kind, method, scores, tau):
    wanted = slopes(kind, method, scores, tau * (1 + 1e-6))
    assert np.max(np.abs(wanted[0] - slopes(kind, method, scores, tau * (1 - 1e-6))[0])) > 0.05
    for name, dtype in [("cpu", "float64"), *((name, "float32") for name in TARGETS)]:
        with lowering_for(name):
            found = slopes(kind, method, scores, tau, dtype)
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5, err_msg=f"{name}, {dtype}")


@pytest.mark.nightly
@pytest.mark.parametrize("rounds", [0, isotonic.ROUNDS])
@EACH
def test_merging_pools_them_too(kind, method, scores, tau, rounds, monkeypatch):  # noqa: PLR0917
    monkeypatch.setattr(isotonic, "ROUNDS", rounds)
    rng = np.random.default_rng(0)
    # Lists of the same numbers, repeated, so that there are ties.
    scores = rng.choice(scores[0], size=[20, 13]) if method == "projection" else scores
    found, wanted = slopes(kind, method, scores, tau), slopes(kind, method, scores, tau * (1 + 1e-7))
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-5, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "name"),
    [
        *(("op_by_op", name) for name in TARGETS),
        pytest.param("unknown_shape", "cpu", marks=pytest.mark.nightly),
        *(pytest.param("traced", name, marks=pytest.mark.nightly) for name in TARGETS[1:]),
        *(pytest.param("xla", name, marks=pytest.mark.nightly) for name in TARGETS),
    ],
)
def test_the_example_of_torchsort(mode, name):
    """The gradient in the README of torchsort, which is 0 without pooling."""

    def correlation(predicted, _):
        both = [
            ks.soft_rank(each, method="projection", direction="ASCENDING")
            for each in (predicted, tf.constant([[5.0, 6.0, 7.0, 8.0, 7.0]]))
        ]
        predicted, target = (
            tf.math.l2_normalize(each - tf.reduce_mean(each, axis=1, keepdims=True), axis=1) for each in both
        )
        return tf.reduce_sum(predicted * target, axis=1)

    with lowering_for(name):
        value, (gradient,) = modes.run(mode, correlation, [tf.constant([[1.0, 2.0, 3.0, 4.0, 5.0]])], [1.0])
    np.testing.assert_allclose(value, [0.8321], atol=1e-4)
    np.testing.assert_allclose(gradient, [[-0.0555, 0, 0.0555, 0.1109, -0.1109]], atol=1e-4)


def test_a_loss_of_integers_trains_at_a_temperature_of_one():
    for method in METHODS:
        _, (gradient,) = tape_gradients(
            lambda s, method=method: ks.SpearmanLoss(method=method)([[2.0, 1.0, 4.0, 3.0]], s),
            [tf.constant([[1.0, 2.0, 3.0, 4.0]]) * (np.log(1.25) if method == "projection_kl" else 1)],
            1.0,
        )
        assert np.max(np.abs(gradient)) > 0.05, method


@pytest.mark.parametrize("mode", ["op_by_op", *(pytest.param(mode, marks=pytest.mark.nightly) for mode in modes.ALL)])
@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("method", METHODS)
def test_ranks_of_float32_scores_with_equal_quotients(method, name, mode):
    """Scores a few units in the last place apart, far from 0, at temperatures of this size."""
    rng, step = np.random.default_rng(0), np.spacing(np.float32(1000))
    scores = np.float32(1000 + step * rng.integers(0, 12, [8, 8]))
    scores[4:, ::2] -= 1000  # The other half of the scores is that far away from these.
    tau = np.float32([0.02 * step, step / 3, step, 5 * step] * 2)
    with lowering_for(name):
        found, _ = modes.run(
            mode, lambda s, t, _: ks.soft_rank(s, t, method=method), [tf.constant(scores), tf.constant(tau)], scores
        )
    wanted = [
        truth.projected_rank(np.float64(each), np.float64(t), method == "projection_kl")
        for each, t in zip(scores, tau, strict=True)
    ]
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
