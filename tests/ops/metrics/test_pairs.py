"""Pairs that two lists order alike, by comparing all pairs as a TPU does, and by sorts and inversions."""

import re

import numpy as np
import pytest
import tensorflow as tf

import keras_softsort as ks
from keras_softsort.ops.core.tracing import lowering_for
from keras_softsort.ops.metrics._pairs import concordant_pairs, untied_pairs, weight_of_inversions

RNG = np.random.default_rng(0)
FIRST, SECOND = RNG.integers(0, 5, (2, 40, 9)).astype("float32")
FIRST[0], SECOND[1] = 1, 2
FIRST[2, 3], SECOND[3, 4], FIRST[4, 5] = np.nan, np.nan, np.inf
WEIGHTS = RNG.random((40, 9)).astype("float32")
METRICS = {
    "kendall_tau": lambda mask: ks.ops.kendall_tau(FIRST, SECOND, mask=mask),
    "spearman_correlation": lambda mask: ks.ops.spearman_correlation(FIRST, SECOND, mask=mask),
    "ordered_pair_accuracy": lambda mask: ks.ops.ordered_pair_accuracy(
        FIRST, SECOND, mask=mask, weights=WEIGHTS, ties="position"
    ),
    "ordered_pair_accuracy with ties": lambda mask: ks.ops.ordered_pair_accuracy(FIRST, SECOND, mask=mask, ties="mean"),
}


@pytest.mark.slow
@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
@pytest.mark.parametrize("mask", [None, RNG.random((40, 9)) < 0.6], ids=["all", "masked"])
def test_pairs_give_the_values_of_sorts(metric, mask):
    found = {}
    for target in ("cpu", "tpu"):
        with lowering_for(target):
            found[target] = tf.function(lambda: metric(mask))().numpy()
    assert found["tpu"].dtype == found["cpu"].dtype
    np.testing.assert_allclose(found["tpu"], found["cpu"], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("metric", [ks.ops.kendall_tau, ks.ops.spearman_correlation])
def test_lists_of_float32_are_not_held_in_float64(metric):
    with lowering_for("tpu"):
        run = tf.function(lambda first, second: metric(first, second), jit_compile=True)  # noqa: PLW0108 - two arguments
        program = run.experimental_get_compiler_ir(tf.constant(FIRST), tf.constant(SECOND))(stage="hlo")
    assert set(re.findall(r"(?:[su]|f)64\[([\d,]*)\]", program)) <= {"", "40"}


def test_integers_beyond_float32_stay_apart():
    first, second = np.array([[2**24, 2**24 + 1, 0]], "int32"), np.array([[0.0, 1.0, 2.0]])
    with lowering_for("tpu"):
        found = [
            tf.function(metric)(first, second).numpy() for metric in (ks.ops.kendall_tau, ks.ops.spearman_correlation)
        ]
    np.testing.assert_allclose(found, [[-1 / 3], [-0.5]])


@pytest.mark.parametrize("mask", [None, RNG.random((40, 9)) < 0.6], ids=["all", "masked"])
@pytest.mark.parametrize("target", ["cpu", "tpu"])
def test_weights_of_pairs(target, mask):
    """Each pair has the weight of its item with the greater second number."""
    first, second = np.nan_to_num(FIRST, posinf=7), np.nan_to_num(SECOND)
    valid = np.ones(first.shape, bool) if mask is None else mask
    weights = np.where(valid, WEIGHTS, 0)

    def is_above(values):
        return values[:, :, None] > values[:, None, :]

    with lowering_for(target):
        found = [
            concordant_pairs(tf.constant(first), tf.constant(second), mask, tf.constant(weights)),
            untied_pairs(tf.constant(second), mask, tf.constant(weights)),
        ]
    for pairs, sums in zip((is_above(first) & is_above(second), is_above(second)), found, strict=True):
        expected = np.sum(pairs & valid[:, None, :], axis=2) * np.float64(weights)
        np.testing.assert_allclose(sums, expected.sum(axis=1), rtol=1e-5)


@pytest.mark.slow
def test_inversions(rng):
    for size in (0, 1, 2, 3, 7, 8, 9, 64, 65):
        permutations = rng.permuted(np.tile(np.arange(size, dtype="int32"), (5, 1)), axis=1)
        weights = rng.random((5, size))
        pairs = np.triu(permutations[:, :, None] > permutations[:, None, :])
        wanted = np.sum(pairs * weights[:, None, :], axis=(1, 2))
        np.testing.assert_allclose(weight_of_inversions(tf.constant(permutations), tf.constant(weights)), wanted)
    # More than float32 and 32 bits hold.
    descending, ones = tf.range(99_999, -1, -1)[tf.newaxis], tf.ones([1, 100_000], tf.float64)
    assert weight_of_inversions(descending, ones).numpy() == [99_999 * 50_000]
