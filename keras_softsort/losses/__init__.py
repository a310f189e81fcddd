"""Losses for `model.compile`, and the base classes of those of lists."""

from keras_softsort.losses._list_loss import ListLoss
from keras_softsort.losses._score_loss import ScoreLoss
from keras_softsort.losses.approx_ndcg import ApproxNDCGLoss
from keras_softsort.losses.dknn import DkNNLoss
from keras_softsort.losses.neural_ndcg import NeuralNDCGLoss
from keras_softsort.losses.neural_sort_cross_entropy import NeuralSortCrossEntropyLoss
from keras_softsort.losses.permutation_cross_entropy import PermutationCrossEntropyLoss
from keras_softsort.losses.pl_rank import PLRankLoss
from keras_softsort.losses.plackett_luce import PlackettLuceLoss
from keras_softsort.losses.ranknet import RankNetLoss
from keras_softsort.losses.spearman import SpearmanLoss

__all__ = [
    "ApproxNDCGLoss",
    "DkNNLoss",
    "ListLoss",
    "NeuralNDCGLoss",
    "NeuralSortCrossEntropyLoss",
    "PLRankLoss",
    "PermutationCrossEntropyLoss",
    "PlackettLuceLoss",
    "RankNetLoss",
    "ScoreLoss",
    "SpearmanLoss",
]
