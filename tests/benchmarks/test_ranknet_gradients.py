"""The claims of docs/guides/ranknet-gradients.md on published code, and on training by lambdas and by pairs."""

import importlib
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import keras_softsort as ks

SCORES = np.array([0.3, -1.2, 0.9, 2.0, 0.3, -0.5])
LABELS = np.array([2.0, 0.0, 1.0, 1.0, 4.0, 0.0])
SIZE = len(SCORES)
D = SCORES[:, np.newaxis] - SCORES
S = np.sign(LABELS[:, np.newaxis] - LABELS)
P = (1 + S) / 2
SHARE = 1 / (1 + np.exp(-D))


def loss(scores=SCORES, **options):
    return ks.RankNetLoss(normalization="none", **options)(LABELS[np.newaxis], tf.constant(scores)[tf.newaxis])


def test_pair_cross_entropy_with_weights():
    weights = np.array([1.0, 0.5, 3.0])
    entropy = tf.keras.losses.BinaryCrossentropy(from_logits=True, reduction="none")
    expected = weights * np.array([float(entropy([1.0], [d])) for d in (-2.0, 0.0, 3.0)])
    result = weights * tf.math.softplus(-tf.constant([-2.0, 0.0, 3.0]))
    np.testing.assert_allclose(result, expected, rtol=1e-6)
    target = 0.5  # the target of a tie with `ties="half"`
    half = (tf.math.softplus(-1.5) + tf.math.softplus(1.5)) / 2
    np.testing.assert_allclose(float(entropy([target], [1.5])), half, rtol=1e-6)


@pytest.mark.parametrize(("difference", "expected"), [(-15.0, -1.0), (-17.0, 0.0)])
def test_cross_entropy_after_a_sigmoid_loses_the_gradient(difference, expected):
    d = tf.constant(difference)
    with tf.GradientTape() as tape:
        tape.watch(d)
        cost = tf.reduce_sum(tf.keras.losses.binary_crossentropy([1.0], [tf.sigmoid(d)]))
    np.testing.assert_allclose(tape.gradient(cost, d), expected, atol=1e-3)
    with tf.GradientTape() as tape:
        tape.watch(d)
        cost = tf.math.softplus(-d)
    np.testing.assert_allclose(tape.gradient(cost, d), -1, atol=1e-3)


def test_sum_over_pairs_is_the_loss():
    costs = (1 - S) * D / 2 + np.log1p(np.exp(-D))
    np.testing.assert_allclose(loss(ties="half"), costs[np.triu_indices(SIZE, 1)].sum(), rtol=1e-6)


def test_full_matrix_counts_pairs_twice_and_the_diagonal():
    matrix = -P * np.log(SHARE) - (1 - P) * np.log(1 - SHARE)
    np.testing.assert_allclose(matrix.sum(), 2 * loss(ties="half") + SIZE * np.log(2), rtol=1e-6)


def test_full_matrix_without_its_sign_ranks_upside_down():
    scores = tf.constant(SCORES)
    with tf.GradientTape() as tape:
        tape.watch(scores)
        share = tf.sigmoid(scores[:, tf.newaxis] - scores)
        written = tf.reduce_sum(P * tf.math.log(share) + (1 - P) * tf.math.log(1 - share))
    expected = -2 * ks.ops.ranknet_lambdas(scores, LABELS, ties="half")
    np.testing.assert_allclose(tape.gradient(written, scores), expected, rtol=1e-6, atol=1e-9)


def test_published_lambdas():
    result = ks.ops.ranknet_lambdas(SCORES, LABELS, ties="half")
    np.testing.assert_allclose(result, (SHARE - P).sum(axis=1), rtol=1e-6, atol=1e-9)
    upper = np.triu(SHARE - P, 1)  # pairs i < j: j gets the gradient of i with the other sign
    np.testing.assert_allclose(result, upper.sum(axis=1) - upper.sum(axis=0), rtol=1e-6, atol=1e-9)


def test_clipped_label_differences_are_other_targets():
    close = np.array([0.2, 0.0])
    clipped = (1 + np.clip(close[:, np.newaxis] - close, -1, 1)) / 2
    lambdas = (0.5 - clipped).sum(axis=1)
    assert not np.allclose(lambdas, ks.ops.ranknet_lambdas(np.zeros(2), close))


@pytest.fixture
def steps(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks" / "tools"))
    return importlib.import_module("ranknet_steps")


def test_lambdas_pairs_jacobian_and_loss_give_one_gradient(steps):
    model = steps.scorer(4)
    features = np.random.default_rng(0).normal(size=(SIZE, 4)).astype("float32")
    labels = tf.constant(LABELS, tf.float32)
    result = steps.lambda_gradients(model, features, labels)
    pairs = steps.pair_gradients(model, features, labels)
    with tf.GradientTape(persistent=True) as tape:
        scores = model(features)[:, 0]
        cost = ks.RankNetLoss(normalization="none")(labels[tf.newaxis], scores[tf.newaxis])
    jacobian = tape.jacobian(scores, model.trainable_variables, experimental_use_pfor=False)
    lambdas = ks.ops.ranknet_lambdas(scores, labels)
    contracted = [tf.tensordot(lambdas, part, axes=1) for part in jacobian]
    for other in (pairs, contracted, tape.gradient(cost, model.trainable_variables)):
        for one, expected in zip(result, other, strict=True):
            np.testing.assert_allclose(one, expected, rtol=1e-4, atol=1e-6)
