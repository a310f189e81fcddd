"""The computation of an exported ranker: scores that ignore padding, and the order of the items."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import tensorflow as tf

from keras_softsort._internal.arguments import compute_dtype
from keras_softsort.data.elwc.parsing import parse_elwc
from keras_softsort.ops.core.order import plus_zeros, take
from keras_softsort.serving._model_inputs import ModelInputs
from keras_softsort.serving._saved_model import DEFAULT, ELWC, IDS, REGRESS, SCORES, SERIALIZED, SINGLE, SIZES, WITH_IDS

Tensors = Mapping[str, tf.Tensor]
# The inputs of a signature, and the function from inputs to outputs, both by name.
Signature: TypeAlias = tuple[dict[str, tf.TensorSpec], Callable[[Tensors], dict[str, tf.Tensor]]]


class Ranker(NamedTuple):
    """A model, its inputs and the options of its signatures."""

    model: Any
    inputs: ModelInputs
    padding: float
    top_k: int | None
    examples: Any = None  # the features of records, if they are served
    context: Any = None

    def signatures(self, item_ids: tf.DType | None) -> dict[str, Signature]:
        """Signatures by name: features as tensors, without and with ids of the dtype `item_ids`, and records."""
        inputs = {name: self.inputs.specs[name] for name in self.inputs.request_inputs}
        inputs[SIZES] = tf.TensorSpec([None], tf.int32, name=SIZES)
        found: dict[str, Signature] = {DEFAULT: (inputs, self.ranked)}
        if item_ids is not None:
            found[WITH_IDS] = {**inputs, IDS: tf.TensorSpec([None, None], item_ids, name=IDS)}, self.ranked
        if self.examples is not None:
            serialized = {SERIALIZED: tf.TensorSpec([None], tf.string, name=SERIALIZED)}
            found[ELWC] = serialized, lambda tensors: self.ranked(self._parsed(tensors[SERIALIZED]))
            single = tf.TensorSpec([None], tf.string, name=tf.saved_model.REGRESS_INPUTS)
            found[REGRESS] = {single.name: single}, self._regressed
        return found

    def ranked(self, tensors: Tensors) -> dict[str, tf.Tensor]:
        """Compute the outputs. The first axis of each is the batch."""
        mask = self._mask(tensors)
        scores = self._scores(tensors, mask)
        order = tf.argsort(_keys(scores, mask), direction="DESCENDING", stable=True)
        scores = tf.where(mask, scores, tf.constant(scores.dtype.min, scores.dtype))
        outputs = {SCORES: scores, "order": tf.where(mask, order, -1)}
        if IDS in tensors:
            ids = tf.reshape(tensors[IDS], tf.shape(mask))  # fails where there are more or fewer than items
            nothing = tf.constant("" if ids.dtype == tf.string else -1, ids.dtype)
            outputs["sorted_ids"] = tf.where(mask, take(ids, order), nothing)
        if self.top_k is not None:
            outputs["top_k"] = outputs["order"][:, : self.top_k]
            outputs["top_k_scores"] = take(scores, order)[:, : self.top_k]
            if IDS in tensors:
                outputs["top_k_ids"] = outputs["sorted_ids"][:, : self.top_k]
        return outputs

    def _regressed(self, tensors: Tensors) -> dict[str, tf.Tensor]:
        """The scores `[batch]` of serialized examples that are the only item of their lists."""
        serialized = tensors[tf.saved_model.REGRESS_INPUTS]
        features = tf.io.parse_example(serialized, {**self.examples, **(self.context or {})})
        # A model of lists of one size gets the item that often, as padding.
        size = self.inputs.specs[self.inputs.item_inputs[0]].shape[1] or 1
        features.update({name: tf.repeat(features[name][:, tf.newaxis], size, axis=1) for name in self.examples})
        sizes = tf.ones(tf.shape(serialized), tf.int32)
        scores = self.ranked({**self._as_inputs(features), SIZES: sizes})[SCORES]
        return {tf.saved_model.REGRESS_OUTPUTS: scores[:, 0]}

    def _parsed(self, serialized: tf.Tensor) -> Tensors:
        """Parse records `[batch]` to the inputs of the other signatures."""
        size = self.inputs.specs[self.inputs.item_inputs[0]].shape[1]
        features, sizes = parse_elwc(serialized, self.context, self.examples, list_size=size)
        return {**self._as_inputs(features), SIZES: sizes}

    def _as_inputs(self, features: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """The features as the model takes them: by name, or in one tensor."""
        if self.inputs.structure != SINGLE:
            return features
        columns = [features[name] for name in self.examples]
        columns = [column[..., tf.newaxis] if column.shape.rank == 2 else column for column in columns]
        dtype = self.inputs.specs[SINGLE].dtype
        return {SINGLE: tf.concat([tf.cast(column, dtype) for column in columns], axis=-1)}

    def _mask(self, tensors: Tensors) -> tf.Tensor:
        """Mark the valid items `[batch, n]`: as many leading items as the size, which is clipped to 0 and n."""
        shape = tf.shape(tensors[self.inputs.item_inputs[0]])
        # Without the reshape a single size would be broadcast to all lists.
        return tf.sequence_mask(tf.reshape(tensors[SIZES], shape[:1]), shape[1])

    def _scores(self, tensors: Tensors, mask: tf.Tensor) -> tf.Tensor:
        """Compute the model's scores `[batch, n]`. They do not depend on the values in the padding."""
        item_inputs = set(self.inputs.item_inputs)
        features = {
            name: self._without_padding(tensors[name], mask) if name in item_inputs else tensors[name]
            for name in self.inputs.request_inputs
        }
        if self.inputs.mask_name is not None:
            features[self.inputs.mask_name] = mask
        try:
            structure = tf.nest.map_structure(lambda name: features[name], self.inputs.structure)
            scores = self.model(structure, training=False)
        except Exception as error:
            specs = {name: (spec.shape, spec.dtype.name) for name, spec in self.inputs.specs.items()}
            raise ValueError(f"features must be what the model takes, got {specs}, and it fails: {error}") from error
        if tf.is_tensor(scores) and scores.shape.rank == 3 and scores.shape[-1] == 1:
            scores = tf.squeeze(scores, axis=-1)  # the column that Dense(1) gives
        if not (tf.is_tensor(scores) and scores.dtype.is_floating and scores.shape.rank in (None, 2)):
            raise ValueError(f"model must return scores [batch, n] or [batch, n, 1], got {scores}")
        size = tensors[self.inputs.item_inputs[0]].shape[1]
        if scores.shape.rank == 2 and scores.shape[1] not in (None, size):
            raise ValueError(f"model must return scores [batch, n], one per item, got {scores.shape} for n = {size}")
        return tf.reshape(tf.cast(scores, compute_dtype(scores.dtype)), tf.shape(mask))

    def _without_padding(self, values: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
        mask = tf.reshape(mask, tf.concat([tf.shape(mask), tf.ones([values.shape.rank - 2], tf.int32)], axis=0))
        padding = b"" if values.dtype == tf.string else np.array(self.padding).astype(values.dtype.as_numpy_dtype)
        return tf.where(mask, values, tf.constant(padding, values.dtype))


def _keys(scores: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """Numbers in the order of the scores: NaN is below all numbers, -inf among them, and padding is below NaN."""
    # Halves leave room for three numbers below the lowest score.
    lowest = scores.dtype.min
    keys = plus_zeros(tf.clip_by_value(scores, lowest, scores.dtype.max) / 2)
    keys = tf.where(scores < lowest, tf.constant(lowest * 0.625, scores.dtype), keys)
    keys = tf.where(tf.math.is_nan(scores), tf.constant(lowest * 0.75, scores.dtype), keys)
    return tf.where(mask, keys, tf.constant(lowest, scores.dtype))
