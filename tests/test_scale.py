"""Scores in standard deviations, of losses, matchings and neighbors: `scale="std"` is the result of divided scores."""

import numpy as np
import pytest
import tensorflow as tf
from support.gradients import fixed_weights, tape_gradients

import keras_softsort as ks
from keras_softsort import losses, ops, trees
from keras_softsort.losses import ScoreLoss

pytestmark = pytest.mark.default_stack_only

RANDOM = np.random.default_rng(3)
SCORES = np.array([[3.0, 10.0, -2.0, 7.0, np.nan], [0.3, 0.2, 0.9, 0.1, 0.4], [2.0, 2.0, 2.0, 2.0, 2.0]])
LABELS = np.array([[0.0, 1.0, 0.0, 1.0, -1.0], [1.0, 0.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 0.0, 1.0]])


def divided(scores):
    """The valid scores by their deviation, which has no gradient in the list of equal scores; 0 in the padding."""
    units = [tf.sqrt(tf.math.reduce_variance(each)) for each in (scores[0, :4], scores[1])]
    return tf.where(LABELS >= 0, scores, 0.0) / tf.stack([*units, 1.0])[:, tf.newaxis]


# Losses of one score per item, and their options without defaults.
GIVEN = {"PLRankLoss": {"seed": 1}, "YetiLogisticLoss": {"seed": 1}, "GumbelApproxNDCGLoss": {"seed": 1}}
SCORE_LOSSES = sorted(
    name
    for name in losses.__all__
    if isinstance(getattr(losses, name), type)
    and issubclass(getattr(losses, name), ScoreLoss)
    and getattr(losses, name).predicts == "scores"
    and name != "ScoreLoss"
)


@pytest.mark.slow
@pytest.mark.parametrize("name", SCORE_LOSSES)
def test_losses(name):
    def value(scores, **options):
        tf.random.set_seed(1)  # of losses that draw noise
        loss = getattr(losses, name)(reduction="none", **GIVEN.get(name, {}), **options)
        return loss(tf.constant(LABELS), scores)

    weights = np.array([1.0, -2.0, 3.0])
    found, (gradient,) = tape_gradients(lambda s: value(s, scale="std"), [tf.constant(SCORES)], weights)
    wanted, (right,) = tape_gradients(lambda s: value(divided(s)), [tf.constant(SCORES)], weights)
    assert not np.allclose(wanted, value(tf.constant(SCORES)))
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(gradient, right, rtol=1e-8, atol=1e-11)
    assert np.all(np.isfinite(gradient))


def test_there_are_losses_to_test():
    assert len(SCORE_LOSSES) > 20


def test_a_loss_of_ones_own_and_its_config():
    class Spread(ScoreLoss):
        def score_losses(self, scores, labels, *, mask, weights):
            return tf.math.reduce_std(scores, axis=-1)

    np.testing.assert_allclose(Spread(scale="std", padding=None)(LABELS[1:2], SCORES[1:2]), 1.0, rtol=1e-12)
    loss = ks.RankNetLoss(scale="std")
    assert type(loss).from_config(loss.get_config()).scale == "std"
    with pytest.raises(ValueError, match="scale must be one of \\['std'\\], got 'max'"):
        ks.RankNetLoss(scale="max")
    with pytest.raises(ValueError, match="scale must be None for a loss of several logits per item, got 'std'"):
        ks.losses.OrdinalLoss(scale="std")


def test_groups_count_on_their_own():
    ids = tf.constant([[0.0], [1.0], [0.0], [1.0], [0.0]])
    labels, scores = tf.constant([[1.0], [0.0], [0.0], [1.0], [2.0]]), tf.constant([[0.5], [9.0], [0.2], [5.0], [0.1]])
    found = ks.RankNetLoss(scale="std", lists="groups")(tf.concat([ids, labels], axis=1), scores)
    alone = [
        ks.RankNetLoss(scale="std", lists="batch")(labels[group::2], scores[group::2]).numpy() for group in range(2)
    ]
    np.testing.assert_allclose(found, np.mean(alone), rtol=1e-6)


@pytest.mark.slow
def test_derivatives_for_trees():
    labels, sizes, scores = [0.0, 2.0, 1.0, 1.0, 0.0], [3, 2], np.array([3.0, 1.0, -8.0, 2.0, 7.0])
    units = np.repeat([np.std(scores[:3]), np.std(scores[3:])], sizes)

    def derivatives(scores, **options):
        return trees.objective(ks.RankNetLoss(normalization="none", **options))(labels, scores, None, sizes)

    slopes, curvatures = derivatives(scores, scale="std")
    right, _ = derivatives(scores / units)
    means = np.repeat([np.mean(scores[:3]), np.mean(scores[3:])], sizes)
    # No step along the scores themselves changes anything.
    lists = np.repeat([0, 1], sizes)
    along = np.bincount(lists, right * (scores - means) / units)[lists] / np.array(sizes)[lists]
    np.testing.assert_allclose(slopes, (right - along * (scores - means) / units) / units, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(curvatures, np.maximum(np.abs(slopes), 0.05 * np.mean(np.abs(slopes))), rtol=1e-5)


LOGITS = 40 * RANDOM.normal(size=(2, 3, 4)) + 3
LOGITS[0, 1, 2] = -np.inf
ROWS, COLUMNS = np.array([[True] * 3, [True, False, True]]), np.array([[True] * 4, [True, True, True, False]])


def in_units(logits):
    valid = np.isfinite(LOGITS) & ROWS[:, :, np.newaxis] & COLUMNS[:, np.newaxis]
    units = [tf.math.reduce_std(tf.boolean_mask(each, kept)) for each, kept in zip(logits, valid, strict=True)]
    finite = tf.where(valid, logits, 0.0) / tf.stack(units)[:, tf.newaxis, tf.newaxis]
    return tf.where(valid, finite, logits)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"marginal_penalty": 0.7}], ids=["", "penalty"])
def test_sinkhorn(options):
    weights, masks = fixed_weights(LOGITS.shape), {"row_mask": ROWS, "column_mask": COLUMNS}

    def matching(logits, **scale):
        return ops.sinkhorn(logits, 0.3, **masks, **options, **scale)

    found, (gradient,) = tape_gradients(lambda s: matching(s, scale="std"), [tf.constant(LOGITS)], weights)
    wanted, (right,) = tape_gradients(lambda s: matching(in_units(s)), [tf.constant(LOGITS)], weights)
    assert np.all(np.isfinite(gradient))
    np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-11)
    np.testing.assert_allclose(gradient, right, rtol=1e-7, atol=1e-11)
    assert np.max(np.abs(found - matching(LOGITS))) > 1e-2


def test_noise_is_added_to_divided_logits():
    options = {"seed": [1, 2], "num_samples": 2, "row_mask": ROWS, "column_mask": COLUMNS}
    found = ops.gumbel_sinkhorn(LOGITS, 0.3, scale="std", **options)
    wanted = ops.gumbel_sinkhorn(in_units(tf.constant(LOGITS)), 0.3, **options)
    np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-11)


@pytest.mark.slow
def test_layers_of_matchings_hand_it_on():
    logits = tf.constant(30 * RANDOM.normal(size=(2, 3, 3)), tf.float32)
    for layer in (ks.SinkhornLayer(0.5, scale="std"), ks.GumbelSinkhornLayer(0.5, scale="std")):
        np.testing.assert_allclose(layer(logits), ops.sinkhorn(logits, 0.5, scale="std"), rtol=1e-6)
    found = ks.GumbelSinkhornLayer(0.5, scale="std", noise_scale=0.0)(logits, training=True)
    np.testing.assert_allclose(found, ops.sinkhorn(logits, 0.5, scale="std"), rtol=1e-4, atol=1e-6)


QUERIES, CANDIDATES = RANDOM.normal(size=(3, 2)), 30 * RANDOM.normal(size=(7, 2))


def test_neighbors_count_distances_in_their_deviations():
    far = np.sum((QUERIES[:, np.newaxis] - CANDIDATES) ** 2, axis=-1)
    wanted = ops.soft_neighbor_membership(QUERIES, CANDIDATES, 2, 0.2 * np.std(far, axis=1))
    found = ops.soft_neighbor_membership(QUERIES, CANDIDATES, 2, 0.2, scale="std")
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)
    layer = ks.DkNNLayer(2, 0.2, scale="std")
    np.testing.assert_allclose(layer([QUERIES[np.newaxis], CANDIDATES[np.newaxis]])[0], wanted, rtol=1e-4, atol=1e-6)


def test_losses_of_neighbors():
    labels = np.array([0, 1, 0, 1, 1, 0, 0])
    far = np.sum((CANDIDATES[:, np.newaxis] - CANDIDATES) ** 2, axis=-1)
    units = np.array([np.std(np.delete(row, i)) for i, row in enumerate(far)])
    wanted = ops.dknn_loss(CANDIDATES, labels, 2, 0.2 * units)
    np.testing.assert_allclose(ops.dknn_loss(CANDIDATES, labels, 2, 0.2, scale="std"), wanted, rtol=1e-9)
    np.testing.assert_allclose(ks.DkNNLoss(2, 0.2, scale="std")(labels, CANDIDATES), tf.reduce_mean(wanted), rtol=1e-6)
    options = {"labels": labels, "distance": "squared_euclidean", "k": 3}
    wanted = ops.retrieval_loss(CANDIDATES, tau=0.2 * units, **options)
    np.testing.assert_allclose(ops.retrieval_loss(CANDIDATES, tau=0.2, scale="std", **options), wanted, rtol=1e-9)
    loss = ks.RetrievalLoss(k=3, tau=0.2, distance="squared_euclidean", scale="std")
    np.testing.assert_allclose(loss(labels, CANDIDATES), tf.reduce_mean(wanted), rtol=1e-6)
