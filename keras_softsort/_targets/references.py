"""References of a neighbor search: embeddings and labels that are checked, and the batches that they come in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from keras_softsort._internal import arguments

NO_LABELS = (
    "labels must be integers [n], got None. For an index without classes pass zeros, and read the neighbors: "
    "set_references(items, np.zeros(len(items), int))"
)


def checked_embeddings(embeddings: Any) -> np.ndarray:
    """Check a part of the references [n, d]: floating-point and finite."""
    embeddings = np.asarray(arguments.floating_tensor("embeddings", embeddings))
    if embeddings.ndim != 2 or 0 in embeddings.shape:
        raise ValueError(f"embeddings must have shape [n, d], with n and d above 0, got {embeddings.shape}")
    broken = np.flatnonzero(~np.isfinite(embeddings).all(axis=1))
    if broken.size:
        raise ValueError(f"embeddings must be finite, got {broken.size} that are not, the first at {broken[0]}")
    return embeddings


def checked_labels(labels: Any, count: int, num_classes: int | None) -> tuple[np.ndarray, int]:
    """Check the labels [count] of the references. Without `num_classes` it is one more than the largest label."""
    if labels is None:
        raise TypeError(NO_LABELS)
    labels = np.asarray(labels)
    if labels.dtype.kind not in "iu":
        raise TypeError(f"labels must be integers, got dtype {labels.dtype}")
    if labels.shape != (count,):
        raise ValueError(f"labels must have shape [n] = ({count},), one per embedding, got {labels.shape}")
    if labels.min() < 0 or labels.max() >= (num_classes or np.inf):
        most = "" if num_classes is None else f" and below num_classes = {num_classes}"
        raise ValueError(f"labels must be at least 0{most}, got {labels.min()} to {labels.max()}")
    return labels, num_classes or int(labels.max()) + 1


def reference_batches(data: Any, labels: Any, size: int) -> Iterator[tuple[Any, Any]]:
    """Pairs of inputs and labels from what `adapt` takes."""
    if callable(labels):
        raise TypeError("labels must be integers [n], got a function; pass the encoder as encoder=")
    is_pair = isinstance(data, tuple) and len(data) == 2 and not isinstance(data[0], tuple)
    if labels is None and not is_pair:
        if not isinstance(data, Iterable) or isinstance(data, np.ndarray) or tf.is_tensor(data):
            raise ValueError(
                f"labels must be given with inputs, or data be batches of (inputs, labels), got {type(data)}"
            )
        for batch in data:
            if not isinstance(batch, (tuple, list)) or len(batch) != 2:
                received = f"{len(batch)} parts" if isinstance(batch, (tuple, list)) else type(batch)
                raise ValueError(f"each batch of data must be (inputs, labels), got {received}")
            yield tuple(batch)
        return
    if labels is not None and is_pair:
        raise ValueError("labels must be given once, got a tuple of inputs and labels, and labels")
    inputs, labels = data if labels is None else (data, labels)
    inputs, labels = (values if tf.is_tensor(values) else np.asarray(values) for values in (inputs, labels))
    if len(labels.shape) != 1 or len(inputs.shape) < 1 or len(labels) != len(inputs):
        raise ValueError(
            f"labels must have shape [n], one per input, got {tuple(labels.shape)} for inputs {tuple(inputs.shape)}"
        )
    for start in range(0, len(labels), size):
        yield inputs[start : start + size], labels[start : start + size]
