"""Changes that leave ranking operators, losses and metrics alone: offsets, scales, equal scores."""

import numpy as np
import pytest
import tensorflow as tf
from support import modes
from support.cases import objects
from support.gradients import fixed_weights

from keras_softsort import UniqueSoftmaxLoss, ops, trees
from keras_softsort.losses import LambdaWeight
from keras_softsort.ops.sorting import methods

pytestmark = [pytest.mark.default_stack_only, pytest.mark.slow]

METRICS = {case.cls: case for case in reversed(objects.METRICS)}


@pytest.mark.parametrize("cls", METRICS, ids=lambda cls: cls.__name__)
def test_metrics_refuse_negative_weights(cls):
    labels = [[[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]]] * 2 if METRICS[cls].subject.takes_topics else [[1.0, 0.0, 2.0]] * 2
    metric, scores = METRICS[cls].make(), tf.constant([[0.1, 0.4, 0.3], [0.3, 0.2, 0.1]])
    for weights in ([1.0, -1.0], [[1.0, 1.0, 1.0], [1.0, 1.0, -1.0]]):
        with pytest.raises(ValueError, match="weights must not be negative, got -1"):
            metric.update_state(tf.constant(labels), scores, weights)

        @tf.function
        def update(given):  # returns nothing: the result of Keras 2 is an operation, which no function may return
            metric.update_state(tf.constant(labels), scores, given)

        with pytest.raises(tf.errors.InvalidArgumentError, match="weights must not be negative"):
            update(tf.constant(weights))


LABELS = np.float32([[3, 2, 1, 1, 0, 0]])
SCORES = np.array([[0.25, 2.03125, -1.0625, 0.515625, 0.484375, -0.25]])
# Losses of one score per item.
LOSSES = {loss.operator: loss for loss in objects.SUBJECTS.values() if loss.takes == "scores" and loss.operator}
CLASSES = {cls.__name__: cls for cls, loss in objects.SUBJECTS.items() if loss.operator in LOSSES}
MODES = ["op_by_op", *(pytest.param(mode, marks=pytest.mark.nightly) for mode in ("traced", "unknown_shape", "xla"))]


def outcome(function, scores, mode="op_by_op", dtype="float32"):
    """The values, and the gradient of their weighted sum."""
    shape = function(tf.constant(scores, dtype)).shape
    weights = np.asarray(fixed_weights(tuple(shape)), dtype)
    value, (gradient,) = modes.run(mode, lambda given, _: function(given), [tf.constant(scores, dtype)], weights)
    return value.numpy(), gradient.numpy()


@pytest.mark.parametrize("name", CLASSES)
def test_equal_scores_are_not_divided(name):
    basic = LOSSES[objects.SUBJECTS[CLASSES[name]].operator].basic
    options = {**basic, "reduction": "none", **({"seed": 1} if objects.SUBJECTS[CLASSES[name]].draws_noise else {})}

    def losses(scores, **more):
        tf.random.set_seed(1)  # of losses that draw noise
        return CLASSES[name](**options, **more)(LABELS, scores)

    # The mean of six times 0.7 rounds.
    value, gradient = outcome(lambda s: losses(s, scale="std"), np.full([1, 6], 0.7))
    expected, slopes = outcome(losses, np.full([1, 6], 0.7))
    np.testing.assert_allclose(value, expected, rtol=1e-5)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-4, atol=1e-6)


SORTING = {
    **{
        f"soft_rank, {method}": lambda s, method=method: ops.soft_rank(s, method=method, scale="std")
        for method in methods.names("ranks")
    },
    **{
        f"soft_top_k_membership, {method}": lambda s, method=method: ops.soft_top_k_membership(
            s, 2, method=method, scale="std"
        )
        for method in methods.names("membership")
    },
    **{f"{name}": lambda s, name=name: getattr(ops, name)(s, scale="std") for name in ("neural_sort", "soft_sort")},
    "soft_rank, power": lambda s: ops.soft_rank(s, method="soft_sort", power=2.0, scale="std"),
    "sinkhorn": lambda s: ops.sinkhorn(tf.reshape(s, [2, 3]), 0.3, scale="std"),
    "retrieval_loss": lambda s: ops.retrieval_loss(tf.reshape(s, [6, 1]), labels=[0, 1] * 3, scale="std"),
}
BY_VALUE = {
    f"soft_values, {method}": lambda s, method=method: ops.soft_values(s, method=method, scale="std")
    for method in methods.names("values")
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", [name for name in (*SORTING, *BY_VALUE) if name != "retrieval_loss"])  # of angles
def test_a_scale_and_an_offset_change_nothing_in_deviations(name, mode):
    function = SORTING.get(name) or BY_VALUE[name]
    value, gradient = outcome(function, SCORES, dtype="float64")
    for factor, offset in ((1e-30, 0), (1e25, 0), (1, 4096)):
        found, slopes = outcome(function, factor * SCORES + offset, mode)
        if name in BY_VALUE:
            found, slopes = (found - offset) / factor, slopes / factor
        loss = 1e-3 if name in BY_VALUE and offset else 2e-5  # Results have the digits of the offset.
        np.testing.assert_allclose(found, value, rtol=2e-5, atol=loss, err_msg=f"{factor} {offset}")
        np.testing.assert_allclose(slopes * factor, gradient, rtol=1e-3, atol=1e-4, err_msg=f"{factor} {offset}")


@pytest.mark.parametrize("name", [*SORTING, *BY_VALUE])
def test_operators_do_not_divide_equal_scores(name):
    value, gradient = outcome(SORTING.get(name) or BY_VALUE[name], np.full([1, 6], 0.7))
    assert np.all(np.isfinite(value))
    assert np.max(np.abs(gradient)) < 10


TOO_LARGE = (ValueError, tf.errors.InvalidArgumentError)  # op by op, and traced
WITH_GAINS = {
    "unique_softmax_loss": ops.unique_softmax_loss,
    "dcg": ops.dcg,
    "approx_ndcg_loss": lambda s, labels, **options: ops.approx_ndcg_loss(s, labels, normalization="none", **options),
    "neural_ndcg_loss": lambda s, labels, **options: ops.neural_ndcg_loss(s, labels, normalization="none", **options),
    "pl_rank_loss": lambda s, labels, **options: ops.pl_rank_loss(
        s, labels, seed=[1, 2], normalization="none", **options
    ),
    "ranknet_loss": lambda s, labels, gain="exponential": ops.ranknet_loss(
        s, labels, lambda_weight=LambdaWeight("dcg", gain=gain)
    ),
    "softmax_loss": lambda s, labels, gain="exponential": ops.softmax_loss(
        s, labels, lambda_weight=LambdaWeight("dcg", gain=gain)
    ),
}


@pytest.mark.parametrize("name", WITH_GAINS)
def test_labels_are_too_large_for_their_gains_or_have_the_right_value(name):
    function, scores = WITH_GAINS[name], tf.constant([[1.0, 2.0, 3.0], [0.0, 1.0, 0.5]])

    def values(top, dtype="float32", **options):
        labels = tf.cast(tf.convert_to_tensor([[top, 0.0, 1.0], [1.0, 0.0, 2.0]]), dtype)
        return function(tf.cast(scores, dtype), labels, **options)

    found = values(125.0)
    assert np.all(np.isfinite(found))
    if name != "pl_rank_loss":  # whose samples depend on the dtype
        np.testing.assert_allclose(found, values(125.0, "float64"), rtol=1e-5)
    assert np.all(np.isfinite(values(1000.0, "float64")))
    assert np.all(np.isfinite(values(1000.0, gain="linear")))
    for run in (values, tf.function(values)):
        with pytest.raises(TOO_LARGE, match=r"take gain=.*linear"):
            run(tf.constant(128.0))


def test_trees_and_losses_say_that_labels_are_too_large():
    labels, scores, loss = np.array([200.0, 0.0, 1.0]), np.array([1.0, 2.0, 3.0]), UniqueSoftmaxLoss()
    with pytest.raises(TOO_LARGE, match=r"take gain=.*linear"):
        trees.objective(loss)(labels, scores, None, [3])
    with pytest.raises(TOO_LARGE, match=r"take gain=.*linear"):
        loss([[127.0, 0.0, 1.0]], tf.constant([[1.0, 2.0, 3.0]]))  # a gain that is finite, and a loss that is not
    assert np.all(np.isfinite(trees.objective(UniqueSoftmaxLoss(gain="linear"))(labels, scores, None, [3])))
