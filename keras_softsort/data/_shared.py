"""The lists of a `RankingDataset` as tensors for input pipelines."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from keras_softsort.data._arrays import shared_tensor
from keras_softsort.data._ranking_dataset import RankingDataset


class SharedLists(NamedTuple):
    """The arrays of a `RankingDataset` as tensors on the CPU, without a copy if possible."""

    features: tf.Tensor
    labels: tf.Tensor
    weights: tf.Tensor | None
    starts: tf.Tensor
    sizes: tf.Tensor

    @classmethod
    def of(cls, lists: RankingDataset) -> SharedLists:
        """Share the arrays of `lists`."""
        columns = (lists.features, lists.labels, lists.weights, lists.starts, lists.sizes)
        return cls(*(None if column is None else shared_tensor(column) for column in columns))


def without_copies(dataset: tf.data.Dataset, cardinality: int) -> tf.data.Dataset:
    """Set the number of elements of `dataset`, and turn off the optimizations that would copy the features."""
    options = tf.data.Options()
    options.experimental_optimization.apply_default_optimizations = False
    dataset = dataset.apply(tf.data.experimental.assert_cardinality(cardinality)).with_options(options)
    return dataset.prefetch(tf.data.AUTOTUNE)
