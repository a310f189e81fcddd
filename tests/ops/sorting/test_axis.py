"""Lists along any axis of the scores: results are those of the last axis, moved back."""

import inspect
import re

import numpy as np
import pytest
import tensorflow as tf
from support import modes
from support.cases import collect
from support.gradients import fixed_weights

import keras_softsort as ks

SCORES = np.random.default_rng(4).normal(size=[2, 3, 4])
MASK = np.random.default_rng(5).uniform(size=SCORES.shape) > 0.2
TAU = 0.7
CASES = collect.by_name("ALONG_AXIS", "sorting")
# Each axis op by op, and in all modes at night.
AXES_AND_MODES = [(axis, "op_by_op") for axis in (0, 1, -2)]
AXES_AND_MODES += [
    pytest.param(axis, mode, marks=pytest.mark.nightly)
    for axis in (0, 1, -2)
    for mode in ("eager", "unknown_shape", "xla")
]


def test_everything_that_takes_an_axis_is_tried():
    named = {name: getattr(module, name) for module in (ks.ops, ks.layers) for name in module.__all__}
    parameters = {name: inspect.signature(each).parameters for name, each in named.items() if callable(each)}
    with_axis = {name for name, found in parameters.items() if {"axis", "direction"} <= set(found)}
    assert with_axis | {"soft_quantile", "SoftQuantileLayer"} <= set(CASES)
    assert with_axis >= {"soft_rank", "SoftRankLayer"}


def outcome(function, scores, mask, mode, axis):
    """The value, and the gradient of its sum with weights that move along with the axis."""
    to = axis % scores.ndim

    def call(scores, tau, mask):
        return function(scores, tau, axis=axis, mask=mask)

    tensors = [tf.constant(scores), tf.constant(TAU, tf.float64)]
    shape = np.moveaxis(call(*tensors, tf.constant(mask)), to, scores.ndim - 1).shape
    weights = np.moveaxis(np.asarray(fixed_weights(shape)), scores.ndim - 1, to)
    value, gradients = modes.run(mode, call, tensors, weights, tf.constant(mask))
    return value.numpy(), [gradient.numpy() for gradient in gradients]


@pytest.mark.parametrize(("axis", "mode"), AXES_AND_MODES)
@pytest.mark.parametrize("name", CASES)
def test_an_axis_is_the_last_one_moved(name, axis, mode):
    if "Layer" in name and mode != "op_by_op":
        pytest.skip("a layer makes its weight once")
    to = axis % SCORES.ndim
    value, (slopes, slope_of_tau) = outcome(CASES[name], SCORES, MASK, mode, axis)
    last = [np.ascontiguousarray(np.moveaxis(each, to, -1)) for each in (SCORES, MASK)]
    expected, (slopes_of_last, slope_of_tau_of_last) = outcome(CASES[name], *last, "op_by_op", 2)
    np.testing.assert_allclose(value, np.moveaxis(expected, SCORES.ndim - 1, to), rtol=1e-9)
    np.testing.assert_allclose(slopes, np.moveaxis(slopes_of_last, -1, to), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(slope_of_tau, slope_of_tau_of_last, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in CASES if "Layer" not in name])
def test_the_last_axis_takes_no_operation(name):
    def kinds(**options):
        with tf.Graph().as_default() as graph:
            CASES[name](tf.constant(SCORES[0]), tf.constant(TAU, tf.float64), mask=tf.constant(MASK[0]), **options)
        return sorted(operation.type for operation in graph.get_operations())

    plain = kinds()
    assert kinds(axis=1) == plain
    assert kinds(axis=0).count("Transpose") > plain.count("Transpose")


def test_temperatures_have_the_other_axes():
    tau = np.array([[0.5, 1.0, 2.0, 0.3], [0.7, 0.9, 1.1, 3.0]])
    found = ks.soft_rank(SCORES, tau, axis=1)
    np.testing.assert_allclose(found, np.moveaxis(ks.soft_rank(np.moveaxis(SCORES, 1, 2), tau), 2, 1), rtol=1e-9)
    with pytest.raises(ValueError, match=r"tau must be a scalar or have the shape of the leading axes, \(2, 4\)"):
        ks.soft_rank(SCORES, tau[:, :3], axis=1)


@pytest.mark.parametrize("name", ["soft_rank", "SoftRankLayer"])
@pytest.mark.parametrize(
    ("axis", "error", "message"),
    [
        (1.0, TypeError, r"axis must be an integer, got 1\.0"),
        (7, ValueError, r"axis must be an axis of the shape .*, got [78]"),
        (-7, ValueError, r"axis must be an axis of the shape .*, got -7"),
    ],
)
def test_wrong_axes(name, axis, error, message):
    with pytest.raises(error, match=message):
        (ks.soft_rank if name == "soft_rank" else lambda s, axis: ks.SoftRankLayer(axis=axis)(s))(SCORES, axis=axis)


@pytest.mark.parametrize("name", [*dict.fromkeys(re.split("[ ,]", name)[0] for name in CASES), "GumbelSoftmaxLayer"])
def test_no_axis_says_flatten(name):
    function, scores = getattr(ks.ops, name, None) or getattr(ks, name), [] if "Layer" in name else [SCORES]
    required = {
        key: value for key, value in {"k": 2, "q": 0.5}.items() if key in inspect.signature(function).parameters
    }
    with pytest.raises(TypeError, match="axis must be an integer, got None; flatten the tensor"):
        function(*scores, axis=None, **required)


def test_errors_show_shapes_as_they_were_given():
    with pytest.raises(ValueError, match=r"mask must have the shape of scores, \(2, 3, 4\), got \(2, 4, 3\)"):
        ks.soft_rank(SCORES, axis=1, mask=np.ones([2, 4, 3], bool))
    with pytest.raises(ValueError, match=r"values must have shape .* got \(2, 4, 3\) and \(2, 3, 4\)"):
        ks.soft_values(SCORES, axis=1, values=np.ones([2, 4, 3]))
    with pytest.raises(ValueError, match="top_k must be at most the list size, 3, got 4"):
        ks.soft_values(SCORES, axis=1, top_k=4)


def test_an_unknown_rank_is_an_error_with_any_axis():
    @tf.function(input_signature=[tf.TensorSpec(None, tf.float32)])
    def ranks(scores):
        return ks.soft_rank(scores, axis=0)

    with pytest.raises(ValueError, match="scores must have a known rank"):
        ranks(tf.zeros([2, 3]))


def test_empty_lists():
    assert ks.soft_sort(np.zeros([2, 0, 4]), axis=1).shape == (2, 0, 4, 0)
    np.testing.assert_array_equal(ks.ops.soft_quantile(np.zeros([0, 3]), [0.5], axis=0), np.zeros([1, 3]))


@pytest.mark.parametrize("axis", [1, 2, -2])
def test_a_layer_takes_scores_of_any_rank(axis):
    scores, mask = tf.constant(SCORES, tf.float32), tf.constant(MASK[:, :, 0])
    model = ks.layers.NeuralSortLayer(axis=axis, returns="values", top_k=2)
    found, of_entries = model(scores, mask=mask), np.broadcast_to(mask[:, :, None], SCORES.shape)
    np.testing.assert_allclose(found, ks.soft_values(scores, top_k=2, axis=axis, mask=of_entries), rtol=1e-6)
    assert tuple(model.compute_output_shape(scores.shape)) == found.shape
    mask_of_ranks = model.compute_mask(scores, mask)
    if axis == 2:  # the mask is of another axis
        np.testing.assert_array_equal(mask_of_ranks, mask)
    else:
        leading = np.arange(2) < np.sum(mask, axis=1, keepdims=True)
        np.testing.assert_array_equal(mask_of_ranks, leading)


def test_a_temperature_per_example_of_a_layer():
    scores, tau = tf.constant(SCORES, tf.float32), tf.constant([0.5, 2.0])
    found = ks.SoftRankLayer(axis=1)([scores, tau])
    for row, own, given in zip(found, scores, tau, strict=True):
        np.testing.assert_allclose(row, ks.soft_rank(own, given, axis=0), rtol=1e-5)


def test_the_axis_of_a_layer_is_not_the_batch():
    for axis in (0, -3):
        with pytest.raises(ValueError, match=rf"axis must not be the batch, got {axis} for scores of shape"):
            ks.SoftRankLayer(axis=axis)(SCORES)
