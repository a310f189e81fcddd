"""Differentiable sorting, ranking and matching as ordinary TensorFlow and Keras parts."""

from importlib.metadata import version as _version

from keras_softsort import _keras as _keras  # first: it fails with one clear error under another Keras backend
from keras_softsort import callbacks, layers, losses, metrics, ops
from keras_softsort.callbacks import TauSchedule
from keras_softsort.layers import NeuralSortLayer, SoftQuantileLayer, SoftRankLayer, SoftSortLayer, SoftTopKLayer
from keras_softsort.losses import PermutationCrossEntropyLoss
from keras_softsort.metrics import ElementwiseAccuracy, PermutationAccuracy
from keras_softsort.ops import (
    harden,
    neural_sort,
    soft_quantile,
    soft_rank,
    soft_sort,
    soft_top_k,
    soft_values,
)

__version__ = _version("keras-softsort")

__all__ = [
    "ElementwiseAccuracy",
    "NeuralSortLayer",
    "PermutationAccuracy",
    "PermutationCrossEntropyLoss",
    "SoftQuantileLayer",
    "SoftRankLayer",
    "SoftSortLayer",
    "SoftTopKLayer",
    "TauSchedule",
    "callbacks",
    "harden",
    "layers",
    "losses",
    "metrics",
    "neural_sort",
    "ops",
    "soft_quantile",
    "soft_rank",
    "soft_sort",
    "soft_top_k",
    "soft_values",
]
