"""Retrieval metrics as losses of embeddings, and the memory of past batches."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from keras_softsort import ops
from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort._targets.lists import WeightedLosses
from keras_softsort._targets.queries import queries_and_candidates
from keras_softsort.losses._base import WeightedLoss, checked_tau
from keras_softsort.ops.neighbors.retrieval_loss import checked_metric

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
        """Write the memory to `store`, unless it was not used yet."""
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


@export
class RetrievalLoss(WeightedLoss):
    """Minus a retrieval metric of embeddings, computed with soft ranks (Smooth-AP and others).

    Use it to train embeddings for search. Every embedding of a batch is a query, and the others are its candidates.
    Those of its class are relevant. Labels tell which items belong together, not whether a row is a match: with the
    label 1 for every click all candidates are relevant, the loss is -1 from the first step, and nothing is learned. The
    label of a click is the id of the clicked item, or the number of its row.

    Two towers are stacked on a new axis, `[batch, 2, d]`. Joined on the last axis, `[batch, 2 d]`, they are one
    embedding per row: the loss then compares rows with each other, and never a query with an item.

    See `ops.retrieval_loss` for the formulas, edge cases, errors, cost and source.

    Args:
      metric, k, divisor, distance, scale: as in `ops.retrieval_loss`. Give the same distance to the index of
        the trained embeddings: `KNNClassifier(k, distance="cosine")` with the default here.
      tau: temperature in units of the distance, a positive number. For `"cosine"` start with 0.01 to 0.2, since cosines
        of trained embeddings differ by about 1.
      memory_size: number of embeddings of past batches that are also candidates, without gradient (XBM). They are
        variables of the loss: `model.save` and `save_weights` save them with the compiled model, and an export leaves
        them out. A batch enters the memory when its gradient is computed, so `evaluate` does not change it. With
        replicas the memory holds the embeddings of the first replica. It needs labels `[batch]` and a known d.
      reduction, name, dtype: see `ListLoss`. The mean is over queries.

    Call arguments:
      y_true: classes `[batch]` or `[batch, 1]`, or rows `[batch, classes]`; two rows are relevant to each other if
        their inner product is above 0. Items with a negative label are padding: neither queries nor candidates, and the
        mean does not count them. With two towers `[batch]` is a label of the matching candidate, such as its id: equal
        labels are relevant to each other, and `np.arange(n)` matches by row. `[batch, 2]` has one per tower.
      y_pred: embeddings `[batch, d]`. With two towers `[batch, 2, d]`: the queries `[:, 0]` and their candidates
        `[:, 1]`, from `keras.ops.stack([query, candidate], axis=1)`.
      sample_weight: `[batch]` or `[batch, 1]`; multiplies the losses of queries.

    Example:
      >>> embeddings = [[1.0, 0.0], [0.0, 1.0], [0.1, 0.9], [0.2, 0.8]]
      >>> round(float(ks.RetrievalLoss(tau=0.01)([0, 0, 1, 1], embeddings)), 3)
      -0.551

    Source of the memory: X. Wang et al., "Cross-Batch Memory for Embedding Learning", CVPR 2020.
    """

    def __init__(
        self,
        metric: str = "average_precision",
        k: int | None = None,
        tau: float = 0.05,
        *,
        divisor: str = "relevant",
        distance: str = "cosine",
        scale: str | None = None,
        memory_size: int = 0,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "retrieval",
        dtype: Any = None,
        **unknown: Any,
    ) -> None:
        super().__init__(reduction=reduction, name=name, dtype=dtype, **unknown)
        self._keep_options(
            **checked_metric(metric=metric, k=k, divisor=divisor, distance=distance, scale=scale),
            tau=checked_tau(tau),
            memory_size=arguments.non_negative_integer("memory_size", memory_size),
        )
        self._memory = EmbeddingMemory(memory_size) if memory_size else None

    def weighted_losses(self, y_true: Any, y_pred: Any, sample_weight: Any) -> WeightedLosses:
        """The loss of each query [batch], 0 for padding, and how many queries there are."""
        queries, candidates = queries_and_candidates(y_true, y_pred, sample_weight, self.given_dtype)
        options = self.options(queries.embeddings.dtype)
        del options["memory_size"]
        if self._memory is not None:
            if queries.labels.shape.rank != 1:
                raise ValueError(f"y_true must have shape [batch] with memory_size, got {queries.labels.shape}")
            options["exclude_self"] = candidates is None
            own = queries if candidates is None else candidates
            candidates = self._memory.extend(own.embeddings, own.labels, own.mask)
        if candidates is not None:
            options["candidates"] = candidates.embeddings
            options |= {"candidate_labels": candidates.labels, "candidate_mask": candidates.mask}
        losses = ops.retrieval_loss(queries.embeddings, labels=queries.labels, mask=queries.mask, **options)
        return queries.weighted(losses)

    def save_own_variables(self, store: MutableMapping[str, Any]) -> None:
        """Write the memory; Keras calls this when it saves a model that is compiled with the loss."""
        if self._memory is not None:
            self._memory.save(store)

    def load_own_variables(self, store: MutableMapping[str, Any]) -> None:
        """Read the memory that `save_own_variables` wrote."""
        if self._memory is not None:
            self._memory.load(store)
