"""Every Keras object of the package with arguments that are not the defaults, and models to try it in."""

import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tensorflow as tf

import keras_softsort as ks

keras = tf.keras
IS_KERAS_3 = getattr(keras, "__version__", "2").startswith("3.")
PAD = -9.0
# Set by `tests/conftest.py`.
EVERYTHING = "KERAS_SOFTSORT_EVERYTHING" in os.environ


@dataclass(frozen=True)
class KerasCase:
    """A class and the arguments to make it with."""

    cls: type
    arguments: dict[str, Any] = field(default_factory=dict)

    def __str__(self):
        values = {key: getattr(value, "__name__", value) for key, value in self.arguments.items()}
        return "-".join([self.cls.__name__, *(f"{key}={value}" for key, value in values.items())])

    def make(self, **more):
        return self.cls(**self.arguments, **more)

    @property
    def is_matrix(self):
        return issubclass(self.cls, ks.NeuralSortLayer | ks.SoftSortLayer) and "returns" not in self.arguments

    @property
    def is_matching(self):
        return issubclass(self.cls, ks.SinkhornLayer | ks.GumbelSinkhornLayer)

    @property
    def adapter(self):
        """The class of layers that turn scores [batch, n] into what the layer takes, if it does not take scores."""
        if self.cls is ks.DkNNLayer:
            return Neighbors
        return Pairs if self.is_matching else None

    def layers(self):
        """The layer, after what turns scores [batch, n] into its input."""
        return [self.adapter(), self.make()] if self.adapter else [self.make()]

    def inputs(self, scores):
        """What the layer takes, from scores [batch, n]."""
        if self.cls is ks.KNNClassifier:
            return scores[:, :2]
        if self in FEATURE_LAYERS:
            features = tf.stack([scores, scores], axis=-1)
            return {"a": features, "b": scores} if self.cls is ks.ConcatFeatures else features
        return self.adapter().call(scores) if self.adapter else scores

    def mask(self, mask):
        """The mask of that, from the mask of scores."""
        return [None, mask] if self.cls is ks.DkNNLayer else mask

    @property
    def takes_lists(self):
        """Whether a loss is one of lists of which items may be padding."""
        return issubclass(self.cls, ks.losses.ListLoss)

    @property
    def takes_scores(self):
        """Whether a loss is one of scores [batch, n], not of a matrix."""
        return not (issubclass(self.cls, ks.PermutationCrossEntropyLoss) or self.takes_logits)

    @property
    def takes_logits(self):
        """Whether a loss is one of several logits per item."""
        return getattr(self.cls, "predicts", None) == "logits"

    def predictors(self):
        """Layers that make of scores [batch, n] what a loss takes."""
        if not self.takes_lists:
            return [Unmasked()]
        if self.takes_logits:
            return [ItemLogits()]
        return [] if self.takes_scores else [ks.NeuralSortLayer()]

    def labels(self, y):
        """What a loss compares with, from labels [batch, n]: a class of each list for retrieval."""
        return np.argmax(y, axis=1) % 2 if self.cls is ks.RetrievalLoss else y

    @property
    def is_hard(self):
        return self.arguments.get("hard", False)

    @property
    def is_noisy(self):
        """Whether it trains on noise, or on queries or candidates that vary, by as much as it learns."""
        noisy = ks.GumbelSoftmaxLayer | ks.PlackettLuceSampler | NOISY_LOSSES
        return issubclass(self.cls, noisy) or bool(self.arguments.keys() & {"stochastic", "num_queries", "memory_size"})

    def set_tau(self, layer, tau):
        """Change the temperature in force, where it is kept."""
        if self.arguments.get("learn_tau"):
            layer.log_tau.assign(np.log(tau))
        else:
            layer.tau.assign(tau)


@keras.utils.register_keras_serializable(package="tests")
def squared_distances(targets, predictions):
    """Of all pairs of numbers: [batch, m, n]. Plain distances have many best matchings, which rounding picks from."""
    return tf.square(targets[:, :, tf.newaxis] - predictions[:, tf.newaxis, :])


@keras.utils.register_keras_serializable(package="tests")
def squared_errors(targets, predictions):
    return tf.square(targets - predictions)


@keras.utils.register_keras_serializable(package="tests")
def tenth_of_squares(predictions):
    return 0.1 * tf.square(predictions)


@keras.utils.register_keras_serializable(package="tests")
def not_negative(labels):
    return labels >= 0


@keras.utils.register_keras_serializable(package="tests")
def above_minus_two(predictions):
    return predictions > -2


LAYERS = [
    KerasCase(ks.NeuralSortLayer, {"tau": 0.7}),
    KerasCase(ks.NeuralSortLayer, {"tau": 0.5, "top_k": 2, "hard": True, "direction": "ASCENDING"}),
    KerasCase(ks.NeuralSortLayer, {"tau": 0.7, "returns": "values", "top_k": 3}),
    KerasCase(ks.NeuralSortLayer, {"tau": 2.0, "returns": "ranks", "direction": "ASCENDING", "learn_tau": True}),
    KerasCase(ks.SoftSortLayer, {"tau": 0.6, "power": 2.0, "top_k": 3}),
    KerasCase(ks.SoftSortLayer, {"tau": 0.5, "returns": "values", "hard": True, "learn_tau": True}),
    KerasCase(ks.SoftSortLayer, {"tau": 0.5, "power": 1.5, "returns": "ranks", "direction": "ASCENDING"}),
    KerasCase(ks.SoftRankLayer, {"tau": 0.4, "method": "soft_sort", "power": 2.0, "direction": "ASCENDING"}),
    KerasCase(ks.SoftTopKLayer, {"k": 2, "tau": 0.3, "method": "soft_sort", "power": 2.0, "direction": "ASCENDING"}),
    KerasCase(ks.SoftTopKLayer, {"k": 2, "tau": 0.6, "returns": "weights", "hard": True}),
    KerasCase(ks.SoftTopKLayer, {"k": 3, "tau": 0.6, "returns": "membership", "learn_tau": True}),
    KerasCase(ks.SoftRankLayer, {"tau": 0.7, "method": "projection_kl", "learn_tau": True, "hard": True}),
    KerasCase(ks.SoftTopKLayer, {"k": 2, "tau": 0.6, "method": "lapsum", "returns": "membership"}),
    KerasCase(ks.SinkhornLayer, {"tau": 0.7, "num_iterations": 7, "tolerance": 1e-3, "hard": True, "learn_tau": True}),
    KerasCase(
        ks.GumbelSinkhornLayer, {"tau": 0.6, "num_samples": 2, "noise_scale": 0.1, "num_iterations": 5, "seed": 3}
    ),
    KerasCase(ks.GumbelSinkhornLayer, {"tau": 0.5, "hard": True, "tolerance": 0.1, "learn_tau": True}),
    KerasCase(ks.PlackettLuceSampler, {"tau": 0.7, "num_samples": 2, "method": "soft_sort", "power": 2.0, "seed": 3}),
    KerasCase(ks.PlackettLuceSampler, {"tau": 0.5, "top_k": 2, "hard": True, "learn_tau": True}),
    KerasCase(ks.GumbelSoftmaxLayer, {"tau": 0.7, "k": 2, "hard": True, "seed": 3}),
    KerasCase(
        ks.GumbelSoftmaxLayer,
        {"tau": 0.6, "k": 2, "method": "successive_softmax", "hard": False, "learn_tau": True, "axis": 1},
    ),
    KerasCase(ks.DkNNLayer, {"k": 2, "tau": 0.7, "distance": "cityblock", "method": "soft_sort", "power": 1.5}),
    KerasCase(ks.DkNNLayer, {"k": 1, "tau": 0.6, "stochastic": True, "num_samples": 2, "seed": 3, "learn_tau": True}),
    KerasCase(ks.SoftQuantileLayer, {"q": [0.25, 0.5], "tau": 0.6, "method": "soft_sort", "power": 2.0}),
    KerasCase(ks.SoftQuantileLayer, {"q": [0.5], "tau": 0.6, "learn_tau": True}),
]
NOISY_LOSSES = ks.PLRankLoss | ks.YetiLogisticLoss | ks.GumbelApproxNDCGLoss | ks.CoupledRankDistilLoss
NO_REDUCTION = None if IS_KERAS_3 else "none"
LOSSES = [
    KerasCase(ks.PermutationCrossEntropyLoss, {"direction": "ASCENDING", "reduction": "sum", "name": "mine"}),
    KerasCase(ks.PermutationCrossEntropyLoss, {"target": "ranks", "name": "other"}),
    KerasCase(ks.PlackettLuceLoss, {"k": 2, "reduction": "sum", "name": "mine"}),
    KerasCase(ks.PlackettLuceLoss, {"ties": "first", "temperature": 2.0, "discount": "log2", "name": "other"}),
    KerasCase(ks.ApproxNDCGLoss, {"tau": 0.5, "gain": "linear", "reduction": "sum", "name": "mine"}),
    KerasCase(ks.ApproxNDCGLoss, {"k": 3, "discount": "reciprocal", "normalization": "none"}),
    KerasCase(
        ks.NeuralNDCGLoss,
        {"tau": 2.0, "k": 3, "gain": "linear", "num_iterations": 4, "reduction": "sum", "name": "mine"},
    ),
    # Noise so small that what is drawn does not show: a loss has no weight that could repeat it elsewhere.
    KerasCase(
        ks.NeuralNDCGLoss,
        {
            "method": "soft_sort",
            "power": 2.0,
            "discount": [1.0, 0.5, 0.25],
            "normalization": "none",
            "num_iterations": 0,
            "hard": True,
            "stochastic": True,
            "num_samples": 2,
            "noise_scale": 1e-8,
            "seed": 3,
        },
    ),
    KerasCase(
        ks.PLRankLoss,
        {"k": 3, "gain": "linear", "discount": [1.0, 0.5], "normalization": "none", "num_samples": 5, "seed": 3},
    ),
    KerasCase(ks.PLRankLoss, {"discount": "reciprocal", "reduction": "sum", "name": "mine", "seed": 3}),
    KerasCase(ks.NeuralSortCrossEntropyLoss, {"tau": 2.0, "label_tau": 0.7, "reduction": "sum", "name": "mine"}),
    KerasCase(ks.SoftmaxLoss, {"temperature": 2.0, "lambda_weight": "mrr", "reduction": "sum", "name": "mine"}),
    KerasCase(ks.SpearmanLoss, {"tau": 0.5, "method": "soft_sort", "power": 1.5, "reduction": "sum", "name": "mine"}),
    KerasCase(ks.SpearmanLoss, {"tau": 2.0, "method": "projection", "name": "other"}),
    KerasCase(
        ks.RankNetLoss, {"sigma": 2.0, "ties": "half", "normalization": "list", "reduction": "sum", "name": "mine"}
    ),
    KerasCase(
        ks.RankNetLoss,
        {"lambda_weight": "dcg", "k": 3, "gain": "linear", "discount": "reciprocal", "smooth_fraction": 0.5},
    ),
]
LOSSES += [
    KerasCase(ks.ApproxMRRLoss, {"tau": 0.5, "reduction": "sum", "name": "mine"}),
    KerasCase(ks.UniqueSoftmaxLoss, {"temperature": 2.0, "reduction": "sum", "name": "mine"}),
    KerasCase(
        ks.CalibratedSoftmaxLoss,
        {"temperature": 2.0, "virtual_label": 0.5, "lambda_weight": "ndcg", "reduction": "sum", "name": "mine"},
    ),
    KerasCase(
        ks.GumbelApproxNDCGLoss,
        {
            "tau": 0.5,
            "k": 3,
            "gain": "linear",
            "discount": "reciprocal",
            "normalization": "none",
            "num_samples": 2,
            "noise_scale": 0.5,
            "seed": 3,
            "reduction": "sum",
            "name": "mine",
        },
    ),
    KerasCase(
        ks.CoupledRankDistilLoss,
        {"temperature": 2.0, "k": 3, "num_samples": 2, "seed": 3, "reduction": "sum", "name": "mine"},
    ),
    KerasCase(
        ks.YetiLogisticLoss,
        {
            "temperature": 2.0,
            "lambda_weight": "ndcg",
            "normalization": "none",
            "num_samples": 2,
            "noise_scale": 0.5,
            "seed": 3,
            "reduction": "sum",
            "name": "mine",
        },
    ),
    KerasCase(ks.SigmoidCrossEntropyLoss, {"normalization": "none", "reduction": "sum", "name": "mine"}),
    KerasCase(ks.MeanSquaredLoss, {"normalization": "none", "reduction": "sum", "name": "mine"}),
    KerasCase(
        ks.OrdinalLoss, {"use_fraction_label": True, "normalization": "none", "reduction": "sum", "name": "mine"}
    ),
    KerasCase(
        ks.ClickEMLoss,
        {
            "exam_loss_weight": 0.5,
            "rel_loss_weight": 2.0,
            "normalization": "none",
            "reduction": "sum",
            "name": "mine",
        },
    ),
    KerasCase(ks.MixtureEMLoss, {"alpha": 0.5, "reduction": "sum", "name": "mine"}),
    KerasCase(
        ks.PairwiseHingeLoss,
        {"temperature": 2.0, "lambda_weight": "ndcg", "normalization": "list", "reduction": "sum", "name": "mine"},
    ),
    KerasCase(
        ks.PairwiseMSELoss,
        {
            "temperature": 2.0,
            "lambda_weight": "label_diff",
            "normalization": "list",
            "reduction": "sum",
            "name": "mine",
        },
    ),
    KerasCase(
        ks.PairwiseSoftZeroOneLoss,
        {
            "temperature": 2.0,
            "lambda_weight": "label_diff",
            "normalization": "list",
            "reduction": "sum",
            "name": "mine",
        },
    ),
]
LOSSES += [
    KerasCase(
        ks.DkNNLoss,
        {
            "k": 1,
            "tau": 2,
            "num_queries": 1,
            "objective": "log",
            "distance": "cosine",
            "reduction": "sum",
            "name": "mine",
        },
    ),
    # So hot that noise does not show.
    KerasCase(
        ks.DkNNLoss,
        {"k": 1, "tau": 1e6, "stochastic": True, "num_samples": 2, "seed": 3, "method": "soft_sort", "power": 1.5},
    ),
    # The first is what XLA compiles: this one has no loops.
    KerasCase(ks.RetrievalLoss, {"metric": "mrr", "memory_size": 6}),
    KerasCase(
        ks.RetrievalLoss,
        {"metric": "ndcg", "k": 2, "tau": 0.5, "distance": "euclidean", "reduction": "sum", "name": "mine"},
    ),
]
# Sets of numbers.
SET_LOSSES = [
    KerasCase(
        ks.SetLoss,
        {
            "pair_cost": squared_distances,
            "matched_loss": squared_errors,
            "unmatched_loss": tenth_of_squares,
            "target_mask": not_negative,
            "normalization": "set",
        },
    ),
    KerasCase(
        ks.SetLoss,
        {
            "pair_cost": squared_distances,
            "matched_loss": squared_errors,
            "prediction_mask": above_minus_two,
            "reduction": "sum",
            "name": "mine",
        },
    ),
]
LOSSES += SET_LOSSES
METRICS = [
    KerasCase(cls, {**arguments, "name": f"{cls.__name__.lower()}_{i}", "dtype": "float32"})
    for cls in (ks.PermutationAccuracy, ks.ElementwiseAccuracy, ks.KendallTau, ks.SpearmanCorrelation)
    for i, arguments in enumerate([{"direction": "ASCENDING"}, {"target": "ranks"}])
]
METRICS += [
    KerasCase(cls, {"statistic": "mean_over_std", "name": f"{cls.__name__.lower()}_2"})
    for cls in (ks.KendallTau, ks.SpearmanCorrelation)
]
# Of embeddings, and of a dict of outputs: tried on its own.
HEADS = [
    KerasCase(
        ks.KNNClassifier,
        {
            "k": 3,
            "num_classes": 4,
            "votes": "distance",
            "distance": "cosine",
            "block_size": 8,
            "approximate": True,
            "num_references": 20,
            "dimension": 2,
        },
    ),
]
# Of features of lists.
FEATURE_LAYERS = [
    KerasCase(
        ks.DocumentInteractionAttention,
        {"num_heads": 2, "head_size": 4, "num_layers": 2, "dropout": 0.25, "input_noise_stddev": 0.5},
    ),
    KerasCase(ks.ConcatFeatures),
    KerasCase(ks.MaskedBatchNormalization, {"momentum": 0.5}),
]
LAMBDA_WEIGHTS = [
    KerasCase(
        ks.losses.LambdaWeight,
        {"metric": "dcg", "k": 3, "gain": "linear", "discount": "reciprocal", "version": 2, "neighbors_only": True},
    ),
    KerasCase(ks.losses.LambdaWeight, {"metric": "ndcg", "smooth_fraction": 0.5}),
    KerasCase(ks.losses.LambdaWeight, {"metric": "precision", "k": 2, "min_label": 2.0}),
]
ALL = [*LAYERS, *HEADS, *FEATURE_LAYERS, *LOSSES, *LAMBDA_WEIGHTS, *METRICS]


def first_of_class(cases):
    """One case of each class."""
    return list({case.cls: case for case in reversed(cases)}.values())[::-1]


def needed(cases):
    """All cases on Keras 3; on Keras 2 the last of each class, most of which learn their temperature, and the first."""
    if IS_KERAS_3 or EVERYTHING:
        return cases
    last = {case.cls: case for case in cases}.values()
    return [case for i, case in enumerate(cases) if i == 0 or any(case is each for each in last)]


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
    """The same model in the three ways of writing one."""
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
    """The same lists with `by` items more that are padding."""
    wide = np.pad(x, [(0, 0), (0, by), (0, 0)], constant_values=PAD)
    return wide, np.pad(y, [(0, 0), (0, by)], constant_values=-1)


def squares(_, y_pred):
    """A loss that keeps its axes: Keras multiplies a loss by the mask, which a mean over items would not fit."""
    return tf.square(y_pred)


def value_and_gradient(loss, labels, scores, weights=None, mask=None):
    """What a loss makes of scores with a Keras mask, and the gradient of its sum, as arrays."""
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
