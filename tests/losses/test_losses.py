"""PermutationCrossEntropyLoss against arithmetic in NumPy."""

import numpy as np
import pytest
import tensorflow as tf
from support import models

import keras_softsort as ks

NONE = models.NO_REDUCTION


def soft_matrices(batch=3, n=4, rows=None, seed=5):
    logits = np.random.default_rng(seed).normal(size=(batch, rows or n, n))
    weights = np.exp(logits)
    return (weights / weights.sum(-1, keepdims=True)).astype("float32")


def cross_entropy(labels, matrix, item_weights=None, *, ascending=False):
    """The loss of one list: a sum over ranks of the mean over the items that belong there."""
    kept = [j for j, label in enumerate(labels) if label >= 0]
    ordered = sorted((labels[j] for j in kept), reverse=not ascending)[: len(matrix)]
    total = 0.0
    for row, label in zip(matrix, ordered, strict=False):
        belong = [j for j in kept if labels[j] == label]
        total -= sum((1 if item_weights is None else item_weights[j]) * np.log(row[j]) for j in belong) / len(belong)
    return total / max(len(ordered), 1)


LISTS = {
    "distinct": [[3.0, 1.0, 2.0, 0.0], [0.5, 2.5, 7.0, 4.0], [9.0, 8.0, 7.0, 6.0]],
    "ties": [[1.0, 1.0, 2.0, 0.0], [0.0, 0.0, 0.0, 0.0], [2.0, 1.0, 2.0, 1.0]],
    "padding": [[3.0, -1.0, 2.0, 0.0], [-1.0, -1.0, 4.0, -1.0], [1.0, 1.0, -1.0, 5.0]],
    "empty list": [[3.0, 1.0, 2.0, 0.0], [-1.0, -1.0, -1.0, -1.0], [1.0, 2.0, 3.0, -1.0]],
}
lists = pytest.mark.parametrize("labels", LISTS.values(), ids=LISTS)


def each_list(labels, matrix, weights=None, **options):
    loss = ks.PermutationCrossEntropyLoss(reduction=NONE, **options)
    return loss(np.float32(labels), matrix, sample_weight=weights).numpy()


@pytest.mark.parametrize("rows", [None, 2, 1])
@pytest.mark.parametrize("direction", ["DESCENDING", "ASCENDING"])
@lists
def test_value(labels, direction, rows):
    matrix = soft_matrices(rows=rows)
    ascending = direction == "ASCENDING"
    expected = [cross_entropy(own, p, ascending=ascending) for own, p in zip(labels, matrix, strict=True)]
    np.testing.assert_allclose(each_list(labels, matrix, direction=direction), expected, rtol=1e-5)


@pytest.mark.parametrize(
    "ranks", [[[1, 4, 2, 3], [4, 3, 2, 1], [2, 1, -1, 3]], [[1, 1, 3, 3], [1, 2, 2, 4], [1, 1, 1, -1]]]
)
def test_ranks_as_target(ranks):
    matrix = soft_matrices()
    # Rank 1 belongs in row 0: the order of ascending ranks, in whatever direction labels would be sorted.
    expected = [cross_entropy(own, p, ascending=True) for own, p in zip(ranks, matrix, strict=True)]
    np.testing.assert_allclose(each_list(ranks, matrix, target="ranks"), expected, rtol=1e-5)


def test_tied_items_share_a_rank_evenly():
    matrix = np.float32([[[0.5, 0.3, 0.2], [0.1, 0.6, 0.3], [0.2, 0.2, 0.6]]])
    expected = -(np.log(0.5 * 0.3) / 2 + np.log(0.1 * 0.6) / 2 + np.log(0.6)) / 3
    assert each_list([[2.0, 2.0, 1.0]], matrix) == pytest.approx(expected, rel=1e-5)


WEIGHTS = {
    "[]": np.float32(2.5),
    "[B]": np.float32([1.0, 0.0, 3.0, 0.5]),
    "[B, 1]": np.float32([[1.0], [0.0], [3.0], [0.5]]),
    "[B, n]": np.random.default_rng(2).uniform(size=(4, 4)).astype("float32"),
}


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
def test_sample_weight_with_as_many_lists_as_items(weights):
    # B == n: weights of lists [B], broadcast against [B, n], would become weights of items.
    labels, matrix = np.float32(LISTS["padding"] + [[4.0, 4.0, 1.0, 2.0]]), soft_matrices(4)
    per_item = np.broadcast_to(weights if weights.ndim != 1 else weights[:, None], (4, 4))
    expected = [cross_entropy(*row) for row in zip(labels, matrix, per_item, strict=True)]
    np.testing.assert_allclose(each_list(labels, matrix, weights), expected, rtol=1e-5)
    mean = ks.PermutationCrossEntropyLoss()(labels, matrix, sample_weight=weights)
    assert float(mean) == pytest.approx(np.mean(expected), rel=1e-5)


def test_ragged_labels_and_weights():
    labels = tf.ragged.constant([[3.0, 1.0, 2.0], [1.0, 4.0, 0.0, 2.0], []], ragged_rank=1)
    weights = tf.ragged.constant([[1.0, 2.0, 0.5], [1.0, 1.0, 3.0, 0.0], []], ragged_rank=1)
    dense, dense_weights, matrix = labels.to_tensor(-1.0), weights.to_tensor(7.0), soft_matrices()
    np.testing.assert_allclose(each_list_of(labels, matrix, weights), each_list_of(dense, matrix, dense_weights))
    expected = [cross_entropy(*row) for row in zip(dense.numpy(), matrix, dense_weights.numpy(), strict=True)]
    np.testing.assert_allclose(each_list_of(labels, matrix, weights), expected, rtol=1e-5)


def each_list_of(labels, matrix, weights):
    return ks.PermutationCrossEntropyLoss(reduction=NONE)(labels, matrix, sample_weight=weights)


def gradient(labels, matrix, mask=None, **options):
    return models.value_and_gradient(ks.PermutationCrossEntropyLoss(**options), labels, matrix, mask=mask)


@pytest.mark.parametrize("shape", [(2, 3), (0, 3), (2, 0)])
def test_nothing_to_sort_costs_nothing(shape):
    matrix = np.full((*shape, shape[1]), 1 / 3, "float32")
    value, slope = gradient(np.full(shape, -1, "float32"), matrix)
    assert value == 0
    np.testing.assert_array_equal(slope, np.zeros_like(matrix))


def test_weights_of_zero():
    value, slope = gradient(np.float32([[2.0, 1.0]]), np.float32([[[0.0, 1.0], [0.5, 0.5]]]))
    # The smallest normal float stands in for 0; its slope of 1e38 is left out.
    tiny = float(np.finfo("float32").tiny)
    assert value == pytest.approx(-(np.log(tiny) + np.log(0.5)) / 2, rel=1e-6)
    np.testing.assert_allclose(slope, [[[0.0, 0.0], [0.0, -1.0]]], atol=1e-6)


@pytest.mark.parametrize(
    ("labels", "matrix", "weights", "message"),
    [
        (np.ones((3, 5)), np.ones((3, 4, 4)), None, r"y_true must have shape \[batch, n\], \(3, 4\) .* got \(3, 5\)"),
        (np.ones(3), np.ones((3, 4, 4)), None, r"y_true must have shape \[batch, n\], \(3, 4\) .* got \(3,\)"),
        (np.ones((3, 4)), np.ones((3, 4)), None, r"y_pred must be a permutation matrix.*\(3, 4\)"),
        (np.ones((3, 4)), np.ones((3, 4, 4)), np.ones((3, 5)), r"sample_weight must have shape.*got \(3, 5\)"),
        (np.ones((3, 4)), np.ones((3, 4, 4)), np.ones(4), r"sample_weight must have shape.*got \(4,( 1)?\)"),
        (np.ones((3, 4)), np.ones((3, 4, 4)), np.ones((3, 4, 2)), r"sample_weight must have shape.*\(3, 4, 2\)"),
    ],
)
def test_shapes_that_do_not_fit(labels, matrix, weights, message):
    with pytest.raises(ValueError, match=message):
        ks.PermutationCrossEntropyLoss()(labels, matrix, sample_weight=weights)


def test_ranks_have_no_direction():
    with pytest.raises(ValueError, match=r"direction must be left .*got 'ASCENDING'"):
        ks.PermutationCrossEntropyLoss(target="ranks", direction="ASCENDING")


def test_integer_prediction():
    with pytest.raises(TypeError, match="y_pred must be floating-point, got dtype int"):
        ks.PermutationCrossEntropyLoss()(np.ones((1, 2)), np.ones((1, 2, 2), int))


@lists
def test_samples_count_as_their_mean(labels):
    samples = np.stack([soft_matrices(seed=seed) for seed in (5, 6)], axis=1)
    each = [each_list(labels, samples[:, index]) for index in range(2)]
    np.testing.assert_allclose(each_list(labels, samples), np.mean(each, axis=0), rtol=1e-5)


@pytest.mark.parametrize("reduction", ["mean", "mean_with_sample_weight", "auto"])
def test_keras_2_knows_every_mean_as_one_that_it_scales_among_replicas(reduction):
    loss = ks.PlackettLuceLoss(reduction=reduction)
    if not models.IS_KERAS_3:
        assert loss.reduction in {"sum_over_batch_size", "auto"}
    assert ks.PlackettLuceLoss.from_config(loss.get_config()).get_config() == loss.get_config()
