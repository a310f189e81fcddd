"""k nearest neighbors as a Keras layer that is saved and exported with its references."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from keras_softsort import ops
from keras_softsort._internal import arguments
from keras_softsort._internal.arguments import compute_dtype
from keras_softsort._internal.export import export
from keras_softsort._keras.compat import NO_CAST, assign_parts, keras, layer_shape
from keras_softsort._targets.references import checked_embeddings, checked_labels, reference_batches
from keras_softsort.layers._base import LayerOptions, known_shape
from keras_softsort.ops.core.distances import DISTANCES
from keras_softsort.ops.neighbors.nearest_neighbors import VOTES


@export
class KNNClassifier(LayerOptions, keras.layers.Layer):
    """Classify embeddings by a vote of their k nearest references, which the layer stores as weights.

    Use it after an encoder that `DkNNLoss` or `RetrievalLoss` has trained. Set the references with `set_references` or
    `adapt` before the layer is called. They are not trained, and are saved and exported with the model. The formulas,
    NaN and source are those of `ops.nearest_neighbors` and `ops.neighbor_votes`.

    Args:
      k: number of neighbors, at most the number of references.
      num_classes: number of classes; labels are 0 to `num_classes - 1`. None takes 1 + the largest of the first labels.
      votes: as in `ops.neighbor_votes`. `"distance"` cannot be used with `distance="dot"`, which may be negative.
      distance: as in `ops.nearest_neighbors`. It must be that of the loss: `distance="cosine"` after `RetrievalLoss()`,
        whose default differs from the one here.
      block_size, approximate: as in `ops.nearest_neighbors`.
      num_references, dimension: leave them None; they are set when a saved layer is loaded.
      **kwargs: arguments of `keras.layers.Layer`.

    Input: embeddings `[batch, d]`. Each row is a query of its own, so there is no mask.

    Output: a dictionary. `"probabilities"` `[batch, num_classes]`; `"neighbors"` `[batch, k]`, int32, the numbers of
    the nearest references, from 0 in the order in which they were given, the nearest first; and their `"distances"`
    `[batch, k]`. A query has the same neighbors alone and in any batch. Half precision becomes float32.

    Raises:
      ValueError: an option is out of range; there are no references when the layer is called, or fewer than k;
        embeddings are not `[n, d]`, empty or not finite; labels are not `[n]` or outside 0 to `num_classes - 1`; new
        references have another shape than the ones before; or batches are not pairs of inputs and labels.
      TypeError: an argument has another type, labels are not integers, or embeddings are not floating-point.

    Cost: that of `ops.nearest_neighbors`. Not intended as an index for many millions of references.

    Example:
      >>> head = ks.KNNClassifier(k=3)
      >>> head.set_references(tf.constant([[0.0], [1.0], [2.0], [9.0]]), [0, 0, 1, 1])
      >>> (3 * head(tf.constant([[1.6]]))["probabilities"].numpy()).round().tolist()
      [[2.0, 1.0]]
    """

    # Known with the references.
    num_classes: Any
    num_references: Any
    dimension: Any

    def __init__(
        self,
        k: int,
        *,
        num_classes: int | None = None,
        votes: str = "count",
        distance: str = "squared_euclidean",
        block_size: int = 8192,
        approximate: bool = False,
        num_references: int | None = None,
        dimension: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._keep_options(
            k=arguments.positive_integer("k", k),
            num_classes=arguments.optional_positive_integer("num_classes", num_classes),
            block_size=arguments.positive_integer("block_size", block_size),
            approximate=arguments.boolean("approximate", approximate),
            votes=arguments.one_of("votes", votes, VOTES),
            distance=arguments.one_of("distance", distance, DISTANCES),
            num_references=None,
            dimension=None,
        )
        if votes == "distance" and distance == "dot":
            raise ValueError("votes must be 'count' with distance='dot', which may be negative, got 'distance'")
        if num_references is not None or dimension is not None:
            self._add_references(num_references, dimension)

    def set_references(self, embeddings: Any, labels: Any = None) -> None:
        """Set the references: `embeddings` [n, d] and integer `labels` [n]. Later ones must have the same shapes.

        Labels are required. An index of items without classes has zeros as labels, and `"neighbors"` as its output.
        """
        self._set([checked_embeddings(embeddings)], labels)

    def adapt(
        self, data: Any, labels: Any = None, encoder: Callable[..., Any] | None = None, batch_size: int = 1024
    ) -> None:
        """Set the references from arrays or batches, optionally through an encoder, a batch at a time.

        Inputs are read once. Only the embeddings stay in memory, up to twice while they become weights.

        Args:
          data: inputs `[n, ...]` with `labels`, a tuple of the two, or batches of (inputs, labels): a batched
            `tf.data.Dataset` or another iterable.
          labels: integers `[n]`, if `data` holds only inputs.
          encoder: model or function from inputs to embeddings `[batch, d]`, called with `training=False`; None takes
            the inputs.
          batch_size: number of inputs per call of the encoder, if `data` is not batched.
        """
        batches = reference_batches(data, labels, arguments.positive_integer("batch_size", batch_size))
        embeddings, classes = [], []
        for inputs, own in batches:
            made = inputs if encoder is None else encoder(inputs, training=False)
            known = np.asarray(own)
            if known.ndim != 1 or len(known) != len(made):
                raise ValueError(
                    f"each batch must hold as many labels [batch] as inputs, got shapes {known.shape} and "
                    f"{tuple(np.shape(made))}; call dataset.batch if the dataset has no batches"
                )
            embeddings.append(checked_embeddings(made))
            classes.append(known)
        if not embeddings:
            raise ValueError("data must hold at least one batch, got none")
        self._set(embeddings, np.concatenate(classes))

    def build(self, input_shape: Any) -> None:
        """Check the input and that there are references."""
        if self.num_references is None:
            raise ValueError(f"{self.name}: call set_references or adapt first: there are no references")
        shape = tuple(known_shape(input_shape))
        if len(shape) != 2 or shape[1] not in (None, self.dimension):
            raise ValueError(f"{self.name}: embeddings must have shape [batch, {self.dimension}], got {shape}")
        self.built = True

    def call(self, embeddings: Any) -> dict[str, tf.Tensor]:
        """Map [batch, d] to probabilities, neighbors and distances."""
        queries = arguments.floating_tensor("embeddings", embeddings)
        references = tf.convert_to_tensor(self.references)
        queries = tf.cast(queries, references.dtype)
        options = self._options("distance", "block_size", "approximate")
        neighbors, distances = ops.nearest_neighbors(queries, references, self.k, **options)
        shares = ops.neighbor_votes(self.labels, neighbors, distances, self.num_classes, votes=self.votes)
        return {"probabilities": shares, "neighbors": neighbors, "distances": distances}

    def compute_output_shape(self, input_shape: Any) -> dict[str, Any]:
        """The shapes of the outputs, by name."""
        sizes = {"probabilities": self.num_classes, "neighbors": self.k, "distances": self.k}
        return {name: layer_shape((input_shape[0], size)) for name, size in sizes.items()}

    def compute_output_spec(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """The shapes and dtypes for Keras 3: neighbors are integers, the rest has the dtype of the references."""
        real = keras.backend.standardize_dtype(self.references.dtype)
        dtypes = {"probabilities": real, "neighbors": "int32", "distances": real}
        shapes = self.compute_output_shape(inputs.shape)
        return {name: keras.KerasTensor(shape, dtypes[name]) for name, shape in shapes.items()}

    def _set(self, embeddings: list[np.ndarray], labels: Any) -> None:
        """Set the references from `labels` and from parts of the embeddings, which are forgotten one by one."""
        count, dimension = sum(map(len, embeddings)), embeddings[0].shape[1]
        odd = next((each.shape for each in embeddings if each.shape[1] != dimension), None)
        if odd is not None:
            raise ValueError(f"embeddings must have shape [n, {dimension}] as those before, got {odd}")
        checked, num_classes = checked_labels(labels, count, self.num_classes)
        if self.num_references is None:
            self.num_classes = num_classes
            self._add_references(count, dimension)
        elif (count, dimension) != (self.num_references, self.dimension):
            raise ValueError(
                f"embeddings must have the shape of the references before, {(self.num_references, self.dimension)}, "
                f"got {(count, dimension)}; make a new layer for others"
            )
        assign_parts(self.references, embeddings)
        self.labels.assign(checked.astype("int32"))

    def _add_references(self, num_references: Any, dimension: Any) -> None:
        count = arguments.positive_integer("num_references", num_references)
        dimension = arguments.positive_integer("dimension", dimension)
        if self.k > count:
            raise ValueError(f"k must be at most the number of references, {count}, got {self.k}")
        if self.num_classes is None:
            raise ValueError("num_classes must be given with num_references, got None")
        dtype, fixed = compute_dtype(tf.as_dtype(self.compute_dtype)).name, {"initializer": "zeros", "trainable": False}
        self.references = self.add_weight(name="references", shape=(count, dimension), dtype=dtype, **fixed, **NO_CAST)
        self.labels = self.add_weight(name="labels", shape=(count,), dtype="int32", **fixed)
        self.num_references, self.dimension = count, dimension
