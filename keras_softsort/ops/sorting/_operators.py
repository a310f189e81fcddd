"""The functions of the dispatcher as public operators run them: called eagerly, each is one trace per algorithm."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from typing import Any

import tensorflow as tf

from keras_softsort.ops._core.thresholds import Thresholds
from keras_softsort.ops._core.tracing import traced_if_eager
from keras_softsort.ops.sorting import _dispatch
from keras_softsort.ops.sorting._arguments import SortArguments
from keras_softsort.ops.sorting._methods import registry


def operator(function: Callable[..., Any], *thresholds: str) -> Callable[..., Any]:
    """Trace `function(args, ...)` when it is called eagerly, for all list sizes between two of `thresholds`.

    These are the ones that bear on `function`. The algorithm is chosen from the size before tracing, so that a trace
    holds no other; inside a caller's trace of unknown sizes it is chosen when the graph runs.
    """
    run = traced_if_eager(function)

    @functools.wraps(function)
    def call(args: SortArguments, *rest: Any) -> Any:
        if tf.executing_eagerly():
            args = args._replace(thresholds=args.thresholds.at_size(args.scores.shape[-1], thresholds))
        return run(args, *rest)

    return call


def sized_thresholds(scores: tf.Tensor, method: str, power: float, names: Collection[str]) -> Thresholds:
    """The list sizes at which the algorithms of `method` change; in an eager call decided by that of the scores."""
    known = registry.thresholds(method, power)
    return known.at_size(scores.shape[-1], names) if tf.executing_eagerly() else known


MATRIX = ("pairwise_max_size",)
ROWS = ("pairwise_max_size_top_k",)
PRODUCT = *MATRIX, "matrix_free_min_size"

# By the rows of the matrix that are computed: all, the first ones, or none on long lists.
permutation = operator(_dispatch.permutation, *MATRIX)
leading_rows = operator(_dispatch.permutation, *ROWS)
top_k = operator(_dispatch.top_k, *ROWS)
membership = operator(_dispatch.membership, *ROWS)
multiply = operator(_dispatch.multiply, *PRODUCT)
sorted_scores = operator(_dispatch.sorted_scores, *PRODUCT)
soft_ranks = operator(_dispatch.soft_ranks, *PRODUCT)
