"""The options that metrics of relevant items share, and which items are relevant."""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort.ops.metrics._ranked_lists import RankedLists, checked_ties, ranked_lists
from keras_softsort.ops.ranking._lists import RankingLists


class RelevanceOptions(NamedTuple):
    """The checked options of metrics of relevant items."""

    k: int | None
    min_label: float
    ties: str


def check_relevance(*, k: Any, min_label: Any, ties: Any) -> RelevanceOptions:
    """Check the options of metrics of relevant items."""
    return RelevanceOptions(
        k=None if k is None else arguments.positive_integer("k", k),
        min_label=arguments.number("min_label", min_label),
        ties=checked_ties(ties),
    )


def relevant_items(lists: RankingLists, options: RelevanceOptions) -> tuple[tf.Tensor, RankedLists]:
    """1 for relevant items, else 0 [B, n], and the lists in the order of their scores."""
    relevant = tf.logical_and(lists.labels >= options.min_label, lists.mask)
    return tf.cast(relevant, lists.scores.dtype), ranked_lists(lists, options.ties)
