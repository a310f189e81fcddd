"""Soft permutations whose rows are softmaxes of logits: the matrix, its products, and their gradients.

A TPU computes the weights anew for sums over ranks, transposed, so that all sums are along the last axis. Its compiler
then fuses each sum with the softmax, and stores no matrix. Others keep the matrix.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

from keras_softsort.ops.core.axes import is_at_most
from keras_softsort.ops.core.numbers import times_vector
from keras_softsort.ops.core.target import recomputes_pairs
from keras_softsort.ops.core.temperature import excluded
from keras_softsort.ops.core.tracing import is_compiled
from keras_softsort.ops.sorting._ordering import MAX_GAP, Lists, Ranks


class Layout(NamedTuple):
    """The order of axes in a tensor of all pairs of a rank and an item."""

    ranks: int  # the axis of the ranks, 1 or 2; the other one has the items

    def of_ranks(self, values: tf.Tensor) -> tf.Tensor:
        """Expand `values` [B, r] of ranks to pairs."""
        return tf.expand_dims(values, 3 - self.ranks)

    def of_items(self, values: tf.Tensor) -> tf.Tensor:
        """Expand `values` [B, n] of items to pairs."""
        return tf.expand_dims(values, self.ranks)

    def over_ranks(self, pairs: tf.Tensor) -> tf.Tensor:
        """Sum over ranks: [B, n]."""
        return tf.reduce_sum(pairs, axis=self.ranks)

    def over_items(self, pairs: tf.Tensor) -> tf.Tensor:
        """Sum over items: [B, r]."""
        return tf.reduce_sum(pairs, axis=3 - self.ranks)

    def weighted_sums(self, pairs: tf.Tensor, *weights: tf.Tensor) -> list[tf.Tensor]:
        """The sums over ranks of `pairs` times each of the `weights` [B or 1, r]: [B, n] each."""
        return [self.over_ranks(pairs * self.of_ranks(each)) for each in weights]


# In a plain graph on a CPU, the softmax of shorter lists takes less time in parts than as one operation, and for longer
# ones it takes up to 1.14 times as long (benchmarks/operators/variants.py).
LONGEST_IN_PARTS = 24
BY_RANK = Layout(1)  # [B, r, n]
BY_ITEM = Layout(2)  # [B, n, r]
Pairs = Callable[[Layout], tf.Tensor]
# (scores [B, n], tau [B, 1]) -> the logits, which are inverse to tau, a finite one or more in each row and the others
# finite or -inf; and a function of a gradient of the logits, whose rows sum to 0, and the layout to sum over ranks in:
# tau times that of the scores.
Logits = Callable[[tf.Tensor, tf.Tensor], tuple[Pairs, Callable[[Pairs, Layout], tf.Tensor]]]


class Softmax(NamedTuple):
    """The softmax of logits over items, as exponentials of all pairs and their total at each rank.

    Products with vectors are divided by the totals after their sum, not pair by pair. With quotients of pairs, an H100
    would store three matrices for soft values of 256 lists of 200 items, where it stores one.
    """

    below_peaks: Pairs  # the logits less the largest of their rank
    by_rank: tf.Tensor  # [B, r, n]: the exponentials
    totals: tf.Tensor | None  # [B, r], at least 1; None if the exponentials are divided by them already

    def exponentials(self, layout: Layout) -> tf.Tensor:
        """The exponentials in a layout: [B, r, n] is kept, the other one computed anew."""
        return self.by_rank if layout == BY_RANK else tf.exp(self.below_peaks(layout))

    def divided(self, values: tf.Tensor) -> tf.Tensor:
        """The `values` [B, r], divided by the totals."""
        return values if self.totals is None else values / self.totals

    def matrix(self) -> tf.Tensor:
        """The weights: [B, r, n]."""
        return self.by_rank if self.totals is None else self.by_rank / BY_RANK.of_ranks(self.totals)


class SoftRows(NamedTuple):
    """The rows at some ranks of the soft permutation of each list."""

    lists: Lists
    ranks: Ranks
    logits: Logits

    def matrix(self, log: bool = False) -> tf.Tensor:
        """The rows, or their logarithms, `excluded` where no weight is: [B, r, n]."""

        def rows(logits: tf.Tensor, softmax: Softmax) -> tuple:
            matrix = softmax.matrix()

            def gradient(upstream: tf.Tensor) -> list[Pairs]:
                d_logits = upstream - matrix * _row_sums(upstream) if log else _softmax_gradient(matrix, upstream)
                return [lambda _: d_logits]

            return tf.nn.log_softmax(logits) if log else matrix, gradient

        result = self._differentiable(rows, BY_RANK, are_logs=log)
        if self.lists.mask is None or not log:
            return result
        has_weight = tf.equal(self.lists.mask[:, tf.newaxis, :], self._are_valid()[:, :, tf.newaxis])
        return tf.where(has_weight, result, excluded(result.dtype))

    def _are_valid(self) -> tf.Tensor:
        """Whether there is a valid item at each rank: [B, r]."""
        return self.ranks.numbers < self.lists.valid_counts()

    def multiply(self, values: tf.Tensor) -> tf.Tensor:
        """The product with `values` [B, n, d]: [B, r, d]."""
        columns = self._columns()

        def product(_: tf.Tensor, softmax: Softmax, values: tf.Tensor) -> tuple:
            matrix = softmax.matrix()
            result = tf.matmul(matrix, values)

            def gradient(upstream: tf.Tensor) -> tuple[Pairs, tf.Tensor]:
                # Centered once more, against the rounding of `result`.
                d_logits = _softmax_gradient(matrix, _centered_slopes(values, result, upstream))
                return lambda _: d_logits, tf.matmul(matrix, upstream, transpose_a=True)

            return result, gradient

        def of_vector(_: tf.Tensor, softmax: Softmax, vector: tf.Tensor) -> tuple:
            result = softmax.divided(times_vector(softmax.by_rank, vector))

            def distances(layout: Layout) -> tf.Tensor:
                return layout.of_items(vector) - layout.of_ranks(result)

            def gradient(upstream: tf.Tensor) -> tuple[Pairs, tf.Tensor]:
                shares = softmax.divided(upstream)
                # 0 but for the rounding of `result`.
                rest = softmax.divided(BY_RANK.over_items(softmax.by_rank * distances(BY_RANK)))

                def d_logits(layout: Layout) -> tf.Tensor:
                    exact = distances(layout) - layout.of_ranks(rest)
                    return softmax.exponentials(layout) * (layout.of_ranks(shares) * exact)

                return d_logits, *columns.weighted_sums(softmax.exponentials(columns), shares)

            return result, gradient

        if values.shape[2] != 1:
            return self._differentiable(product, BY_RANK, values)
        return self._differentiable(of_vector, columns, values[:, :, 0])[:, :, tf.newaxis]

    def multiply_transposed(self, values: tf.Tensor) -> tf.Tensor:
        """The product of the transpose with `values` [B, r, d]: [B, n, d]."""
        columns = self._columns()

        def product(_: tf.Tensor, softmax: Softmax, values: tf.Tensor) -> tuple:
            matrix = softmax.matrix()

            def gradient(upstream: tf.Tensor) -> tuple[Pairs, tf.Tensor]:
                means = tf.matmul(matrix, upstream)
                return lambda _: matrix * _centered_slopes(upstream, means, values), means

            return tf.matmul(matrix, values, transpose_a=True), gradient

        def of_vector(_: tf.Tensor, softmax: Softmax, vector: tf.Tensor) -> tuple:
            shares = softmax.divided(vector)

            def gradient(upstream: tf.Tensor) -> tuple[Pairs, tf.Tensor]:
                means = softmax.divided(times_vector(softmax.by_rank, upstream))

                def d_logits(layout: Layout) -> tf.Tensor:
                    distances = layout.of_items(upstream) - layout.of_ranks(means)
                    return softmax.exponentials(layout) * (layout.of_ranks(shares) * distances)

                return d_logits, means

            return columns.weighted_sums(softmax.exponentials(columns), shares)[0], gradient

        if values.shape[2] != 1:
            return self._differentiable(product, BY_RANK, values)
        return self._differentiable(of_vector, columns, values[:, :, 0])[:, :, tf.newaxis]

    def _columns(self) -> Layout:
        """The layout in which products with a vector sum over ranks."""
        return BY_ITEM if recomputes_pairs(self.lists.scores.shape[1]) else BY_RANK

    def _differentiable(
        self, function: Callable[..., tuple], columns: Layout, *values: tf.Tensor, are_logs: bool = False
    ) -> tf.Tensor:
        """The result of a function of logits [B, r, n], their softmax and `values`, with its gradient.

        The function also returns the function from an upstream gradient to those of the logits, whose rows sum to 0,
        and of the values. `columns` is the layout in which sums over ranks are taken. `are_logs` says that a result
        depends on its logit even where the weight is 0.
        """

        @tf.custom_gradient
        def result(scores: tf.Tensor, tau: tf.Tensor, *values: tf.Tensor) -> tuple:
            logits_of_all, gradient_of_scores = self.logits(scores, tau)
            mask = self.lists.mask
            valid = None if mask is None else self._are_valid()

            def logits_in(layout: Layout) -> tf.Tensor:
                logits = logits_of_all(layout)
                if mask is None:
                    return logits
                # A row of a valid item spreads over valid items, another row evenly over masked ones.
                is_valid = layout.of_ranks(valid)
                logits = tf.where(is_valid, logits, tf.zeros_like(logits))
                excluded = tf.constant(logits.dtype.min, logits.dtype)
                return tf.where(tf.equal(layout.of_items(mask), is_valid), logits, excluded)

            logits = logits_in(BY_RANK)
            peaks = tf.reduce_max(logits, axis=2)

            def below_peaks(layout: Layout) -> tf.Tensor:
                return (logits if layout == BY_RANK else logits_in(layout)) - layout.of_ranks(peaks)

            size = self.lists.scores.shape[1]
            # One operation would give masked items 0 beside NaN.
            if mask is not None or is_compiled() or is_at_most(size, LONGEST_IN_PARTS) or recomputes_pairs(size):
                exponentials = tf.exp(below_peaks(BY_RANK))
                softmax = Softmax(below_peaks, exponentials, BY_RANK.over_items(exponentials))
            else:
                softmax = Softmax(below_peaks, tf.nn.softmax(logits), None)
            found, gradient_of_function = function(logits, softmax, *values)

            def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, ...]:
                slopes, *d_values = gradient_of_function(upstream)

                @functools.cache
                def d_logits(layout: Layout) -> tf.Tensor:
                    found = slopes(layout)
                    return found if mask is None else tf.where(layout.of_ranks(valid), found, tf.zeros_like(found))

                # Farther ones have the weight 0. Their product with a large second derivative could overflow.
                farthest = -logits.dtype.max if are_logs else -MAX_GAP[logits.dtype]
                products = d_logits(columns) * tf.maximum(below_peaks(columns), farthest)
                d_tau = -tf.reduce_sum(tf.reduce_sum(products, axis=2), axis=1, keepdims=True) / tau
                return gradient_of_scores(d_logits, columns) / tau, d_tau, *d_values

            return found, gradient

        return result(self.lists.scores, self.lists.tau, *values)


def _row_sums(values: tf.Tensor) -> tf.Tensor:
    return tf.reduce_sum(values, axis=2, keepdims=True)


def _softmax_gradient(weights: tf.Tensor, upstream: tf.Tensor) -> tf.Tensor:
    """The gradient of the logits of the softmax `weights`. Every row sums to 0."""
    return weights * (upstream - _row_sums(weights * upstream))


def _centered_slopes(values: tf.Tensor, means: tf.Tensor, upstream: tf.Tensor) -> tf.Tensor:
    """`sum_d u_id (w_jd - (P w)_id)` of values w [B, n, d], means P w and u [B, r, d]: [B, r, n].

    A constant in a row does not change its softmax. Differences of close values are exact, products with them round.
    """
    # Differences of each row would take d times the memory of the matrix, so values are relative to one of them.
    reference = values[:, :1]
    slopes = tf.matmul(upstream, values - reference, transpose_b=True)
    return slopes - _row_sums(upstream * (means - reference))
