"""Losses for `model.compile`, and the base classes of those of lists."""

from keras_softsort.losses._lambda_weight import LambdaWeight
from keras_softsort.losses._list_loss import ListLoss
from keras_softsort.losses._score_loss import ScoreLoss
from keras_softsort.losses.listwise.approx_mrr import ApproxMRRLoss
from keras_softsort.losses.listwise.approx_ndcg import ApproxNDCGLoss
from keras_softsort.losses.listwise.calibrated_softmax import CalibratedSoftmaxLoss
from keras_softsort.losses.listwise.coupled_rank_distil import CoupledRankDistilLoss
from keras_softsort.losses.listwise.gumbel_approx_ndcg import GumbelApproxNDCGLoss
from keras_softsort.losses.listwise.mixture_em import MixtureEMLoss
from keras_softsort.losses.listwise.neural_ndcg import NeuralNDCGLoss
from keras_softsort.losses.listwise.neural_sort_cross_entropy import NeuralSortCrossEntropyLoss
from keras_softsort.losses.listwise.permutation_cross_entropy import PermutationCrossEntropyLoss
from keras_softsort.losses.listwise.pl_rank import PLRankLoss
from keras_softsort.losses.listwise.plackett_luce import PlackettLuceLoss
from keras_softsort.losses.listwise.softmax import SoftmaxLoss
from keras_softsort.losses.listwise.spearman import SpearmanLoss
from keras_softsort.losses.listwise.unique_softmax import UniqueSoftmaxLoss
from keras_softsort.losses.matching.set_loss import SetLoss
from keras_softsort.losses.neighbors.dknn import DkNNLoss
from keras_softsort.losses.neighbors.retrieval import RetrievalLoss
from keras_softsort.losses.pairwise.pairwise_hinge import PairwiseHingeLoss
from keras_softsort.losses.pairwise.pairwise_mse import PairwiseMSELoss
from keras_softsort.losses.pairwise.pairwise_soft_zero_one import PairwiseSoftZeroOneLoss
from keras_softsort.losses.pairwise.ranknet import RankNetLoss
from keras_softsort.losses.pairwise.yeti_logistic import YetiLogisticLoss
from keras_softsort.losses.pointwise.click_em import ClickEMLoss
from keras_softsort.losses.pointwise.mean_squared import MeanSquaredLoss
from keras_softsort.losses.pointwise.ordinal import OrdinalLoss
from keras_softsort.losses.pointwise.sigmoid_cross_entropy import SigmoidCrossEntropyLoss

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
