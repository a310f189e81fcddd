"""Differentiable sorting, ranking and matching as ordinary TensorFlow and Keras parts."""

from importlib.metadata import version as _version

from keras_softsort import callbacks, data, distributions, layers, linalg, losses, metrics, ops
from keras_softsort._internal import keras_compat as _keras_compat  # noqa: F401  first: it checks the backend
from keras_softsort.callbacks import TauSchedule
from keras_softsort.distributions import PlackettLuce, RelaxedPlackettLuce, expected_cost
from keras_softsort.layers import (
    DkNNLayer,
    GumbelSinkhornLayer,
    GumbelSoftmaxLayer,
    KNNClassifier,
    NeuralSortLayer,
    PlackettLuceSampler,
    SinkhornLayer,
    SoftQuantileLayer,
    SoftRankLayer,
    SoftSortLayer,
    SoftTopKLayer,
)
from keras_softsort.linalg import LinearOperatorNeuralSort, LinearOperatorSoftSort
from keras_softsort.losses import (
    ApproxNDCGLoss,
    DkNNLoss,
    NeuralNDCGLoss,
    NeuralSortCrossEntropyLoss,
    PermutationCrossEntropyLoss,
    PlackettLuceLoss,
    PLRankLoss,
    RankNetLoss,
    SpearmanLoss,
)
from keras_softsort.metrics import ElementwiseAccuracy, KendallTau, PermutationAccuracy, SpearmanCorrelation
from keras_softsort.ops import (
    gumbel_sinkhorn,
    gumbel_softmax,
    harden,
    linear_assignment,
    neural_sort,
    pairwise_logistic,
    ranknet_lambdas,
    relaxed_top_k,
    sinkhorn,
    soft_quantile,
    soft_rank,
    soft_sort,
    soft_top_k,
    soft_top_k_membership,
    soft_values,
)

__version__ = _version("keras-softsort")

__all__ = [
    "ApproxNDCGLoss",
    "DkNNLayer",
    "DkNNLoss",
    "ElementwiseAccuracy",
    "GumbelSinkhornLayer",
    "GumbelSoftmaxLayer",
    "KNNClassifier",
    "KendallTau",
    "LinearOperatorNeuralSort",
    "LinearOperatorSoftSort",
    "NeuralNDCGLoss",
    "NeuralSortCrossEntropyLoss",
    "NeuralSortLayer",
    "PLRankLoss",
    "PermutationAccuracy",
    "PermutationCrossEntropyLoss",
    "PlackettLuce",
    "PlackettLuceLoss",
    "PlackettLuceSampler",
    "RankNetLoss",
    "RelaxedPlackettLuce",
    "SinkhornLayer",
    "SoftQuantileLayer",
    "SoftRankLayer",
    "SoftSortLayer",
    "SoftTopKLayer",
    "SpearmanCorrelation",
    "SpearmanLoss",
    "TauSchedule",
    "callbacks",
    "data",
    "distributions",
    "expected_cost",
    "gumbel_sinkhorn",
    "gumbel_softmax",
    "harden",
    "layers",
    "linalg",
    "linear_assignment",
    "losses",
    "metrics",
    "neural_sort",
    "ops",
    "pairwise_logistic",
    "ranknet_lambdas",
    "relaxed_top_k",
    "sinkhorn",
    "soft_quantile",
    "soft_rank",
    "soft_sort",
    "soft_top_k",
    "soft_top_k_membership",
    "soft_values",
]
