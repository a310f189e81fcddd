"""Metrics of predicted orders and rank correlations, for `model.compile`."""

from keras_softsort._internal.export import set_all as _set_all
from keras_softsort.metrics.accuracies import ElementwiseAccuracy as ElementwiseAccuracy
from keras_softsort.metrics.accuracies import PermutationAccuracy as PermutationAccuracy
from keras_softsort.metrics.correlations import KendallTau as KendallTau
from keras_softsort.metrics.correlations import SpearmanCorrelation as SpearmanCorrelation

_set_all(__name__)
