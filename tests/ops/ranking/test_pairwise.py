"""The blocks of pairs, however many and however laid out, and the cost of explicit pairs."""

import numpy as np
import pytest
import tensorflow as tf
from support import models, modes
from support.gradients import fixed_weights

import keras_softsort as ks
from keras_softsort.ops.ranking import pairs

RANDOM = np.random.default_rng(5)
# The sizes of short lists, which are one tile, and of long ones, which are cut into tiles of blocks: 5 of 31 items with
# padding at the end, and in a batch of many lists 9 of 22.
SHAPES = {"one tile": (3, 45), "five blocks": (2, 153), "nine blocks": (8000, 200)}


def losses(scores, labels, **options):
    return ks.RankNetLoss(reduction=models.NO_REDUCTION, **options)(labels, scores)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "mode"),
    [
        ("one tile", "traced"),
        ("five blocks", "traced"),
        pytest.param("nine blocks", "traced", marks=pytest.mark.nightly),
        ("one tile", "unknown_shape"),
        ("five blocks", "unknown_shape"),
        pytest.param("five blocks", "xla", marks=pytest.mark.nightly),
    ],
)
def test_each_layout_gives_the_same(shape, mode):
    check_layout(shape, mode)


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["one tile", "five blocks"])
@pytest.mark.parametrize("options", [{"ties": "half"}, {"lambda_weight": "ndcg", "normalization": "pairs"}], ids=str)
def test_each_layout_gives_the_same_with_options(shape, options):
    check_layout(shape, "traced", **options)


def check_layout(shape, mode, **options):
    labels = np.float64(RANDOM.integers(-1, 3, size=SHAPES[shape]))
    scores, upstream = RANDOM.normal(size=labels.shape), fixed_weights(len(labels))
    value, (gradient,) = modes.run(
        mode, lambda s, y: losses(s, y, **options), [tf.constant(scores)], upstream, tf.constant(labels)
    )
    first = slice(3)
    wanted, (slopes,) = modes.run(
        "op_by_op", lambda s, _: dense(s, labels[first], **options), [tf.constant(scores[first])], upstream[first]
    )
    np.testing.assert_allclose(value[first], wanted, rtol=1e-11)
    np.testing.assert_allclose(gradient[first], slopes, rtol=1e-10, atol=1e-14)


def dense(scores, labels, ties="ignore", lambda_weight=None, normalization="pairs"):
    """The formula as it stands, differentiated by TensorFlow."""
    kept = (labels >= 0)[:, :, np.newaxis] & (labels >= 0)[:, np.newaxis, :]
    pairs = kept & (labels[:, :, np.newaxis] > labels[:, np.newaxis, :])
    weights = 1.0 * pairs
    if ties == "half":
        tied = kept & (labels[:, :, np.newaxis] == labels[:, np.newaxis, :])
        weights += 0.5 * tied * (1 - np.eye(labels.shape[1]))
    counted = pairs.sum((1, 2)) if ties == "ignore" else weights.sum((1, 2))
    if lambda_weight is not None:
        weights *= np.stack([ndcg_swaps(*lists) for lists in zip(labels, scores.numpy(), strict=True)])
    difference = scores[:, :, np.newaxis] - scores[:, np.newaxis, :]
    return tf.reduce_sum(weights * tf.math.softplus(-difference), axis=[1, 2]) / counted


def ndcg_swaps(labels, scores):
    """LambdaRank's weights; labels below 0 mark padding."""
    scores, gains = np.where(labels >= 0, scores, -np.inf), np.where(labels >= 0, 2.0**labels - 1, 0)
    discounts = 1 / np.log2(2 + np.argsort(np.argsort(-scores)))
    ideal = np.sum(np.sort(gains)[::-1] / np.log2(np.arange(2, len(gains) + 2)))
    return np.abs(np.subtract.outer(gains, gains)) * np.abs(np.subtract.outer(discounts, discounts)) / ideal


@pytest.mark.parametrize(
    ("shape", "is_one"), [([3, 45], True), ([256, 128], True), ([257, 128], False), ([140_000, 128], False)], ids=str
)
def test_what_is_one_tile(shape, is_one):
    """The number of pairs of the last shape is beyond int32."""
    assert bool(pairs.is_one_tile(tf.constant(shape))) == is_one


@pytest.mark.slow
@pytest.mark.parametrize(
    ("normalization", "counts"), [("auto", True), ("pairs", True), ("list", False), ("none", False)]
)
def test_pairs_are_counted_only_where_they_divide(normalization, counts):
    """There are four sums over all pairs: counts, costs and two of derivatives. Nothing is sorted."""
    lists = tf.TensorSpec([2, 6], tf.float32)
    loss = tf.function(lambda scores, labels: ks.ops.ranknet_loss(scores, labels, normalization=normalization))
    kinds = [operation.type for operation in loss.get_concrete_function(lists, lists).graph.get_operations()]
    assert "TopKV2" not in kinds
    assert kinds.count("Sum") == 3 + counts


@pytest.mark.parametrize("padding", [-1.0, np.nan])
def test_weights_of_masked_items_are_not_checked(padding):
    scores, labels, mask = [1.0, 2.0, 5.0], [1.0, 0.0, 0.0], [True, True, False]
    found = ks.ops.ranknet_loss(scores, labels, mask=mask, weights=[3.0, 1.0, padding])
    np.testing.assert_allclose(found, 3 * np.log1p(np.exp(1)), rtol=1e-6)


def test_a_square_beyond_all_numbers_of_no_pair_counts_nothing():
    found = ks.ops.pairwise_mse_loss([1e20, 1e20, 3.0], [1.0, 0.0, 0.0], mask=[True, True, False])
    np.testing.assert_allclose(found, 1, rtol=1e-6)
