"""Losses for `model.compile`, and base classes of losses of lists."""

from keras_softsort._internal.export import set_all as _set_all
from keras_softsort.losses._lambda_weight import LambdaWeight as LambdaWeight
from keras_softsort.losses._list_loss import ListLoss as ListLoss
from keras_softsort.losses._list_loss import ScoreLoss as ScoreLoss
from keras_softsort.losses.matching.set_loss import SetLoss as SetLoss
from keras_softsort.losses.neighbors.dknn import DkNNLoss as DkNNLoss
from keras_softsort.losses.neighbors.retrieval import RetrievalLoss as RetrievalLoss
from keras_softsort.losses.ranking.clicks import ClickEMLoss as ClickEMLoss
from keras_softsort.losses.ranking.clicks import DualLearningLoss as DualLearningLoss
from keras_softsort.losses.ranking.clicks import MixtureEMLoss as MixtureEMLoss
from keras_softsort.losses.ranking.ndcg import ApproxMRRLoss as ApproxMRRLoss
from keras_softsort.losses.ranking.ndcg import ApproxNDCGLoss as ApproxNDCGLoss
from keras_softsort.losses.ranking.ndcg import GumbelApproxNDCGLoss as GumbelApproxNDCGLoss
from keras_softsort.losses.ranking.ndcg import NeuralNDCGLoss as NeuralNDCGLoss
from keras_softsort.losses.ranking.ndcg import PLRankLoss as PLRankLoss
from keras_softsort.losses.ranking.orders import ApproxRankMSELoss as ApproxRankMSELoss
from keras_softsort.losses.ranking.orders import CoupledRankDistilLoss as CoupledRankDistilLoss
from keras_softsort.losses.ranking.orders import NeuralSortCrossEntropyLoss as NeuralSortCrossEntropyLoss
from keras_softsort.losses.ranking.orders import PermutationCrossEntropyLoss as PermutationCrossEntropyLoss
from keras_softsort.losses.ranking.orders import PlackettLuceLoss as PlackettLuceLoss
from keras_softsort.losses.ranking.orders import SpearmanLoss as SpearmanLoss
from keras_softsort.losses.ranking.pairs import CircleLoss as CircleLoss
from keras_softsort.losses.ranking.pairs import PairwiseHingeLoss as PairwiseHingeLoss
from keras_softsort.losses.ranking.pairs import PairwiseMSELoss as PairwiseMSELoss
from keras_softsort.losses.ranking.pairs import PairwiseSoftZeroOneLoss as PairwiseSoftZeroOneLoss
from keras_softsort.losses.ranking.pairs import RankNetLoss as RankNetLoss
from keras_softsort.losses.ranking.pairs import YetiLogisticLoss as YetiLogisticLoss
from keras_softsort.losses.ranking.pointwise import MeanSquaredLoss as MeanSquaredLoss
from keras_softsort.losses.ranking.pointwise import OrdinalLoss as OrdinalLoss
from keras_softsort.losses.ranking.pointwise import SigmoidCrossEntropyLoss as SigmoidCrossEntropyLoss
from keras_softsort.losses.ranking.softmaxes import CalibratedSoftmaxLoss as CalibratedSoftmaxLoss
from keras_softsort.losses.ranking.softmaxes import ListNetLoss as ListNetLoss
from keras_softsort.losses.ranking.softmaxes import SoftmaxLoss as SoftmaxLoss
from keras_softsort.losses.ranking.softmaxes import UniqueSoftmaxLoss as UniqueSoftmaxLoss

_set_all(__name__)
