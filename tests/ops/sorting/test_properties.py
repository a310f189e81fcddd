"""Properties of any scores. Shapes are fixed and functions traced once, so that many examples are cheap."""

import functools

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.cases.op_case import MATRICES

from keras_softsort import ops

settings.register_profile("ops", max_examples=30, deadline=None, derandomize=True, database=None)
EXAMPLES = settings(settings.get_profile("ops"), suppress_health_check=[HealthCheck.too_slow])

BATCH, SIZE, PADDED = 2, 6, 9
# Eighths are exact in binary: shifts and scales do not round, and ties are common.
LISTS = hnp.arrays(np.float64, (BATCH, SIZE), elements=st.integers(-32, 32).map(lambda value: value / 8))
DISTINCT = st.lists(st.integers(-32, 32), min_size=BATCH * SIZE, max_size=BATCH * SIZE, unique=True).map(
    lambda values: np.reshape(values, [BATCH, SIZE]) / 8
)
TAUS = st.sampled_from([0.25, 1.0, 3.0])
GARBAGE = hnp.arrays(np.float64, (BATCH, PADDED), elements=st.sampled_from([np.nan, np.inf, -np.inf, 1e30, -1e30, 0.0]))
PLACES = st.permutations(range(PADDED)).map(lambda order: sorted(order[:SIZE]))
ORDERS = st.permutations(range(SIZE))

BOTH = pytest.mark.parametrize("op", MATRICES)
CLOSE = {"rtol": 1e-9, "atol": 1e-12}


@functools.cache
def traced(op, **options):
    return tf.function(functools.partial(getattr(ops, op), **options), autograph=False)


def matrix(op, scores, tau, **options):
    return traced(op, **options)(tf.constant(scores), tf.constant(tau, tf.float64)).numpy()


@functools.cache
def traced_gradients(op):
    @tf.function(autograph=False)
    def run(scores, tau, weights, mask=None):
        with tf.GradientTape() as tape:
            tape.watch([scores, tau])
            value = getattr(ops, op)(scores, tau, mask=mask)
        return value, *tape.gradient(value, [scores, tau], output_gradients=weights)

    return run


def value_and_gradients(op, scores, tau, weights, mask=None):
    arguments = [tf.constant(scores), tf.constant(tau, tf.float64), tf.constant(weights)]
    return [result.numpy() for result in traced_gradients(op)(*arguments, None if mask is None else tf.constant(mask))]


@pytest.mark.slow
@BOTH
@EXAMPLES
@given(scores=LISTS, tau=TAUS)
def test_rows_are_distributions(op, scores, tau):
    found = matrix(op, scores, tau)
    assert np.all(found >= 0)
    np.testing.assert_allclose(found.sum(axis=-1), 1, rtol=0, atol=1e-14 * SIZE)


@pytest.mark.slow
@BOTH
@EXAMPLES
@given(scores=LISTS, tau=TAUS)
def test_rows_rise_to_their_rank_and_fall_after_it(op, scores, tau):
    order = np.argsort(-scores, axis=-1, kind="stable")
    by_rank = np.take_along_axis(matrix(op, scores, tau), order[:, None, :], axis=-1)
    for row in range(SIZE):
        assert np.all(np.diff(by_rank[:, row, : row + 1], axis=-1) >= -1e-15)
        assert np.all(np.diff(by_rank[:, row, row:], axis=-1) <= 1e-15)


@BOTH
@EXAMPLES
@given(scores=LISTS, tau=TAUS, order=ORDERS)
def test_permuting_items_permutes_columns(op, scores, tau, order):
    np.testing.assert_allclose(matrix(op, scores[:, order], tau), matrix(op, scores, tau)[:, :, order], **CLOSE)


@BOTH
@EXAMPLES
@given(scores=LISTS, tau=TAUS, shift=st.integers(-100, 100))
def test_shifts_change_nothing(op, scores, tau, shift):
    np.testing.assert_allclose(matrix(op, scores + shift, tau), matrix(op, scores, tau), **CLOSE)


@pytest.mark.parametrize(
    ("op", "power"), [("neural_sort", 1), ("soft_sort", 1.0), ("soft_sort", 2.0), ("soft_sort", 1.5)]
)
@EXAMPLES
@given(scores=LISTS, tau=TAUS, scale=st.sampled_from([0.25, 2.0, 4.0]))
def test_scaling_scores_scales_the_temperature(op, power, scores, tau, scale):
    options = {"power": power} if op == "soft_sort" else {}
    found = matrix(op, scale * scores, scale**power * tau, **options)
    np.testing.assert_allclose(found, matrix(op, scores, tau, **options), **CLOSE)


@BOTH
@EXAMPLES
@given(scores=LISTS, tau=TAUS)
def test_ascending_is_descending_with_its_rows_reversed(op, scores, tau):
    ascending = matrix(op, scores, tau, direction="ASCENDING")
    np.testing.assert_allclose(ascending, matrix(op, scores, tau)[:, ::-1], **CLOSE)


@BOTH
@EXAMPLES
@given(scores=DISTINCT)
def test_a_low_temperature_gives_the_permutation(op, scores):
    # Neighbours differ by 1/8 at least, 125 temperatures: nothing of other items is left in float64.
    wanted = np.eye(SIZE)[np.argsort(-scores, axis=-1)]
    np.testing.assert_allclose(matrix(op, scores, 0.001), wanted, rtol=0, atol=1e-15)


@pytest.mark.slow
@BOTH
@EXAMPLES
@given(scores=LISTS, tau=TAUS, garbage=GARBAGE, places=PLACES)
def test_padding_changes_nothing_wherever_it_is_and_whatever_it_holds(op, scores, tau, garbage, places):
    weights = np.random.default_rng(0).normal(size=[BATCH, SIZE, SIZE])
    padded = garbage.copy()
    padded[:, places] = scores
    mask = np.zeros([BATCH, PADDED], bool)
    mask[:, places] = True
    # Weights of the loss on padding may not reach the valid scores either.
    padded_weights = np.random.default_rng(1).normal(size=[BATCH, PADDED, PADDED])
    padded_weights[np.ix_(range(BATCH), range(SIZE), places)] = weights

    value, of_scores, of_tau = value_and_gradients(op, scores, tau, weights)
    found, padded_gradient, padded_of_tau = value_and_gradients(op, padded, tau, padded_weights, mask)
    np.testing.assert_allclose(found[:, :SIZE, places], value, **CLOSE)
    np.testing.assert_array_equal(found[:, :SIZE, ~mask[0]], 0)
    np.testing.assert_array_equal(found[:, SIZE:, places], 0)
    np.testing.assert_allclose(found[:, SIZE:, ~mask[0]], 1 / (PADDED - SIZE), rtol=1e-15)
    np.testing.assert_allclose(padded_gradient[:, places], of_scores, rtol=1e-9, atol=1e-11)
    np.testing.assert_array_equal(padded_gradient[:, ~mask[0]], 0)
    np.testing.assert_allclose(padded_of_tau, of_tau, rtol=1e-9, atol=1e-11)


@BOTH
@EXAMPLES
@given(scores=LISTS, tau=TAUS, bad=st.sampled_from([np.nan, np.inf, -np.inf]), place=st.integers(0, SIZE - 1))
def test_a_list_that_is_no_number_poisons_itself_alone(op, scores, tau, bad, place):
    weights = np.random.default_rng(0).normal(size=[BATCH, SIZE, SIZE])
    poisoned = scores.copy()
    poisoned[0, place] = bad
    value, of_scores, _ = value_and_gradients(op, scores, tau, weights)
    found, gradient, _ = value_and_gradients(op, poisoned, tau, weights)
    assert np.all(np.isnan(found[0]))
    np.testing.assert_array_equal(found[1], value[1])
    np.testing.assert_array_equal(gradient[1], of_scores[1])
