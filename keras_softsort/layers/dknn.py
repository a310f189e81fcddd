"""Differentiable k nearest neighbours as a Keras layer."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.keras_compat import register
from keras_softsort.layers._base import TemperatureLayer
from keras_softsort.layers._noise_state import add_noise_state, checked_seed, next_seed
from keras_softsort.ops._core import validation
from keras_softsort.ops._core.dtypes import compute_dtype
from keras_softsort.ops.neighbors._distances import DISTANCES, pairwise_distances
from keras_softsort.ops.neighbors._soft import membership, neighbor_arguments
from keras_softsort.ops.sorting._methods import registry


@register
class DkNNLayer(TemperatureLayer):
    """Queries and candidates to how much of each query's k soft nearest neighbours every candidate is.

    `m_ij` is the sum over the first k rows of the soft permutation that sorts the candidates j of query i by distance,
    the nearest first. It sums to k, and goes to 1 for the k nearest and 0 for the others as `tau` goes to 0.

    Args:
      k: how many neighbours, fewer than there are candidates.
      tau: initial temperature of `method`, positive, in units of its logits: for NeuralSort distances times the number
        of candidates, for SoftSort distances. Kept as the weight `layer.tau`, which is not trained; `TauSchedule`
        anneals it.
      method: `"neural_sort"` or `"soft_sort"` (with power 1).
      stochastic: in training, put out the mean over relaxed Plackett-Luce samples: distances less Gumbel noise are
        sorted, with the same temperature. In inference there is no noise, and an exported model draws nothing.
      num_samples: of `stochastic`. Each query has its own.
      distance: `"squared_euclidean"`, `"euclidean"`, `"cosine"` or `"dot"`, as in `DkNNLoss`.
      seed: of `stochastic`, an integer for noise that can be had again; None draws one, which
        `keras.utils.set_random_seed` fixes.
      **kwargs: those of a Keras layer.

    Input: the list `[queries, candidates]`, `[batch, q, d]` and `[batch, c, d]`. Output: `[batch, q, c]`.

    Masks: the list of two bool masks `[batch, q]` and `[batch, c]` (True = keep) or `None`, given or from Keras. A
    masked candidate holds 0 and changes nothing; where fewer than k are kept, the sum is their number. The queries'
    mask is handed on. Equally far candidates share evenly. An embedding that is not finite makes its query's
    memberships NaN, or those of all its queries if it is a candidate.

    Raises:
      ValueError: `k` or `num_samples` < 1, `tau` <= 0, unknown `method` or `distance`, input that is not two such
        embeddings of the same batch and d, no more than k candidates, masks of other shapes.
      TypeError: an argument of another type, integer embeddings, masks that are not bool.
      InvalidArgumentError: no more than k candidates where their number was not known when traced.

    Cost: O(q c (d + k + log c)) time and O(k q c) memory a sample.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> queries, candidates = tf.constant([[[0.1], [2.9]]]), tf.constant([[[0.0], [1.0], [2.0], [3.0]]])
    >>> ks.DkNNLayer(k=2, tau=0.01)([queries, candidates]).numpy().round(3).tolist()
    [[[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]]]

    Source: as for `DkNNLoss`.
    """

    num_inputs = 2

    def __init__(
        self,
        k: int,
        tau: float = 1.0,
        *,
        method: str = "neural_sort",
        stochastic: bool = False,
        num_samples: int = 5,
        distance: str = "squared_euclidean",
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(tau, **kwargs)
        self.k = arguments.positive_integer("k", k)
        self.method = registry.checked_method(method)
        self.stochastic = arguments.boolean("stochastic", stochastic)
        self.num_samples = arguments.positive_integer("num_samples", num_samples)
        self.distance = arguments.one_of("distance", distance, DISTANCES)
        self.seed = checked_seed(seed)
        self._noise_state = add_noise_state(self, self.seed) if self.stochastic else None

    def build(self, input_shape: Any) -> None:
        """Check that there are queries and candidates."""
        shapes: list[Any] = [()]
        if len(input_shape) in (2, 3):
            shapes = list(self.split_shape(input_shape))
        if any(len(shape) != 3 for shape in shapes) or not _compatible(*shapes):
            raise ValueError(
                f"{self.name}: the input must be queries [batch, q, d] and candidates [batch, c, d], got {input_shape}"
            )
        if shapes[1][1] is not None and shapes[1][1] <= self.k:
            raise ValueError(f"{self.name}: k must be below the number of candidates, {shapes[1][1]}, got {self.k}")
        self.built = True

    def call(self, inputs: Any, mask: Any = None, training: Any = None) -> tf.Tensor:
        """[batch, q, d] and [batch, c, d] to [batch, q, c]."""
        embeddings, tau, mask = self.split_inputs(inputs, mask)
        queries, candidates = (validation.floating_tensor("embeddings", each) for each in embeddings)
        dtype = queries.dtype
        candidates = _more_than(self.k, tf.cast(candidates, compute_dtype(dtype)))
        kept = None if mask is None else validation.list_mask(mask[1], candidates[..., 0], masked="candidates")
        if kept is not None:
            candidates = tf.where(kept[..., tf.newaxis], candidates, tf.zeros_like(candidates))
        distances = pairwise_distances(tf.cast(queries, candidates.dtype), candidates, self.distance)
        if kept is not None:
            kept = tf.broadcast_to(kept[:, tf.newaxis], tf.shape(distances))
        samples = {}
        if training and self.stochastic:
            samples = {"num_samples": self.num_samples, "seed": next_seed(self._noise_state)}
        problem = neighbor_arguments(distances, kept, _per_query(tau), self.method, **samples)
        return tf.cast(membership(problem, self.k), dtype)

    def compute_output_shape(self, input_shape: Any) -> tuple[int | None, ...]:
        """`[batch, q, c]`."""
        queries, candidates = self.split_shape(input_shape)
        return queries[0], queries[1], candidates[1]

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """That of the queries."""
        return None if mask is None else mask[0]

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        own = ("k", "method", "stochastic", "num_samples", "distance", "seed")
        return {**super().get_config(), **{name: getattr(self, name) for name in own}}


def _per_query(tau: Any) -> Any:
    """A temperature per example `[batch]` as one for lists [batch, q]."""
    return tau[:, tf.newaxis] if len(tau.shape) else tau


def _compatible(queries: tuple, candidates: tuple) -> bool:
    """Whether batch and d may be the same."""
    return all(None in pair or pair[0] == pair[1] for pair in zip(queries[::2], candidates[::2], strict=True))


def _more_than(k: int, candidates: tf.Tensor) -> tf.Tensor:
    """`candidates` [batch, c, d], checked for c > k: when traced if it is known, else when run."""
    known = candidates.shape[1]
    size, limit = (tf.shape(candidates)[1], "") if known is None else (known, f", {known}")
    return validation.checked(candidates, size > k, f"k must be below the number of candidates{limit}, got {k}")
