"""Transport: Sinkhorn with given sums and with a penalty, and the costs of point clouds, against truth and peers."""

import numpy as np
import pytest
import tensorflow as tf
from scipy.optimize import linprog
from support import modes
from support.cases.matching.sinkhorn import SQUARE, SUMS
from support.gradients import central_differences, fixed_weights, tape_gradients
from support.oracles import matching as oracles

from keras_softsort import ops

RNG = np.random.default_rng(5)
# A problem that POT 0.9.7 and ott-jax 0.6.0 have solved too.
A, B = np.array([1, 2, 3, 4]) / 10, np.array([5, 4, 3, 2, 1]) / 15
COSTS = np.abs(np.arange(4.0)[:, np.newaxis] - 1.3 * np.arange(5.0))
X = np.stack([np.arange(4.0), np.arange(4.0) ** 2 / 3], axis=1)
Y = np.stack([np.arange(5.0)[::-1], np.ones(5)], axis=1)
POT_PLAN = [
    [9.89753410e-02, 9.99916107e-04, 1.97339740e-05, 3.33927200e-06, 1.66963600e-06],
    [1.27776210e-01, 7.04797713e-02, 1.39096268e-03, 2.35370885e-04, 1.17685443e-04],
    [8.38798083e-02, 1.53612053e-01, 4.98540945e-02, 8.43602964e-03, 4.21801482e-03],
    [2.27019743e-02, 4.15749266e-02, 1.48735209e-01, 1.24658594e-01, 6.23292968e-02],
]
POT_UNBALANCED = [
    [2.49993172e-01, 7.83822538e-03, 3.48908882e-04, 5.34641080e-05, 1.65958090e-05],
    [1.20608779e-01, 2.06465004e-01, 9.19053361e-03, 1.40828655e-03, 4.37146617e-04],
    [3.40011307e-02, 1.93247670e-01, 1.41459818e-01, 2.16762124e-02, 6.72851907e-03],
    [5.18414099e-03, 2.94644074e-02, 2.37751516e-01, 1.80444965e-01, 5.60119715e-02],
]
OTT_COST, OTT_DIVERGENCE = 2.9342549455413405, 2.2992422514202886
OTT_GRADIENT = [[-0.0742398, -0.2], [-0.2026084, -0.26666667], [-0.41854604, 0.2], [-0.6379391, 1.6]]
# Many iterations, which take long op by op.
traced = pytest.mark.traced_eagerly
LONG = {"num_iterations": 3000, "tolerance": None}


def given_sums(options):
    """The names and values of the sums among `options`, which have gradients, and the other options."""
    names = [name for name in options if name.endswith("_sums")]
    return names, [options[name] for name in names], {name: options[name] for name in options if name not in names}


def along(direction, function, place, inputs, weights):
    """The derivative of the weighted sum of `function(*inputs)` as the input at `place` moves along `direction`."""
    step, ends = 1e-6, []
    for sign in (1, -1):
        moved = list(inputs)
        moved[place] = inputs[place] + sign * step * direction
        ends.append(np.sum(weights * function(*moved)))
    return (ends[0] - ends[1]) / (2 * step)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "mode"), modes.of_first(list(SUMS)))
@pytest.mark.parametrize(("tau", "num_iterations"), [(0.7, 5), (0.02, 25)], ids=["scalings", "a loop of segments"])
def test_sums_in_every_mode(kind, mode, tau, num_iterations):
    logits, options = SUMS[kind]
    names, sums, options = given_sums(options)
    weights = fixed_weights(logits.shape)

    def plan(function):
        def run(s, t, *given):
            own = dict(zip(names, given or sums, strict=False))
            return function(s, t, num_iterations=num_iterations, **own, **options)

        return run

    inputs = [logits, np.array(tau), *sums]
    found, gradients = modes.run(mode, plan(ops.sinkhorn), [tf.constant(each) for each in inputs], weights)
    truth = plan(oracles.sinkhorn)
    np.testing.assert_allclose(found, truth(*inputs), rtol=1e-9, atol=1e-12)
    wanted = central_differences(truth, inputs[:2], weights, step=1e-5 * tau)
    for own, right in zip(gradients[:2], wanted, strict=True):
        np.testing.assert_allclose(own, right, rtol=1e-5, atol=1e-5 * np.max(np.abs(right)))
    for place, values in enumerate(sums, start=2):
        direction = fixed_weights(values.shape)
        if kind == "sums":  # of equal mass, where a slack begins if one side changes alone
            direction -= direction.mean(axis=1, keepdims=True)
        right = along(direction, truth, place, inputs, weights)
        np.testing.assert_allclose(np.sum(direction * gradients[place]), right, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
@traced
def test_plans_are_those_of_pot():
    plan = ops.sinkhorn(-COSTS, 0.5, row_sums=A, column_sums=B, num_iterations=2000)
    np.testing.assert_allclose(plan, POT_PLAN, atol=1e-9)
    plan = ops.sinkhorn(-COSTS, 0.5, row_sums=2 * A, column_sums=B, marginal_penalty=1.5, num_iterations=2000)
    np.testing.assert_allclose(plan, POT_UNBALANCED, atol=1e-9)


@pytest.mark.slow
@traced
@pytest.mark.parametrize("mass", [1.0, 2.0], ids=["balanced", "partial"])
def test_small_tau_gives_the_exact_plan(mass):
    """By linear programming: of rows with more mass only as much as the columns take."""
    n, m = COSTS.shape
    of_rows, of_columns = np.kron(np.eye(n), np.ones(m)), np.kron(np.ones(n), np.eye(m))
    exact = linprog(COSTS.ravel(), of_rows, mass * A, of_columns, B).fun
    plan = ops.sinkhorn(-COSTS, 0.002, row_sums=mass * A, column_sums=B, num_iterations=5000)
    np.testing.assert_allclose(np.sum(plan * COSTS), exact, atol=0.01)
    np.testing.assert_allclose(np.sum(plan, axis=0), B, rtol=1e-9)
    assert np.all(np.sum(plan, axis=1) <= mass * A + 1e-4)


def test_sums_that_differ_by_rounding_count_as_equal():
    """Without a slack row: of -inf logits a row that has to take a little would leave it to the slack."""
    sums = tf.nn.softmax(tf.constant(RNG.normal(size=1000), tf.float32))
    plan, residual = ops.sinkhorn(tf.zeros([1000, 3]), row_sums=sums, column_sums=[0.2, 0.3, 0.5], return_residual=True)
    np.testing.assert_allclose(plan, sums[:, tf.newaxis] * [0.2, 0.3, 0.5], rtol=1e-5)
    assert float(residual) < 1e-6


def test_a_sum_of_0_masks_its_row_or_column():
    row_sums, column_sums = np.array([1.0, 0, 2, 1]), np.array([1.0, 1, 2, 0])
    logits = np.where((row_sums[:, None] > 0) & (column_sums > 0), SQUARE, np.nan)
    found, (gradient,) = tape_gradients(
        lambda s: ops.sinkhorn(s, row_sums=row_sums, column_sums=column_sums), [tf.constant(logits)], SQUARE
    )
    np.testing.assert_array_equal(found == 0, np.isnan(logits))
    np.testing.assert_array_equal(gradient == 0, np.isnan(logits))


def test_a_sum_of_0_has_no_part_in_the_deviation():
    row_sums, mask = [1.0, 1.0, 0.0], [True, True, False]
    logits = tf.constant([[1.0, 0.0], [0.0, 1.0], [100.0, -100.0]])
    found = ops.sinkhorn(logits, row_sums=row_sums, scale="std")
    np.testing.assert_allclose(found, ops.sinkhorn(logits, row_mask=mask, row_sums=row_sums, scale="std"), rtol=1e-6)
    assert found[0, 0] > 0.8
    columns = ops.sinkhorn(tf.transpose(logits), column_sums=row_sums, scale="std")
    np.testing.assert_allclose(columns, tf.transpose(found), rtol=1e-5)


@pytest.mark.parametrize("function", [ops.transport_cost, ops.sinkhorn_divergence])
@pytest.mark.parametrize("distance", ["squared_euclidean", "cosine"])
def test_a_point_of_weight_0_may_be_anything(function, distance):
    points, others, weights = [[1.0, 2.0], [np.nan, np.inf]], [[2.0, 1.0], [3.0, -1.0]], [1.0, 0.0]
    results = []
    for options in ({"x_weights": weights}, {"x_mask": [True, False]}):
        x, y = tf.constant(points), tf.constant(others)
        results.append(
            tape_gradients(lambda x, y, o=options: function(x, y, distance=distance, **o), [x, y], np.ones([]))
        )
    (found, gradients), (wanted, slopes) = results
    assert np.all(np.isfinite([found, *(np.sum(each) for each in gradients)]))
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    for gradient, slope in zip(gradients, slopes, strict=True):
        np.testing.assert_allclose(gradient, slope, rtol=1e-5, atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("garbage", [np.nan, -1.0, np.inf])
def test_masked_sums_and_weights_change_nothing(garbage):
    mask = np.array([True, True, False, True])
    sums, others = np.where(mask, [1.0, 2, 0, 1], garbage), [1.0, 2, 5, 1]
    found, wanted = (ops.sinkhorn(SQUARE, row_sums=each, row_mask=[mask, mask]) for each in (sums, others))
    np.testing.assert_array_equal(found, wanted)
    costs = [ops.transport_cost(X, Y, x_weights=each, x_mask=mask) for each in (sums, others)]
    np.testing.assert_array_equal(*costs)


@pytest.mark.slow
@pytest.mark.parametrize("penalty", [None, 0.5])
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -1.0])
def test_wrong_sums_make_only_their_matrix_nan(penalty, wrong):
    sums = np.array([[1.0, 2, 1, 1], [1.0, wrong, 1, 1]])
    run = tf.function(
        lambda logits, sums: ops.sinkhorn(logits, row_sums=sums, marginal_penalty=penalty), jit_compile=True
    )
    found = run(tf.constant(SQUARE), tf.constant(sums))
    np.testing.assert_array_equal(np.isnan(found).all(axis=(1, 2)), [False, True])
    assert np.all(np.isfinite(found[0]))


def test_residual_is_the_distance_from_the_sums_or_the_next_change():
    sums = {"row_sums": A, "column_sums": B}
    plan, residual = ops.sinkhorn(-COSTS, 0.1, num_iterations=2, return_residual=True, **sums)
    np.testing.assert_allclose(residual, np.max(np.abs(np.sum(plan, axis=1) - A)), rtol=1e-9)
    penalty = {"marginal_penalty": 0.4, "num_iterations": 2, "return_residual": True}
    plan, residual = ops.sinkhorn(-COSTS, 0.1, **sums, **penalty)
    # By the potentials of the rows before and after another step of them.
    rho = 0.4 / (0.4 + 0.1)
    g = rho / (rho - 1) * np.log(np.sum(plan, axis=0) / B)
    f = np.log(plan) + COSTS / 0.1 - g
    next_f = rho * (np.log(A) - np.log(np.sum(np.exp(-COSTS / 0.1 + g), axis=1)))
    change = np.sum(plan, axis=1) * (np.exp(next_f - f[:, 0]) - 1)
    np.testing.assert_allclose(residual, np.max(np.abs(change)), rtol=1e-6)


@pytest.mark.slow
@traced
def test_tolerance_with_sums_and_penalty():
    for penalty in (None, 0.5):
        options = {"row_sums": A, "column_sums": B, "marginal_penalty": penalty, "return_residual": True}
        plan, residual = ops.sinkhorn(-COSTS, 0.3, tolerance=1e-3, num_iterations=500, **options)
        exact, _ = ops.sinkhorn(-COSTS, 0.3, num_iterations=500, **options)
        assert 1e-6 < float(residual) <= 1e-3
        np.testing.assert_allclose(plan, exact, atol=1e-2)


@pytest.mark.slow
@traced
def test_a_large_penalty_makes_sums_hold():
    plan = ops.sinkhorn(-COSTS, 0.5, row_sums=A, column_sums=B, marginal_penalty=1e6, num_iterations=3000)
    np.testing.assert_allclose(plan, POT_PLAN, atol=1e-5)


def test_hard_needs_unit_sums():
    with pytest.raises(ValueError, match="hard must be False with row_sums, column_sums or marginal_penalty, got True"):
        ops.sinkhorn(SQUARE, hard=True, row_sums=np.ones(4))


@pytest.mark.parametrize("sums", [np.ones(3), np.ones([1, 4]), -np.ones(4)], ids=str)
def test_sums_must_fit(sums):
    with pytest.raises(ValueError, match="row_sums must"):
        ops.sinkhorn(SQUARE, row_sums=sums)


@pytest.mark.slow
@traced
def test_costs_are_those_of_ott():
    cost, (gradient,) = tape_gradients(
        lambda x: ops.transport_cost(x, Y, 0.5, x_weights=A, y_weights=B, **LONG), [tf.constant(X)], np.array(1.0)
    )
    np.testing.assert_allclose(cost, OTT_COST, rtol=1e-12)
    np.testing.assert_allclose(gradient, OTT_GRADIENT, atol=1e-8)
    divergence = ops.sinkhorn_divergence(X, Y, 0.5, x_weights=A, y_weights=B, **LONG)
    np.testing.assert_allclose(divergence, OTT_DIVERGENCE, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("mode", modes.OP_MODES)
def test_costs_and_gradients_in_every_mode(mode):
    # Each mode has the same points, and temperatures at which 100 iterations converge.
    random, tau = np.random.default_rng(0), np.array([2.0, 3.0])
    x, y, weights = random.normal(size=(2, 4, 3)), random.normal(size=(2, 5, 3)), random.uniform(0.5, 2, [2, 4])
    found, gradients = modes.run(
        mode,
        lambda x, y, t, w, _: ops.transport_cost(x, y, t, x_weights=w, num_iterations=100, tolerance=None),
        [tf.constant(each) for each in (x, y, tau, weights)],
        np.array([1.0, -2.0]),
    )

    def truth(x, y, tau, weights):
        options = [{"x_weights": each, "num_iterations": 100} for each in weights]
        return np.array([oracles.transport_cost(*each, **own) for *each, own in zip(x, y, tau, options, strict=True)])

    np.testing.assert_allclose(found, truth(x, y, tau, weights), rtol=1e-10)
    wanted = central_differences(truth, [x, y, tau, weights], np.array([1.0, -2.0]), step=1e-6)
    for own, right in zip(gradients, wanted, strict=True):
        np.testing.assert_allclose(own, right, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
def test_divergence_is_that_of_the_oracle():
    found = ops.sinkhorn_divergence(X, Y, 2.0, num_iterations=100, tolerance=None)
    np.testing.assert_allclose(found, oracles.sinkhorn_divergence(X, Y, 2.0, num_iterations=100), rtol=1e-10)


@pytest.mark.slow
@traced
def test_divergence_is_0_for_equal_clouds_and_moves_a_cloud_to_the_other():
    x = tf.Variable(RNG.normal(size=(20, 2)))
    y = RNG.normal(size=(30, 2)) + 3
    value, (gradient,) = tape_gradients(lambda x: ops.sinkhorn_divergence(x, x.numpy()), [x], np.array(1.0))
    np.testing.assert_allclose([value, np.max(np.abs(gradient))], 0, atol=1e-5)
    before = float(ops.sinkhorn_divergence(x, y))
    _, (gradient,) = tape_gradients(lambda x: ops.sinkhorn_divergence(x, y), [x], np.array(1.0))
    x.assign_sub(20 / 2 * gradient)
    assert 0 < float(ops.sinkhorn_divergence(x, y)) < before / 10


def test_large_tau_gives_the_distance_of_the_means():
    x, y = RNG.normal(size=(7, 2)), RNG.normal(size=(5, 2))
    found = ops.sinkhorn_divergence(x, y, tau=1e6)
    np.testing.assert_allclose(found, np.sum((x.mean(axis=0) - y.mean(axis=0)) ** 2), rtol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("function", [ops.transport_cost, ops.sinkhorn_divergence])
def test_a_common_offset_costs_no_digits(function):
    # Multiples of 1/16, to which the offsets are added exactly.
    x, y = np.float32([[-2], [-10], [14]]) / 16, np.float32([[10], [-8], [24]]) / 16
    expected = function(x, y, 0.25)
    for offset in (-1000, 4000):
        np.testing.assert_allclose(function(x + offset, y + offset, 0.25), expected, rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("function", [ops.transport_cost, ops.sinkhorn_divergence])
def test_masked_points_change_nothing(function):
    x = np.concatenate([X, [[np.nan, 1.0]]])
    mask = np.array([True] * 4 + [False])
    found, (gradient,) = tape_gradients(
        lambda points: function(points, Y, x_mask=mask, y_mask=[True] * 3 + [False] * 2),
        [tf.constant(x)],
        np.array(1.0),
    )
    np.testing.assert_allclose(found, function(X, Y[:3]), rtol=1e-9)
    assert np.all(np.isfinite(gradient))
    np.testing.assert_array_equal(gradient[4], [0, 0])


@pytest.mark.slow
@pytest.mark.parametrize("function", [ops.transport_cost, ops.sinkhorn_divergence])
def test_an_empty_cloud_costs_nothing(function):
    for x, mask in ((X, [False] * 4), (X[:0], None)):
        found, (gradient,) = tape_gradients(
            lambda points, mask=mask: function(points, Y, 1.0, x_mask=mask), [tf.constant(x)], np.array(1.0)
        )
        assert found == 0
        np.testing.assert_array_equal(gradient, np.zeros_like(x))
    assert np.isnan(function(X, np.full_like(Y, np.nan)))


@pytest.mark.slow
def test_nan_points_make_only_their_pair_nan():
    x = np.stack([X, X])
    x[1, 0, 0] = np.nan
    found, (gradient,) = tape_gradients(
        lambda points: ops.transport_cost(points, np.stack([Y, Y])), [tf.constant(x)], np.ones(2)
    )
    np.testing.assert_array_equal(np.isnan(found), [False, True])
    assert np.all(np.isfinite(gradient[0]))


@pytest.mark.parametrize("distance", ["euclidean", "cityblock", "cosine", "dot"])
def test_distances(distance):
    single = ops.transport_cost(X[1:2], Y[:1], distance=distance)
    x, y = X[1], Y[0]
    wanted = {
        "euclidean": np.linalg.norm(x - y),
        "cityblock": np.sum(np.abs(x - y)),
        "cosine": 1 - x @ y / np.linalg.norm(x) / np.linalg.norm(y),
        "dot": -x @ y,
    }
    np.testing.assert_allclose(single, wanted[distance], rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    "distance", [*(pytest.param(d, marks=pytest.mark.nightly) for d in ("euclidean", "dot")), "cosine"]
)
def test_the_divergence_is_made_of_costs(distance):
    # Few iterations converge at this temperature.
    converged = {"distance": distance, "num_iterations": 60, "tolerance": None}
    between, of_x, of_y = (ops.transport_cost(*clouds, 5.0, **converged) for clouds in ((X, Y), (X, X), (Y, Y)))
    # The divergence takes other steps to the cost of a cloud with itself.
    divergence = ops.sinkhorn_divergence(X, Y, 5.0, **converged)
    np.testing.assert_allclose(divergence, between - (of_x + of_y) / 2, rtol=1e-10)


@pytest.mark.slow
@traced
def test_iterations_and_tolerance_of_costs():
    """The cost is a lower bound, the better the smaller the residual is."""
    few, loose, default, exact = (
        ops.transport_cost(X, Y, 0.1, **options, return_residual=True)
        for options in ({"num_iterations": 1}, {"tolerance": 0.02}, {}, LONG)
    )
    assert few[0] < loose[0] < default[0] <= exact[0] + 1e-12
    assert few[1] > loose[1] > default[1] > exact[1]
    assert loose[1] <= 0.02 < few[1]
    assert default[1] <= 2e-6  # the last iteration is made after the check
    assert abs(default[0] - exact[0]) < 1e-4


@pytest.mark.parametrize("function", [ops.transport_cost, ops.sinkhorn_divergence])
def test_costs_have_no_second_derivatives(function):
    """Under two tapes, TensorFlow computes the second derivatives of a traced call along with the first."""
    x = tf.constant(X)

    def second():
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                cost = function(x, Y, num_iterations=5)
            gradient = inner.gradient(cost, x)
        return outer.gradient(gradient, x)

    with pytest.raises(LookupError, match="have no second derivatives"):
        second()


@pytest.mark.slow
def test_clouds_must_match():
    with pytest.raises(ValueError, match=r"x and y must have shapes \[..., n, d\] and \[..., m, d\], got \(4, 2\)"):
        ops.transport_cost(X, Y[:, :1])
    with pytest.raises(TypeError, match="x and y must have the same dtype, got float64 and float32"):
        ops.transport_cost(X, tf.cast(Y, tf.float32))
    run = tf.function(ops.transport_cost, input_signature=[tf.TensorSpec([None, None, None])] * 2)
    with pytest.raises(tf.errors.InvalidArgumentError, match="y must have the same batch"):
        run(tf.zeros([2, 3, 1]), tf.zeros([1, 3, 1]))
