"""Layers and models to try the package's Keras objects in, and the data that they take."""

import numpy as np
import tensorflow as tf

keras = tf.keras
IS_KERAS_3 = getattr(keras, "__version__", "2").startswith("3.")
# The type of the output shapes that Keras' own layers compute.
Shape = tuple if IS_KERAS_3 else tf.TensorShape
PAD = -9.0
NO_REDUCTION = None if IS_KERAS_3 else "none"


def pairs(scores):
    """Log-scores [batch, item, place]: the larger a score, the sooner its place."""
    places = tf.range(1, tf.shape(scores)[1] + 1)
    return -scores[:, :, tf.newaxis] * tf.cast(places, scores.dtype)


@keras.utils.register_keras_serializable(package="tests")
class Pairs(keras.layers.Layer):
    """`pairs` of scores [batch, n], with their mask."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, inputs):
        return pairs(tf.convert_to_tensor(inputs))

    def compute_output_shape(self, input_shape):
        return (*input_shape, input_shape[-1])


@keras.utils.register_keras_serializable(package="tests")
class Neighbors(keras.layers.Layer):
    """Scores [batch, n] as queries, the first two of them, and candidates, all of them with their mask."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, inputs):
        candidates = tf.convert_to_tensor(inputs)[..., tf.newaxis]
        return [0.9 * candidates[:, :2], candidates]

    def compute_mask(self, inputs, mask=None):
        return [None, mask]

    def compute_output_shape(self, input_shape):
        return [(input_shape[0], 2, 1), (*input_shape, 1)]


@keras.utils.register_keras_serializable(package="tests")
class ItemLogits(keras.layers.Layer):
    """Scores [batch, n] as two logits per item, with their mask."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, inputs):
        scores = tf.convert_to_tensor(inputs)
        return tf.stack([scores, 0.5 * scores + 0.3], axis=-1)

    def compute_output_shape(self, input_shape):
        return (*input_shape, 2)


@keras.utils.register_keras_serializable(package="tests")
class Unmasked(keras.layers.Layer):
    """Scores [batch, n] as embeddings, which have no mask of items."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, inputs):
        return tf.identity(inputs)

    def compute_mask(self, inputs, mask=None):
        return None


@keras.utils.register_keras_serializable(package="tests")
class Squeeze(keras.layers.Layer):
    """[batch, n, 1] to [batch, n] with its mask, which Keras' own Reshape drops."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, inputs):
        return tf.squeeze(inputs, axis=-1)

    def compute_output_shape(self, input_shape):
        return tuple(input_shape[:-1])


def scores_model(*layers):
    """[batch, n] of unknown sizes to what `layers` make of it."""
    inputs = outputs = keras.Input((None,))
    for layer in layers:
        outputs = layer(outputs)
    return keras.Model(inputs, outputs)


def head():
    """Layers from features [batch, n, 3] to scores [batch, n]; items whose features are all `PAD` are masked."""
    start = keras.initializers.Constant([[1.0], [-0.5], [0.3]])
    return [keras.layers.Masking(PAD), keras.layers.Dense(1, kernel_initializer=start), Squeeze()]


def features_model(kind, *layers):
    """A model, in the way of writing it that `kind` names."""
    layers = [*head(), *layers]
    if kind == "sequential":
        return keras.Sequential([keras.Input((None, 3)), *layers])
    if kind == "subclassed":
        return Subclassed(layers)
    inputs = outputs = keras.Input((None, 3))
    for part in layers:
        outputs = part(outputs)
    return keras.Model(inputs, outputs)


class Subclassed(keras.Model):
    def __init__(self, parts):
        super().__init__()
        self.parts = parts

    def call(self, inputs):
        for part in self.parts:
            inputs = part(inputs)
        return inputs


def features(batch=6, n=5, seed=3):
    """Features and labels that a linear model can learn to sort by."""
    x = np.random.default_rng(seed).normal(size=(batch, n, 3)).astype("float32")
    return x, np.abs(x @ np.float32([0.2, 1.0, -0.7]))


def scores(batch=4, n=5, seed=3):
    return np.random.default_rng(seed).normal(size=(batch, n)).astype("float32")


def pad(x, y, by=3):
    """The lists with `by` more items, which are padding."""
    wide = np.pad(x, [(0, 0), (0, by), (0, 0)], constant_values=PAD)
    return wide, np.pad(y, [(0, 0), (0, by)], constant_values=-1)


def squares(_, y_pred):
    """A loss that keeps its axes: Keras multiplies a loss by the mask, which a mean over items would not fit."""
    return tf.square(y_pred)


def value_and_gradient(loss, labels, scores, weights=None, mask=None):
    """The loss of scores with a Keras mask and the gradient of its sum, as arrays."""
    scores = tf.convert_to_tensor(scores)
    with tf.GradientTape() as tape:
        tape.watch(scores)
        prediction = tf.identity(scores)
        if mask is not None:
            prediction._keras_mask = tf.constant(mask)
        value = loss(labels, prediction, sample_weight=weights)
    return value.numpy(), tape.gradient(value, scores).numpy()


def traced_update(metric, **options):
    """`metric.update_state` as a `tf.function`, which takes no operation, as Keras 2 returns it, for a result."""

    def update(*inputs):
        metric.update_state(*inputs)

    return tf.function(update, **options)
