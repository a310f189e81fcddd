"""Soft permutations and their products, by the algorithm that suits the method and the list size.

The matrix itself is dense. On long lists products do not form it. Results that a method computes without a matrix, such
as ranks, come from the method. Lists are flattened and sorted first, and get their leading axes and dtype back at the
end.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from keras_softsort.ops._core.gradients import straight_through
from keras_softsort.ops._core.lists import flatten_lists, take
from keras_softsort.ops._core.thresholds import is_at_least
from keras_softsort.ops.sorting._arguments import SortArguments
from keras_softsort.ops.sorting._dense.soft_rows import Ranks
from keras_softsort.ops.sorting._matrix_free import products
from keras_softsort.ops.sorting._methods import dense, registry
from keras_softsort.ops.sorting._ordering import OrderedLists, ordered_lists

Product = Callable[[OrderedLists, tf.Tensor], tf.Tensor]


def permutation(args: SortArguments, top_k: int | None = None, hard: bool = False) -> tf.Tensor:
    """The matrix [..., n or top_k, n] in the dtype of the scores; with `hard` the exact one with the same gradient."""
    if _has_no_items(args):
        return _no_items(args, args.scores[..., tf.newaxis, :])
    lists = _ordered(args)
    ranks = _leading_ranks(lists, top_k)
    soft = dense.matrix(registry.get(args.method), lists, ranks, args.power)
    return _finish(straight_through(_hard_rows(lists, ranks), soft) if hard else soft, args)


def log_permutation(args: SortArguments, top_k: int | None = None) -> tf.Tensor:
    """The logarithms of `permutation`, finite if its weights underflow, and -inf where masked."""
    if _has_no_items(args):
        return _no_items(args, args.scores[..., tf.newaxis, :])
    lists = _ordered(args)
    result = dense.log_matrix(registry.get(args.method), lists, _leading_ranks(lists, top_k), args.power)
    return _finish(result, args)


def multiply(
    args: SortArguments,
    values: tf.Tensor,
    rows: tf.Tensor | None = None,
    top_k: int | None = None,
    hard: bool = False,
    *,
    eps: float | None = None,
) -> tf.Tensor:
    """P @ values for `values` [..., n, d]: [..., r, d]. `rows` [..., r] or `top_k` choose ranks (default: all).

    With `hard`, the values are in exact order, with the gradient of the soft ones.
    """
    if _has_no_items(args) and rows is None:
        return _no_items(args, values)
    lists = _ordered(args)
    values = _valid(lists, values)
    if rows is not None or top_k is not None:
        ranks = _leading_ranks(lists, top_k) if rows is None else Ranks(flatten_lists(rows), consecutive=False)
        result = dense.multiply(registry.get(args.method), lists, ranks, args.power, values)
    else:
        result = _product(args, lists, values, eps)
    return _finish(straight_through(_hard_product(lists, values, top_k), result) if hard else result, args)


def top_k(args: SortArguments, k: int, hard: bool = False) -> tuple[tf.Tensor, tf.Tensor]:
    """The first k softly sorted scores [..., k], and the rows of P [..., k, n] that they come from."""
    lists = _ordered(args)
    ranks, scores = _leading_ranks(lists, k), _valid(lists, args.scores[..., tf.newaxis])
    method = registry.get(args.method)
    weights = dense.matrix(method, lists, ranks, args.power)
    values = dense.multiply(method, lists, ranks, args.power, scores)
    if hard:
        weights = straight_through(_hard_rows(lists, ranks), weights)
        values = straight_through(_hard_product(lists, scores, k), values)
    return _finish(values[..., 0], args), _finish(weights, args)


def multiply_transposed(args: SortArguments, values: tf.Tensor, eps: float | None = None) -> tf.Tensor:
    """P^T @ values for `values` [..., n, d], one row per rank: [..., n, d], 0 for masked items."""
    if _has_no_items(args):
        return _no_items(args, values)
    lists = _ordered(args)
    return _finish(_transposed_product(args, lists, _of_lists(lists, values), eps), args)


def soft_ranks(args: SortArguments, hard: bool = False) -> tf.Tensor:
    """P^T (1, ..., n), or the ranks of a method without a matrix: [..., n], 0 for masked items."""
    if _has_no_items(args):
        return _no_items(args, args.scores[..., tf.newaxis])[..., 0]
    lists, method = _ordered(args), registry.get(args.method)
    if method.ranks is not None:
        ranks = method.ranks(lists)
    else:
        ranks = _transposed_product(args, lists, _numbers(lists)[:, :, tf.newaxis])[:, :, 0]
    return _finish(straight_through(_hard_ranks(lists), ranks) if hard else ranks, args)


def sorted_scores(args: SortArguments, top_k: int | None = None, hard: bool = False) -> tf.Tensor:
    """P @ scores, or the sorted scores of a method without a matrix: [..., n or top_k], 0 after the valid ones."""
    method = registry.get(args.method)
    if method.sorted_scores is None:
        return multiply(args, args.scores[..., tf.newaxis], top_k=top_k, hard=hard)[..., 0]
    lists = _ordered(args)
    values = method.sorted_scores(lists)[:, :top_k]
    values = values if args.direction == "DESCENDING" else -values
    if hard:
        exact = _hard_product(lists, _valid(lists, args.scores[..., tf.newaxis]), top_k)[:, :, 0]
        values = straight_through(exact, values)
    return _finish(values, args)


def membership(args: SortArguments, k: int, hard: bool = False) -> tf.Tensor:
    """How much of the first k ranks each item holds: [..., n]."""
    lists, method = _ordered(args), registry.get(args.method)
    if method.membership is not None:
        soft = method.membership(lists, k)
    else:
        soft = tf.reduce_sum(dense.matrix(method, lists, _leading_ranks(lists, k), args.power), axis=1)
    if hard:
        soft = straight_through(_or_nan(lists, tf.cast(lists.ranks < k, soft.dtype)), soft)
    return _finish(soft, args)


def _has_no_items(args: SortArguments) -> bool:
    """Whether the lists are known to be empty when traced.

    TensorFlow 2.21 rewrites a product with an empty constant, and divides by the size 0 on the way, which ends the
    process. Sizes that are only known when the graph runs are safe.
    """
    return args.scores.shape[-1] == 0


def _no_items(args: SortArguments, values: tf.Tensor) -> tf.Tensor:
    """The product of empty matrices and `values` [..., 0, d]: no elements, but with a gradient for every argument."""
    tau = args.tau if args.tau.shape.rank == 0 else args.tau[..., tf.newaxis]
    empty = (args.scores + tf.cast(tau, args.scores.dtype))[..., tf.newaxis] + tf.cast(values, args.scores.dtype)
    return tf.ensure_shape(empty, args.scores.shape.concatenate(values.shape[-1:]))


def _ordered(args: SortArguments) -> OrderedLists:
    return ordered_lists(args.scores, args.tau, args.mask, args.direction, args.thresholds)


def _product(args: SortArguments, lists: OrderedLists, values: tf.Tensor, eps: float | None) -> tf.Tensor:
    """P @ values of [B, n, d]."""

    def with_matrix(lists: OrderedLists, values: tf.Tensor) -> tf.Tensor:
        return dense.multiply(registry.get(args.method), lists, _leading_ranks(lists), args.power, values)

    def matrix_free(lists: OrderedLists, values: tf.Tensor) -> tf.Tensor:
        return products.multiply(_matrix_free(args), lists, values, eps)

    return _by_size(args, lists, values, with_matrix, matrix_free)


def _transposed_product(
    args: SortArguments, lists: OrderedLists, values: tf.Tensor, eps: float | None = None
) -> tf.Tensor:
    """P^T @ values of [B, n, d]."""

    def with_matrix(lists: OrderedLists, values: tf.Tensor) -> tf.Tensor:
        return dense.multiply_transposed(registry.get(args.method), lists, _leading_ranks(lists), args.power, values)

    def matrix_free(lists: OrderedLists, values: tf.Tensor) -> tf.Tensor:
        return products.multiply_transposed(_matrix_free(args), lists, values, eps)

    return _by_size(args, lists, values, with_matrix, matrix_free)


def _matrix_free(args: SortArguments) -> Any:
    """The matrix-free products of the method, None if it needs the matrix."""
    make = registry.get(args.method).matrix_free
    return None if make is None else make(args.power)


def _by_size(args: SortArguments, lists: OrderedLists, values: tf.Tensor, short: Product, long: Product) -> tf.Tensor:
    """The result of `short` or `long`, depending on the list size."""
    minimum = args.thresholds.matrix_free_min_size
    is_long = False if _matrix_free(args) is None else is_at_least(args.scores.shape[-1], minimum)
    if is_long is not None:
        return (long if is_long else short)(lists, values)
    is_long = tf.cast(tf.shape(args.scores)[-1], tf.float64) >= minimum

    @tf.custom_gradient
    def choose(scores: tf.Tensor, tau: tf.Tensor, values: tf.Tensor) -> tuple:
        def result(product: Product) -> tf.Tensor:
            return product(lists._replace(scores=scores, tau=tau), values)

        # XLA cannot compile the gradient of a conditional of unknown sizes, so the gradients are taken inside.
        def gradient(upstream: tf.Tensor) -> Any:
            def slopes(product: Product) -> Any:
                with tf.GradientTape() as tape:
                    tape.watch([scores, tau, values])
                    found = result(product)
                return tape.gradient(found, [scores, tau, values], output_gradients=upstream)

            return tf.cond(is_long, lambda: slopes(long), lambda: slopes(short))

        return tf.cond(is_long, lambda: result(long), lambda: result(short)), gradient

    return choose(lists.scores, lists.tau, values)


def _hard_rows(lists: OrderedLists, ranks: Ranks) -> tf.Tensor:
    """Exact rows; those of a list that is not a number are NaN, as the soft ones are."""
    exact = tf.cast(tf.equal(ranks.numbers[:, :, tf.newaxis], lists.ranks[:, tf.newaxis, :]), lists.tau.dtype)
    tau = lists.tau[:, :, tf.newaxis]
    return tf.where(tf.math.is_nan(tau), tau, exact)


def _hard_product(lists: OrderedLists, values: tf.Tensor, top_k: int | None) -> tf.Tensor:
    """`values` [B, n, d], 0 where masked, in exact order; NaN at valid ranks of a list that is not a number."""
    order = lists.order[:, :top_k]
    exact = take(values, order)
    is_invalid = tf.math.is_nan(lists.tau)
    valid_ranks = lists.valid_ranks(_leading_ranks(lists, top_k).numbers)
    if valid_ranks is not None:
        is_invalid = tf.logical_and(is_invalid, valid_ranks)
    return tf.where(is_invalid[:, :, tf.newaxis], tf.constant(math.nan, exact.dtype), exact)


def _hard_ranks(lists: OrderedLists) -> tf.Tensor:
    """Exact ranks from 1 [B, n], ties in stable order; 0 for masked items."""
    ranks = _or_nan(lists, tf.cast(lists.ranks + 1, lists.scores.dtype))
    return ranks if lists.mask is None else tf.where(lists.mask, ranks, tf.zeros_like(ranks))


def _or_nan(lists: OrderedLists, result: tf.Tensor) -> tf.Tensor:
    """`result` [B, n], NaN for a list that is not a number."""
    return tf.where(tf.math.is_nan(lists.tau), tf.constant(math.nan, result.dtype), result)


def _of_lists(lists: OrderedLists, values: tf.Tensor) -> tf.Tensor:
    """`values` [..., n, d] as [B, n, d] in the compute dtype."""
    return tf.cast(flatten_lists(values, inner=2), lists.scores.dtype)


def _valid(lists: OrderedLists, values: tf.Tensor) -> tf.Tensor:
    """The same, 0 where masked."""
    values = _of_lists(lists, values)
    return values if lists.mask is None else tf.where(lists.mask[:, :, tf.newaxis], values, tf.zeros_like(values))


def _leading_ranks(lists: OrderedLists, count: int | None = None) -> Ranks:
    """[B, n] or [B, count]: 0, 1, ... for each list."""
    shape = tf.shape(lists.scores)
    ranks = tf.range((lists.scores.shape[1] or shape[1]) if count is None else count)
    ranks = tf.broadcast_to(ranks, [shape[0], tf.shape(ranks)[0]])
    return Ranks(ranks, consecutive=True, are_all=count is None)


def _numbers(lists: OrderedLists) -> tf.Tensor:
    """[B, n]: 1, 2, ... in the compute dtype, since half precision would round the ranks before they are summed."""
    return tf.cast(_leading_ranks(lists).numbers + 1, lists.scores.dtype)


def _finish(result: tf.Tensor, args: SortArguments) -> tf.Tensor:
    """Leading axes and dtype as those of the scores."""
    scores = args.scores
    leading = tf.shape(scores)[:-1]
    result = tf.cast(result, scores.dtype)
    shaped = tf.reshape(result, tf.concat([leading, tf.shape(result)[1:]], axis=0))
    shaped.set_shape(scores.shape[:-1].concatenate(result.shape[1:]))
    return shaped
