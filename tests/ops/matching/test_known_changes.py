"""Known changes of the input of matchings and costs: shifts, scales, offsets, empty sides, half precision."""

import numpy as np
import pytest
import tensorflow as tf
from scipy.optimize import linear_sum_assignment
from support import modes
from support.gradients import tape_gradients

import keras_softsort as ks
from keras_softsort import ops

pytestmark = pytest.mark.traced_eagerly

RNG = np.random.default_rng(8)
LINE = np.arange(50, dtype="float32")[:, np.newaxis]
CLOUDS = RNG.normal(size=(2, 30, 2)).astype("float32")
OUTLIERS = (RNG.normal(size=(40, 1)) ** 3).astype("float32")
nightly = pytest.mark.nightly


def in_mode(mode, function, *inputs):
    """The value and the gradient with respect to the first input."""
    value, gradients = modes.run(mode, function, [tf.constant(each) for each in inputs], np.float32(1))
    return float(value), gradients[0]


OTHER_MODES = [pytest.param(each, marks=nightly) for each in ("traced", "xla", "unknown_shape")]
each_mode = pytest.mark.parametrize("mode", ["eager", *OTHER_MODES])


@pytest.mark.slow
@each_mode
@pytest.mark.parametrize(
    ("x", "shift"),
    [(LINE, 3.0), *(pytest.param(*each, marks=nightly) for each in ((30 * LINE, 90.0), (CLOUDS[0], 1e4), (LINE, 0.3)))],
)
def test_a_shift_of_a_cloud_costs_its_square(mode, x, shift):
    value, gradient = in_mode(mode, lambda a, b, _: ops.sinkhorn_divergence(a, b), x, x + np.float32(shift))
    squared = x.shape[1] * shift**2
    np.testing.assert_allclose(value, squared, rtol=1e-4)
    np.testing.assert_allclose(gradient, np.full_like(x, -2 * shift / len(x)), rtol=1e-3)


@pytest.mark.slow
@each_mode
@pytest.mark.parametrize(
    ("x", "y"),
    [
        (100 * LINE, 100 * LINE + 300),
        pytest.param(300 * CLOUDS[0], 200 * CLOUDS[1], marks=nightly),
        pytest.param(10 * OUTLIERS, 30 * CLOUDS[0, :, :1].repeat(4, 0)[:40], marks=nightly),
    ],
    ids=["line", "clouds", "outliers"],
)
@pytest.mark.parametrize("tau", [1.0, pytest.param(0.01, marks=nightly)])
def test_costs_at_defaults_are_exact_for_a_small_tau(mode, x, y, tau):
    """The exact cost by SciPy; the entropic cost is above it by at most tau log(n)."""
    value, gradient = in_mode(mode, lambda a, b, _: ops.transport_cost(a, b, tau), x, y)
    costs = np.sum((x[:, np.newaxis].astype(float) - y) ** 2, axis=-1)
    rows, columns = linear_sum_assignment(costs)
    exact = costs[rows, columns].mean()
    assert exact * (1 - 1e-3) <= value <= exact * (1 + 1e-3) + tau * np.log(len(x))
    # The gradient is that of a plan whose columns have the right sums.
    np.testing.assert_allclose(np.sum(gradient, axis=0), 2 * (x.mean(axis=0) - y.mean(axis=0)), rtol=1e-2)


@pytest.mark.slow
@pytest.mark.parametrize("function", [ops.transport_cost, ops.sinkhorn_divergence])
@pytest.mark.parametrize("distance", ["squared_euclidean", *(pytest.param(d, marks=nightly) for d in ("euclidean",))])
@pytest.mark.parametrize("scale", [1e3, pytest.param(1e-3, marks=nightly)])
def test_costs_scale_with_points_and_tau(function, distance, scale):
    power = 2 if distance == "squared_euclidean" else 1
    found = function(scale * CLOUDS[0], scale * CLOUDS[1], 0.05 * scale**power, distance=distance, tolerance=None)
    wanted = function(*CLOUDS, 0.05, distance=distance, tolerance=None)
    np.testing.assert_allclose(found, wanted * scale**power, rtol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("function", [ops.transport_cost, ops.sinkhorn_divergence])
@pytest.mark.parametrize("dtype", ["bfloat16", pytest.param("float16", marks=nightly)])
@pytest.mark.parametrize("tau", [100.0, pytest.param(1.0, marks=nightly)])
def test_half_precision_is_rounded_once(function, dtype, tau):
    x = tf.cast(CLOUDS[0], dtype)
    y = x + tf.cast(0.05, dtype)
    exact = function(*(tf.cast(each, tf.float64) for each in (x, y)), tau)
    np.testing.assert_allclose(tf.cast(function(x, y, tau), tf.float64), exact, rtol=8e-3)


MATRICES = {
    "sinkhorn": lambda x, **o: ks.sinkhorn(x, 0.3, num_iterations=100, **o),
    "penalty": lambda x, **o: ks.sinkhorn(x, 0.3, num_iterations=100, marginal_penalty=1.0, **o),
    "gumbel_sinkhorn": lambda x, **o: ops.gumbel_sinkhorn(x, 0.3, seed=[1, 2], num_iterations=100, **o),
    "SinkhornLayer": ks.SinkhornLayer(0.3, num_iterations=100),
    "GumbelSinkhornLayer": ks.GumbelSinkhornLayer(0.3, num_iterations=100),
    "linear_assignment": lambda x, **o: tf.one_hot(ks.linear_assignment(x, **o), tf.shape(x)[-1]),
    "match": lambda x, **o: tf.one_hot(ops.match(-x, **o).columns, tf.shape(x)[-1]),
}
SCORES = RNG.normal(size=(1, 8, 5))


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in MATRICES if kind != "penalty"])  # which a level changes
@pytest.mark.parametrize("shape", ["wide", "tall", pytest.param("square", marks=nightly)])
@pytest.mark.parametrize("offset", [1e4, pytest.param(-1e4, marks=nightly)])
def test_an_offset_of_a_matrix_changes_nothing(kind, shape, offset):
    scores = {"wide": np.swapaxes(SCORES, 1, 2), "tall": SCORES, "square": SCORES[:, :5]}[shape]
    shifted = scores.astype("float32") + np.float32(offset)
    # The numbers of `shifted`, after its rounding, near 0.
    near = (shifted.astype(float) - offset).astype("float32")
    found, wanted = (MATRICES[kind](tf.constant(each)) for each in (shifted, near))
    # Noise is rounded with the logits to which it is added.
    np.testing.assert_allclose(found, wanted, atol=1e-2 if kind == "gumbel_sinkhorn" else 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["op_by_op", pytest.param("eager", marks=nightly), *OTHER_MODES])
@pytest.mark.parametrize("side", ["row_mask", pytest.param("column_mask", marks=nightly)])
@pytest.mark.parametrize("kind", [kind for kind in MATRICES if "Layer" not in kind])
def test_an_empty_side_gives_zeros_and_changes_no_other(kind, side, mode):
    scores = np.concatenate([SCORES, SCORES]).astype("float32")
    mask = np.ones((2, 8 if side == "row_mask" else 5), bool)
    mask[1] = False

    def total(x, _):
        return MATRICES[kind](x, **{side: mask}) + 0 * x

    found, (gradient,) = modes.run(mode, total, [tf.constant(scores)], SCORES[[0, 0]].astype("float32"))
    np.testing.assert_allclose(found[0], MATRICES[kind](scores[:1])[0], atol=1e-6)
    assert np.all(np.isfinite(gradient))
    if kind != "match":  # whose columns of unmatched rows are 0
        np.testing.assert_array_equal(found[1], np.zeros_like(found[1]))
    np.testing.assert_array_equal(gradient[1], np.zeros_like(gradient[1]))


@pytest.mark.slow
@pytest.mark.parametrize("sums", ["row_sums", "column_sums"])
def test_sums_of_0_with_a_penalty_are_an_empty_side(sums):
    empty = np.float32([[1] * (8 if sums == "row_sums" else 5)] * 2) * [[1], [0]]
    found, (gradient,) = tape_gradients(
        lambda x: ks.sinkhorn(x, marginal_penalty=1.0, **{sums: tf.constant(empty, tf.float32)}),
        [tf.constant(np.concatenate([SCORES, SCORES]), tf.float32)],
        SCORES[[0, 0]].astype("float32"),
    )
    assert np.all(np.isfinite(found[0]))
    assert np.all(np.isfinite(gradient[0]))
    np.testing.assert_array_equal(found[1], np.zeros([8, 5]))
    np.testing.assert_array_equal(gradient[1], np.zeros([8, 5]))
