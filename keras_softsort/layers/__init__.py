"""Differentiable sorting and matching as Keras layers."""

from keras_softsort.layers.dknn import DkNNLayer
from keras_softsort.layers.gumbel_sinkhorn import GumbelSinkhornLayer
from keras_softsort.layers.gumbel_softmax import GumbelSoftmaxLayer
from keras_softsort.layers.knn_classifier import KNNClassifier
from keras_softsort.layers.neural_sort import NeuralSortLayer
from keras_softsort.layers.plackett_luce_sampler import PlackettLuceSampler
from keras_softsort.layers.sinkhorn import SinkhornLayer
from keras_softsort.layers.soft_quantile import SoftQuantileLayer
from keras_softsort.layers.soft_rank import SoftRankLayer
from keras_softsort.layers.soft_sort import SoftSortLayer
from keras_softsort.layers.soft_top_k import SoftTopKLayer

__all__ = [
    "DkNNLayer",
    "GumbelSinkhornLayer",
    "GumbelSoftmaxLayer",
    "KNNClassifier",
    "NeuralSortLayer",
    "PlackettLuceSampler",
    "SinkhornLayer",
    "SoftQuantileLayer",
    "SoftRankLayer",
    "SoftSortLayer",
    "SoftTopKLayer",
]
