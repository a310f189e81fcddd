"""Keras-RS' ranking metrics beside our losses and padded batches: the padding counts in neither."""

import numpy as np
import pytest
import tensorflow as tf
from support.data.judged import random_lists
from support.oracles.pairs import list_loss
from support.oracles.ranking import ideal_dcg

import keras_softsort as ks

keras_rs = pytest.importorskip("keras_rs")
NO_RELEVANT_ITEM = np.float32([[1, 2, 3], [3, 2, 1]]), np.float32([0, 0])
LISTS = [*random_lists([3, 9, 1, 6, 12, 5, 7]), NO_RELEVANT_ITEM]


def expected(k):
    """Means over lists, the scores being the first feature; a list without relevant items counts 0 in metrics."""
    found = []
    for features, labels in LISTS:
        scores = features[:, 0]
        ranked = labels[np.argsort(-scores)]
        dcg, best = sum((2.0**y - 1) / np.log2(2 + i) for i, y in enumerate(ranked[:k])), ideal_dcg(2.0**labels - 1, k)
        reciprocal = 1 / (1 + np.argmax(ranked >= 1)) if labels.max() >= 1 else 0.0
        found.append([list_loss(labels, scores), dcg / best if best else 0.0, reciprocal])
    return dict(zip(("loss", f"ndcg@{k}", "mrr"), np.mean(found, axis=0), strict=True))


@pytest.mark.slow
def test_metrics_in_compile():
    inputs = tf.keras.Input((None, 3))
    dense = tf.keras.layers.Dense(1, use_bias=False)
    model = tf.keras.Model(inputs, tf.keras.layers.Reshape((-1,))(dense(inputs)))
    dense.set_weights([np.float32([[1], [0], [0]])])
    metrics = [keras_rs.metrics.NDCG(k=5, name="ndcg@5"), keras_rs.metrics.MeanReciprocalRank(name="mrr")]
    model.compile(loss=ks.RankNetLoss(), metrics=metrics)
    batches = ks.data.bucketed_batches(LISTS, 3, boundaries=(4, 30))
    assert model.evaluate(batches, return_dict=True, verbose=0) == pytest.approx(expected(5), rel=1e-5)
