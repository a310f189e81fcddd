"""The blocks of pairs, however many and however laid out, and the cost of explicit pairs."""

import types

import numpy as np
import pytest
import tensorflow as tf
from support import models, modes
from support.gradients import fixed_weights
from support.oracles.pairs import list_loss, softplus

import keras_softsort as ks
from keras_softsort.ops.ranking._pairs import pair_sums as engine

pytestmark = pytest.mark.default_stack_only

RANDOM = np.random.default_rng(5)
LABELS = np.float64(RANDOM.integers(-1, 3, size=(3, 45)))
SCORES = RANDOM.normal(size=LABELS.shape)


def losses(scores, labels, **options):
    return ks.RankNetLoss(reduction=models.NO_REDUCTION, **options)(labels, scores)


LAYOUTS = {
    "one tile": {},
    "blocks": {"SINGLE_TILE_MAX_SIZE": 8, "MIN_UNROLLED_BLOCKS": 3},
    "many blocks": {"TILE_PAIRS": 3 * 45 * 8, "MAX_UNROLLED_BLOCKS": 7, "MAX_PARALLEL_BLOCKS": 2},
    "a loop": {"TILE_PAIRS": 3 * 45 * 8, "MAX_UNROLLED_BLOCKS": 1, "UNKNOWN_PAIRS": 10},
}


@pytest.mark.parametrize(
    ("layout", "mode"),
    [
        *((name, "traced") for name in LAYOUTS),
        pytest.param("blocks", "unknown_shape", marks=pytest.mark.nightly),
        ("a loop", "unknown_shape"),
        *(pytest.param(name, "xla", marks=pytest.mark.nightly) for name in ("many blocks", "a loop")),
    ],
)
def test_each_layout_gives_the_same(monkeypatch, layout, mode):
    check_layout(monkeypatch, layout, mode, {})


@pytest.mark.parametrize("layout", ["many blocks", "a loop"])
def test_each_layout_gives_the_same_with_ties(monkeypatch, layout):
    check_layout(monkeypatch, layout, "traced", {"ties": "half"})


def check_layout(monkeypatch, layout, mode, options):
    for name, value in LAYOUTS[layout].items():
        monkeypatch.setattr(engine, name, value)
    if "UNKNOWN_PAIRS" in LAYOUTS[layout]:
        used = []
        monkeypatch.setattr(engine, "_looped", lambda *args, run=engine._looped: used.append(1) or run(*args))
    upstream = fixed_weights(len(SCORES))
    value, (gradient,) = modes.run(
        mode, lambda s, y: losses(s, y, **options), [tf.constant(SCORES)], upstream, tf.constant(LABELS)
    )
    wanted = [list_loss(y, s, **options) for y, s in zip(LABELS, SCORES, strict=True)]
    np.testing.assert_allclose(value, wanted, rtol=1e-11)
    plain, (slopes,) = dense(**options)
    np.testing.assert_allclose(value, plain, rtol=1e-11)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-10, atol=1e-14)
    assert "UNKNOWN_PAIRS" not in LAYOUTS[layout] or used


def dense(ties="ignore"):
    """The formula as it stands, differentiated by TensorFlow."""

    def formula(scores):
        difference = scores[:, :, np.newaxis] - scores[:, np.newaxis, :]
        kept = (LABELS >= 0)[:, :, np.newaxis] & (LABELS >= 0)[:, np.newaxis, :]
        pairs = kept & (LABELS[:, :, np.newaxis] > LABELS[:, np.newaxis, :])
        weights = 1.0 * pairs
        if ties == "half":
            tied = kept & (LABELS[:, :, np.newaxis] == LABELS[:, np.newaxis, :])
            weights += 0.5 * tied * (1 - np.eye(LABELS.shape[1]))
        counted = pairs.sum((1, 2)) if ties == "ignore" else weights.sum((1, 2))
        return tf.reduce_sum(weights * tf.math.softplus(-difference), axis=[1, 2]) / counted

    return modes.run("op_by_op", lambda scores, _: formula(scores), [tf.constant(SCORES)], fixed_weights(len(SCORES)))


def test_the_layout_follows_the_size(monkeypatch):
    chosen = []
    monkeypatch.setattr(engine, "_unrolled", lambda items, tile, blocks: chosen.append(blocks))
    monkeypatch.setattr(engine, "_looped", lambda items, tile: chosen.append("loop"))
    for shape in [(1, 64), (1, 65), (256, 200), (8, 2000), (None, 2000), (8, 4000), (1, 20000)]:
        labels = types.SimpleNamespace(shape=tf.TensorShape(shape))
        engine._by_blocks(engine.Items(None, labels, None, None, ()), None)
    assert chosen == [5, 5, 5, 8, 5, 31, "loop"]
    tiles = [(64, 16), (256, 128), (257, 128), (None, 128), (1, 129), (1, None)]
    assert [engine._is_one_tile(*shape) for shape in tiles] == [True, True, False, True, False, False]
    chosen.clear()
    for shape in [(8, 2000), (1, 20000)]:
        labels = types.SimpleNamespace(shape=tf.TensorShape(shape))
        engine._by_blocks(engine.Items(None, labels, None, None, ()), None, is_fallback=True)
    assert chosen == [8, "loop"]


@pytest.mark.parametrize(("mode", "sigma"), [("op_by_op", 1.0), ("xla", 2.5), ("unknown_shape", 2.5)])
def test_explicit_pairs(mode, sigma):
    difference, weight = RANDOM.normal(size=(3, 4)), RANDOM.uniform(size=(4,))
    upstream = fixed_weights((3, 4))
    value, (gradient,) = modes.run(
        mode,
        lambda d, w: ks.ops.pairwise_logistic(d, w, sigma=sigma),
        [tf.constant(difference)],
        upstream,
        tf.constant(weight),
    )
    np.testing.assert_allclose(value, weight * softplus(-sigma * difference), rtol=1e-12)
    wanted = -upstream * weight * sigma / (1 + np.exp(sigma * difference))
    np.testing.assert_allclose(gradient, wanted, rtol=1e-12)


def test_explicit_pairs_at_the_edges():
    far = tf.constant([1e30, -1e30, 80.0, np.nan, 3.0])
    weight = [1.0, 1.0, 1.0, 0.0, 0.0]
    with tf.GradientTape() as tape:
        tape.watch(far)
        value = ks.ops.pairwise_logistic(far, weight)
    np.testing.assert_allclose(value, np.float32([0, 1e30, np.exp(-80), 0, 0]), rtol=1e-5)
    np.testing.assert_allclose(tape.gradient(value, far), np.float32([0, -1, -np.exp(-80), 0, 0]), rtol=1e-5)
    half = ks.ops.pairwise_logistic(tf.constant([0.5], tf.bfloat16))
    assert half.dtype == tf.bfloat16
    np.testing.assert_allclose(tf.cast(half, tf.float32), softplus(-0.5), rtol=2**-8)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"score_difference": [1]}, TypeError, "score_difference must be floating-point, got dtype int32"),
        ({"sigma": -1.0}, ValueError, r"sigma must be positive and finite, got -1\.0"),
        ({"weight": [1.0, 2.0, 3.0]}, ValueError, r"weight must have the shape of score_difference, \(2,\).* got \(3,"),
        ({"weight": [[1.0, 2.0]]}, ValueError, r"weight must have the shape.* got \(1, 2\)"),
        ({"weight": [1.0, -2.0]}, ValueError, r"weight must not be negative, got -2\.0"),
    ],
)
def test_bad_pairs(arguments, error, message):
    with pytest.raises(error, match=message):
        ks.ops.pairwise_logistic(**{"score_difference": [1.0, 2.0], **arguments})
