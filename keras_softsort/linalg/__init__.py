"""Soft permutations as linear operators, which multiply without forming their matrix."""

from keras_softsort.linalg.neural_sort import LinearOperatorNeuralSort
from keras_softsort.linalg.soft_sort import LinearOperatorSoftSort

__all__ = ["LinearOperatorNeuralSort", "LinearOperatorSoftSort"]
