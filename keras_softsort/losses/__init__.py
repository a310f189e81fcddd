"""List losses for `model.compile`."""

from keras_softsort.losses.permutation_cross_entropy import PermutationCrossEntropyLoss
from keras_softsort.losses.plackett_luce import PlackettLuceLoss
from keras_softsort.losses.ranknet import RankNetLoss

__all__ = ["PermutationCrossEntropyLoss", "PlackettLuceLoss", "RankNetLoss"]
