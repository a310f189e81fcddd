"""RankNetLoss and ranknet_lambdas against loops over pairs, and metrics swapped item by item."""

import functools

import numpy as np
import pytest
import tensorflow as tf
from support import models, modes
from support.cases import objects
from support.cases.ranking.ranknet_loss import OPTIONS
from support.data.graded_lists import LABELS, TIED, WEIGHTS
from support.gradients import central_differences, fixed_weights

import keras_softsort as ks

pytestmark = pytest.mark.default_stack_only

NONE = models.NO_REDUCTION
SCORES = TIED  # as ranks must be
# For the modes that are slow to compile.
FEW = [OPTIONS[0], OPTIONS[4], OPTIONS[7], OPTIONS[14]]
each_option = pytest.mark.parametrize("options", OPTIONS, ids=str)


expected_losses = objects.SUBJECTS[ks.RankNetLoss].truth


def value_and_gradient(labels, scores, weights=None, mask=None, **options):
    return models.value_and_gradient(ks.RankNetLoss(reduction=NONE, **options), labels, scores, weights, mask)


def slopes(labels, scores, upstream, weights=None, **options):
    """Central differences, with the lambda weights held."""
    losses = functools.partial(expected_losses, labels, weights=weights, frozen=scores, **options)
    return central_differences(losses, [scores], upstream)[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "mode"),
    [
        *((FEW[i], mode) for i, mode in [(1, "xla"), (2, "unknown_shape")]),
        *(
            pytest.param(options, mode, marks=pytest.mark.nightly)
            for options in FEW
            for mode in ("eager", "xla", "unknown_shape")
        ),
    ],
    ids=str,
)
def test_value_and_gradient_in_other_modes(options, mode):
    upstream = fixed_weights(len(SCORES))
    loss = ks.RankNetLoss(reduction=NONE, **options)
    value, (gradient,) = modes.run(
        mode, lambda a, y: loss(y, a, sample_weight=WEIGHTS), [tf.constant(SCORES)], upstream, LABELS
    )
    np.testing.assert_allclose(value, expected_losses(LABELS, SCORES, WEIGHTS, **options), rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(gradient, slopes(LABELS, SCORES, upstream, WEIGHTS, **options), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("options", [OPTIONS[4], OPTIONS[8], OPTIONS[12]], ids=str)
def test_lambdas_are_the_gradient_of_the_sum(options):
    options = {**options, "normalization": "none"}
    wanted = slopes(LABELS, SCORES, np.ones(len(SCORES)), **options)
    del options["normalization"]
    found = ks.ops.ranknet_lambdas(tf.constant(SCORES), LABELS, mask=LABELS >= 0, **options)
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(tf.reduce_sum(found, axis=-1), 0, atol=1e-13)


def test_lambdas_of_any_leading_axes():
    scores, labels = np.float16(SCORES[:4].reshape(2, 2, 5)), LABELS[:4].reshape(2, 2, 5)
    found = ks.ops.ranknet_lambdas(scores, labels, mask=labels >= 0, lambda_weight="ndcg")
    assert found.dtype == tf.float16
    flat = ks.ops.ranknet_lambdas(
        np.float32(np.float16(SCORES[:4])), LABELS[:4], mask=LABELS[:4] >= 0, lambda_weight="ndcg"
    )
    np.testing.assert_allclose(np.reshape(found, (4, 5)), flat, rtol=1e-3, atol=1e-4)
    # The operator marks padding by its mask, so a label below 0 is a label like others.
    shifted = ks.ops.ranknet_lambdas(np.float32(SCORES[0]), LABELS[0] - 2)
    np.testing.assert_allclose(shifted, ks.ops.ranknet_lambdas(np.float32(SCORES[0]), LABELS[0]), rtol=1e-6)
    assert ks.ops.ranknet_lambdas(tf.zeros([2, 0]), tf.zeros([2, 0])).shape == (2, 0)


@pytest.mark.parametrize("scale", [8.0, 1e4, 1e30])
@pytest.mark.parametrize("options", [FEW[0], FEW[1], FEW[2]], ids=str)
def test_wide_scores(options, scale):
    scores = np.float32(scale * SCORES)
    value, gradient = value_and_gradient(np.float32(LABELS), scores, **options)
    wanted = expected_losses(LABELS, np.float64(scores), **options)
    # A difference of scores carries the rounding of both.
    np.testing.assert_allclose(value, wanted, rtol=1e-5, atol=1e-7 * scale)
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize("offset", [0.0, 5000.0])
def test_small_costs_keep_their_digits(offset):
    scores = np.float32([[0.0, -18.0, -9.0, -19.0]]) + np.float32(offset)
    labels = np.float32([[3, 1, 2, 0]])
    value, gradient = value_and_gradient(labels[:, :3], scores[:, :3])
    wanted = expected_losses(labels[:, :3], np.float64(scores[:, :3]))
    np.testing.assert_allclose(value, wanted, rtol=1e-5)
    wanted = slopes(labels[:, :3], np.float64(scores[:, :3]), np.ones(1))
    np.testing.assert_allclose(gradient, wanted, rtol=1e-4, atol=1e-10)


def test_scores_far_from_zero_divided_by_tau():
    """The call runs in a graph with a known list size, where each pair is computed on its own."""
    scores, labels = np.float32([[0.0, 0.75, -1.5, 0.5]]) + np.float32(1e6), np.float32([[3, 1, 2, 0]])

    @tf.function
    def run(scores):
        with tf.GradientTape() as tape:
            tape.watch(scores)
            losses = ks.RankNetLoss(reduction=NONE, tau=3.0)(labels, scores)
        return losses, tape.gradient(losses, scores)

    value, gradient = run(tf.constant(scores))
    np.testing.assert_allclose(value, expected_losses(labels, np.float64(scores), tau=3.0), rtol=1e-6)
    wanted = slopes(labels, np.float64(scores), np.ones(1), tau=3.0)
    np.testing.assert_allclose(gradient, wanted, atol=1e-5)


@each_option
def test_a_list_without_pairs_costs_nothing(options):
    labels = LABELS[5:] if options.get("ties") == "half" else LABELS[[2, 5, 6]]
    value, gradient = value_and_gradient(labels, SCORES[: len(labels)], **options)
    np.testing.assert_array_equal(value, 0)
    np.testing.assert_array_equal(gradient, 0)


def test_gains_whose_power_is_no_float():
    labels = np.float32([[200.0, 199.0, 0.0]])
    value, gradient = value_and_gradient(labels, np.float32(SCORES[:1, :3]), lambda_weight="ndcg")
    wanted = expected_losses(np.float64(labels), SCORES[:1, :3], lambda_weight="ndcg")
    np.testing.assert_allclose(value, wanted, rtol=1e-5)
    assert np.abs(gradient).max() > 0.01


@pytest.mark.slow
def test_a_zero_of_either_sign_ranks_as_it_stands():
    labels, plain = np.float64([[0, 3, 1, 2]]), np.zeros((1, 4))
    signed = np.float64([[-0.0, 0.0, -0.0, 0.0]])
    for jit_compile in (False, True):
        loss = tf.function(ks.RankNetLoss(lambda_weight="ndcg").__call__, jit_compile=jit_compile)
        assert float(loss(labels, signed)) == float(loss(labels, plain))


def test_negative_weights():
    with pytest.raises(ValueError, match=r"weights must not be negative, got -0\.5"):
        ks.RankNetLoss()(LABELS[:3], SCORES[:3], sample_weight=[1, -0.5, 2])
    run = tf.function(lambda w: ks.RankNetLoss()(LABELS, SCORES, sample_weight=w))
    with pytest.raises(tf.errors.InvalidArgumentError, match="weights must not be negative"):
        run(tf.constant(-WEIGHTS))


@pytest.mark.parametrize("call", [ks.RankNetLoss, functools.partial(ks.ops.ranknet_lambdas, SCORES, LABELS)])
def test_precision_needs_k(call):
    with pytest.raises(ValueError, match="k must be given with lambda_weight='precision', got None"):
        call(lambda_weight="precision")
