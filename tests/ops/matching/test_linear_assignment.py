"""`linear_assignment`: the best total, against SciPy and against all permutations; masks, -inf, NaN, modes, errors."""

import itertools
import math
import re

import numpy as np
import pytest
import tensorflow as tf
from scipy.optimize import linear_sum_assignment
from support.cases.matching.linear_assignment import KINDS

from keras_softsort.ops import linear_assignment
from keras_softsort.ops.core.tracing import lowering_for
from keras_softsort.ops.matching._assignment import MAX_BIDDERS

# Traced once for all shapes; XLA compiles anew for each, so it gets few of them.
MATRICES = [tf.TensorSpec([None, None, None], tf.float64)]
any_shape = tf.function(linear_assignment, input_signature=MATRICES)
float32_scores = tf.function(linear_assignment, input_signature=[tf.TensorSpec([None, None, None])])
any_masks = tf.function(
    lambda scores, rows, columns: linear_assignment(scores, row_mask=rows, column_mask=columns),
    input_signature=MATRICES + 2 * [tf.TensorSpec([None, None], tf.bool)],
)
RANDOM = np.random.default_rng(0)
FIRST_STATE = RANDOM.bit_generator.state


@pytest.fixture(autouse=True)
def _same_numbers_whatever_ran_before():
    RANDOM.bit_generator.state = FIRST_STATE


def total(scores, columns):
    """The total score of the pairs of one matrix, which use no column twice."""
    rows = np.flatnonzero(columns >= 0)
    assert len(set(columns[rows])) == len(rows)
    return scores[rows, columns[rows]].sum()


def check_best(scores, found):
    """Check the number of pairs and their total against SciPy, where a forbidden pair costs more than all others."""
    for matrix, columns in zip(scores, np.asarray(found), strict=True):
        finite = np.isfinite(matrix)
        dear = 1 + 2 * min(matrix.shape) * np.abs(matrix[finite]).max(initial=0)
        rows, best = linear_sum_assignment(np.where(finite, matrix, -dear), maximize=True)
        allowed = finite[rows, best]
        assert (columns >= 0).sum() == allowed.sum()
        np.testing.assert_allclose(total(matrix, columns), matrix[rows, best][allowed].sum(), rtol=1e-12, atol=1e-12)


def brute_force(scores, row_mask, column_mask, min_score=None):
    """The best number of pairs and total, over all ways to pair some rows and columns that are kept."""
    rows, columns = np.flatnonzero(row_mask), np.flatnonzero(column_mask)
    least = -np.inf if min_score is None else min_score
    found = [(0, 0.0)]
    for size in range(1, min(len(rows), len(columns)) + 1):
        for some in itertools.combinations(rows, size):
            for order in itertools.permutations(columns, size):
                pairs = scores[list(some), list(order)]
                if (pairs > least).all():
                    found.append((size, pairs.sum()))
    return max(found, key=(lambda each: each[1] - least * each[0]) if min_score is not None else None)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_best_total_is_scipys(kind):
    for n, m in [(1, 1), (1, 4), (4, 1), (6, 6), (7, 12), (12, 7), (30, 30), (40, 45), (45, 40)]:
        scores = KINDS[kind](RANDOM, (2, n, m))
        check_best(scores, any_shape(scores))


@pytest.mark.parametrize(("n", "m", "share"), [(8, 8, 0.1), (9, 5, 0.2), (30, 32, 0.3), (60, 60, 0.04), (60, 60, 0.2)])
def test_few_possible_pairs(n, m, share):
    for kind in ("ties", "normal"):
        scores = KINDS[kind](RANDOM, (3, n, m))
        scores[RANDOM.random(scores.shape) > share] = -np.inf
        scores[0, 1] = -np.inf
        check_best(scores, any_shape(scores))


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["eager", "traced", pytest.param("xla", marks=pytest.mark.nightly)])
@pytest.mark.parametrize(("n", "m"), [(6, 6), (5, 9), (9, 5)])
def test_a_least_score_is_that_of_lap(n, m, mode):
    """Pairs are only made where they add to the sum of what they have above it, not cut off afterwards."""
    lap = pytest.importorskip("lap")
    traced = tf.function(
        lambda scores, least: linear_assignment(scores, min_score=least),
        jit_compile=True if mode == "xla" else None,
        autograph=False,
    )
    for dtype in ("float32", "float64"):
        costs = RANDOM.normal(size=(8, n, m)).astype(dtype) + 3
        costs[RANDOM.random(costs.shape) > 0.7] = np.inf
        for limit in (-1.0, 2.5, 3.0, 30.0):
            if mode == "eager":
                found = linear_assignment(-costs, min_score=-limit).numpy()
            else:
                found = traced(-costs, tf.constant(-limit, dtype)).numpy()
            for cost, columns in zip(costs.astype(float), found, strict=True):
                dear = np.where(np.isfinite(cost), cost, 1e6)
                _, theirs, _ = lap.lapjv(dear, extend_cost=True, cost_limit=limit)
                np.testing.assert_array_equal(columns, theirs)


def test_a_least_score_of_each_matrix():
    scores = np.float32([[[0.9, 0.1], [0.8, 0.7]]] * 3)
    found = linear_assignment(scores, min_score=tf.constant([0.0, 0.75, 0.9]))
    np.testing.assert_array_equal(found, [[0, 1], [0, -1], [-1, -1]])
    np.testing.assert_array_equal(linear_assignment(scores[:1], min_score=0.75), found[1:2])
    both = linear_assignment(scores.reshape(3, 1, 2, 2), min_score=np.float32([[0.0], [0.75], [0.9]]))
    np.testing.assert_array_equal(both[:, 0], found)


def test_large_matrix():
    scores = RANDOM.normal(size=(1, 300, 300))
    check_best(scores, any_shape(scores))


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(3, 3), (2, 5), (5, 2), (4, 4), (4, 3)], ids=str)
@pytest.mark.parametrize("values", ["normal", "ties"])
def test_brute_force_with_masks_and_infinities(shape, values):
    scores = KINDS[values](RANDOM, (60, *shape))
    scores[RANDOM.random(scores.shape) < 0.45] = -np.inf
    row_mask, column_mask = RANDOM.random((60, shape[0])) < 0.7, RANDOM.random((60, shape[1])) < 0.7
    limits = tf.constant(RANDOM.choice([-1.0, -0.5, 0.0, 1.0], 60))
    everything = any_masks(scores, row_mask, column_mask).numpy()
    limited = linear_assignment(scores, row_mask=row_mask, column_mask=column_mask, min_score=limits).numpy()
    for i, (matrix, rows, columns) in enumerate(zip(scores, row_mask, column_mask, strict=True)):
        for found, limit in ((everything[i], None), (limited[i], float(limits[i]))):
            count, best = brute_force(matrix, rows, columns, limit)
            paired = found >= 0
            assert rows[paired].all()
            assert columns[found[paired]].all()
            if limit is None:
                assert paired.sum() == count
                np.testing.assert_allclose(total(matrix, found), best, rtol=1e-12, atol=1e-12)
            else:
                assert (matrix[paired, found[paired]] > limit).all()
                surplus = total(matrix, found) - limit * paired.sum()
                np.testing.assert_allclose(surplus, best - limit * count, rtol=1e-12, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["eager", "xla", pytest.param("traced", marks=pytest.mark.nightly)])
def test_modes_dtypes_and_leading_axes(mode):
    scores = RANDOM.integers(-60, 60, (2, 3, 7, 9))
    run = {
        "eager": linear_assignment,
        "xla": tf.function(linear_assignment, jit_compile=True),
        "traced": tf.function(linear_assignment),
    }[mode]
    dtypes = [tf.float32] if mode == "xla" else [tf.float16, tf.bfloat16, tf.float32, tf.float64]
    for dtype in dtypes:
        found = run(tf.cast(scores, dtype))
        assert found.dtype == tf.int32
        assert found.shape == (2, 3, 7)
        check_best(scores.reshape(6, 7, 9), found.numpy().reshape(6, 7))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "products"])
def test_best_total_of_float32_scores_is_scipys(kind):
    for shape in [(2, 12, 12), (2, 12, 20)]:
        scores = KINDS[kind](RANDOM, shape).astype("float32")
        check_best(scores.astype("float64"), float32_scores(scores))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_lowest_number_is_a_score_and_minus_infinity_is_none(dtype):
    for low, is_possible in (np.finfo(dtype).min, True), (-np.inf, False):
        scores = np.array([[[low, low], [1, low]]], dtype)
        np.testing.assert_array_equal(linear_assignment(scores), [[1, 0]] if is_possible else [[-1, 0]])


@pytest.mark.slow
@pytest.mark.parametrize("target", ["cpu", "tpu"])
def test_matrices_of_float32_are_not_held_in_float64(target):
    with lowering_for(target):
        run = tf.function(lambda scores: linear_assignment(scores), jit_compile=True)  # noqa: PLW0108 - has one argument
        program = run.experimental_get_compiler_ir(tf.zeros([3, 64, 50]))(stage="hlo")
    sizes = [math.prod(map(int, shape.split(","))) for shape in re.findall(r"f64\[([\d,]+)\]", program)]
    assert max(sizes) <= 3 * MAX_BIDDERS * 64
    assert re.findall(r"[su]64\[\d", program) == []


@pytest.mark.slow
def test_xla_of_unknown_shapes():
    run = tf.function(linear_assignment, input_signature=MATRICES, jit_compile=True)
    for shape in [(3, 5, 4), (2, 3, 0)]:  # XLA compiles each shape anew
        scores = RANDOM.normal(size=shape)
        check_best(scores, run(scores))


@pytest.mark.parametrize("shape", [(0, 3, 3), (2, 0, 0), (2, 0, 3), (2, 3, 0)], ids=str)
def test_empty(shape):
    scores = tf.zeros(shape, tf.float64)
    masks = tf.ones(shape[:2], tf.bool), tf.ones([shape[0], shape[2]], tf.bool)
    for found in linear_assignment(scores), any_shape(scores), any_masks(scores, *masks):
        np.testing.assert_array_equal(found, np.full(shape[:2], -1))


def test_all_masked():
    masks = np.zeros([1, 3], bool), np.ones([1, 3], bool)
    for rows, columns in [masks, masks[::-1], masks[:1] * 2]:
        np.testing.assert_array_equal(any_masks(np.zeros([1, 3, 3]), rows, columns), [[-1, -1, -1]])


@pytest.mark.parametrize("columns", [6, 8])
def test_rows_that_share_too_few_columns(columns):
    scores = RANDOM.normal(size=(3, 6, columns))
    scores[1, :4, 3:] = -np.inf  # four rows share three columns
    found = any_shape(scores).numpy()
    assert (found[1] < 0).sum() == 1
    check_best(scores, found)


@pytest.mark.parametrize("wrong", [np.nan, np.inf], ids=str)
@pytest.mark.parametrize("columns", [6, 8])
def test_a_matrix_without_an_answer_leaves_the_others(wrong, columns):
    scores = RANDOM.normal(size=(3, 6, columns))
    scores[1, 2, 4] = wrong
    found = any_shape(scores).numpy()
    np.testing.assert_array_equal(found[1], np.full(6, -1))
    check_best(scores[::2], found[::2])


def test_masked_scores_have_no_effect():
    scores = RANDOM.normal(size=(8, 5, 6))
    wide = np.full((8, 7, 9), np.nan)
    wide[:, 1:6, 2:8] = scores
    rows, columns = np.zeros([8, 7], bool), np.zeros([8, 9], bool)
    rows[:, 1:6] = columns[:, 2:8] = True
    found = any_masks(wide, rows, columns).numpy()
    np.testing.assert_array_equal(found[:, 1:6], any_shape(scores).numpy() + 2)
    np.testing.assert_array_equal(found[:, [0, 6]], -1)
    np.testing.assert_array_equal(any_masks(np.where(np.isnan(wide), np.inf, wide), rows, columns), found)


def test_a_matrix_of_a_batch_is_as_it_is_alone():
    scores = np.concatenate([KINDS[kind](RANDOM, (2, 9, 9)) for kind in KINDS])
    together = any_shape(scores).numpy()
    for matrix, columns in zip(scores, together, strict=True):
        np.testing.assert_array_equal(any_shape(matrix[np.newaxis])[0], columns)


def test_no_gradient():
    scores = tf.Variable(tf.zeros([1, 3, 3], tf.float64))
    with tf.GradientTape() as tape:
        chosen = tf.one_hot(any_shape(scores), 3, dtype=tf.float64)
        loss = tf.reduce_sum(chosen * scores)
    np.testing.assert_array_equal(tape.gradient(loss, scores), chosen)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"scores": tf.ones([2, 2], tf.int32)}, TypeError, "scores must be floating-point, got dtype int32"),
        ({"scores": tf.ones([3])}, ValueError, r"scores must have shape \[\.\.\., n, m\], got \(3,\)"),
        ({"row_mask": tf.ones([2, 3])}, TypeError, "row_mask must be bool .*got dtype float32"),
        ({"column_mask": tf.ones([2, 4])}, TypeError, "column_mask must be bool .*got dtype float32"),
        ({"row_mask": tf.ones([2, 4], tf.bool)}, ValueError, r"row_mask must have shape \(2, 3\), got \(2, 4\)"),
        ({"column_mask": tf.ones([2, 3], tf.bool)}, ValueError, r"column_mask must .* \(2, 4\), got \(2, 3\)"),
        ({"min_score": "a"}, TypeError, "min_score must be a number"),
        ({"min_score": np.inf}, ValueError, "min_score must be"),
        ({"min_score": tf.ones([3])}, ValueError, r"min_score must broadcast against the leading axes \(2,\), got"),
        ({"column_mask": tf.ones([4], tf.bool)}, ValueError, r"column_mask must .* \(2, 4\), got \(4,\)"),
    ],
)
def test_errors(arguments, error, message):
    with pytest.raises(error, match=message):
        linear_assignment(**{"scores": tf.ones([2, 3, 4]), **arguments})


def test_masks_of_another_shape_known_only_when_run():
    scores, rows, columns = np.zeros([2, 3, 4]), np.ones([2, 3], bool), np.ones([2, 4], bool)
    with pytest.raises(tf.errors.InvalidArgumentError, match="row_mask"):
        any_masks(scores, rows[:1], columns)
    with pytest.raises(tf.errors.InvalidArgumentError, match="column_mask"):
        any_masks(scores, rows, columns[:, :1])
