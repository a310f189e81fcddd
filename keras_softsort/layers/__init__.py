"""Differentiable sorting as Keras layers."""

from keras_softsort.layers.neural_sort import NeuralSortLayer
from keras_softsort.layers.soft_quantile import SoftQuantileLayer
from keras_softsort.layers.soft_rank import SoftRankLayer
from keras_softsort.layers.soft_sort import SoftSortLayer
from keras_softsort.layers.soft_top_k import SoftTopKLayer

__all__ = ["NeuralSortLayer", "SoftQuantileLayer", "SoftRankLayer", "SoftSortLayer", "SoftTopKLayer"]
