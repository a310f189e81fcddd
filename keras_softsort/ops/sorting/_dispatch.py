"""Where the engine is chosen. Operators ask here for a soft permutation or for its products, and never how.

The matrix itself is dense. Products with it do without it on lists that are long enough for that to be faster. Methods
that are no soft permutation have their own ranks, sorted scores or memberships, and none of the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from keras_softsort.ops._core.batching import flatten_lists
from keras_softsort.ops._core.straight_through import straight_through
from keras_softsort.ops.sorting._arguments import SortArguments
from keras_softsort.ops.sorting._dense.neural_sort import neural_sort_rows
from keras_softsort.ops.sorting._dense.soft_sort import soft_sort_rows
from keras_softsort.ops.sorting._lapsum import lapsum_membership, lapsum_ranks
from keras_softsort.ops.sorting._matrix_free import products
from keras_softsort.ops.sorting._ordering import OrderedLists, ordered_lists
from keras_softsort.ops.sorting._permutahedron.projection import projected_ranks, projected_scores

Product = Callable[[OrderedLists, tf.Tensor], tf.Tensor]
# List sizes from which on a product without the matrix is taken; benchmarks/crossovers.py measures where it is faster.
CROSSOVERS = {"neural_sort": 768, "soft_sort": 128}

# Whether the projection is entropic.
PROJECTIONS = {"projection": False, "projection_kl": True}


def permutation(problem: SortArguments, top_k: int | None = None, hard: bool = False) -> tf.Tensor:
    """The matrix [..., n or top_k, n] in the dtype of the scores; `hard` gives exact ones with its gradient."""
    lists = ordered_lists(problem)
    rows = _leading_rows(lists, top_k)
    soft = _dense_rows(problem, lists, rows)
    result = straight_through(_hard_rows(lists, rows), soft) if hard else soft
    return _finish(result, problem)


def log_permutation(problem: SortArguments, top_k: int | None = None) -> tf.Tensor:
    """The logarithms of `permutation`, finite where its weights underflow; -inf where a mask allows none."""
    lists = ordered_lists(problem)
    return _finish(_dense_rows(problem, lists, _leading_rows(lists, top_k), log=True), problem)


def multiply(
    problem: SortArguments, values: tf.Tensor, rows: tf.Tensor | None = None, eps: float | None = None
) -> tf.Tensor:
    """P @ values for `values` [..., n, d]: [..., r, d]. `rows` [..., r] picks ranks (default: all)."""
    lists = ordered_lists(problem)
    kept = _kept(lists, values)
    if rows is not None:
        return _finish(tf.matmul(_dense_rows(problem, lists, flatten_lists(rows)), kept), problem)

    def dense(lists: OrderedLists, values: tf.Tensor) -> tf.Tensor:
        return tf.matmul(_dense_rows(problem, lists, _leading_rows(lists, None)), values)

    def matrix_free(lists: OrderedLists, values: tf.Tensor) -> tf.Tensor:
        return products.multiply(problem, lists, values, eps)

    return _finish(_by_size(problem, lists, kept, (dense, matrix_free)), problem)


def top_k(problem: SortArguments, k: int) -> tuple[tf.Tensor, tf.Tensor]:
    """The first k softly sorted scores [..., k], and the rows of P [..., k, n] that they come from."""
    lists = ordered_lists(problem)
    weights = _dense_rows(problem, lists, _leading_rows(lists, k))
    values = tf.matmul(weights, _kept(lists, problem.scores[..., tf.newaxis]))
    return _finish(values[..., 0], problem), _finish(weights, problem)


def multiply_transposed(problem: SortArguments, values: tf.Tensor, eps: float | None = None) -> tf.Tensor:
    """P^T @ values for `values` [..., n, d], a row a rank: [..., n, d], 0 for masked items."""
    lists = ordered_lists(problem)

    def dense(lists: OrderedLists, values: tf.Tensor) -> tf.Tensor:
        matrix = _dense_rows(problem, lists, _leading_rows(lists, None))
        # A sum of products that XLA fuses with what makes the matrix, where it would store it for a product.
        result = tf.reduce_sum(matrix[:, :, :, tf.newaxis] * values[:, :, tf.newaxis, :], axis=1)
        return result if lists.mask is None else tf.where(lists.mask[:, :, tf.newaxis], result, tf.zeros_like(result))

    def matrix_free(lists: OrderedLists, values: tf.Tensor) -> tf.Tensor:
        return products.multiply_transposed(problem, lists, values, eps)

    return _finish(_by_size(problem, lists, _of_lists(lists, values), (dense, matrix_free)), problem)


def soft_ranks(problem: SortArguments) -> tf.Tensor:
    """P^T (1, ..., n), or the ranks of a method without P: [..., n], 0 for masked items."""
    if problem.method == "lapsum":
        return _finish(lapsum_ranks(ordered_lists(problem)), problem)
    if problem.method in PROJECTIONS:
        return _finish(projected_ranks(ordered_lists(problem), PROJECTIONS[problem.method]), problem)
    # In the compute dtype: half precision would round the ranks before they are summed.
    ranks = tf.range(1, tf.shape(problem.scores)[-1] + 1)[:, tf.newaxis]
    every = tf.broadcast_to(ranks, tf.concat([tf.shape(problem.scores), [1]], axis=0))
    return multiply_transposed(problem, every)[..., 0]


def sorted_scores(problem: SortArguments) -> tf.Tensor:
    """P @ scores, or the sorted scores of a method without P: [..., n], 0 after the kept ones."""
    if problem.method not in PROJECTIONS:
        return multiply(problem, problem.scores[..., tf.newaxis])[..., 0]
    values = projected_scores(ordered_lists(problem), PROJECTIONS[problem.method])
    return _finish(values if problem.direction == "DESCENDING" else -values, problem)


def membership(problem: SortArguments, k: int) -> tf.Tensor:
    """How much of the first k places each item holds: [..., n]."""
    lists = ordered_lists(problem)
    if problem.method == "lapsum":
        return _finish(lapsum_membership(lists, k), problem)
    return _finish(tf.reduce_sum(_dense_rows(problem, lists, _leading_rows(lists, k)), axis=1), problem)


def _by_size(
    problem: SortArguments, lists: OrderedLists, values: tf.Tensor, engines: tuple[Product, Product]
) -> tf.Tensor:
    """What the engine for the list size gives: the first of `engines` for short lists, the second for long ones."""
    if not products.has_engine(problem):
        return engines[0](lists, values)
    size, crossover = problem.scores.shape[-1], CROSSOVERS[problem.method]
    if size is not None:
        return engines[size >= crossover](lists, values)
    is_long = tf.shape(problem.scores)[-1] >= crossover

    @tf.custom_gradient
    def choose(scores: tf.Tensor, tau: tf.Tensor, values: tf.Tensor) -> tuple:
        def result(engine: Product) -> tf.Tensor:
            return engine(lists._replace(scores=scores, tau=tau), values)

        # XLA does not compile the gradient of a conditional where sizes are unknown: each engine's is taken inside.
        def gradient(upstream: tf.Tensor) -> Any:
            def slopes(engine: Product) -> Any:
                with tf.GradientTape() as tape:
                    tape.watch([scores, tau, values])
                    found = result(engine)
                return tape.gradient(found, [scores, tau, values], output_gradients=upstream)

            return tf.cond(is_long, lambda: slopes(engines[1]), lambda: slopes(engines[0]))

        return tf.cond(is_long, lambda: result(engines[1]), lambda: result(engines[0])), gradient

    return choose(lists.scores, lists.tau, values)


def _dense_rows(problem: SortArguments, lists: OrderedLists, rows: tf.Tensor, log: bool = False) -> tf.Tensor:
    if problem.method == "neural_sort":
        return neural_sort_rows(lists, rows, log)
    return soft_sort_rows(lists, rows, problem.power, log)


def _hard_rows(lists: OrderedLists, rows: tf.Tensor) -> tf.Tensor:
    """Exact rows; those of a list that is not a number are NaN, as the soft ones are."""
    exact = tf.cast(tf.equal(rows[:, :, tf.newaxis], lists.ranks[:, tf.newaxis, :]), lists.tau.dtype)
    tau = lists.tau[:, :, tf.newaxis]
    return tf.where(tf.math.is_nan(tau), tau, exact)


def _of_lists(lists: OrderedLists, values: tf.Tensor) -> tf.Tensor:
    """`values` [..., n, d] as [B, n, d] in the compute dtype."""
    return tf.cast(flatten_lists(values, inner=2), lists.scores.dtype)


def _kept(lists: OrderedLists, values: tf.Tensor) -> tf.Tensor:
    """The same, 0 where masked."""
    values = _of_lists(lists, values)
    return values if lists.mask is None else tf.where(lists.mask[:, :, tf.newaxis], values, tf.zeros_like(values))


def _leading_rows(lists: OrderedLists, count: int | None) -> tf.Tensor:
    """[B, n] or [B, count]: 0, 1, ... for each list."""
    shape = tf.shape(lists.scores)
    rows = tf.range(shape[1] if count is None else count)
    return tf.broadcast_to(rows, [shape[0], tf.shape(rows)[0]])


def _finish(result: tf.Tensor, problem: SortArguments) -> tf.Tensor:
    """Leading axes and dtype as those of the scores."""
    scores = problem.scores
    leading = tf.shape(scores)[:-1]
    result = tf.cast(result, scores.dtype)
    shaped = tf.reshape(result, tf.concat([leading, tf.shape(result)[1:]], axis=0))
    shaped.set_shape(scores.shape[:-1].concatenate(result.shape[1:]))
    return shaped
