"""Losses at a tiny temperature beside the metrics of which they are smooth forms: list by list, and on average."""

import numpy as np
import pytest
import tensorflow as tf
from support import models

import keras_softsort as ks
from keras_softsort.ops.sorting import methods

pytestmark = pytest.mark.default_stack_only
RNG = np.random.default_rng(7)
SHAPE = (7, 6)
SCORES = RNG.permuted(np.tile(np.arange(6.0), (7, 1)), axis=1)
LABELS = RNG.integers(0, 4, SHAPE).astype(float)
LABELS[1, 4:] = -1  # padding
LABELS[2, 1:] = -1
LABELS[3] = [0, 0, 0, 0, 0, -1]
LABELS[4] = -1
ONE_RELEVANT = np.where(LABELS < 0, -1, np.eye(6)[RNG.integers(0, 6, 7)])
NO_TIES = np.where(LABELS < 0, -1, RNG.permuted(np.tile(np.arange(6.0), (7, 1)), axis=1))


def gains(loss, kinds, **options):
    """Pairs of this loss with NDCG, and with DCG."""
    for kind in kinds:
        yield loss, ks.NDCG, {**options, **kind}, kind, LABELS, np.negative
        yield loss, ks.DCG, {"normalization": "none", **options, **kind}, kind, LABELS, np.negative


KINDS = [{}, {"k": 1}, {"k": 3}, {"k": 9}, {"gain": "linear", "discount": "reciprocal", "k": 4}]
NO_NOISE = {"noise_scale": 0.0, "num_samples": 2, "seed": 1}
# (loss, metric, options of the loss, those of the metric, labels, the metric from the loss)
PAIRS = [
    *gains(ks.ApproxNDCGLoss, KINDS),
    *gains(ks.GumbelApproxNDCGLoss, KINDS[:3:2], **NO_NOISE),
    *gains(ks.NeuralNDCGLoss, KINDS),
    *gains(ks.NeuralNDCGLoss, KINDS[:3:2], method="soft_sort", num_iterations=0),
    *gains(ks.NeuralNDCGLoss, KINDS[:3:2], hard=True, num_iterations=0),
    *gains(ks.NeuralNDCGLoss, KINDS[:3:2], stochastic=True, **NO_NOISE),
    (ks.ApproxMRRLoss, ks.MRR, {}, {}, ONE_RELEVANT, np.negative),
    (ks.ApproxMRRLoss, ks.MeanAveragePrecision, {}, {}, ONE_RELEVANT, np.negative),
    *[
        (ks.SpearmanLoss, ks.SpearmanCorrelation, {"method": method}, {}, LABELS, lambda loss: 1 - loss)
        for method in methods.names("ranks")
    ],
    (ks.PairwiseSoftZeroOneLoss, ks.OrderedPairAccuracy, {}, {}, LABELS, lambda loss: 1 - loss),
    (ks.PairwiseSoftZeroOneLoss, ks.KendallTau, {}, {}, NO_TIES, lambda loss: 1 - 2 * loss),
]


def metric_of(cls, labels, scores, weights, **options):
    metric = cls(**options, dtype="float64")
    metric.update_state(labels, scores, weights)
    return float(metric.result())


@pytest.mark.slow
@pytest.mark.parametrize("case", PAIRS, ids=lambda case: f"{case[0].__name__} {case[1].__name__} {case[2]}")
def test_a_cold_loss_is_its_metric(case):
    loss, metric, options, of_metric, labels, from_loss = case
    weights = np.arange(1.0, 8.0)
    found = from_loss(loss(tau=1e-9, reduction=models.NO_REDUCTION, **options)(labels, tf.constant(SCORES)).numpy())
    counted = []
    for i, (own, scores) in enumerate(zip(labels, SCORES, strict=True)):
        has_pairs = np.unique(own[own >= 0]).size > 1
        is_of_order = metric in (ks.SpearmanCorrelation, ks.OrderedPairAccuracy, ks.KendallTau)
        if is_of_order and not has_pairs:
            continue  # Such a list does not count in the metric, and has the loss 0.
        counted.append(i)
        wanted = metric_of(metric, own[None], scores[None], None, **of_metric)
        assert found[i] == pytest.approx(wanted, rel=1e-6, abs=1e-7), i
    assert len(counted) >= 4
    if metric is ks.NDCG:  # The mean weighs the lists, of which those of padding only do not count.
        lists = labels.max(axis=1) >= 0
        mean = loss(tau=1e-9, reduction="mean_with_sample_weight", **options)
        whole = from_loss(mean(labels[lists], tf.constant(SCORES[lists]), weights[lists]).numpy())
        assert whole == pytest.approx(metric_of(metric, labels, SCORES, weights, **of_metric), rel=1e-6)


@pytest.mark.parametrize("distance", ["squared_euclidean", "cosine", "cityblock"])
@pytest.mark.parametrize("objective", ["linear", "log"])
def test_a_cold_dknn_loss_counts_the_nearest_neighbors(distance, objective):
    embeddings, labels = RNG.normal(size=(20, 3)), RNG.integers(0, 2, 20)
    options = {"k": 3, "distance": distance}
    found = ks.ops.dknn_loss(embeddings, labels, tau=1e-9, num_queries=8, objective=objective, **options).numpy()
    neighbors = ks.ops.nearest_neighbors(embeddings[:8], embeddings[8:], **options).neighbors.numpy()
    shares = np.mean(labels[8:][neighbors] == labels[:8, None], axis=1)
    is_found = shares > 0  # without one the logarithm is as large as 1 / tau
    wanted = -shares if objective == "linear" else -np.log(np.where(is_found, shares, 1))
    np.testing.assert_allclose(found[is_found], wanted[is_found], rtol=1e-6, atol=1e-9)
    assert is_found.sum() >= 5
    soft = ks.ops.soft_neighbor_membership(embeddings[:8], embeddings[8:], tau=1e-9, **options)
    np.testing.assert_allclose(soft, tf.reduce_sum(tf.one_hot(neighbors, 12, dtype=tf.float64), axis=1), atol=1e-6)
