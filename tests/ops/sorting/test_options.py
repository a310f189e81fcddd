"""`top_k`, `hard`, `direction` and `power` of every operator that sorts, by every method."""

import numpy as np
import pytest
import tensorflow as tf
from support.cases.op_case import MASK, SCORES, TAU
from support.gradients import fixed_weights, tape_gradients
from support.oracles import sorting as oracles

import keras_softsort as ks
from keras_softsort.ops.sorting import methods


def outcome(function, shape):
    """The value, and the gradient of its sum with fixed weights."""
    value, (gradient,) = tape_gradients(function, [tf.constant(SCORES)], fixed_weights(shape))
    return value.numpy(), gradient.numpy()


def exact(scores, mask, direction):
    """Sorted valid scores and 0 behind them, ranks from 1 and 0 where masked."""
    keys = np.where(mask, scores if direction == "DESCENDING" else -scores, -np.inf)
    order = np.argsort(-keys, axis=1, kind="stable")
    values = np.where(np.take_along_axis(mask, order, 1), np.take_along_axis(scores, order, 1), 0)
    return values, np.where(mask, np.argsort(order, axis=1) + 1, 0), np.argsort(order, axis=1)


@pytest.mark.parametrize("method", methods.names("values"))
@pytest.mark.parametrize("direction", ["DESCENDING", "ASCENDING"])
def test_values(method, direction):
    options = {"method": method, "mask": MASK, "direction": direction}
    whole, _ = outcome(lambda s: ks.soft_values(s, TAU, **options), (2, 5))
    first, gradient = outcome(lambda s: ks.soft_values(s, TAU, top_k=2, **options), (2, 2))
    np.testing.assert_allclose(first, whole[:, :2], rtol=1e-9)
    hard, hard_gradient = outcome(lambda s: ks.soft_values(s, TAU, top_k=2, hard=True, **options), (2, 2))
    np.testing.assert_array_equal(hard, exact(SCORES, MASK, direction)[0][:, :2])
    np.testing.assert_allclose(hard_gradient, gradient, rtol=1e-9)


@pytest.mark.parametrize("method", methods.names("permutation"))
def test_values_that_are_carried_along(method):
    vectors = tf.constant(np.random.default_rng(1).normal(size=(2, 5, 3)))
    options = {"method": method, "values": vectors, "mask": MASK}
    whole, _ = outcome(lambda s: ks.soft_values(s, TAU, **options), (2, 5, 3))
    first, gradient = outcome(lambda s: ks.soft_values(s, TAU, top_k=2, **options), (2, 2, 3))
    np.testing.assert_allclose(first, whole[:, :2], rtol=1e-9)
    hard, hard_gradient = outcome(lambda s: ks.soft_values(s, TAU, top_k=2, hard=True, **options), (2, 2, 3))
    ranks = exact(SCORES, MASK, "DESCENDING")[2]
    np.testing.assert_array_equal(hard, np.take_along_axis(vectors.numpy(), np.argsort(ranks)[:, :2, None], 1))
    np.testing.assert_allclose(hard_gradient, gradient, rtol=1e-9)


@pytest.mark.parametrize("method", methods.names("ranks"))
@pytest.mark.parametrize("direction", ["DESCENDING", "ASCENDING"])
def test_hard_ranks(method, direction):
    options = {"method": method, "mask": MASK, "direction": direction}
    _, gradient = outcome(lambda s: ks.soft_rank(s, TAU, **options), (2, 5))
    hard, hard_gradient = outcome(lambda s: ks.soft_rank(s, TAU, hard=True, **options), (2, 5))
    np.testing.assert_array_equal(hard, exact(SCORES, MASK, direction)[1])
    np.testing.assert_allclose(hard_gradient, gradient, rtol=1e-9)


@pytest.mark.parametrize("method", methods.names("membership"))
@pytest.mark.parametrize("direction", ["DESCENDING", "ASCENDING"])
def test_membership(method, direction):
    options = {"method": method, "mask": MASK}
    soft, gradient = outcome(lambda s: ks.ops.soft_top_k_membership(s, 2, TAU, direction=direction, **options), (2, 5))
    if direction == "ASCENDING":
        of_negated, _ = outcome(lambda s: ks.ops.soft_top_k_membership(-s, 2, TAU, **options), (2, 5))
        np.testing.assert_allclose(soft, of_negated, rtol=1e-9)
    hard, hard_gradient = outcome(
        lambda s: ks.ops.soft_top_k_membership(s, 2, TAU, hard=True, direction=direction, **options), (2, 5)
    )
    np.testing.assert_array_equal(hard, exact(SCORES, MASK, direction)[2] < 2)
    np.testing.assert_allclose(hard_gradient, gradient, rtol=1e-9)


@pytest.mark.parametrize("method", methods.names("permutation"))
@pytest.mark.parametrize("direction", ["DESCENDING", "ASCENDING"])
def test_top_k(method, direction):
    def both(scores, **options):
        options.update(method=method, mask=MASK, direction=direction)
        result = ks.soft_top_k(scores, 2, TAU, **options)
        return tf.concat([result.values, tf.reshape(result.weights, [2, 10])], axis=-1)

    soft, gradient = outcome(both, (2, 12))
    rows = oracles.permutation(SCORES, TAU, method=method, mask=MASK, direction=direction)[:, :2]
    np.testing.assert_allclose(soft[:, 2:].reshape(2, 2, 5), rows, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(soft[:, :2], np.einsum("bri,bi->br", rows, np.where(MASK, SCORES, 0)), rtol=1e-6)
    hard, hard_gradient = outcome(lambda s: both(s, hard=True), (2, 12))
    values, _, ranks = exact(SCORES, MASK, direction)
    np.testing.assert_array_equal(hard[:, :2], values[:, :2])
    np.testing.assert_array_equal(hard[:, 2:].reshape(2, 2, 5), ranks[:, None, :] == np.arange(2)[:, None])
    np.testing.assert_allclose(hard_gradient, gradient, rtol=1e-9)


@pytest.mark.parametrize("power", [2.0, 1.5])
def test_power(power):
    options = {"method": "soft_sort", "power": power, "mask": MASK}
    rows = oracles.permutation(SCORES, TAU, **options)
    scores = tf.constant(SCORES)
    valid = np.where(MASK, SCORES, 0)
    np.testing.assert_allclose(ks.soft_values(scores, TAU, **options), np.einsum("bri,bi->br", rows, valid), atol=1e-9)
    ranks = np.where(MASK, np.einsum("bri,r->bi", rows, np.arange(1, 6)), 0)
    np.testing.assert_allclose(ks.soft_rank(scores, TAU, **options), ranks, rtol=1e-6)
    np.testing.assert_allclose(ks.ops.soft_top_k_membership(scores, 2, TAU, **options), rows[:, :2].sum(1), rtol=1e-6)
    median = ks.ops.soft_quantile(scores, 0.0, TAU, **options)
    ascending = oracles.permutation(SCORES, TAU, direction="ASCENDING", **options)
    np.testing.assert_allclose(median, np.einsum("bi,bi->b", ascending[:, 0], valid), rtol=1e-6)


@pytest.mark.parametrize("hard", [False, True])
def test_a_list_that_is_not_a_number(hard):
    """Only this list gives NaN, at its valid ranks and items."""
    scores = tf.constant(np.where(np.arange(5) == 2, [[np.nan], [0.2]], SCORES))
    values = ks.soft_values(scores, TAU, top_k=4, hard=hard, mask=MASK).numpy()
    assert np.isnan(values[0, :3]).all()
    assert np.isfinite(values[1]).all()
    ranks = ks.soft_rank(scores, TAU, method="projection", hard=hard, mask=MASK).numpy()
    np.testing.assert_array_equal(np.isnan(ranks), [MASK[0], [False] * 5])
    assert np.isnan(ks.ops.soft_top_k_membership(scores, 2, TAU, hard=hard).numpy()[0]).all()


def test_more_values_than_items():
    with pytest.raises(ValueError, match="top_k must be at most the list size, 5, got 6"):
        ks.soft_values(tf.constant(SCORES), top_k=6)
    with pytest.raises(TypeError, match="hard must be True or False, got 1"):
        ks.soft_rank(tf.constant(SCORES), hard=1)


@pytest.mark.parametrize(("far", "power"), [(1e20, 3.0), (1e13, 4.0), (1e6, 8.0)])
def test_a_power_above_2_of_a_large_distance_keeps_the_gradient(far, power):
    """The slope of a far item overflows, where its weight is 0. Padding is far from scores with an offset."""
    for scores, mask in (([far, 1.0, 0.0], None), ([far, far * 1.001, 0.0], [True, True, False])):
        given = tf.constant(scores)
        _, (gradient,) = tape_gradients(
            lambda s, mask=mask: ks.soft_values(s, method="soft_sort", power=power, mask=mask)[:1], [given], np.ones(1)
        )
        np.testing.assert_allclose(np.sum(gradient), 1, rtol=1e-5)


@pytest.mark.parametrize("operator", [ks.neural_sort, ks.soft_sort])
def test_hard_rows_of_a_list_that_is_not_a_number(operator):
    """Only its valid rows are NaN, as in the soft matrix."""
    scores, mask = tf.constant([[1.0, np.nan, 0.0], [1.0, 2.0, 0.0]]), [[True, True, False]] * 2
    soft, hard = (np.isnan(operator(scores, 0.1, mask=mask, hard=each)) for each in (False, True))
    np.testing.assert_array_equal(hard, soft)
