"""Checks of the shapes of queries and candidates."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments


def check_embedding_shapes(queries: Any, candidates: Any, k: int) -> None:
    """Check shapes as far as they are known: `[..., q, d]` and `[..., c, d]` with k below c."""
    queries, candidates = tf.TensorShape(queries), tf.TensorShape(candidates)
    ranks_fit = queries.rank == candidates.rank and queries.rank >= 2
    if not (
        ranks_fit
        and queries[:-2].is_compatible_with(candidates[:-2])
        and queries[-1:].is_compatible_with(candidates[-1:])
    ):
        raise ValueError(
            f"queries and candidates must have shapes [..., q, d] and [..., c, d], got {queries} and {candidates}"
        )
    if candidates[-2] is not None and candidates[-2] <= k:
        raise ValueError(f"k must be below the number of candidates, {candidates[-2]}, got {k}")


def checked_candidates(queries: tf.Tensor, candidates: tf.Tensor, k: int) -> tf.Tensor:
    """Check that `candidates` match `queries` and are more than k, when traced if sizes are known, else when run."""
    check_embedding_shapes(queries.shape, candidates.shape, k)
    if candidates.shape[-2] is not None:
        return candidates
    size = tf.shape(candidates)[-2]
    return arguments.checked(candidates, size > k, f"k must be below the number of candidates, got {k} for", size)
