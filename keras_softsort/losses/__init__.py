"""Losses for `model.compile`, and the base classes of those of lists."""

from keras_softsort._internal.export import set_all as _set_all
from keras_softsort.losses._base import ListLoss as ListLoss
from keras_softsort.losses._lambda_weight import LambdaWeight as LambdaWeight
from keras_softsort.losses._score_loss import ScoreLoss as ScoreLoss
from keras_softsort.losses.listwise.approx_mrr import ApproxMRRLoss as ApproxMRRLoss
from keras_softsort.losses.listwise.approx_ndcg import ApproxNDCGLoss as ApproxNDCGLoss
from keras_softsort.losses.listwise.calibrated_softmax import CalibratedSoftmaxLoss as CalibratedSoftmaxLoss
from keras_softsort.losses.listwise.coupled_rank_distil import CoupledRankDistilLoss as CoupledRankDistilLoss
from keras_softsort.losses.listwise.gumbel_approx_ndcg import GumbelApproxNDCGLoss as GumbelApproxNDCGLoss
from keras_softsort.losses.listwise.mixture_em import MixtureEMLoss as MixtureEMLoss
from keras_softsort.losses.listwise.neural_ndcg import NeuralNDCGLoss as NeuralNDCGLoss
from keras_softsort.losses.listwise.neural_sort_cross_entropy import (
    NeuralSortCrossEntropyLoss as NeuralSortCrossEntropyLoss,
)
from keras_softsort.losses.listwise.permutation_cross_entropy import (
    PermutationCrossEntropyLoss as PermutationCrossEntropyLoss,
)
from keras_softsort.losses.listwise.pl_rank import PLRankLoss as PLRankLoss
from keras_softsort.losses.listwise.plackett_luce import PlackettLuceLoss as PlackettLuceLoss
from keras_softsort.losses.listwise.softmax import SoftmaxLoss as SoftmaxLoss
from keras_softsort.losses.listwise.spearman import SpearmanLoss as SpearmanLoss
from keras_softsort.losses.listwise.unique_softmax import UniqueSoftmaxLoss as UniqueSoftmaxLoss
from keras_softsort.losses.matching.set_loss import SetLoss as SetLoss
from keras_softsort.losses.neighbors.dknn import DkNNLoss as DkNNLoss
from keras_softsort.losses.neighbors.retrieval import RetrievalLoss as RetrievalLoss
from keras_softsort.losses.pairwise.pairwise_hinge import PairwiseHingeLoss as PairwiseHingeLoss
from keras_softsort.losses.pairwise.pairwise_mse import PairwiseMSELoss as PairwiseMSELoss
from keras_softsort.losses.pairwise.pairwise_soft_zero_one import PairwiseSoftZeroOneLoss as PairwiseSoftZeroOneLoss
from keras_softsort.losses.pairwise.ranknet import RankNetLoss as RankNetLoss
from keras_softsort.losses.pairwise.yeti_logistic import YetiLogisticLoss as YetiLogisticLoss
from keras_softsort.losses.pointwise.click_em import ClickEMLoss as ClickEMLoss
from keras_softsort.losses.pointwise.mean_squared import MeanSquaredLoss as MeanSquaredLoss
from keras_softsort.losses.pointwise.ordinal import OrdinalLoss as OrdinalLoss
from keras_softsort.losses.pointwise.sigmoid_cross_entropy import SigmoidCrossEntropyLoss as SigmoidCrossEntropyLoss

_set_all(__name__)
