"""Every operator in float32, compiled and nightly traced, at sizes that are not powers of two."""

import functools

import numpy as np
import pytest
import tensorflow as tf
from support import modes
from support.cases import objects, operators
from support.gradients import central_differences, fixed_weights

from keras_softsort import ops

pytestmark = [pytest.mark.default_stack_only, pytest.mark.slow]

LOSSES = {loss.operator: loss for loss in objects.SUBJECTS.values() if loss.takes in {"scores", "permutation"}}
# A vectorized kernel computes the last items of a batch apart from the others: 21, 33 and 30 are no multiples of 8.
SHAPES = [(3, 7), (1, 33), (6, 5)]
LABELS = {
    "all equal": lambda rng, shape: np.full(shape, 0.0),
    "all equal and below 1": lambda rng, shape: np.full(shape, 0.25),
    "binary": lambda rng, shape: rng.integers(0, 2, shape).astype(float),
    "graded": lambda rng, shape: rng.integers(0, 5, shape).astype(float),
}


MODES = {"unknown_shape": SHAPES, "traced": SHAPES[1:2], "xla": SHAPES[:1]}
IN_MODES = pytest.mark.parametrize(
    "mode",
    [*(pytest.param(mode, marks=pytest.mark.nightly) for mode in ("unknown_shape", "traced")), "xla"],
)
# An operator with each method and power, once.
SORTING = {str(case): case for case in operators.FEW}
OTHERS = {
    each.name: each for each in reversed(operators.OPERATIONS) if each.name not in LOSSES and not each.matrix_free
}


@functools.cache
def compiled(name, mode):
    """The loss of each list and the gradient of its weighted sum, as one function for all labels."""
    types = {"scores": tf.float32, "labels": tf.float32, "mask": tf.bool, "weights": tf.float32}
    signature = [tf.TensorSpec([None] * (1 if key == "weights" else 2), dtype) for key, dtype in types.items()]

    def run(scores, labels, mask, weights):
        with tf.GradientTape() as tape:
            tape.watch(scores)
            losses = LOSSES[name].of(scores, labels, mask=mask)
        return losses, tape.gradient(losses, scores, output_gradients=weights)

    unknown = {"input_signature": signature} if mode == "unknown_shape" else {}
    return tf.function(run, jit_compile=True if mode == "xla" else None, autograph=False, **unknown)


def truth(name, labels, mask, scores, weights):
    """The result of the oracle in float64, or of a call op by op if the loss draws noise."""
    loss = LOSSES[name]
    if loss.oracle is None or loss.draws_noise:
        tensors, labels = [tf.constant(scores)], tf.constant(labels)
        value, (gradient,) = modes.run("op_by_op", lambda s, m: loss.of(s, labels, mask=m), tensors, weights, mask)
        return value.numpy(), gradient.numpy()
    arguments = {key: value for key, value in loss.call.items() if key != "seed"}
    base = scores.astype(np.float64)
    value = functools.partial(loss.truth, np.where(mask, labels, -1.0), frozen=base, **arguments)
    (gradient,) = central_differences(value, [base], weights)
    return value(base), gradient


@IN_MODES
@pytest.mark.parametrize("name", LOSSES)
def test_tied_labels(name, mode, rng):
    for shape in MODES[mode]:
        scores, weights = rng.normal(size=shape).astype(np.float32), np.float32(fixed_weights(shape[:1]))
        for kind, make in LABELS.items():
            labels, mask = make(rng, shape).astype(np.float32), np.ones(shape, bool)
            if name == "permutation_cross_entropy_loss":
                # Its oracle takes lists of zeros as lists without relevant items, and in float32 the weights of items
                # that are far apart are 0.
                labels, scores = labels + 1, scores / 10
            mask[0, -3:] = kind != "graded"
            losses, gradient = compiled(name, mode)(scores, labels, mask, weights)
            expected, slopes = truth(name, labels, mask, scores, weights)
            message = f"{shape}, labels {kind}"
            np.testing.assert_allclose(losses, expected, rtol=1e-5, atol=1e-6, err_msg=message)
            np.testing.assert_allclose(gradient, slopes, rtol=1e-4, atol=5e-5, err_msg=message)


@pytest.mark.traced_eagerly
@pytest.mark.parametrize("lambda_weight", ["dcg", "label_diff", "map", "mrr", "ndcg"])
def test_pairs_of_tied_items_have_no_lambda_weight(lambda_weight):
    scores, labels = tf.random.stateless_normal([1, 123], [1, 2]), tf.ones([1, 123])
    with tf.GradientTape() as tape:
        tape.watch(scores)
        losses = ops.ranknet_loss(scores, labels, lambda_weight=lambda_weight, normalization="none")
    np.testing.assert_array_equal(losses, [0])
    np.testing.assert_array_equal(tape.gradient(losses, scores), np.zeros([1, 123]))


@IN_MODES
@pytest.mark.parametrize("name", SORTING)
def test_sorting(name, mode):
    case = SORTING[name]
    arrays, mask = case.arguments(np.float32)
    wide = [array.astype(np.float64) for array in arrays]
    weights = fixed_weights(case.truth(*wide, mask).shape)
    value, gradients = modes.run(mode, case.call, [tf.constant(each) for each in arrays], np.float32(weights), mask)
    np.testing.assert_allclose(value, case.truth(*wide, mask), rtol=1e-4, atol=1e-5)
    expected = central_differences(lambda *args: case.truth(*args, mask), wide, weights)
    for gradient, slopes in zip(gradients, expected, strict=True):
        np.testing.assert_allclose(gradient, slopes, rtol=1e-3, atol=1e-4)


def value_and_gradients(operation):
    """A function of the operation's tensors: the values, and the gradients of their weighted sums."""

    def run(*tensors):
        with tf.GradientTape() as tape:
            tape.watch(tensors)
            values = tf.nest.flatten(operation.function(*tensors))
            flat = tf.concat([tf.reshape(tf.cast(each, tf.float32), [-1]) for each in values], axis=0)
        if operation.forward_only:
            return flat, []
        weights = tf.cos(tf.range(tf.size(flat), dtype=tf.float32))
        return flat, tape.gradient(flat, list(tensors), weights)

    return run


@IN_MODES
@pytest.mark.parametrize("name", OTHERS)
def test_others(name, mode):
    """The values op by op are compared with oracles elsewhere."""
    run, tensors = value_and_gradients(OTHERS[name]), [tf.constant(each) for each in OTHERS[name].tensors]
    signature = [tf.TensorSpec([None] * each.shape.rank, each.dtype) for each in tensors]
    unknown = {"input_signature": signature} if mode == "unknown_shape" else {}
    traced = tf.function(run, autograph=False, jit_compile=True if mode == "xla" else None, **unknown)
    value, gradients = traced(*tensors)
    expected, slopes = run(*tensors)
    np.testing.assert_allclose(value, expected, rtol=1e-4, atol=1e-5)
    for gradient, slope in zip(gradients, slopes, strict=True):
        np.testing.assert_allclose(gradient, slope, rtol=1e-3, atol=1e-4)
