"""Differentiable k nearest neighbors as a Keras layer."""

from __future__ import annotations

import reprlib
from typing import Any

import tensorflow as tf

from keras_softsort import ops
from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort._keras.compat import layer_shape
from keras_softsort.layers._base import TemperatureLayer
from keras_softsort.layers._noise_state import add_noise_state, next_seed
from keras_softsort.ops.neighbors.embeddings import check_embedding_shapes
from keras_softsort.ops.neighbors.soft_neighbors import checked_search


@export
class DkNNLayer(TemperatureLayer):
    """Map queries and candidates to the soft membership of each candidate in the k nearest neighbors of each query.

    Use it to look up examples inside a model. The formula, edge cases, errors, cost and source are those of
    `ops.soft_neighbor_membership`.

    Args:
      k, method, power, scale, distance: as in `ops.soft_neighbor_membership`.
      tau: initial temperature in units of `method`; see `TemperatureLayer` and `ops.soft_neighbor_membership`.
      stochastic: whether to return, during training, the mean over relaxed Plackett-Luce samples, for which Gumbel
        noise is added to the negative distances.
      num_samples: number of samples per query, if `stochastic`.
      seed: integer or None, if `stochastic`; see `TemperatureLayer`.
      **kwargs: `learn_tau`, and the arguments of `keras.layers.Layer`.

    Input: the list `[queries, candidates]`, `[batch, q, d]` and `[batch, c, d]`. Masks, from Keras or the caller, are a
    list of two: bool `[batch, q]` and `[batch, c]`, True for valid items, or None.

    Output: `[batch, q, c]`, with the mask of the queries. A masked candidate gets 0.

    Example:
      >>> queries, candidates = tf.constant([[[0.1], [2.9]]]), tf.constant([[[0.0], [1.0], [2.0], [3.0]]])
      >>> ks.DkNNLayer(k=2, tau=0.01)([queries, candidates]).numpy().round(3).tolist()
      [[[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]]]
    """

    num_inputs = 2

    def __init__(
        self,
        k: int,
        tau: float = 1.0,
        *,
        method: str = "neural_sort",
        power: float = 1.0,
        scale: str | None = None,
        stochastic: bool = False,
        num_samples: int = 5,
        distance: str = "squared_euclidean",
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(tau, **kwargs)
        self._keep_options(
            **checked_search(k=k, distance=distance, method=method, power=power, scale=scale),
            stochastic=arguments.boolean("stochastic", stochastic),
            num_samples=arguments.positive_integer("num_samples", num_samples),
            seed=arguments.optional_integer("seed", seed),
        )
        self._noise_state = add_noise_state(self, self.seed) if self.stochastic else None

    def build(self, input_shape: Any) -> None:
        """Check that the input is queries and more than k candidates."""
        shapes = self.split_shape(input_shape)
        if len(shapes) != 2 or not all(isinstance(shape, tuple) and len(shape) == 3 for shape in shapes):
            raise ValueError(
                f"{self.name}: the input must be queries [batch, q, d] and candidates [batch, c, d], got {input_shape}"
            )
        queries, candidates = shapes
        check_embedding_shapes(queries, candidates, self.k)
        self.built = True

    def call(self, inputs: Any, mask: Any = None, training: Any = None) -> tf.Tensor:
        """Map [batch, q, d] and [batch, c, d] to [batch, q, c]."""
        (queries, candidates), tau, mask = self.split_inputs(inputs, mask)
        if mask is not None and not (isinstance(mask, list) and len(mask) == 2):
            raise ValueError(f"mask must be a list of the masks of queries and candidates, got {reprlib.repr(mask)}")
        options = self._options("distance", "method", "power", "scale")
        options["mask"] = None if mask is None else mask[1]
        if training and self.stochastic:
            options.update(num_samples=self.num_samples, seed=next_seed(self._noise_state))
        # All queries of an example share its temperature.
        tau = tau[:, tf.newaxis] if len(tau.shape) else tau
        return ops.soft_neighbor_membership(queries, candidates, self.k, tau, **options)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """`[batch, q, c]`."""
        queries, candidates = self.split_shape(input_shape)
        return layer_shape((queries[0], queries[1], candidates[1]))

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """The mask of the queries."""
        return None if mask is None else mask[0]
