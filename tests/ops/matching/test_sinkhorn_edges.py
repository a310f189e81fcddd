"""The ends of Sinkhorn's range: what is masked, empty, never, infeasible or not a number; hard matchings; errors."""

import numpy as np
import pytest
import tensorflow as tf
from scipy.optimize import linear_sum_assignment
from support.gradients import fixed_weights, tape_gradients
from support.oracles import matching as oracles

from keras_softsort import ops

INF = np.inf
RNG = np.random.default_rng(8)
sinkhorn = ops.sinkhorn


def value_and_gradient(scores, weights=None, **options):
    weights = fixed_weights(scores.shape) if weights is None else weights
    value, (gradient,) = tape_gradients(lambda s: ops.sinkhorn(s, **options), [tf.constant(scores)], weights)
    return value.numpy(), gradient.numpy()


@pytest.mark.parametrize("garbage", [1e30, np.nan, INF, -INF])
def test_padding_changes_nothing_and_gets_no_gradient(garbage):
    narrow = RNG.normal(size=(2, 3, 3))
    wide = np.pad(narrow, [(0, 0), (0, 2), (0, 4)], constant_values=garbage)
    masks = {"row_mask": np.arange(5) < [[3], [3]], "column_mask": np.arange(7) < [[3], [3]]}
    value, gradient = value_and_gradient(wide, **masks)
    wanted, wanted_gradient = value_and_gradient(narrow, fixed_weights(wide.shape)[:, :3, :3])
    np.testing.assert_allclose(value[:, :3, :3], wanted, rtol=1e-12)
    np.testing.assert_allclose(gradient[:, :3, :3], wanted_gradient, rtol=1e-9, atol=1e-12)
    for padded in (value, gradient):
        assert np.all(padded[:, 3:] == 0)
        assert np.all(padded[:, :, 3:] == 0)


def test_sizes_may_differ_within_a_batch():
    scores = RNG.normal(size=(3, 4, 4))
    row_mask, column_mask = np.arange(4) < [[2], [4], [3]], np.arange(4) < [[4], [1], [3]]
    found = sinkhorn(scores, row_mask=row_mask, column_mask=column_mask)
    np.testing.assert_allclose(found, oracles.sinkhorn(scores, row_mask=row_mask, column_mask=column_mask), atol=1e-12)


@pytest.mark.parametrize("axis", ["row_mask", "column_mask"])
def test_all_masked(axis):
    scores, mask = RNG.normal(size=(2, 3, 3)), np.array([[False] * 3, [True] * 3])
    value, gradient = value_and_gradient(scores, **{axis: mask})
    assert np.all(value[0] == 0)
    assert np.all(gradient[0] == 0)
    np.testing.assert_allclose(value[1], oracles.sinkhorn(scores)[1], rtol=1e-10)
    residual = sinkhorn(scores, **{axis: np.zeros([2, 3], bool)}, return_residual=True).residual
    np.testing.assert_array_equal(residual, [0, 0])


@pytest.mark.parametrize("shape", [(0, 3, 3), (2, 0, 0), (2, 0, 3), (2, 3, 0)])
@pytest.mark.parametrize("hard", [False, True])
def test_empty(shape, hard):
    permutation, residual = ops.sinkhorn(tf.zeros(shape), hard=hard, return_residual=True)
    np.testing.assert_array_equal(permutation, np.zeros(shape))
    np.testing.assert_array_equal(residual, np.zeros(shape[:1]))


def test_one_by_one():
    value, gradient = value_and_gradient(np.array([[[-3.0]], [[1e30]]]), tau=1e-30)
    np.testing.assert_array_equal(value, [[[1]], [[1]]])
    np.testing.assert_array_equal(gradient, [[[0]], [[0]]])


@pytest.mark.slow
def test_minus_infinity_is_never():
    scores = RNG.normal(size=(4, 4))
    scores[0, 1] = scores[2, [0, 3]] = -INF
    value, gradient = value_and_gradient(scores)
    np.testing.assert_allclose(value, oracles.sinkhorn(scores), rtol=1e-10)
    assert np.all(value[np.isinf(scores)] == 0)
    assert np.all(gradient[np.isinf(scores)] == 0)
    assert np.all(np.isfinite(gradient))
    found = value_and_gradient(np.where(np.isinf(scores), -2000.0, scores))[1]
    np.testing.assert_allclose(gradient, found, atol=1e-10)


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("bad", [np.diag([1.0, np.nan, 2.0]), np.diag([1.0, INF, 2.0])], ids=str)
def test_a_matrix_that_fails_is_nan_and_alone(bad, hard):
    good = RNG.normal(size=(3, 3))
    value, gradient = value_and_gradient(np.stack([bad, good]), hard=hard)
    assert np.all(np.isnan(value[0]))
    assert hard or np.all(np.isnan(gradient[0]))
    np.testing.assert_allclose(value[1], sinkhorn(good, hard=hard), rtol=1e-12)
    assert np.all(np.isfinite(gradient[1]))


@pytest.mark.slow
@pytest.mark.parametrize("garbage", [-INF, np.nan, 1e300])
def test_entries_that_do_not_count_reach_no_gradient_of_logits_in_deviations(garbage):
    logits = RNG.normal(size=(3, 4))
    if garbage == -INF:
        logits[1, 2] = garbage
    else:
        logits[:, 3] = garbage
    mask = None if garbage == -INF else [True] * 3 + [False]
    _, gradient = value_and_gradient(logits, scale="std", column_mask=mask)
    assert np.all(np.isfinite(gradient))


@pytest.mark.parametrize("shape", [(4, 3), (4, 4), (3, 5)], ids=str)
@pytest.mark.parametrize("axis", [0, 1])
def test_a_row_or_column_without_a_match_is_masked(shape, axis):
    scores = RNG.normal(size=shape)
    np.moveaxis(scores, axis, 0)[1] = -INF
    value, gradient = value_and_gradient(scores)
    masks = [np.arange(size) != 1 if axis == side else np.ones(size, bool) for side, size in enumerate(shape)]
    masked = sinkhorn(scores, row_mask=masks[0], column_mask=masks[1])
    if shape[0] != shape[1]:
        np.testing.assert_allclose(value, masked, rtol=1e-10)
        np.testing.assert_allclose(value, oracles.sinkhorn(scores), rtol=1e-10)
    else:
        # No slack: the columns, which come last, sum to 1.
        np.testing.assert_allclose(np.sum(value, axis=0), masks[1], rtol=1e-10)
    assert np.all(np.isfinite(gradient))
    assert np.all(gradient[np.isinf(scores)] == 0)
    hard = sinkhorn(scores, hard=True)
    np.testing.assert_array_equal(np.sum(hard), min(sum(mask) for mask in masks))


@pytest.mark.slow
def test_infeasible_is_told():
    """Two rows that both can only have the first column, which no test of single rows and columns finds."""
    scores = np.array([[1.0, -INF, -INF], [2.0, -INF, -INF], [0.0, 1.0, 1.0]])
    soft = sinkhorn(scores, num_iterations=500, return_residual=True)
    assert soft.residual.numpy() > 0.4
    assert np.all(np.isfinite(soft.permutation))
    np.testing.assert_array_equal(np.sum(sinkhorn(scores, hard=True), axis=1), [0, 1, 1])


@pytest.mark.slow
@pytest.mark.parametrize("num_iterations", [20, 30])
def test_scalings_that_run_away_stay_finite(num_iterations):
    """Every iteration moves 199 rows by the factor 199, since all of them can only have the first column."""
    scores = np.full((200, 200), -INF, np.float32)
    scores[:, 0] = scores[-1] = 0

    @tf.function
    def run(scores):
        return tape_gradients(lambda s: sinkhorn(s, num_iterations=num_iterations), [scores], scores + 1)

    found, (gradient,) = run(tf.constant(np.maximum(scores, -1e3)))
    np.testing.assert_allclose(found, oracles.sinkhorn(scores, num_iterations=num_iterations), atol=1e-5)
    assert np.all(np.isfinite(gradient))
    found = tf.function(lambda s: sinkhorn(s, num_iterations=num_iterations))(tf.constant(scores))
    np.testing.assert_allclose(found, oracles.sinkhorn(scores, num_iterations=num_iterations), atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"tolerance": 1e-3}, {"marginal_penalty": 1.0}], ids=str)
@pytest.mark.parametrize("compiled", [None, True])
def test_a_nan_beside_no_other_entry_fails_its_whole_matrix(options, compiled):
    logits = tf.constant([[[np.nan, -INF], [-INF, 0.0]], [[0.0, 1.0], [1.0, 0.0]]])
    function = tf.function(lambda logits: sinkhorn(logits, **options), jit_compile=compiled)
    failed, other = function(logits)
    assert np.all(np.isnan(failed))
    np.testing.assert_allclose(other, sinkhorn(logits[1], **options), rtol=1e-6)


def test_a_temperature_that_is_not_positive_gives_nan():
    assert np.all(np.isnan(sinkhorn(tf.zeros([2, 3, 3]), tf.constant(-1.0))))


def test_tau_may_be_a_variable():
    tau, scores = tf.Variable(0.3, dtype=tf.float64), RNG.normal(size=(2, 3, 3))
    with tf.GradientTape() as tape:
        value = tf.reduce_sum(sinkhorn(scores, tau) * scores)
    epsilon = 1e-6
    above, below = (np.sum(oracles.sinkhorn(scores, t) * scores) for t in (0.3 + epsilon, 0.3 - epsilon))
    np.testing.assert_allclose(tape.gradient(value, tau), (above - below) / (2 * epsilon), rtol=1e-6)


@pytest.mark.parametrize("shape", [(4, 4), (3, 5), (5, 3)])
def test_hard_is_the_best_matching_with_the_soft_gradient(shape):
    scores = np.random.default_rng(9).normal(size=(2, *shape))
    value, gradient = value_and_gradient(scores, tau=0.5, hard=True)
    for matrix, found in zip(scores, value, strict=True):
        wanted = np.zeros(shape)
        wanted[linear_sum_assignment(matrix, maximize=True)] = 1
        np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(gradient, value_and_gradient(scores, tau=0.5)[1])


@pytest.mark.slow
def test_hard_is_where_a_falling_temperature_leads():
    scores = RNG.normal(size=(2, 4, 4))
    soft = tf.function(sinkhorn)(scores, 0.01, num_iterations=5000, tolerance=1e-6)  # too many for op by op
    np.testing.assert_allclose(soft, sinkhorn(scores, hard=True), atol=1e-2)


def test_residual_is_that_of_the_soft_matrix():
    scores = RNG.normal(size=(2, 4, 4))
    soft = sinkhorn(scores, 0.1, return_residual=True)
    hard = sinkhorn(scores, 0.1, return_residual=True, hard=True)
    np.testing.assert_array_equal(hard.residual, soft.residual)


S = tf.zeros([2, 3, 4])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"logits": tf.zeros([3])}, ValueError, r"logits must have shape \[\.\.\., n, m\], got \(3,\)"),
        ({"logits": tf.zeros([3, 3], tf.int32)}, TypeError, "logits must be floating-point, got dtype int32"),
        ({"tau": 0.0}, ValueError, r"tau must be positive and finite, got 0\.0"),
        ({"num_iterations": 0}, ValueError, "num_iterations must be at least 1, got 0"),
        ({"num_iterations": 2.5}, TypeError, r"num_iterations must be an integer, got 2\.5"),
        ({"tolerance": -1e-3}, ValueError, r"tolerance must be at least 0 and finite, got -0\.001"),
        ({"tolerance": "a"}, TypeError, "tolerance must be a number, got 'a'"),
        ({"hard": 1}, TypeError, "hard must be True or False, got 1"),
        (
            {"row_mask": tf.ones([2, 3])},
            TypeError,
            r"row_mask must be bool \(True for valid items\), got dtype float32",
        ),
        ({"row_mask": [[True] * 4] * 2}, ValueError, r"row_mask must have shape \(2, 3\), got \(2, 4\)"),
        ({"column_mask": [[True] * 3] * 2}, ValueError, r"column_mask must have shape \(2, 4\), got \(2, 3\)"),
        ({"column_mask": [True] * 4}, ValueError, r"column_mask must have shape \(2, 4\), got \(4,\)"),
    ],
    ids=str,
)
@pytest.mark.parametrize("op", ["sinkhorn", "gumbel_sinkhorn"])
def test_errors(op, arguments, error, message):
    seed = {"seed": [1, 2]} if op == "gumbel_sinkhorn" else {}
    with pytest.raises(error, match=message):
        getattr(ops, op)(**{"logits": S, **seed, **arguments})


def test_return_residual_must_be_a_bool():
    with pytest.raises(TypeError, match="return_residual must be True or False, got None"):
        ops.sinkhorn(S, return_residual=None)


@pytest.mark.slow
def test_a_mask_of_another_batch_fails_when_run():
    @tf.function(input_signature=[tf.TensorSpec([None, 3, 3]), tf.TensorSpec([None, 3], tf.bool)])
    def run(scores, mask):
        return ops.sinkhorn(scores, row_mask=mask)

    with pytest.raises(tf.errors.InvalidArgumentError, match="row_mask must have the same batch and list size"):
        run(tf.zeros([2, 3, 3]), tf.ones([1, 3], tf.bool))


@pytest.mark.slow
def test_an_empty_batch_of_unknown_size():
    @tf.function(input_signature=[tf.TensorSpec([None, None, None])])
    def run(scores):
        return tape_gradients(ops.sinkhorn, [scores], scores)

    for shape in [(0, 3, 3), (2, 0, 3), (2, 0, 0)]:
        value, (gradient,) = run(tf.zeros(shape))
        assert value.shape == gradient.shape == shape


@pytest.mark.slow
@pytest.mark.parametrize(
    "masks",
    [
        ("row_mask", "column_mask"),
        *(pytest.param((name,), marks=pytest.mark.nightly) for name in ("row_mask", "column_mask")),
    ],
    ids=str,
)
def test_masks_of_known_size_and_logits_of_unknown_size(masks):
    """Static sizes that are known of a mask and not of the logits must hold in every loop."""

    @tf.function(input_signature=[tf.TensorSpec([None, None, None], tf.float64)])
    def run(logits):
        options = {name: tf.constant([[True, False, True]]) for name in masks}
        return tape_gradients(lambda s: ops.sinkhorn(s, 0.01, tolerance=1e-3, **options), [logits], logits)

    logits = RNG.normal(size=(1, 3, 3))
    value, (gradient,) = run(logits)
    options = {name: np.array([[True, False, True]]) for name in masks}
    np.testing.assert_allclose(value, oracles.sinkhorn(logits, 0.01, num_iterations=20, **options), atol=2e-3)
    assert np.all(np.isfinite(gradient))
