"""Differentiable k nearest neighbors as a Keras layer."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort import ops
from keras_softsort._internal import arguments
from keras_softsort._internal.keras_compat import register
from keras_softsort.layers._base import TemperatureLayer
from keras_softsort.layers._noise_state import add_noise_state, checked_seed, next_seed
from keras_softsort.ops.neighbors._distances import DISTANCES
from keras_softsort.ops.neighbors._shapes import check_embedding_shapes
from keras_softsort.ops.sorting._methods import registry


@register
class DkNNLayer(TemperatureLayer):
    """Maps queries and candidates to soft k-nearest-neighbor memberships.

    `m_ij` is the sum of the first k rows of the soft permutation that sorts the candidates j of query i by distance,
    the nearest first. It sums to k over candidates. As `tau` goes to 0 it goes to 1 for the k nearest and to 0 for the
    others. See `ops.soft_neighbor_membership`.

    Args:
      k: number of neighbors, below the number of candidates.
      tau: initial temperature of `method`, positive. Its unit is that of the logits: for NeuralSort distances times the
        number of candidates, for SoftSort distances. See `TemperatureLayer` for `layer.tau`, `learn_tau` and a
        temperature per example.
      method: `"neural_sort"` or `"soft_sort"`.
      power: exponent of SoftSort's distance of scores.
      stochastic: in training, return the mean over relaxed Plackett-Luce samples: Gumbel noise is added to the negative
        distances. In inference there is no noise, and an exported model draws nothing.
      num_samples: number of samples of `stochastic`. Each query has its own.
      distance: `"squared_euclidean"`, `"euclidean"`, `"cityblock"`, `"cosine"` or `"dot"`, as in `DkNNLoss`.
      seed: integer seed of `stochastic` for reproducible noise. None draws one from Python's generator (see
        `keras.utils.set_random_seed`).
      **kwargs: the arguments of a Keras layer.

    Input: the list `[queries, candidates]`, `[batch, q, d]` and `[batch, c, d]`. Output: `[batch, q, c]`.

    Masks: a list of two bool masks `[batch, q]` and `[batch, c]` (True = valid), or None for one or both; passed in the
    call or by Keras. A masked candidate holds 0 and changes nothing. Where fewer than k are valid, the sum is their
    number. The mask of the queries is that of the output. Equally distant candidates share ranks evenly. A query with
    an embedding that is not finite, its own or a valid candidate's, gets NaN.

    Raises:
      ValueError: `k` or `num_samples` < 1, `tau` <= 0, unknown `method` or `distance`, input that is not two tensors of
        embeddings with the same batch and d, no more than k candidates, masks of other shapes.
      TypeError: an argument of another type, integer embeddings, masks that are not bool.
      InvalidArgumentError: no more than k candidates where their number was not known when traced.

    Cost: O(q c (d + k + log c)) time and O(k q c) memory per sample.

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
        power: float = 1.0,
        stochastic: bool = False,
        num_samples: int = 5,
        distance: str = "squared_euclidean",
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(tau, **kwargs)
        self.k = arguments.positive_integer("k", k)
        self.method = registry.checked_method(method)
        self.power = registry.checked_power(power, method)
        self.stochastic = arguments.boolean("stochastic", stochastic)
        self.num_samples = arguments.positive_integer("num_samples", num_samples)
        self.distance = arguments.one_of("distance", distance, DISTANCES)
        self.seed = checked_seed(seed)
        self._noise_state = add_noise_state(self, self.seed) if self.stochastic else None

    def build(self, input_shape: Any) -> None:
        """Check that there are queries and candidates, more than k of them."""
        shapes = self.split_shape(input_shape)
        if len(shapes) != 2 or not all(isinstance(shape, tuple) and len(shape) == 3 for shape in shapes):
            raise ValueError(
                f"{self.name}: the input must be queries [batch, q, d] and candidates [batch, c, d], got {input_shape}"
            )
        queries, candidates = shapes
        check_embedding_shapes(queries, candidates, self.k)
        self.built = True

    def call(self, inputs: Any, mask: Any = None, training: Any = None) -> tf.Tensor:
        """[batch, q, d] and [batch, c, d] to [batch, q, c]."""
        (queries, candidates), tau, mask = self.split_inputs(inputs, mask)
        samples = {}
        if training and self.stochastic:
            samples = {"num_samples": self.num_samples, "seed": next_seed(self._noise_state)}
        return ops.soft_neighbor_membership(
            queries,
            candidates,
            self.k,
            # A temperature per example is one for all of its queries.
            tau[:, tf.newaxis] if len(tau.shape) else tau,
            mask=None if mask is None else mask[1],
            distance=self.distance,
            method=self.method,
            power=self.power,
            **samples,
        )

    def compute_output_shape(self, input_shape: Any) -> tuple[int | None, ...]:
        """`[batch, q, c]`."""
        queries, candidates = self.split_shape(input_shape)
        return queries[0], queries[1], candidates[1]

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """The mask of the queries."""
        return None if mask is None else mask[0]

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        own = ("k", "method", "power", "stochastic", "num_samples", "distance", "seed")
        return {**super().get_config(), **{name: getattr(self, name) for name in own}}
