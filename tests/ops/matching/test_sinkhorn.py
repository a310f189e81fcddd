"""Sinkhorn: values and gradients against float64 truth, its sums, its tolerance, and the memory that it takes."""

import functools
import itertools

import numpy as np
import pytest
import tensorflow as tf
from support import modes
from support.cases.matching.sinkhorn import INPUTS
from support.gradients import central_differences, fixed_weights, tape_gradients
from support.oracles import matching as oracles
from support.tolerances import TOLERANCES

from keras_softsort import ops
from keras_softsort.ops.core import numbers

SQUARE, _ = INPUTS["square"]
TAU_SHAPES = [(2, 3, 1), (2, 1), (2, 3), (3,), (1, 1)]
EVERY_INPUT = pytest.mark.parametrize("kind", INPUTS)


def check(kind, mode, tau, num_iterations, rtol=1e-6):
    """Value and gradients in a mode of execution against the oracle and its central differences."""
    scores, masks = INPUTS[kind]
    weights = fixed_weights(scores.shape)
    tensors = [tf.constant(scores), tf.constant(tau, tf.float64)]
    value, gradients = modes.run(
        mode, lambda s, t, _: ops.sinkhorn(s, t, num_iterations=num_iterations, **masks), tensors, weights
    )

    def truth(s, t):
        return oracles.sinkhorn(s, t, num_iterations=num_iterations, **masks)

    np.testing.assert_allclose(value, truth(scores, tau), rtol=1e-10, atol=1e-12)
    wanted = central_differences(truth, [scores, np.array(tau)], weights, step=1e-5 * tau)
    for found, right in zip(gradients, wanted, strict=True):
        np.testing.assert_allclose(found, right, rtol=rtol, atol=1e-7 / tau)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "mode"), modes.of_first(["both masks", *(kind for kind in INPUTS if kind != "both masks")])
)
def test_value_and_gradients_in_every_mode(kind, mode):
    check(kind, mode, 0.7, 5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "num_iterations"),
    [("square", 1), ("both masks", 2), ("square", 33), pytest.param("both masks", 70, marks=pytest.mark.nightly)],
)
def test_gradients_after_few_and_many_iterations(kind, num_iterations):
    # 33 iterations are four segments of 9, without the last 3, and 70 are seven of 10.
    check(kind, "op_by_op", 0.5, num_iterations)


@pytest.mark.slow
@pytest.mark.parametrize("num_iterations", [1, 3, 40])
@pytest.mark.parametrize("tau", [0.05, 0.01])
def test_gradients_where_potentials_move_far(tau, num_iterations):
    """Scores whose logits leave the range of scalings, with ties that keep the weights away from 0 and 1."""
    offsets = np.array([[0.0], [3.0], [-2.0], [1.0]]) + np.array([0.0, -4.0, 2.0, 5.0])
    steps = np.array([[0, 1, 2, 0], [1, 0, 0, 2], [2, 2, 0, 1], [0, 1, 1, 0]]) * tau
    scores = (offsets + steps)[np.newaxis]
    weights = fixed_weights(scores.shape)

    def truth(s, t):
        return oracles.sinkhorn(s, t, num_iterations=num_iterations)

    value, gradients = tape_gradients(
        lambda s, t: ops.sinkhorn(s, t, num_iterations=num_iterations),
        [tf.constant(scores), tf.constant(tau, tf.float64)],
        weights,
    )
    np.testing.assert_allclose(value, truth(scores, tau), rtol=1e-9, atol=1e-12)
    wanted = central_differences(truth, [scores, np.array(tau)], weights, step=1e-5 * tau)
    assert np.max(np.abs(wanted[0])) > 0.1  # not a gradient that vanished
    for found, right in zip(gradients, wanted, strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-5, atol=1e-6 * np.max(np.abs(right)))


@functools.cache
def traced_sinkhorn(num_iterations):
    """A traced function for many iterations, which take long op by op."""
    return tf.function(functools.partial(ops.sinkhorn, num_iterations=num_iterations), autograph=False)


@pytest.mark.slow
@pytest.mark.parametrize("num_iterations", [20, 100])
@pytest.mark.parametrize(("scale", "tau"), list(itertools.product([1.0, 1e4], [1.0, 0.1, 0.01, 1e-3])))
def test_float32_agrees_at_any_scale(scale, tau, num_iterations):
    scores = (scale * np.random.default_rng(1).normal(size=(3, 8, 8))).astype(np.float32)
    scores[2] = np.round(scores[2])  # ties
    found = traced_sinkhorn(num_iterations)(tf.constant(scores), tf.constant(tau, tf.float64))
    np.testing.assert_allclose(found, oracles.sinkhorn(scores, tau, num_iterations=num_iterations), rtol=0, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("tau", [1.0, 0.1, 0.01])
@pytest.mark.parametrize("kind", ["one taste", "chain"])
def test_float32_agrees_where_potentials_move_far(kind, tau):
    """All rows like the same columns, or costs are distances on a line, along which the matching moves."""
    random, n = np.random.default_rng(0), 60
    logits = {
        "one taste": 3 * random.normal(size=n) + 0.1 * random.normal(size=(n, n)),
        "chain": -3 * np.abs(np.sort(random.normal(size=n))[:, np.newaxis] - np.sort(random.exponential(size=n))),
    }[kind].astype(np.float32)
    found = traced_sinkhorn(20)(tf.constant(logits), tf.constant(tau, tf.float64))
    np.testing.assert_allclose(found, oracles.sinkhorn(logits, tau), rtol=0, atol=2e-5)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"tolerance": 1e-3}, {"marginal_penalty": 1.0}], ids=str)
def test_float32_stays_float32(options):
    """A tensor processor emulates float64, and converters refuse it."""

    @tf.function(input_signature=[tf.TensorSpec([None, 4, 4])])
    def run(logits):
        return tape_gradients(lambda s: ops.sinkhorn(s, 0.5, **options), [logits], logits)

    graph = run.get_concrete_function().graph
    bodies = [graph, *(graph._get_function(name).graph for name in graph._functions)]
    dtypes = {output.dtype for body in bodies for operation in body.get_operations() for output in operation.outputs}
    assert tf.float32 in dtypes
    assert tf.float64 not in dtypes
    assert tf.int64 not in dtypes


@pytest.mark.slow
@pytest.mark.parametrize("tau", [1.0, 0.03, 1e-3])
def test_float32_gradients_are_finite_and_close(tau):
    scores = np.random.default_rng(2).normal(size=(2, 6, 6)).astype(np.float32)
    weights = fixed_weights(scores.shape)
    gradients = [
        tape_gradients(lambda s: ops.sinkhorn(s, tau, num_iterations=30), [tf.constant(scores, dtype)], weights)[1][0]
        for dtype in (tf.float32, tf.float64)
    ]
    np.testing.assert_allclose(gradients[0], gradients[1], rtol=1e-3, atol=1e-4 / tau * 0.1)


def test_gradients_of_many_columns_are_those_of_few(monkeypatch):
    def gradient():
        return tape_gradients(lambda s: ops.sinkhorn(s, 0.5), [tf.constant(SQUARE)], fixed_weights(SQUARE.shape))[1][0]

    few = gradient()
    monkeypatch.setattr(numbers, "MAX_COLUMNS_OF_SUMS", 0)
    np.testing.assert_allclose(gradient(), few, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16], ids=lambda dtype: dtype.name)
def test_half_precision_is_rounded_once(dtype):
    scores = tf.cast(SQUARE, dtype)
    found = ops.sinkhorn(scores, 0.5)
    assert found.dtype == dtype
    wanted = oracles.sinkhorn(tf.cast(scores, tf.float64).numpy(), 0.5)
    np.testing.assert_allclose(tf.cast(found, tf.float64), wanted, rtol=TOLERANCES[dtype].rtol, atol=1e-6)


@EVERY_INPUT
def test_sums(kind):
    scores, masks = INPUTS[kind]
    permutation, residual = ops.sinkhorn(scores, 0.5, num_iterations=200, return_residual=True, **masks)
    rows = masks.get("row_mask", np.ones(scores.shape[:2], bool))
    columns = masks.get("column_mask", np.ones((2, scores.shape[2]), bool))
    fewer_rows = rows.sum(axis=1) <= columns.sum(axis=1)
    for matrix, row, column, exact_rows in zip(permutation.numpy(), rows, columns, fewer_rows, strict=True):
        of_rows, of_columns = matrix.sum(axis=1), matrix.sum(axis=0)
        assert np.all(matrix[~row] == 0)
        assert np.all(matrix[:, ~column] == 0)
        if exact_rows:
            np.testing.assert_allclose(of_rows[row], 1, atol=1e-9)
            assert np.all(of_columns <= 1 + 1e-9)
        else:
            np.testing.assert_allclose(of_columns[column], 1, atol=1e-9)
            assert np.all(of_rows <= 1 + 1e-9)
    np.testing.assert_allclose(residual, 0, atol=1e-9)


def test_residual_is_the_largest_error_of_a_row():
    permutation, residual = ops.sinkhorn(SQUARE, 0.05, num_iterations=3, return_residual=True)
    np.testing.assert_allclose(np.sum(permutation, axis=1), 1, rtol=1e-12)
    errors = np.max(np.abs(np.sum(permutation, axis=2) - 1), axis=1)
    assert np.all(errors > 0.01)
    np.testing.assert_allclose(residual, errors, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["op_by_op", pytest.param("xla", marks=pytest.mark.nightly)])
def test_tolerance_stops_each_matrix_by_itself(mode):
    scores = np.stack([SQUARE[0] / 5, SQUARE[0], 2 * SQUARE[0]])
    cap, tolerance = 70, 1e-4
    stops = []
    for matrix in scores:
        errors = [
            np.max(np.abs(oracles.sinkhorn(matrix, 0.5, num_iterations=made).sum(axis=1) - 1))
            for made in range(1, cap + 1)
        ]
        stops.append(1 + int(np.argmax(np.array(errors) <= tolerance)))
    assert stops[0] < stops[1] < 32 < stops[2] < 64  # in several segments
    weights = fixed_weights(scores.shape)

    def run(s, _):
        return ops.sinkhorn(s, 0.5, num_iterations=cap, tolerance=tolerance)

    value, (gradient,) = modes.run(mode, run, [tf.constant(scores)], weights)
    for i, made in enumerate(stops):

        def truth(s, made=made):
            return oracles.sinkhorn(s, 0.5, num_iterations=made)

        np.testing.assert_allclose(value[i], truth(scores[i]), rtol=1e-10)
        (wanted,) = central_differences(truth, [scores[i]], weights[i])
        np.testing.assert_allclose(gradient[i], wanted, rtol=1e-5, atol=1e-7)


def test_tolerance_is_capped_by_the_number_of_iterations():
    found = ops.sinkhorn(SQUARE, 0.05, num_iterations=3, tolerance=1e-9)
    np.testing.assert_allclose(found, oracles.sinkhorn(SQUARE, 0.05, num_iterations=3), rtol=1e-10)
    np.testing.assert_array_equal(ops.sinkhorn(SQUARE, 0.05, num_iterations=3, tolerance=0.0), found)


@pytest.mark.slow
def test_it_is_the_limit_that_optimises_entropy_and_score():
    """At convergence log P - scores / tau is a sum of a row and a column term: the condition of the optimum."""
    permutation = ops.sinkhorn(SQUARE, 0.3, num_iterations=2000, tolerance=1e-12).numpy()
    rest = np.log(permutation) - SQUARE / 0.3
    rest -= rest.mean(axis=1, keepdims=True)
    rest -= rest.mean(axis=2, keepdims=True)
    np.testing.assert_allclose(rest, 0, atol=1e-9)


@pytest.mark.parametrize("kind", ["square", "wide"])
def test_symmetries(kind):
    scores, _ = INPUTS[kind]
    sinkhorn = ops.sinkhorn
    plain = sinkhorn(tf.constant(scores), 0.5, num_iterations=7).numpy()
    rows, columns = np.random.default_rng(5).permutation(scores.shape[1]), np.roll(np.arange(scores.shape[2]), 1)
    moved = sinkhorn(tf.constant(scores[:, rows][:, :, columns]), 0.5, num_iterations=7)
    np.testing.assert_allclose(moved, plain[:, rows][:, :, columns], rtol=1e-10)
    np.testing.assert_allclose(sinkhorn(tf.constant(3 * scores), 1.5, num_iterations=7), plain, rtol=1e-10)
    levels = np.arange(scores.shape[1])[:, np.newaxis]
    np.testing.assert_allclose(sinkhorn(tf.constant(scores + levels), 0.5, num_iterations=7), plain, rtol=1e-10)


@pytest.mark.parametrize("leading", [(), (2, 3)], ids=str)
def test_leading_axes(leading):
    scores = np.random.default_rng(6).normal(size=(*leading, 3, 4))
    mask = np.random.default_rng(7).random((*leading, 3)) < 0.7
    permutation, residual = ops.sinkhorn(tf.constant(scores), row_mask=mask, return_residual=True)
    assert residual.shape == leading
    np.testing.assert_allclose(permutation, oracles.sinkhorn(scores, row_mask=mask), rtol=1e-10, atol=1e-14)


def largest_tensor(num_iterations, tolerance=None):
    """Elements of the largest tensor in the graph of value and gradient, its loops and conditions included."""

    @tf.function
    def run(scores):
        return tape_gradients(
            lambda s: ops.sinkhorn(s, num_iterations=num_iterations, tolerance=tolerance),
            [scores],
            np.ones([1, 80, 80]),
        )

    graph = run.get_concrete_function(tf.TensorSpec([1, 80, 80])).graph
    graphs = [graph, *(function.graph for function in graph._functions.values() if hasattr(function, "graph"))]
    tensors = [tensor for inner in graphs for op in inner.get_operations() for tensor in op.outputs]
    assert len(tensors) > 300
    return max(tensor.shape.num_elements() or 0 for tensor in tensors)


@pytest.mark.nightly
def test_memory_does_not_grow_with_iterations():
    assert largest_tensor(800, 1e-6) == largest_tensor(800) == largest_tensor(20) == 80 * 80


@pytest.mark.slow
def test_gradient_at_convergence_is_the_implicit_one():
    """400 iterations or more have the gradient of the fixed point."""
    weights = fixed_weights(SQUARE.shape)

    def gradient(num_iterations):
        def run(s, _):
            return ops.sinkhorn(s, 0.8, num_iterations=num_iterations)

        return modes.run("traced", run, [tf.constant(SQUARE)], weights)[1][0].numpy()

    many = gradient(400)
    np.testing.assert_allclose(many.sum(axis=1), 0, atol=1e-10)
    np.testing.assert_allclose(many.sum(axis=2), 0, atol=1e-10)
    np.testing.assert_allclose(many, implicit_gradient(SQUARE, 0.8, weights), rtol=1e-9, atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "mode"), modes.of_first(list(INPUTS)))
def test_implicit_gradient_is_that_of_many_iterations(kind, mode):
    scores, masks = INPUTS[kind]
    weights = fixed_weights(scores.shape)
    tensors = [tf.constant(scores), tf.constant(0.8, tf.float64)]

    def run(implicit):
        options = {"num_iterations": 200, "tolerance": 1e-12, "implicit_gradient": implicit, **masks}
        return modes.run(mode, lambda s, t, *_: ops.sinkhorn(s, t, **options), tensors, weights)

    (value, gradients), (wanted, right) = run(True), run(False)
    np.testing.assert_allclose(value, wanted, rtol=1e-12)
    for found, each in zip(gradients, right, strict=True):
        np.testing.assert_allclose(found, each, rtol=1e-6, atol=1e-8)


@pytest.mark.slow
def test_implicit_gradient_of_sums():
    """Along a direction that keeps the masses equal."""
    weights, direction = fixed_weights(SQUARE.shape), np.array([0.3, -0.4, 0.2, -0.1])
    sums = tf.constant([[0.2, 0.3, 0.1, 0.4], [0.25, 0.25, 0.25, 0.25]], tf.float64)

    def slope(implicit):
        options = {"num_iterations": 400, "tolerance": 1e-12, "implicit_gradient": implicit}
        _, gradients = tape_gradients(
            lambda rows, columns: ops.sinkhorn(SQUARE, 0.8, row_sums=rows, column_sums=columns, **options),
            [sums, sums[::-1]],
            weights,
        )
        return [np.sum(each * direction) for each in gradients]

    np.testing.assert_allclose(slope(implicit=True), slope(implicit=False), rtol=1e-6)


@pytest.mark.slow
def test_implicit_gradient_is_nearer_to_the_limit_than_that_of_the_iterations():
    weights = fixed_weights(SQUARE.shape)
    limit = implicit_gradient(SQUARE, 0.3, weights)
    errors = []
    for implicit in (True, False):
        options = {"tolerance": 1e-2, "num_iterations": 100, "implicit_gradient": implicit}
        _, (gradient,) = tape_gradients(
            lambda s, options=options: ops.sinkhorn(s, 0.3, **options), [tf.constant(SQUARE)], weights
        )
        errors.append(np.linalg.norm(gradient - limit))
    assert 0 < errors[0] < errors[1]


@pytest.mark.parametrize("options", [{}, {"tolerance": 1e-3, "marginal_penalty": 1.0}], ids=str)
def test_implicit_gradient_needs_a_tolerance_and_sums_that_hold(options):
    with pytest.raises(
        ValueError, match="implicit_gradient must be False without a tolerance or with marginal_penalty"
    ):
        ops.sinkhorn(SQUARE, implicit_gradient=True, **options)


def implicit_gradient(scores, tau, weights):
    """P * (W - a_i - b_j) / tau, with a and b such that rows and columns of it sum to 0."""
    results = []
    for matrix, weight in zip(scores, weights, strict=True):
        n = len(matrix)
        permutation = oracles.sinkhorn(matrix, tau, num_iterations=2000)
        system = np.block([[np.eye(n), permutation], [permutation.T, np.eye(n)]])
        sums = np.concatenate([(weight * permutation).sum(axis=1), (weight * permutation).sum(axis=0)])
        a, b = np.split(np.linalg.lstsq(system, sums, rcond=None)[0], 2)
        results.append(permutation * (weight - a[:, np.newaxis] - b) / tau)
    return np.stack(results)


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "mode"), modes.of_first(TAU_SHAPES), ids=str)
def test_a_temperature_per_matrix(mode, shape):
    """Equal, matrix by matrix, to calls with that number; gradients are summed over the axes that tau lacks."""
    logits = np.random.default_rng(6).normal(size=(2, 3, 3, 4))
    tau = np.random.default_rng(7).uniform(0.3, 2.0, shape)
    weights = fixed_weights(logits.shape)
    value, gradients = modes.run(
        mode, lambda s, t, _: ops.sinkhorn(s, t, num_iterations=3), [tf.constant(logits), tf.constant(tau)], weights
    )

    def truth(s, t):
        every = np.broadcast_to(t[..., 0] if len(shape) == 3 else t, (2, 3))
        return np.stack(
            [oracles.sinkhorn(s[index], every[index], num_iterations=3) for index in np.ndindex(2, 3)]
        ).reshape(s.shape)

    np.testing.assert_allclose(value, truth(logits, tau), rtol=1e-10)
    for found, expected in zip(gradients, central_differences(truth, [logits, tau], weights), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)


def test_temperatures_that_differ_by_orders_of_magnitude():
    """Each matrix is exact although all share the way of computing that the coldest needs."""
    logits = np.random.default_rng(6).normal(size=(3, 4, 4)).astype(np.float32)
    tau = np.array([1.0, 0.03, 1e-4])
    found = ops.sinkhorn(logits, tf.constant(tau))
    expected = [oracles.sinkhorn(matrix, each) for matrix, each in zip(logits, tau, strict=True)]
    np.testing.assert_allclose(found, np.stack(expected), atol=1e-5)


def test_a_temperature_that_fails_leaves_other_matrices():
    tau = tf.constant([0.5, -1.0], tf.float64)
    weights = fixed_weights(SQUARE.shape)
    value, gradients = modes.run("op_by_op", lambda s, t, _: ops.sinkhorn(s, t), [tf.constant(SQUARE), tau], weights)
    np.testing.assert_allclose(value[0], oracles.sinkhorn(SQUARE[0], 0.5), rtol=1e-10)
    for result in (value, gradients[0]):
        assert np.all(np.isfinite(result[0]))
        assert np.all(np.isnan(result[1]))


@pytest.mark.parametrize("tau", [np.ones([3]), np.ones([2, 3]), np.ones([2, 1, 1])], ids=np.shape)
def test_a_temperature_of_another_shape(tau):
    with pytest.raises(ValueError, match=r"tau must be a scalar or have the shape of the leading axes, \(2,\), got"):
        ops.sinkhorn(SQUARE, tau)
