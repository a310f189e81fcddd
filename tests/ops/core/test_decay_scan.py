"""Decaying sums are right whether the positions of a block are near each other or far apart."""

import numpy as np
import pytest
import tensorflow as tf

from keras_softsort.ops.core import decay_scan as module
from keras_softsort.ops.core.decay_scan import decay_scan


def expected(positions, values):
    distances = positions[:, :, None] - positions[:, None, :]
    return np.einsum("lij,ldj->ldi", np.exp(-np.maximum(distances, 0)) * np.tri(positions.shape[1]), values)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "signature",
    [None, pytest.param([tf.TensorSpec([None, None]), tf.TensorSpec([None, None, None])], marks=pytest.mark.nightly)],
)
# The distance along a list with blocks of 64 positions, below and above what running sums of each dtype bear.
@pytest.mark.parametrize("distance", [0.0, 5.0, 110.0, 150.0, 1300.0, 1700.0, 1e5])
@pytest.mark.parametrize("jit", [False, pytest.param(True, marks=pytest.mark.nightly)], ids=["TF", "XLA"])
def test_sums_at_any_distance(jit, distance, signature, dtype):
    random = np.random.default_rng(0)
    positions = np.sort(random.uniform(0, distance, size=(2, 300)), axis=1)
    values = random.normal(size=(2, 3, 300)).astype(dtype)
    if signature is not None:
        signature = [tf.TensorSpec(signature[0].shape, tf.float64), tf.TensorSpec(signature[1].shape, dtype)]
    found = tf.function(decay_scan, input_signature=signature, jit_compile=jit, autograph=False)(positions, values)
    tolerance = 1e-12 if dtype == np.float64 else 3e-6
    np.testing.assert_allclose(found, expected(positions, np.float64(values)), rtol=0, atol=tolerance * 20)


@pytest.mark.parametrize(("distance", "way"), [(290.0, "_by_running_sums"), (310.0, "_by_doubling")])
def test_the_way_depends_on_the_distance_in_a_block(distance, way, monkeypatch):
    ways = []
    for name in ("_by_running_sums", "_by_doubling"):
        original = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *args, n=name, f=original: ways.append(n) or f(*args))
    positions = tf.constant([np.linspace(0, distance, 64)])
    decay_scan(positions, tf.ones([1, 1, 64], tf.float64))  # eagerly, so that only one branch is built
    assert ways == [way]


def test_no_number_changes_no_other_list():
    random = np.random.default_rng(1)
    positions, values = np.sort(random.normal(size=(2, 100)), axis=1), random.normal(size=(2, 1, 100))
    clean = decay_scan(tf.constant(positions), tf.constant(values)).numpy()
    positions[1, 50] = np.nan
    found = decay_scan(tf.constant(positions), tf.constant(values)).numpy()
    np.testing.assert_array_equal(found[0], clean[0])
    assert np.isnan(found[1]).any()
