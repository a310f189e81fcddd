"""A scorer whose scores are sums of functions of single features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from keras_softsort._internal.export import export
from keras_softsort._keras.compat import keras
from keras_softsort.models._parts import Features, Tower, normalized_features, scorer_inputs


@export
def gam_scorer(
    example_features: Features,
    context_features: Mapping[str, Any] | None = None,
    *,
    hidden_units: Sequence[int] = (16, 8),
    activation: Any = "relu",
    dropout: float = 0.0,
    batch_norm: float | None = None,
    input_normalization: Any = None,
    mask_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Make a Keras model as `dnn_scorer` does, but one that scores each item by a generalized additive model.

    Use it where each feature's part in a score must be read off. The score of an item with features x in a list with
    context c is `s(x, c) = sum_f w_f(c) g_f(x_f)`. Each number x_f has its own small network g_f. Without context all
    weights w_f are 1. With context, `w(c) = sum_j softmax(h_j(c_j))`, and each context feature c_j has a network h_j.
    The small networks are computed side by side.

    `keras.Model(model.input, model.get_layer("contributions").output)` gives the contribution of each feature,
    `[batch, n, f]`, which sum to the scores over f. Features are in the order of their names, and one of size d has d.

    Args:
      example_features, activation, dropout, context_features, input_normalization, mask_name, name: as for
        `dnn_scorer`.
      hidden_units: sizes of the hidden layers of each network; at least one.
      batch_norm: momentum of batch normalization after each hidden dense layer; `None` for none.

    Raises:
      ValueError, TypeError: as for `dnn_scorer`; or there are no hidden units, or `input_normalization` changes the
        number of features.

    Example:
      >>> ks.models.gam_scorer(5, hidden_units=(4,)).get_layer("contributions").output.shape[-1]
      5

    Source: H. Zhuang et al., "Interpretable Ranking with Generalized Additive Models", WSDM, 2021.
    """
    inputs = scorer_inputs(example_features, context_features, mask_name)
    tower = Tower(hidden_units, activation, dropout, batch_norm)
    if not tower.hidden_units:
        raise ValueError("hidden_units must hold at least one size, got none")
    joined = inputs.joined(with_context=False)
    features = normalized_features(joined, inputs.mask, input_normalization)
    count = joined.shape[-1]
    if features.shape[-1] != count:
        raise ValueError(
            f"input_normalization must return {count} features, as many as it gets, got {features.shape[-1]}"
        )
    # Networks side by side: [batch, n, f * units], read as [batch, n, f, units] by each dense layer.
    hidden = tower.hidden(features, inputs.mask, lambda inputs, units: _dense(inputs, count, units))
    sub_scores = _dense(hidden, count, 1)
    if inputs.context:
        weights = [_weights(inputs.context[each], tower, count) for each in sorted(inputs.context)]
        total = keras.layers.Add()(weights) if len(weights) > 1 else weights[0]
        sub_scores = keras.layers.Multiply()([sub_scores, keras.layers.Reshape((1, count))(total)])
    contributions = keras.layers.Activation("linear", name="contributions")(sub_scores)
    # The sum over the last axis, by layers that both versions of Keras have.
    mean = keras.layers.GlobalAveragePooling1D(data_format="channels_first")(contributions)
    return keras.Model(inputs.structure, keras.layers.Rescaling(float(count))(mean), name=name)


def _dense(inputs: Any, count: int, units: int) -> Any:
    """Apply `count` dense layers side by side: `[batch, n, count * d]` to `[batch, n, count * units]`."""
    size = inputs.shape[-1] // count
    parts = keras.layers.Reshape((-1, count, size))(inputs)
    # Glorot's range of one of the layers: Keras would count all of them as one.
    limit = (6.0 / (size + units)) ** 0.5
    dense = keras.layers.EinsumDense(
        "bnfi,fio->bnfo",
        output_shape=(None, count, units),
        bias_axes="fo",
        kernel_initializer=keras.initializers.RandomUniform(-limit, limit),
    )
    return keras.layers.Reshape((-1, count * units))(dense(parts))


def _weights(context: Any, tower: Tower, count: int) -> Any:
    """Compute weights `[batch, count]` from one feature of the lists."""
    flat = keras.layers.Flatten()(context)
    return keras.layers.Dense(count, activation="softmax")(tower.hidden(flat, None))
