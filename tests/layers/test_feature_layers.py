"""Layers of features of lists: what an item learns from its list, and from nothing else."""

import numpy as np
import pytest
import tensorflow as tf
from support import models, modes

import keras_softsort as ks

keras = tf.keras
OPTIONS = {"num_heads": 2, "head_size": 4, "num_layers": 2, "dropout": 0.0}
MASK = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1], [0, 1, 0, 1, 1], [0, 0, 0, 0, 0]], bool)


def features(dtype="float32"):
    return np.random.default_rng(2).normal(size=(4, 5, 3)).astype(dtype)


def attention(seed=1, shape=(None, None, 3), **options):
    """A layer whose weights are all random, the biases too."""
    layer = ks.DocumentInteractionAttention(**{**OPTIONS, **options})
    layer(tf.zeros([1, 2, *shape[2:]], layer.compute_dtype))
    random = np.random.default_rng(seed)
    layer.set_weights([random.normal(size=weight.shape) for weight in layer.get_weights()])
    return layer


def attended_by_hand(layer, x, mask):
    """The published formula in float64, list by list, of valid items alone."""

    def dense(part):
        return np.asarray(part.kernel, np.float64), np.asarray(part.bias, np.float64)

    found = np.zeros([*x.shape[:2], layer.head_size])
    kernel, bias = dense(layer._projection)
    for i, valid in enumerate(mask[:3]):  # the fourth list may be empty
        h = np.maximum(x[i, valid] @ kernel + bias, 0)
        for attention, norm in zip(layer._attentions, layer._norms, strict=True):
            parts = [dense(part) for part in (attention._query_dense, attention._key_dense, attention._value_dense)]
            q, k, v = (np.einsum("nd,dhs->hns", h, kernel) + bias[:, None] for kernel, bias in parts)
            shares = np.exp(q @ k.transpose(0, 2, 1) / np.sqrt(layer.head_size))
            mixed = shares / shares.sum(-1, keepdims=True) @ v
            kernel, bias = dense(attention._output_dense)
            h = h + np.einsum("hns,hsd->nd", mixed, kernel) + bias
            h = (h - h.mean(-1, keepdims=True)) / np.sqrt(h.var(-1, keepdims=True) + 1e-6)
            h = h * np.asarray(norm.gamma) + np.asarray(norm.beta)
        found[i, valid] = h
        kernel, bias = dense(layer._projection)
    return found


def test_attention_is_the_published_formula():
    layer = attention(dtype="float64")
    x = features("float64")
    np.testing.assert_allclose(layer(x, mask=MASK), attended_by_hand(layer, x, MASK), rtol=1e-6, atol=1e-8)
    everything = np.ones([3, 5], bool)
    np.testing.assert_allclose(layer(x[:3]), attended_by_hand(layer, x[:3], everything), rtol=1e-6, atol=1e-8)


@pytest.mark.slow
@pytest.mark.default_stack_only
@pytest.mark.parametrize("mode", [pytest.param("traced", marks=pytest.mark.nightly), "unknown_shape", "xla"])
def test_attention_in_every_mode(mode):
    layer, x = attention(), tf.constant(features())
    weights = np.random.default_rng(3).normal(size=(4, 5, 4)).astype("float32")
    value, (gradient,) = modes.run(mode, lambda x, mask: layer(x, mask=mask), [x], weights, MASK)
    eager, (slope,) = modes.run("op_by_op", lambda x, mask: layer(x, mask=mask), [x], weights, MASK)
    np.testing.assert_allclose(value, eager, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(gradient, slope, rtol=1e-3, atol=1e-4)


def test_attention_to_items_in_another_order():
    layer, x, order = attention(), features(), np.array([3, 0, 4, 2, 1])
    shuffled = layer(x[:, order], mask=MASK[:, order])
    np.testing.assert_allclose(shuffled, layer(x, mask=MASK).numpy()[:, order], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("value", [np.nan, 1e30])
def test_padding_is_not_attended(value):
    layer, x = attention(), features()
    x[~MASK] = value

    def outcome(x, mask):
        with tf.GradientTape() as tape:
            inputs = tf.constant(x)
            tape.watch(inputs)
            result = layer(inputs, mask=mask)
        return result, *tape.gradient(result, [inputs, *layer.trainable_weights], tf.cos(result) * mask[..., None])

    result, slope, *gradients = outcome(x, MASK)
    assert np.all(result.numpy()[~MASK] == 0)
    assert np.all(slope.numpy()[~MASK] == 0)
    for i, valid in enumerate(MASK[:3]):  # the fourth list is empty
        alone, slope_alone, *_ = outcome(x[i : i + 1, valid], np.ones([1, valid.sum()], bool))
        np.testing.assert_allclose(result[i][valid], alone[0], rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(slope[i][valid], slope_alone[0], rtol=1e-3, atol=1e-4)
    without_the_empty_list = outcome(x[:3], MASK[:3])[2:]
    for gradient, wanted in zip(gradients, without_the_empty_list, strict=True):
        np.testing.assert_allclose(gradient, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_attention_of_half_precision(policy):
    layer, x = attention(dtype=policy), features()
    layer.set_weights([0.3 * weight for weight in layer.get_weights()])
    exact = attention()
    exact.set_weights(layer.get_weights())
    result = layer(x, mask=MASK)
    assert tf.as_dtype(result.dtype).name == policy.removeprefix("mixed_")
    np.testing.assert_allclose(tf.cast(result, tf.float32), exact(x, mask=MASK), atol=0.1)


def test_mask_of_keras():
    layer = attention()
    model = keras.Sequential([keras.Input((None, 3)), keras.layers.Masking(models.PAD), layer])
    x = features()
    x[~MASK] = models.PAD
    np.testing.assert_allclose(model(x), layer(x, mask=MASK), rtol=1e-5, atol=1e-6)
    assert layer.compute_mask(x, MASK) is MASK  # it is passed on


@pytest.mark.default_stack_only
@pytest.mark.parametrize(
    "options", [{"dropout": 0.5}, {"input_noise_stddev": 0.5}], ids=lambda options: next(iter(options))
)
def test_what_is_random_in_training(options):
    layer, x = attention(**options), features()
    exact = attention()
    np.testing.assert_allclose(layer(x, training=False), exact(x), rtol=1e-5, atol=1e-6)
    assert np.abs(layer(x, training=True) - exact(x)).max() > 0.01
    np.testing.assert_array_equal(exact(x, training=True), exact(x, training=False))


@pytest.mark.default_stack_only
@pytest.mark.parametrize("option", ["num_heads", "num_layers"])
def test_more_heads_and_layers_have_more_weights(option):
    assert attention(**{option: 3}).count_params() > attention().count_params()


@pytest.mark.default_stack_only
@pytest.mark.parametrize("shape", [(4, 5), (4, 5, None)])
def test_attention_needs_features(shape):
    with pytest.raises(ValueError, match=r"features must have shape \[batch, n, d\] with a known d, got \(4, 5"):
        ks.DocumentInteractionAttention(**OPTIONS).build(shape)


def test_features_by_name_are_joined():
    x = features()
    items = {"b": x, "a": np.arange(20).reshape(4, 5), "c": x[..., np.newaxis] * 2}
    context = {"z": x[:, 0], "y": np.int64([[1], [2], [3], [4]])}
    joined = ks.ConcatFeatures()(items, context, mask=MASK)
    wanted = [np.repeat(context[name][:, np.newaxis], 5, axis=1) for name in "yz"] + [
        items["a"][..., np.newaxis],
        x,
        2 * x,
    ]
    np.testing.assert_allclose(joined, np.where(MASK[..., np.newaxis], np.concatenate(wanted, axis=-1), 0), rtol=1e-6)
    assert joined.dtype == tf.float32


def test_padding_of_joined_features_may_be_nan():
    x = features()
    x[~MASK] = np.nan
    assert np.all(ks.ConcatFeatures()({"x": x}, mask=MASK).numpy()[~MASK] == 0)


@pytest.mark.default_stack_only
@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((features(),), TypeError, "example_features must be a dictionary of tensors, got ndarray"),
        (({"x": features()}, [features()]), TypeError, "context_features must be a dictionary of tensors, got list"),
        (({},), ValueError, "example_features must hold at least one feature, got none"),
    ],
)
def test_errors_of_joined_features(arguments, error, message):
    with pytest.raises(error, match=message):
        ks.ConcatFeatures().call(*arguments)


@pytest.mark.parametrize("mode", ["eager", "xla"])
def test_batch_normalization_of_valid_items(mode):
    x = features()
    x[~MASK] = np.nan
    layer = ks.MaskedBatchNormalization(momentum=0.9)
    layer.build((None, None, 3))
    call = layer if mode == "eager" else tf.function(layer, jit_compile=True)
    result = call(tf.constant(x), mask=tf.constant(MASK), training=True)
    mean, variance = x[MASK].mean(axis=0), x[MASK].var(axis=0)
    np.testing.assert_allclose(result[MASK], (x[MASK] - mean) / np.sqrt(variance + 1e-3), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(layer.moving_mean, 0.1 * mean, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(layer.moving_variance, 0.9 + 0.1 * variance, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(layer(x[:1, :2]), layer(x, mask=MASK)[:1, :2], rtol=1e-5, atol=1e-6)


def test_batch_normalization_beside_another_tensor_takes_the_mask_of_keras():
    x, layer = features(), ks.layers.MaskedBatchNormalization()
    x[~MASK] = models.PAD
    wanted = layer(x, mask=MASK, training=True)
    np.testing.assert_array_equal(layer(keras.layers.Masking(models.PAD)(x), training=tf.constant(True)), wanted)


def test_batch_normalization_without_a_mask_is_that_of_keras():
    x = features()
    ours, theirs = ks.MaskedBatchNormalization(), keras.layers.BatchNormalization()
    np.testing.assert_allclose(ours(x, training=True), theirs(x, training=True), rtol=1e-5, atol=1e-6)


def test_batch_normalization_of_a_batch_without_items_is_finite():
    layer = ks.MaskedBatchNormalization()
    assert np.all(np.isfinite(layer(features(), mask=np.zeros_like(MASK), training=True)))
    assert np.all(np.isfinite(np.concatenate(layer.get_weights())))


@pytest.mark.parametrize("mode", ["eager", "graph", "xla"])
def test_batch_normalization_of_a_batch_without_items_keeps_the_moving_averages(mode):
    layer = ks.MaskedBatchNormalization(momentum=0.9)
    layer.build((None, None, 3))
    call = layer if mode == "eager" else tf.function(layer, jit_compile=mode == "xla")
    x = tf.constant(features())
    call(x, mask=tf.constant(MASK), training=True)  # makes them others than the initial ones
    before = layer.get_weights()
    assert np.all(before[-1] != 1)
    call(x, mask=tf.zeros_like(MASK), training=True)
    for each, old in zip(layer.get_weights(), before, strict=True):
        np.testing.assert_array_equal(each, old)
