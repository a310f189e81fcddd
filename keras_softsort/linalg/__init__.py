"""Soft permutations as linear operators, which multiply without forming their matrix."""

from keras_softsort._internal import probability_version as _probability_version  # noqa: F401  before TFP is imported

# isort: split

from keras_softsort._internal.export import set_all as _set_all
from keras_softsort.linalg.soft_permutations import LinearOperatorNeuralSort as LinearOperatorNeuralSort
from keras_softsort.linalg.soft_permutations import LinearOperatorSoftSort as LinearOperatorSoftSort

_set_all(__name__)
