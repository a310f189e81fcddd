"""Losses for `model.compile`, and the base classes of those of lists."""

from keras_softsort.losses._configs import LambdaWeight
from keras_softsort.losses._list_loss import ListLoss, ScoreLoss
from keras_softsort.losses.matching.set_loss import SetLoss
from keras_softsort.losses.neighbors.dknn import DkNNLoss
from keras_softsort.losses.neighbors.retrieval import RetrievalLoss
from keras_softsort.losses.ranking.approx_ndcg import ApproxMRRLoss, ApproxNDCGLoss, GumbelApproxNDCGLoss
from keras_softsort.losses.ranking.em import ClickEMLoss, MixtureEMLoss
from keras_softsort.losses.ranking.neural_ndcg import NeuralNDCGLoss
from keras_softsort.losses.ranking.pairwise import (
    PairwiseHingeLoss,
    PairwiseMSELoss,
    PairwiseSoftZeroOneLoss,
    YetiLogisticLoss,
)
from keras_softsort.losses.ranking.permutation_cross_entropy import (
    NeuralSortCrossEntropyLoss,
    PermutationCrossEntropyLoss,
)
from keras_softsort.losses.ranking.pl_rank import PLRankLoss
from keras_softsort.losses.ranking.plackett_luce import CoupledRankDistilLoss, PlackettLuceLoss
from keras_softsort.losses.ranking.pointwise import MeanSquaredLoss, OrdinalLoss, SigmoidCrossEntropyLoss
from keras_softsort.losses.ranking.ranknet import RankNetLoss
from keras_softsort.losses.ranking.softmax import CalibratedSoftmaxLoss, SoftmaxLoss, UniqueSoftmaxLoss
from keras_softsort.losses.ranking.spearman import SpearmanLoss

__all__ = [
    "ClickEMLoss",
    "OrdinalLoss",
    "MeanSquaredLoss",
    "SigmoidCrossEntropyLoss",
    "YetiLogisticLoss",
    "MixtureEMLoss",
    "CoupledRankDistilLoss",
    "GumbelApproxNDCGLoss",
    "UniqueSoftmaxLoss",
    "CalibratedSoftmaxLoss",
    "ApproxMRRLoss",
    "LambdaWeight",
    "PairwiseSoftZeroOneLoss",
    "PairwiseMSELoss",
    "PairwiseHingeLoss",
    "ApproxNDCGLoss",
    "DkNNLoss",
    "ListLoss",
    "NeuralNDCGLoss",
    "NeuralSortCrossEntropyLoss",
    "PLRankLoss",
    "PermutationCrossEntropyLoss",
    "PlackettLuceLoss",
    "RankNetLoss",
    "RetrievalLoss",
    "ScoreLoss",
    "SetLoss",
    "SoftmaxLoss",
    "SpearmanLoss",
]
