"""List losses for `model.compile`."""

from keras_softsort.losses.permutation_cross_entropy import PermutationCrossEntropyLoss

__all__ = ["PermutationCrossEntropyLoss"]
