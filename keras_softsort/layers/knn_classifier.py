"""k nearest neighbours as a Keras layer that is saved and exported with its references."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.keras_compat import IS_KERAS_3, keras, register
from keras_softsort.ops._core import validation
from keras_softsort.ops._core.dtypes import compute_dtype
from keras_softsort.ops.neighbors._distances import DISTANCES
from keras_softsort.ops.neighbors._exact import nearest_references

VOTES = ("count", "distance")


@register
class KNNClassifier(keras.layers.Layer):
    """Embeddings to the classes of their k nearest references, which the layer holds as weights.

    `p(class) = sum_j w_j [y_j = class] / sum_j w_j` over the k nearest references j, with w_j = 1 or 1 / distance.
    The references are given by `set_references(embeddings, labels)`, or by `adapt(dataset, encoder)`; until then the
    layer cannot be called. They are not trained.

    Args:
      k: how many neighbours, at most the number of references.
      num_classes: of the labels, 0 to `num_classes - 1`; `None` takes it from the first references.
      votes: `"count"`, or `"distance"`: each neighbour weighs 1 / distance; where some are at distance 0, they alone
        vote. Not with `distance="dot"`, which may be negative.
      distance: `"squared_euclidean"`, `"euclidean"`, `"cosine"` or `"dot"`, as in `DkNNLoss`; distances are given out
        so, and weigh so.
      block_size: how many references are looked at together.
      approximate: find neighbours by `tf.math.approx_max_k` in each block, which on TPUs is faster and finds 95% of
        them; elsewhere it falls back on exact ones.
      num_references, dimension: sizes of the references, which a saved layer gives to the loaded one: `None` where
        they are to be set.
      **kwargs: those of a Keras layer.

    Input: embeddings `[batch, d]`. Output: a dict of `"probabilities"` `[batch, num_classes]`, `"neighbors"` int32
    `[batch, k]`, the ids of the references from 0 in the order in which they were given, the nearest first, and
    `"distances"` `[batch, k]`. References at equal distances stand by their ids. Distances of the k are computed from
    differences; which they are, from products, so that near the k-th place the rounding of the dtype decides. An
    embedding that is not a number has NaN probabilities and distances. Half precision is computed, and put out, in
    float32, and so are the references kept.

    Methods: `set_references(embeddings, labels)`: arrays or tensors `[n, d]` and integer labels `[n]`.
    `adapt(dataset, encoder=None)`: batches of inputs and labels, as of a `tf.data.Dataset`, and what makes embeddings
    of inputs (`None`: they are embeddings). References may be set anew, as many and of the size as before.

    Raises:
      ValueError: `k`, `num_classes` or `block_size` < 1, unknown `votes` or `distance`, `votes="distance"` with
        `distance="dot"`; no references when called, or fewer than k; embeddings that are not `[n, d]` or not finite,
        no embeddings, labels that are not `[n]` or not in 0 to `num_classes - 1`, references of another number or size
        than before; input that is not `[batch, d]`.
      TypeError: an argument of another type, labels that are not integers, embeddings that are not floating-point.

    Cost: with n references O(n d) time a query, as one matrix product a block; memory of `batch * (k + block_size)`
    distances and `batch * k * d` embeddings beside the references. As an index for millions it is not meant.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> head = ks.KNNClassifier(k=3)
    >>> head.set_references(tf.constant([[0.0], [1.0], [2.0], [9.0]]), [0, 0, 1, 1])
    >>> found = head(tf.constant([[1.6]]))
    >>> found["neighbors"].numpy().tolist(), found["probabilities"].numpy().round(3)
    ([[2, 1, 0]], array([[0.667, 0.333]], dtype=float32))

    Source: T. Cover, P. Hart, "Nearest Neighbor Pattern Classification", IEEE Transactions on Information Theory 13,
    1967; weights: S. Dudani, "The Distance-Weighted k-Nearest-Neighbor Rule", IEEE Transactions on Systems, Man, and
    Cybernetics 6, 1976.
    """

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
        self.k = arguments.positive_integer("k", k)
        self.num_classes = None if num_classes is None else arguments.positive_integer("num_classes", num_classes)
        self.votes = arguments.one_of("votes", votes, VOTES)
        self.distance = arguments.one_of("distance", distance, DISTANCES)
        if votes == "distance" and distance == "dot":
            raise ValueError("votes must be 'count' with distance='dot', which may be negative, got 'distance'")
        self.block_size = arguments.positive_integer("block_size", block_size)
        self.approximate = arguments.boolean("approximate", approximate)
        self.num_references: int | None = None
        self.dimension: int | None = None
        if num_references is not None or dimension is not None:
            self._add_references(num_references, dimension)

    def set_references(self, embeddings: Any, labels: Any) -> None:
        """Keep `embeddings` [n, d] with `labels` [n]."""
        embeddings = np.asarray(validation.floating_tensor("embeddings", embeddings))
        if embeddings.ndim != 2 or 0 in embeddings.shape:
            raise ValueError(f"embeddings must have shape [n, d], with n and d above 0, got {embeddings.shape}")
        broken = np.flatnonzero(~np.isfinite(embeddings.astype("float64")).all(axis=1))
        if broken.size:
            raise ValueError(f"embeddings must be finite, got {broken.size} that are not, the first at {broken[0]}")
        labels = self._checked_labels(labels, len(embeddings))
        if self.num_references is None:
            self.num_classes = self.num_classes or int(labels.max()) + 1
            self._add_references(*embeddings.shape)
        elif embeddings.shape != (self.num_references, self.dimension):
            raise ValueError(
                f"embeddings must have the shape of the references before, {(self.num_references, self.dimension)}, "
                f"got {embeddings.shape}; make a new layer for others"
            )
        self.references.assign(embeddings.astype(tf.as_dtype(self.references.dtype).as_numpy_dtype))
        self.labels.assign(labels.astype("int32"))

    def adapt(self, dataset: Iterable[tuple[Any, Any]], encoder: Callable[..., Any] | None = None) -> None:
        """Keep what `encoder` makes of the inputs of `dataset`, batches of inputs and labels, with the labels."""
        embeddings, labels = [], []
        for inputs, own in dataset:
            embeddings.append(np.asarray(inputs if encoder is None else encoder(inputs, training=False)))
            labels.append(np.asarray(own))
        if not embeddings:
            raise ValueError("dataset must hold a batch, got none")
        self.set_references(np.concatenate(embeddings), np.concatenate(labels))

    def build(self, input_shape: Any) -> None:
        """Check the input and that there are references."""
        if self.num_references is None:
            raise ValueError(f"{self.name}: call set_references or adapt first: there are no references")
        if len(input_shape) != 2 or input_shape[1] not in (None, self.dimension):
            raise ValueError(
                f"{self.name}: embeddings must have shape [batch, {self.dimension}], got {tuple(input_shape)}"
            )
        self.built = True

    def call(self, embeddings: Any) -> dict[str, tf.Tensor]:
        """[batch, d] to probabilities, neighbours and distances."""
        queries = validation.floating_tensor("embeddings", embeddings)
        references = tf.convert_to_tensor(self.references)
        queries = tf.cast(queries, references.dtype)
        ids, distances = nearest_references(
            queries, references, self.k, self.distance, block_size=self.block_size, approximate=self.approximate
        )
        classes = tf.gather(tf.convert_to_tensor(self.labels), ids)
        voices = self._voices(distances)[..., tf.newaxis] * tf.one_hot(classes, self.num_classes, dtype=distances.dtype)
        return {"probabilities": tf.reduce_sum(voices, axis=1), "neighbors": ids, "distances": distances}

    def compute_output_shape(self, input_shape: Any) -> dict[str, tuple[int | None, ...]]:
        """`[batch, num_classes]` and twice `[batch, k]`."""
        batch = input_shape[0]
        return {"probabilities": (batch, self.num_classes), "neighbors": (batch, self.k), "distances": (batch, self.k)}

    def compute_output_spec(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """The same with dtypes, for Keras 3: neighbors are integers, and the rest is of the references' dtype."""
        real = keras.backend.standardize_dtype(self.references.dtype)
        dtypes = {"probabilities": real, "neighbors": "int32", "distances": real}
        shapes = self.compute_output_shape(inputs.shape)
        return {name: keras.KerasTensor(shape, dtypes[name]) for name, shape in shapes.items()}

    def _voices(self, distances: tf.Tensor) -> tf.Tensor:
        """What each neighbour [batch, k] has of the vote; NaN where a distance is."""
        if self.votes == "count":
            unknown = tf.reduce_any(tf.math.is_nan(distances), axis=-1, keepdims=True)
            share = tf.constant(1 / self.k, distances.dtype)
            return tf.where(unknown, tf.constant(np.nan, distances.dtype), tf.fill(tf.shape(distances), share))
        # Relative to the nearest, so that nothing overflows.
        nearest = tf.reduce_min(distances, axis=-1, keepdims=True)
        at_zero = tf.equal(distances, 0)
        ratios = nearest / tf.where(at_zero, tf.ones_like(distances), distances)
        ratios = tf.where(at_zero, tf.ones_like(ratios), ratios)
        return ratios / tf.reduce_sum(ratios, axis=-1, keepdims=True)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments, with the sizes of the references."""
        own = ("k", "num_classes", "votes", "distance", "block_size", "approximate", "num_references", "dimension")
        return {**super().get_config(), **{name: getattr(self, name) for name in own}}

    def _checked_labels(self, labels: Any, count: int) -> np.ndarray:
        labels = np.asarray(labels)
        if labels.dtype.kind not in "iu":
            raise TypeError(f"labels must be integers, got dtype {labels.dtype}")
        if labels.shape != (count,):
            raise ValueError(f"labels must have shape [n] = ({count},), one an embedding, got {labels.shape}")
        if labels.min() < 0 or labels.max() >= (self.num_classes or np.inf):
            most = "" if self.num_classes is None else f" and below num_classes = {self.num_classes}"
            raise ValueError(f"labels must be at least 0{most}, got {labels.min()} to {labels.max()}")
        return labels

    def _add_references(self, num_references: Any, dimension: Any) -> None:
        """Weights for them, of sizes that stay."""
        count = arguments.positive_integer("num_references", num_references)
        dimension = arguments.positive_integer("dimension", dimension)
        if self.k > count:
            raise ValueError(f"k must be at most the number of references, {count}, got {self.k}")
        if self.num_classes is None:
            raise ValueError("num_classes must be given with num_references, got None")
        no_cast = {"autocast": False} if IS_KERAS_3 else {"experimental_autocast": False}
        self.references = self.add_weight(
            name="references",
            shape=(count, dimension),
            dtype=compute_dtype(tf.as_dtype(self.compute_dtype)).name,
            initializer="zeros",
            trainable=False,
            **no_cast,
        )
        self.labels = self.add_weight(
            name="labels", shape=(count,), dtype="int32", initializer="zeros", trainable=False
        )
        self.num_references, self.dimension = count, dimension
