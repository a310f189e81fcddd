"""`match`: totals against SciPy, indices and masks that agree, gating, edges, modes, errors."""

import numpy as np
import pytest
import tensorflow as tf
from scipy.optimize import linear_sum_assignment
from support.cases.matching.match import KINDS

from keras_softsort.ops import match

# Traced once for all shapes.
MATRICES = [tf.TensorSpec([None, None, None], tf.float64)]
any_shape = tf.function(match, input_signature=MATRICES)
any_masks = tf.function(
    lambda cost, rows, columns: match(cost, row_mask=rows, column_mask=columns),
    input_signature=MATRICES + 2 * [tf.TensorSpec([None, None], tf.bool)],
)
# (problems, targets, predictions) each
SHAPES = [(20, 1, 3), (20, 3, 3), (20, 4, 9), (20, 9, 4), (8, 20, 60)]


def check_pairs(cost, result):
    """Both directions say the same pairs, as many as there can be, at SciPy's total."""
    for matrix, columns, row_matched, rows, column_matched in zip(cost, *(x.numpy() for x in result), strict=True):
        pairs = [(row, columns[row]) for row in np.flatnonzero(row_matched)]
        assert sorted(pairs) == sorted((rows[column], column) for column in np.flatnonzero(column_matched))
        assert len(pairs) == min(matrix.shape)
        assert not columns[~row_matched].any()
        assert not rows[~column_matched].any()
        total = sum(matrix[pair] for pair in pairs)
        np.testing.assert_allclose(total, matrix[linear_sum_assignment(matrix)].sum(), rtol=1e-12, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_totals_are_those_of_scipy(kind, rng):
    for shape in SHAPES:
        cost = KINDS[kind](rng, shape)
        check_pairs(cost, any_shape(cost))


@pytest.mark.nightly
@pytest.mark.parametrize("kind", KINDS)
def test_totals_of_ten_thousand_problems(kind, rng):
    for _ in range(5):
        for shape in [(100, 5, 5), (100, 7, 12), (100, 12, 7), (100, 3, 30), (100, 15, 16)]:
            cost = KINDS[kind](rng, shape)
            check_pairs(cost, any_shape(cost))


@pytest.mark.slow
def test_masks(rng):
    cost = rng.normal(size=(40, 5, 6))
    row_mask, column_mask = rng.random((40, 5)) < 0.6, rng.random((40, 6)) < 0.6
    cost[~row_mask] = np.nan
    cost.swapaxes(1, 2)[~column_mask] = -np.inf
    result = any_masks(cost, row_mask, column_mask)
    for i in range(40):
        kept = cost[i][row_mask[i]][:, column_mask[i]]
        pairs = np.flatnonzero(result.row_matched[i])
        assert row_mask[i][pairs].all()
        assert column_mask[i][result.columns.numpy()[i, pairs]].all()
        assert len(pairs) == min(kept.shape) == np.sum(result.column_matched[i])
        best = kept[linear_sum_assignment(kept)].sum()
        np.testing.assert_allclose(cost[i, pairs, result.columns.numpy()[i, pairs]].sum(), best, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    "mode", ["eager", *(pytest.param(mode, marks=pytest.mark.nightly) for mode in ("traced", "xla"))]
)
def test_modes_dtypes_and_leading_axes(mode, rng):
    cost = rng.integers(-60, 60, (2, 3, 4, 6))
    run = {"eager": match, "xla": tf.function(match, jit_compile=True), "traced": tf.function(match)}[mode]
    for dtype in [tf.float32] if mode == "xla" else [tf.float16, tf.bfloat16, tf.float64]:
        result = run(tf.cast(cost, dtype))
        assert [x.dtype for x in result] == [tf.int32, tf.bool] * 2
        assert [x.shape for x in result] == [(2, 3, 4)] * 2 + [(2, 3, 6)] * 2
        check_pairs(cost.reshape(6, 4, 6), [tf.reshape(x, [6, -1]) for x in result])


@pytest.mark.parametrize("shape", [(0, 2, 3), (2, 0, 3), (2, 3, 0), (2, 0, 0)], ids=str)
def test_nothing_to_match(shape):
    for run in (match, any_shape):
        result = run(np.zeros(shape))
        assert [x.shape for x in result] == [shape[:2]] * 2 + [(shape[0], shape[2])] * 2
        assert not any(np.any(x) for x in result)


@pytest.mark.slow
def test_all_targets_masked():
    result = any_masks(np.zeros([2, 3, 4]), [[False] * 3, [True] * 3], np.ones([2, 4], bool))
    np.testing.assert_array_equal(np.sum(result.row_matched, axis=1), [0, 3])
    np.testing.assert_array_equal(np.sum(result.column_matched, axis=1), [0, 3])


def test_a_matrix_without_an_answer_leaves_the_others(rng):
    cost = rng.normal(size=(5, 3, 4))
    cost[1, 0, 0], cost[2, 0, 0] = np.nan, -np.inf
    result = any_shape(cost)
    assert not any(np.any(x[1:3]) for x in result)
    check_pairs(cost[[0, 3, 4]], [tf.gather(x, [0, 3, 4]) for x in result])


def test_a_pair_of_infinite_cost_is_not_made():
    result = match(tf.constant([[np.inf, 1.0, 9.0], [0.0, np.inf, 9.0]]))
    assert result.columns.numpy().tolist() == [1, 0]
    result = match(tf.constant([[np.inf, np.inf], [3.0, 1.0], [0.0, np.inf]]))
    assert result.columns.numpy().tolist() == [0, 1, 0]
    assert result.row_matched.numpy().tolist() == [False, True, True]


def test_the_largest_cost():
    cost = tf.constant([[1.0, 2.0], [1.5, 9.0]])
    assert match(cost).columns.numpy().tolist() == [1, 0]
    result = match(cost, max_cost=1.75)  # one pair of 1 is worth more than two of 2 and 1.5
    assert result.columns.numpy().tolist() == [0, 0]
    assert result.row_matched.numpy().tolist() == [True, False]
    assert result.column_matched.numpy().tolist() == [True, False]
    assert not np.any(match(cost, max_cost=tf.constant(1.0)).row_matched)


def test_no_gradient():
    cost = tf.Variable([[1.0, 2.0], [0.0, 5.0]])
    with tf.GradientTape() as tape:
        chosen = tf.gather(cost, match(cost).columns, batch_dims=1)
    np.testing.assert_array_equal(tf.convert_to_tensor(tape.gradient(chosen, cost)), [[0, 1], [1, 0]])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"cost": tf.ones([2, 2], tf.int32)}, TypeError, "cost must be floating-point, got dtype int32"),
        ({"cost": tf.ones([3])}, ValueError, r"cost must have shape \[\.\.\., n, m\], got \(3,\)"),
        ({"row_mask": tf.ones([2, 4], tf.bool)}, ValueError, r"row_mask must have shape \(2, 3\), got \(2, 4\)"),
        ({"column_mask": tf.ones([2, 4])}, TypeError, "column_mask must be bool .*got dtype float32"),
    ],
)
def test_errors(arguments, error, message):
    with pytest.raises(error, match=message):
        match(**{"cost": tf.ones([2, 3, 4]), **arguments})
