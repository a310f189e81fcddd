"""A scorer by a feed-forward network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from keras_softsort._internal.export import export
from keras_softsort._keras.compat import keras
from keras_softsort.layers import ConcatFeatures, DocumentInteractionAttention
from keras_softsort.models._parts import Features, Tower, normalized_features, scorer_inputs


@export
def dnn_scorer(
    example_features: Features,
    context_features: Mapping[str, Any] | None = None,
    *,
    hidden_units: Sequence[int] = (64, 32),
    activation: Any = "relu",
    dropout: float = 0.0,
    batch_norm: float | None = None,
    input_normalization: Any = None,
    attention: DocumentInteractionAttention | None = None,
    mask_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Make a Keras model that scores each item of a list by one feed-forward network: features to scores `[batch, n]`.

    A good first ranker. The features of an item and of its list are concatenated in the order of `ConcatFeatures`, with
    the output of `attention` if it is given. They pass the hidden layers (dense, batch normalization, activation,
    dropout) and a dense layer with one output. Without `attention` the score of an item does not depend on the other
    items, and the cost is linear in their number.

    Args:
      example_features: features of an item. An integer d: the model takes one tensor `[batch, n, d]`. A dictionary: it
        takes a tensor per name. Values are `tf.io.FixedLenFeature`, or anything else with the `shape` and `dtype` of
        one item. Leave out the label.
      context_features: features of a list, a dictionary in the same form, each of shape `[d]`; `None` for none.
      hidden_units: sizes of the hidden layers; empty for a linear scorer.
      activation: activation of the hidden layers.
      dropout: share of each hidden layer's outputs that is dropped in training, from 0 to below 1.
      batch_norm: momentum of batch normalization after each dense layer but the last; `None` for none.
      input_normalization: `"batch"` for batch normalization of the features, a Keras layer that maps features
        `[batch, n, d]` to features, such as an adapted `keras.layers.Normalization`, or `None`.
      attention: a `DocumentInteractionAttention` of the features; `None` for none. Needs `mask_name`.
      mask_name: name of a bool input `[batch, n]`, True for valid items, as `bucketed_batches(mask=True)` makes it with
        the name `"mask"`. Batch normalization and attention then ignore padding. `None` for no such input.
      name: name of the model.

    Returns:
      A functional Keras model that returns scores `[batch, n]`; those of padding are finite, and should be ignored. It
      takes one tensor if `example_features` is an integer and there is neither context nor mask. Otherwise it takes a
      dictionary, with the name `"features"` for an integer `example_features`.

    Raises:
      ValueError: features are not numbers of known shapes, a name is used twice, an option is out of range, or
        `attention` is given without `mask_name`.
      TypeError: an argument has another type.

    Example:
      >>> sorted(ks.models.dnn_scorer(5, hidden_units=(16,), mask_name="mask").input)
      ['features', 'mask']

    Source: TF-Ranking's `DNNScorer`, with `hidden_layer_dims=hidden_units` and `batch_norm_moment=batch_norm`.
    """
    inputs = scorer_inputs(example_features, context_features, mask_name)
    tower = Tower(hidden_units, activation, dropout, batch_norm)
    features = normalized_features(inputs.joined(with_context=True), inputs.mask, input_normalization)
    if attention is not None:
        if not isinstance(attention, DocumentInteractionAttention):
            raise TypeError(f"attention must be a DocumentInteractionAttention, got {type(attention).__name__}")
        if mask_name is None:
            raise ValueError("mask_name must be given with attention, which would see the padding otherwise, got None")
        parts = {"features": features, "list": attention(features, mask=inputs.mask)}
        features = ConcatFeatures(name="with_list")(parts, mask=inputs.mask)
    scores = keras.layers.Dense(1, name="scores")(tower.hidden(features, inputs.mask))
    return keras.Model(inputs.structure, keras.layers.Reshape((-1,))(scores), name=name)
