"""The costs of choosing items one after another, minus the logarithms of the probabilities, with their gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort.ops.core.axes import list_size
from keras_softsort.ops.core.order import group_sums, take
from keras_softsort.ops.core.running_sums import running_sums
from keras_softsort.ops.core.temperature import excluded
from keras_softsort.ops.core.ties import tie_sums
from keras_softsort.ops.sampling.compared_choices import ComparedChoices, compared_costs
from keras_softsort.ops.sampling.logsumexp import ScaledSums, in_float64, is_excluded, scaled_sums, suffix_sums

# Scores within this of the largest of their list: exponentials relative to it are in range, and a sum of 1e8 of
# them divided by one of them does not overflow.
SAFE_RANGE = {tf.float32: 70.0, tf.float64: 600.0}
# Up to this many items sums of float32 lose no digits that matter.
FLOAT32_SIZE = 1000


class OrderedChoices(NamedTuple):
    """Choices in the order of the items: each from the items of its group and of all later groups."""

    # The first item of each item's group, [B, n] int32, counted from 0. None for groups of one.
    first: tf.Tensor | None = None
    # Pairs to compare where scores span more than `SAFE_RANGE`; None for long lists, or if the size is unknown.
    compared: ComparedChoices | None = None

    def others(self, terms: tf.Tensor) -> tf.Tensor:
        """Sum the terms [B, n], at least 0, over the alternatives of each choice, without the chosen item."""
        after = _sums_after(terms)
        if self.first is None:
            return after
        left = after + terms
        return after + (take(left, self.first) - left)  # plus the items of the group that stand before the chosen one

    def exponential_sums(self, values: tf.Tensor) -> ScaledSums:
        """Sum the exponentials of the values [B, n], of any range, over the alternatives of each choice."""
        sums = suffix_sums(values)
        return sums if self.first is None else ScaledSums(*(take(part, self.first) for part in sums))

    def choices(self, values: tf.Tensor) -> tf.Tensor:
        """Sum the values [B, n] of choices over those that have each item among their alternatives."""
        # The sum of each group stands at its first item.
        sums = values if self.first is None else group_sums(values, self.first, list_size(values))
        return running_sums(sums)

    def logsumexp_of_choices(self, values: tf.Tensor) -> tf.Tensor:
        """The logarithms of the sums that `choices` makes of the exponentials of the values [B, n], of any range."""
        logs = tf.reverse(suffix_sums(tf.reverse(values, [1])).log(), [1])
        if self.first is None:
            return logs
        last = self.first + tie_sums(tf.ones_like(self.first), self.first) - 1
        return take(logs, last)


class ChoicesAgainstLater(NamedTuple):
    """Choices in the order of the items: each from the chosen item and the items of all later groups."""

    # The first and the last item of each item's group, [B, n] int32, counted from 0.
    first: tf.Tensor
    last: tf.Tensor

    def others(self, terms: tf.Tensor) -> tf.Tensor:
        """Sum the terms [B, n], at least 0, over the alternatives of each choice, without the chosen item."""
        return take(_sums_after(terms), self.last)

    def exponential_sums(self, values: tf.Tensor) -> ScaledSums:
        """Sum the exponentials of the values [B, n], of any range, over the alternatives of each choice."""
        # No item follows the last one.
        padded = tf.pad(values, [[0, 0], [0, 1]], constant_values=values.dtype.min / 4)
        peak, total = (take(part, self.last + 1) for part in suffix_sums(padded))
        return scaled_sums(tf.stack([values, peak], axis=-1), tf.stack([tf.ones_like(total), total], axis=-1))

    def choices(self, values: tf.Tensor) -> tf.Tensor:
        """Sum the values [B, n] of choices over those that have each item among their alternatives."""
        return values + take(tf.pad(running_sums(values), [[0, 0], [1, 0]]), self.first)


class MultipliedChoices(NamedTuple):
    """Choices in any order of the items, by products of matrices; see `target.by_products`."""

    compared: ComparedChoices

    def others(self, terms: tf.Tensor) -> tf.Tensor:
        """Sum the terms [B, n], at least 0, over the alternatives of each choice, without the chosen item."""
        return tf.linalg.matvec(self._alternatives(terms.dtype), terms)

    def exponential_sums(self, values: tf.Tensor) -> ScaledSums:
        """Sum the exponentials of the values [B, n], of any range, over the alternatives of each choice."""
        others = tf.where(self.compared.others(axis=1), values[:, tf.newaxis], excluded(values.dtype))
        return scaled_sums(tf.concat([others, values[..., tf.newaxis]], axis=2))

    def choices(self, values: tf.Tensor) -> tf.Tensor:
        """Sum the values [B, n] of choices over those that have each item among their alternatives."""
        return values + tf.linalg.matvec(self._alternatives(values.dtype), values, transpose_a=True)

    def _alternatives(self, dtype: tf.DType) -> tf.Tensor:
        """1 for the alternatives of each choice without the chosen item, 0 for others: [B, n, n].

        They are computed within the branches of `_terms_and_slopes`, for which XLA stores the keys of the items. Before
        the condition, it would compute the keys anew for every pair.
        """
        return tf.cast(self.compared.others(axis=1), dtype)


SummedChoices = OrderedChoices | ChoicesAgainstLater | MultipliedChoices


def choice_costs(scores: tf.Tensor, weights: tf.Tensor | None, choices: SummedChoices | ComparedChoices) -> tf.Tensor:
    """Compute `sum_i w_i (logsumexp_j a_j - a_i)` over the choices i, with the alternatives j of each: [B].

    The scores a [B, n] may be `excluded`, or -inf. A choice of weight 0 costs 0, and so does one all of whose
    alternatives are excluded.
    """
    if isinstance(choices, ComparedChoices):
        terms = compared_costs(scores, choices)
        return tf.reduce_sum(terms if weights is None else tf.math.multiply_no_nan(terms, weights), axis=1)
    given = (scores,) if weights is None else (scores, weights)

    @tf.custom_gradient
    def costs(*given: tf.Tensor) -> tuple:
        terms, slopes = _terms_and_slopes(given, choices)

        def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, ...]:
            upstream = upstream[:, tf.newaxis]
            return (slopes * upstream, *(tf.math.multiply_no_nan(terms, upstream) for _ in given[1:]))

        return tf.reduce_sum(tf.math.multiply_no_nan(terms, *given[1:]) if given[1:] else terms, axis=1), gradient

    return costs(*given)


def _terms_and_slopes(given: tuple[tf.Tensor, ...], choices: SummedChoices) -> tuple[tf.Tensor, tf.Tensor]:
    """The costs [B, n] of choices, and the gradient [B, n] of their weighted sum; `given` are scores and any weights.

    XLA compiles no gradient of a condition that gathers, so second derivatives are computed within its branches.
    """
    scores = given[0]
    # The largest score may be -inf, from which -inf cannot be subtracted.
    peak = tf.stop_gradient(tf.maximum(tf.reduce_max(scores, axis=1, keepdims=True), scores.dtype.min / 8))
    # NaN counts as in range: sums of exponentials keep it within its list.
    relative = scores - peak
    is_wide = tf.logical_and(relative < -SAFE_RANGE[scores.dtype], scores > scores.dtype.min / 8)
    is_wide = tf.reduce_any(is_wide)

    def in_range(scores: tf.Tensor, weights: tf.Tensor | None = None) -> tuple[tf.Tensor, tf.Tensor]:
        return _in_range(scores - peak, weights, choices)

    def of_any_range(scores: tf.Tensor, weights: tf.Tensor | None = None) -> tuple[tf.Tensor, tf.Tensor]:
        return _of_any_range(scores, weights, choices)

    @tf.custom_gradient
    def both(*given: tf.Tensor) -> tuple:
        def gradient(*upstream: tf.Tensor) -> list[tf.Tensor]:
            def by(form: Callable[..., Any]) -> list[tf.Tensor]:
                with tf.GradientTape() as tape:
                    tape.watch(given)
                    results = form(*given)
                return tape.gradient(results, given, upstream)

            return tf.cond(is_wide, lambda: by(of_any_range), lambda: by(in_range))

        return tf.cond(is_wide, lambda: of_any_range(*given), lambda: in_range(*given)), gradient

    return both(*given)


def _in_range(relative: tf.Tensor, weights: tf.Tensor | None, choices: SummedChoices) -> tuple[tf.Tensor, tf.Tensor]:
    """The costs [B, n] and slopes in linear time, for scores within `SAFE_RANGE` of the largest of their list."""
    terms = tf.exp(relative)
    others = choices.others(terms)
    left = others + terms
    counts = tf.sign(left)  # 0 where no item is left; the quotient is then 0 / 1
    # log(left / term) would lose the digits of small costs.
    costs = tf.math.log1p(others / (terms + (1 - counts)))
    weights = counts if weights is None else weights * counts
    return costs, terms * choices.choices(tf.math.divide_no_nan(weights, left)) - weights


def _of_any_range(scores: tf.Tensor, weights: tf.Tensor | None, choices: SummedChoices) -> tuple[tf.Tensor, tf.Tensor]:
    """Compute the results of `_in_range` for scores of any range, in O(n^1.5) time or by pairs of a short list."""
    weights = tf.ones_like(scores) if weights is None else weights
    if isinstance(choices, OrderedChoices) and choices.compared is not None:
        choices = MultipliedChoices(choices.compared)
    zeros = tf.zeros_like(scores)
    with tf.GradientTape() as tape:
        tape.watch(scores)
        peaks, totals = choices.exponential_sums(scores)
        none_left = tf.equal(totals, 0)
        # The difference from the largest alternative is exact, and the logarithm of the total is small.
        logs = tf.math.log(tf.where(none_left, tf.ones_like(totals), totals))
        costs = tf.where(none_left, zeros, (peaks - scores) + logs)
        weights = tf.where(none_left, zeros, weights)
        weighted = tf.reduce_sum(tf.math.multiply_no_nan(logs, weights))
    # Costs depend on the peaks, too, which have no gradient here: the shares of the alternatives are all of it.
    return costs, tape.gradient(weighted, scores) - weights


def choice_derivatives(
    scores: tf.Tensor, weights: tf.Tensor | None, choices: OrderedChoices
) -> tuple[tf.Tensor, tf.Tensor]:
    """The gradient [B, n] of `choice_costs` and the diagonal of its hessian, for weights of at least 0.

    With the probability p_ki of the alternative i in the choice k they are `sum_k w_k p_ki - w_i` and
    `sum_k w_k p_ki (1 - p_ki)`, in O(n^1.5) time. Logarithms in float64 keep scores of any range.
    """
    dtype, scores = scores.dtype, in_float64(scores)
    weights = tf.ones_like(scores) if weights is None else tf.cast(weights, tf.float64)
    logs = choices.exponential_sums(scores).log()
    weights = tf.where(is_excluded(logs), tf.zeros_like(weights), weights)
    counts = weights > 0
    log_weights = tf.math.log(tf.where(counts, weights, tf.ones_like(weights)))

    def powers(power: int) -> tf.Tensor:
        """`sum_k w_k p_ki^power`."""
        of_choices = tf.where(counts, log_weights - power * logs, excluded(tf.float64))
        return tf.exp(power * scores + choices.logsumexp_of_choices(of_choices))

    expected = powers(1)
    return tf.cast(expected - weights, dtype), tf.cast(expected - powers(2), dtype)


def _sums_after(terms: tf.Tensor) -> tf.Tensor:
    return running_sums(terms, exclusive=True, reverse=True)
