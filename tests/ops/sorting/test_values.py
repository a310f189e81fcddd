"""Values and gradients of the operators against the published formulas in float64."""

import numpy as np
import pytest
import tensorflow as tf
from support import modes
from support.cases.op_case import MASK, MATRICES, SCORES
from support.cases.operators import ALL, FEW, IN_MODES
from support.gradients import ATOL, RTOL, central_differences, fixed_weights
from support.oracles import sorting as oracles
from support.tolerances import TOLERANCES

from keras_softsort import ops


def assert_close(found, wanted, dtype):
    tolerance = TOLERANCES[dtype]
    np.testing.assert_allclose(np.asarray(found, np.float64), wanted, rtol=tolerance.rtol, atol=tolerance.atol)


@pytest.mark.slow
@pytest.mark.parametrize(("case", "mode"), IN_MODES, ids=str)
def test_value_and_gradient_are_those_of_the_formula(case, mode):
    arrays, mask = case.arguments()
    value, gradients = case.outcome(mode)
    assert_close(value, case.truth(*arrays, mask), tf.float64)
    wanted = central_differences(lambda *args: case.truth(*args, mask), arrays, fixed_weights(value.shape))
    for gradient, truth in zip(gradients, wanted, strict=True):
        np.testing.assert_allclose(gradient, truth, rtol=RTOL, atol=ATOL)
    if mask is not None:
        np.testing.assert_array_equal(gradients[0][~mask], 0)


@pytest.mark.nightly
@pytest.mark.parametrize("case", ALL, ids=str)
def test_value_is_that_of_the_formula_for_all_options(case):
    arrays, mask = case.arguments()
    assert_close(case.call(*map(tf.constant, arrays), mask), case.truth(*arrays, mask), tf.float64)


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16, tf.float32], ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("case", FEW, ids=str)
def test_dtype_in_is_dtype_out_to_its_precision(case, dtype):
    arrays, mask = case.arguments()
    tensors = [tf.cast(array, dtype) for array in arrays]
    found = case.call(*tensors, mask)
    assert found.dtype == dtype
    # The truth of the rounded arguments: what rounding them costs is not the operator's error.
    rounded = [tensor.numpy().astype(np.float64) for tensor in tensors]
    assert_close(found, case.truth(*rounded, mask), dtype)


@pytest.mark.parametrize("leading", [(), (2,), (2, 3)], ids=str)
@pytest.mark.parametrize("case", FEW, ids=str)
def test_leading_axes_are_independent_lists(case, leading):
    rng = np.random.default_rng(5)
    arrays = [rng.normal(size=(*leading, 4)), np.array(1.3)]
    if case.values_rank is not None:
        arrays.append(rng.normal(size=(*leading, 4, 2)))
    mask = rng.random((*leading, 4)) < 0.7 if case.masked else None
    found = case.call(*map(tf.constant, arrays), mask)
    assert_close(found, case.truth(*arrays, mask), tf.float64)


@pytest.mark.parametrize("masked", [False, True])
def test_soft_sort_takes_a_power_below_one(masked):
    mask = MASK if masked else None
    found = ops.soft_sort(tf.constant(SCORES), 0.7, power=0.5, mask=mask)
    assert_close(found, oracles.soft_sort(SCORES, 0.7, power=0.5, mask=mask), tf.float64)


@pytest.mark.parametrize("mode", modes.OP_MODES)
@pytest.mark.parametrize("ranks", [3, 4])
def test_harden_is_greedy_by_rank(mode, ranks):
    # One decimal makes ties and clashes of argmaxes common.
    soft = np.round(np.random.default_rng(11).random((2, 3, ranks, 4)), 1)
    assert np.any(np.sort(np.argmax(soft, axis=-1), axis=-1)[..., 1:] == np.sort(np.argmax(soft, -1), -1)[..., :-1])
    weights = np.random.default_rng(12).normal(size=soft.shape)
    value, (gradient,) = modes.run(mode, lambda matrix, _: ops.harden(matrix), [tf.constant(soft)], weights)
    np.testing.assert_array_equal(value, oracles.harden(soft))
    np.testing.assert_array_equal(gradient, weights)


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16, tf.float32], ids=lambda dtype: dtype.name)
def test_harden_keeps_the_dtype(dtype):
    soft = tf.constant([[0.5, 0.25, 0.25], [0.5, 0.25, 0.25]], dtype)
    found = ops.harden(soft)
    assert found.dtype == dtype
    np.testing.assert_array_equal(tf.cast(found, tf.float32), [[1, 0, 0], [0, 1, 0]])


@pytest.mark.parametrize("op", MATRICES)
@pytest.mark.parametrize("direction", ["DESCENDING", "ASCENDING"])
@pytest.mark.parametrize("masked", [False, True])
def test_hard_is_the_stable_order_with_masked_items_last(op, direction, masked):
    scores = np.array([[1.0, 2.0, 1.0, 2.0, 0.0], [3.0, 3.0, 3.0, 3.0, 3.0]])
    keep = MASK if masked else np.ones_like(MASK)
    keys = np.where(keep, -scores if direction == "DESCENDING" else scores, np.inf)
    wanted = np.stack([np.eye(5)[np.argsort(row, kind="stable")] for row in keys])
    options = {"hard": True, "direction": direction, "mask": keep if masked else None}
    np.testing.assert_array_equal(getattr(ops, op)(tf.constant(scores), **options), wanted)
    first = getattr(ops, op)(tf.constant(scores), top_k=2, **options)
    np.testing.assert_array_equal(first, wanted[:, :2])


def test_soft_top_k_is_a_named_tuple():
    result = ops.soft_top_k(tf.constant([2.0, 5.0, 3.0]), 2, tau=0.01)
    np.testing.assert_array_equal(result.values, [5, 3])
    np.testing.assert_array_equal(result.weights, [[0, 1, 0], [0, 0, 1]])


def test_arguments_may_be_lists_and_arrays():
    found = ops.neural_sort([[0.5, 2.0], [1.0, -1.0]], 1.0, mask=[[True, False], [True, True]])
    truth = oracles.neural_sort([[0.5, 2.0], [1.0, -1.0]], 1.0, mask=[[True, False], [True, True]])
    assert_close(found, truth, tf.float32)
