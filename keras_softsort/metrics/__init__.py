"""Metrics of predicted orders and rank correlations, for `model.compile`."""

from keras_softsort.metrics.elementwise_accuracy import ElementwiseAccuracy
from keras_softsort.metrics.kendall_tau import KendallTau
from keras_softsort.metrics.permutation_accuracy import PermutationAccuracy
from keras_softsort.metrics.spearman_correlation import SpearmanCorrelation

__all__ = ["ElementwiseAccuracy", "KendallTau", "PermutationAccuracy", "SpearmanCorrelation"]
