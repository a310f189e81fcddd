"""Distances of embeddings: padding, and embeddings that are not finite, do not affect the others."""

import numpy as np
import pytest
import tensorflow as tf

from keras_softsort import ops
from keras_softsort.ops.core.distances import pairwise_distances

RNG = np.random.default_rng(3)
FAR = (RNG.normal(size=(5, 3)) + 1000).astype("f")
PADDED = np.concatenate([FAR, np.zeros((12, 3), "f")])
MASK = np.arange(17) < 5
LABELS = np.arange(17) % 2


@pytest.mark.parametrize("distance", ["euclidean", "squared_euclidean"])
def test_an_embedding_that_is_not_finite_has_no_distance_and_alone(distance):
    candidates = np.concatenate([FAR, [[np.nan, 0, 0], [np.inf, 0, 0]]]).astype("f")
    found = pairwise_distances(tf.constant(FAR), tf.constant(candidates), distance).numpy()
    np.testing.assert_allclose(found[:, :5], pairwise_distances(tf.constant(FAR), tf.constant(FAR), distance))
    assert not np.any(np.isfinite(found[:, 5:]))


@pytest.mark.slow
@pytest.mark.parametrize(
    "function",
    [
        lambda points, mask: ops.transport_cost(points, points + 0.5, 0.1, x_mask=mask, y_mask=mask),
        lambda points, mask: ops.soft_neighbor_membership(points[:5], points, 2, 0.3, mask=mask, method="soft_sort")[
            :, :5
        ],
        lambda points, mask: ops.dknn_loss(points, LABELS[: len(points)], 2, 0.3, mask=mask)[:5],
        lambda points, mask: ops.retrieval_loss(
            points, labels=LABELS[: len(points)], tau=0.3, mask=mask, distance="squared_euclidean"
        )[:5],
    ],
    ids=["transport_cost", "soft_neighbor_membership", "dknn_loss", "retrieval_loss"],
)
def test_padding_far_from_the_embeddings_costs_no_digits(function):
    wanted = function(tf.constant(FAR, tf.float64), MASK[:5])
    np.testing.assert_allclose(function(tf.constant(PADDED), MASK), wanted, rtol=2e-3, atol=1e-10)
