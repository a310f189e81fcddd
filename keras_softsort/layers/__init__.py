"""Keras layers for differentiable sorting, matching, sampling and nearest neighbors."""

from keras_softsort._internal.export import set_all as _set_all
from keras_softsort.layers._base import TemperatureLayer as TemperatureLayer
from keras_softsort.layers.bilinear import Bilinear as Bilinear
from keras_softsort.layers.matching import GumbelSinkhornLayer as GumbelSinkhornLayer
from keras_softsort.layers.matching import SinkhornLayer as SinkhornLayer
from keras_softsort.layers.neighbors.dknn import DkNNLayer as DkNNLayer
from keras_softsort.layers.neighbors.knn_classifier import KNNClassifier as KNNClassifier
from keras_softsort.layers.ranking import ConcatFeatures as ConcatFeatures
from keras_softsort.layers.ranking import DocumentInteractionAttention as DocumentInteractionAttention
from keras_softsort.layers.ranking import MaskedBatchNormalization as MaskedBatchNormalization
from keras_softsort.layers.sampling import GumbelSoftmaxLayer as GumbelSoftmaxLayer
from keras_softsort.layers.sampling import PlackettLuceSampler as PlackettLuceSampler
from keras_softsort.layers.sorting.order_statistics import SoftQuantileLayer as SoftQuantileLayer
from keras_softsort.layers.sorting.order_statistics import SoftRankLayer as SoftRankLayer
from keras_softsort.layers.sorting.order_statistics import SoftTopKLayer as SoftTopKLayer
from keras_softsort.layers.sorting.permutation_layers import NeuralSortLayer as NeuralSortLayer
from keras_softsort.layers.sorting.permutation_layers import SoftSortLayer as SoftSortLayer

_set_all(__name__)
