"""Embeddings of past batches as further candidates of a loss."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

EMPTY = -1  # the label of entries that are not filled yet, as of padding


class Candidates(NamedTuple):
    """The embeddings of a batch, followed by those in the memory."""

    embeddings: tf.Tensor  # [batch + size, d]
    labels: tf.Tensor  # [batch + size]
    mask: tf.Tensor  # [batch + size] bool


class EmbeddingMemory:
    """The last `size` embeddings with their labels, as variables that a loss saves and that no model trains.

    A batch enters when its gradient is computed. Evaluation computes no gradient, so it does not change the memory.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.embeddings: Any = None
        self.labels: Any = None

    def extend(self, embeddings: tf.Tensor, labels: tf.Tensor, mask: tf.Tensor) -> Candidates:
        """Append the memory, without gradient, to a batch; computing the gradient puts the batch into the memory."""
        self._create(embeddings.shape[-1], embeddings.dtype, tf.int64 if labels.dtype.is_integer else tf.float64)
        remembered, known = tf.convert_to_tensor(self.embeddings), tf.convert_to_tensor(self.labels)
        own = tf.where(mask, tf.cast(labels, known.dtype), tf.constant(EMPTY, known.dtype))

        @tf.custom_gradient
        def attached(embeddings: tf.Tensor) -> tuple:
            def gradient(upstream: tf.Tensor) -> tf.Tensor:
                with tf.control_dependencies(self._remember(embeddings, own)):
                    return tf.identity(upstream)

            return tf.identity(embeddings), gradient

        return Candidates(
            tf.concat([attached(embeddings), remembered], axis=0),
            tf.concat([own, known], axis=0),
            tf.concat([mask, known > EMPTY], axis=0),
        )

    def save(self, store: MutableMapping[str, Any]) -> None:
        if self.embeddings is not None:
            store["embeddings"], store["labels"] = self.embeddings.numpy(), self.labels.numpy()

    def load(self, store: MutableMapping[str, Any]) -> None:
        """Read the result of `save`, which is empty for a memory that was not used."""
        if "embeddings" not in store:
            return
        embeddings, labels = np.asarray(store["embeddings"]), np.asarray(store["labels"])
        if len(labels) != self.size:
            raise ValueError(f"memory_size must be that of the saved memory, {len(labels)}, got {self.size}")
        self._create(embeddings.shape[1], tf.as_dtype(embeddings.dtype), tf.as_dtype(labels.dtype))
        self.embeddings.assign(embeddings)
        self.labels.assign(labels)

    def _create(self, dimension: int | None, dtype: tf.DType, label_dtype: tf.DType) -> None:
        if self.embeddings is not None:
            return
        if dimension is None:
            raise ValueError("y_pred must have a known last axis with memory_size, got [batch, None]")
        shape = [self.size, dimension]
        with tf.init_scope():
            options: dict[str, Any] = {"trainable": False, "aggregation": tf.VariableAggregation.ONLY_FIRST_REPLICA}
            options["experimental_enable_variable_lifting"] = False  # with it, `tf.function` would trace twice
            self.embeddings = tf.Variable(tf.zeros(shape, dtype), name="memory_embeddings", **options)
            self.labels = tf.Variable(
                tf.broadcast_to(tf.constant(EMPTY, label_dtype), shape[:1]), name="memory_labels", **options
            )

    def _remember(self, embeddings: tf.Tensor, labels: tf.Tensor) -> list[tf.Tensor]:
        """Put the batch in front of the memory, and drop the oldest entries."""
        updates = []
        for variable, new in ((self.embeddings, embeddings), (self.labels, labels)):
            entries = tf.concat([new, tf.convert_to_tensor(variable)], axis=0)[: self.size]
            updates.append(variable.assign(tf.ensure_shape(entries, variable.shape)))
        return updates
