"""What the operators of soft permutations share: products by the engine, with masks as the dense matrix has them."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort.ops.sorting import _dispatch
from keras_softsort.ops.sorting._arguments import SortArguments, sort_arguments


class SoftPermutation(tf.linalg.LinearOperator):
    """A `[..., n, n]` operator of `scores` `[..., n]`: `matmul` sorts values softly, its adjoint puts them back."""

    def __init__(
        self, scores: Any, tau: Any, *, mask: Any, direction: str, eps: float | None, parameters: dict, name: str
    ) -> None:
        with tf.name_scope(name):
            self._scores, self._tau = _reference(scores), _reference(tau)
            self._mask, self._direction = mask, direction
            self._eps = None if eps is None else arguments.positive_number("eps", eps)
            problem = self._problem()
        super().__init__(dtype=problem.scores.dtype, is_square=True, parameters=parameters, name=name)

    @property
    def scores(self) -> Any:
        """What is sorted: `[..., n]`."""
        return self._scores

    @property
    def tau(self) -> Any:
        """The temperature."""
        return self._tau

    @property
    def mask(self) -> Any:
        """Which items are kept: bool `[..., n]`, or None."""
        return self._mask

    @property
    def direction(self) -> str:
        """`"DESCENDING"` or `"ASCENDING"`."""
        return self._direction

    @property
    def eps(self) -> float | None:
        """How much of a row's weight may be left out; None for what the dtype rounds away."""
        return self._eps

    def _method(self) -> dict[str, Any]:
        """The arguments of `sort_arguments` that say what the operator is."""
        raise NotImplementedError

    def _problem(self) -> SortArguments:
        tau = tf.convert_to_tensor(self._tau) if isinstance(self._tau, tf.Variable) else self._tau
        return sort_arguments(self._scores, tau, mask=self._mask, direction=self._direction, **self._method())

    def _shape(self) -> tf.TensorShape:
        shape = tf.TensorShape(self._scores.shape)
        return shape.concatenate(shape[-1:])

    def _shape_tensor(self) -> tf.Tensor:
        shape = tf.shape(self._scores)
        return tf.concat([shape, shape[-1:]], axis=0)

    def _to_dense(self) -> tf.Tensor:
        return _dispatch.permutation(self._problem())

    def _matmul(self, x: tf.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> tf.Tensor:
        x = tf.linalg.adjoint(x) if adjoint_arg else x
        problem = self._problem()
        leading = tf.broadcast_dynamic_shape(tf.shape(x)[:-2], tf.shape(problem.scores)[:-1])
        known = tf.broadcast_static_shape(x.shape[:-2], problem.scores.shape[:-1])

        def spread(tensor: tf.Tensor, inner: int) -> tf.Tensor:
            own = tf.shape(tensor)[-inner:]
            return tf.ensure_shape(
                tf.broadcast_to(tensor, tf.concat([leading, own], axis=0)), known.concatenate(tensor.shape[-inner:])
            )

        mask = None if problem.mask is None else spread(problem.mask, 1)
        problem = problem._replace(scores=spread(problem.scores, 1), mask=mask)
        product = _dispatch.multiply_transposed if adjoint else _dispatch.multiply
        result = product(problem, spread(x, 2), eps=self._eps)
        return result if mask is None else result + _of_masked(spread(x, 2), mask, adjoint)


def _of_masked(x: tf.Tensor, mask: tf.Tensor, adjoint: bool) -> tf.Tensor:
    """What masked ranks make of masked items, over which they spread evenly, or the other way round."""
    count = tf.reduce_sum(tf.cast(mask, tf.int32), axis=-1, keepdims=True)
    masked_ranks = tf.range(tf.shape(mask)[-1]) >= count
    source, target = (masked_ranks, ~mask) if adjoint else (~mask, masked_ranks)
    kept = tf.where(source[..., tf.newaxis], x, tf.zeros_like(x))
    size = tf.cast(tf.reduce_sum(tf.cast(source, tf.int32), axis=-1), x.dtype)[..., tf.newaxis, tf.newaxis]
    mean = tf.math.divide_no_nan(tf.reduce_sum(kept, axis=-2, keepdims=True), size)
    return tf.where(target[..., tf.newaxis], mean, tf.zeros_like(mean))


def _reference(value: Any) -> Any:
    """A variable as it is, to be read at each product; anything else as it came or as a tensor."""
    return value if isinstance(value, (tf.Variable, int, float)) else tf.convert_to_tensor(value)
