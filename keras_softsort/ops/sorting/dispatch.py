"""Soft permutations and their products, by the algorithm that suits the method and the list size.

The matrix itself is dense. On long lists products do not form it. Lists are flattened and sorted first, and get their
axes and dtype back at the end. Called eagerly, each function here is one trace for all list sizes of an algorithm.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from keras_softsort._internal.not_a_number import or_nan
from keras_softsort.ops.core.axes import flatten_lists, list_size, with_static_shape
from keras_softsort.ops.core.deviations import deviations
from keras_softsort.ops.core.numbers import straight_through
from keras_softsort.ops.core.order import take
from keras_softsort.ops.core.tracing import on_device, traced_if_eager
from keras_softsort.ops.sorting import methods
from keras_softsort.ops.sorting._dense.rows import MatrixRows, SoftmaxRows
from keras_softsort.ops.sorting._ordering import Lists, OrderedLists, Ranks
from keras_softsort.ops.sorting.methods import SortArguments

Product = Callable[[Lists, tf.Tensor], tf.Tensor]


@traced_if_eager
def permutation(args: SortArguments, top_k: int | None = None, hard: bool = False) -> tf.Tensor:
    """The matrix [..., n or top_k, n] in the dtype of the scores; with `hard` the exact one with the same gradient."""
    lists = args.lists()
    ranks = _leading_ranks(lists, top_k)
    soft = _rows(args, lists, ranks).matrix()
    return _finish(straight_through(_hard_rows(lists.in_order(), ranks), soft) if hard else soft, args)


@traced_if_eager
def log_permutation(args: SortArguments, top_k: int | None = None) -> tf.Tensor:
    """The logarithms of `permutation`: finite even if weights underflow, and `excluded` where the mask allows none."""
    lists = args.lists()
    return _finish(_rows(args, lists, _leading_ranks(lists, top_k)).matrix(log=True), args)


@traced_if_eager
def multiply(
    args: SortArguments,
    values: tf.Tensor,
    top_k: int | None = None,
    hard: bool = False,
    *,
    rows: tf.Tensor | None = None,
    eps: float | None = None,
) -> tf.Tensor:
    """P @ values for `values` [..., n, d]: [..., r, d]. `rows` [..., r] or `top_k` choose ranks (default: all).

    With `hard`, the values are in exact order, with the gradient of the soft ones.
    """
    lists = args.lists()
    values = _valid(lists, values)
    if rows is None and top_k is None:
        result = _product(args, lists, values, eps)
    else:
        ranks = _leading_ranks(lists, top_k) if rows is None else Ranks(flatten_lists(rows), are_leading=False)
        result = _rows(args, lists, ranks).multiply(values)
    return _finish(straight_through(_hard_product(lists.in_order(), values, top_k), result) if hard else result, args)


@traced_if_eager
def top_k(args: SortArguments, k: int, hard: bool = False) -> tuple[tf.Tensor, tf.Tensor]:
    """The first k softly sorted scores [..., k], and the rows of P [..., k, n] that they come from."""
    lists = args.lists()
    ranks, scores = _leading_ranks(lists, k), _valid(lists, args.scores[..., tf.newaxis])
    rows = _rows(args, lists, ranks)
    weights, values = rows.matrix(), rows.multiply(scores)
    if hard:
        weights = straight_through(_hard_rows(lists.in_order(), ranks), weights)
        values = straight_through(_hard_product(lists.in_order(), scores, k), values)
    return _finish(values[..., 0], args), _finish(weights, args)


@traced_if_eager
def multiply_transposed(args: SortArguments, values: tf.Tensor, eps: float | None = None) -> tf.Tensor:
    """P^T @ values for `values` [..., n, d], one row per rank: [..., n, d], 0 for masked items."""
    lists = args.lists()
    return _finish(_transposed_product(args, lists, _of_lists(lists, values), eps), args)


@traced_if_eager
def soft_ranks(args: SortArguments, hard: bool = False) -> tf.Tensor:
    """P^T (1, ..., n), or the ranks of a method without a matrix: [..., n], 0 for masked items."""
    lists, method = args.lists(), methods.METHODS[args.method]
    if method.ranks is not None:
        ranks = method.ranks(lists.in_order())
    else:
        # In the compute dtype, since half precision would round the numbers before they are summed.
        numbers = tf.cast(_leading_ranks(lists).numbers + 1, lists.scores.dtype)
        numbers = tf.broadcast_to(numbers, tf.shape(lists.scores))
        ranks = _transposed_product(args, lists, numbers[:, :, tf.newaxis])[:, :, 0]
    if hard:  # ties in stable order
        exact = _or_nan(lists, tf.cast(lists.in_order().ranks + 1, ranks.dtype))
        ranks = straight_through(lists.of_valid(exact), ranks)
    return _finish(ranks, args)


@traced_if_eager
def sorted_scores(args: SortArguments, top_k: int | None = None, hard: bool = False) -> tf.Tensor:
    """P @ scores, or the sorted scores of a method without a matrix: [..., n or top_k], 0 after the valid ones."""
    method = methods.METHODS[args.method]
    if method.sorted_scores is None:
        return multiply(args, args.scores[..., tf.newaxis], top_k, hard)[..., 0]
    lists = args.lists()
    values = method.sorted_scores(lists.in_order())[:, :top_k]
    descending = args.direction == "DESCENDING"
    if args.scale is not None:
        # With the sign of the lists, whose origin is one of two if x and -x are both nearest to 0.
        units = deviations(args.scores if descending else -args.scores, args.mask)
        origin, factor, rest = (tf.reshape(part, [-1, 1]) for part in units)
        restored = values * rest * factor + origin
        values = tf.where(_leading_ranks(lists, top_k).numbers < lists.valid_counts(), restored, values)
    values = values if descending else -values
    if hard:
        exact = _hard_product(lists.in_order(), _valid(lists, args.scores[..., tf.newaxis]), top_k)[:, :, 0]
        values = straight_through(exact, values)
    return _finish(values, args)


@traced_if_eager
def membership(args: SortArguments, k: int | tf.Tensor, hard: bool = False) -> tf.Tensor:
    """How much of the first k ranks each item holds: [..., n]. A tensor k is a scalar or has one per list [...]."""
    lists, method = args.lists(), methods.METHODS[args.method]
    k_lists = tf.reshape(tf.convert_to_tensor(k, tf.int32), [-1, 1])
    if method.membership is not None:
        soft = method.membership(lists.in_order(), k_lists)
    elif isinstance(k, int):  # O(k n)
        soft = tf.reduce_sum(_rows(args, lists, _leading_ranks(lists, k)).matrix(), axis=1)
    else:
        counted = tf.broadcast_to(_leading_ranks(lists).numbers < k_lists, tf.shape(lists.scores))
        counted = tf.cast(counted, lists.scores.dtype)
        soft = _transposed_product(args, lists, counted[:, :, tf.newaxis])[:, :, 0]
        if lists.mask is not None:  # masked items share the ranks beyond the valid ones
            counts, size = lists.valid_counts(), tf.shape(soft)[1]
            rest = tf.cast(tf.maximum(k_lists - counts, 0) / tf.maximum(size - counts, 1), soft.dtype)
            soft = tf.where(lists.mask, soft, _or_nan(lists, rest))
    if hard:
        soft = straight_through(_or_nan(lists, tf.cast(lists.in_order().ranks < k_lists, soft.dtype)), soft)
    return _finish(soft, args)


def _rows(args: SortArguments, lists: Lists, ranks: Ranks) -> SoftmaxRows | MatrixRows:
    """The rows of the matrix at some ranks."""
    method = methods.METHODS[args.method]
    if method.matrix is not None:
        return MatrixRows(lists, ranks, method.matrix(lists.in_order()))
    assert method.logits is not None, f"{args.method} has no permutation, which sort_arguments checks"
    return SoftmaxRows(lists, ranks, method.logits(lists, ranks, args.power))


def _transposed_product(args: SortArguments, lists: Lists, values: tf.Tensor, eps: float | None = None) -> tf.Tensor:
    """P^T @ values of [B, n, d]: [B, n, d], 0 for masked items."""
    return lists.of_valid(_product(args, lists, values, eps, transposed=True))


def _product(
    args: SortArguments, lists: Lists, values: tf.Tensor, eps: float | None, transposed: bool = False
) -> tf.Tensor:
    """P or P^T times `values` [B, n, d]: of short lists with the matrix, of long lists without it."""
    matrix_free = methods.METHODS[args.method].matrix_free

    def short(lists: Lists, values: tf.Tensor) -> tf.Tensor:
        rows = _rows(args, lists, _leading_ranks(lists))
        return rows.multiply_transposed(values) if transposed else rows.multiply(values)

    if matrix_free is None or args.is_long is False:
        return short(lists, values)
    multiply = matrix_free.multiply_transposed if transposed else matrix_free.multiply

    def long(lists: Lists, values: tf.Tensor) -> tf.Tensor:
        return multiply(lists.in_order(), values, eps)

    if args.is_long:
        return long(lists, values)
    return _product_by_size(tf.shape(args.scores)[-1] >= matrix_free.min_size, lists, values, short, long)


def _product_by_size(is_long: tf.Tensor, lists: Lists, values: tf.Tensor, short: Product, long: Product) -> tf.Tensor:
    """The product of lists whose size only the graph knows when it runs."""

    def compute(multiply: Product, scores: tf.Tensor, tau: tf.Tensor, values: tf.Tensor) -> tf.Tensor:
        return multiply(dataclasses.replace(lists, scores=scores, tau=tau), values)

    @tf.custom_gradient
    def product(scores: tf.Tensor, tau: tf.Tensor, values: tf.Tensor) -> tuple:
        # XLA cannot compile the gradient of a conditional of unknown sizes, so the gradients are taken inside.
        def gradient(upstream: tf.Tensor) -> Any:
            def slopes(multiply: Product) -> Any:
                # Copies in the graph of the branch: eager calls have no second derivatives for tensors of other graphs.
                *given, weights = map(tf.identity, (scores, tau, values, upstream))
                with tf.GradientTape() as tape:
                    tape.watch(given)
                    found = compute(multiply, *given)
                return tape.gradient(found, given, output_gradients=weights)

            return tf.cond(is_long, *(functools.partial(slopes, each) for each in (long, short)))

        branches = (functools.partial(compute, each, scores, tau, values) for each in (long, short))
        return tf.cond(is_long, *branches), gradient

    return product(lists.scores, lists.tau, values)


def _hard_rows(lists: OrderedLists, ranks: Ranks) -> tf.Tensor:
    """Exact rows. The valid rows of a list whose tau is NaN are NaN, as in the soft matrix."""
    numbers, own = on_device(ranks.numbers), on_device(lists.ranks)
    exact = tf.cast(tf.equal(numbers[:, :, tf.newaxis], own[:, tf.newaxis, :]), lists.tau.dtype)
    is_invalid = tf.logical_and(tf.math.is_nan(lists.tau), ranks.numbers < lists.valid_counts())
    return or_nan(exact, is_invalid[:, :, tf.newaxis])


def _hard_product(lists: OrderedLists, values: tf.Tensor, top_k: int | None) -> tf.Tensor:
    """`values` [B, n, d], 0 where masked, in exact order; NaN at valid ranks of a list whose tau is NaN."""
    exact = take(values, lists.order[:, :top_k])
    is_invalid = tf.logical_and(tf.math.is_nan(lists.tau), _leading_ranks(lists, top_k).numbers < lists.valid_counts())
    return or_nan(exact, is_invalid[:, :, tf.newaxis])


def _or_nan(lists: Lists, result: tf.Tensor) -> tf.Tensor:
    """`result` [B, n], NaN for a list whose tau is NaN."""
    return or_nan(result, tf.math.is_nan(lists.tau))


def _of_lists(lists: Lists, values: tf.Tensor) -> tf.Tensor:
    """`values` [..., n, d] as [B, n, d] in the compute dtype."""
    return tf.cast(flatten_lists(values, inner=2), lists.scores.dtype)


def _valid(lists: Lists, values: tf.Tensor) -> tf.Tensor:
    """`values` [..., n, d] as [B, n, d] in the compute dtype, 0 where masked."""
    return lists.of_valid(_of_lists(lists, values))


def _leading_ranks(lists: Lists, count: int | None = None) -> Ranks:
    """The first `count` ranks of all lists, by default all."""
    return Ranks(tf.range(list_size(lists.scores) if count is None else count)[tf.newaxis], are_leading=True)


def _finish(result: tf.Tensor, args: SortArguments) -> tf.Tensor:
    """Give a result the leading axes, list axis and dtype of the scores."""
    scores, result = args.scores, tf.cast(result, args.scores.dtype)
    shaped = tf.reshape(result, tf.concat([tf.shape(scores)[:-1], tf.shape(result)[1:]], axis=0))
    return args.with_list_axis_back(with_static_shape(shaped, scores.shape[:-1].concatenate(result.shape[1:])))
