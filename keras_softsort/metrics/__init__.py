"""Metrics for `model.compile`: NDCG and its family, rank correlations, accuracies of predicted orders."""

from keras_softsort._internal.export import set_all as _set_all
from keras_softsort.metrics.diversity import AlphaDCG as AlphaDCG
from keras_softsort.metrics.diversity import PrecisionIA as PrecisionIA
from keras_softsort.metrics.orders import ElementwiseAccuracy as ElementwiseAccuracy
from keras_softsort.metrics.orders import KendallTau as KendallTau
from keras_softsort.metrics.orders import PermutationAccuracy as PermutationAccuracy
from keras_softsort.metrics.orders import SpearmanCorrelation as SpearmanCorrelation
from keras_softsort.metrics.relevance import DCG as DCG
from keras_softsort.metrics.relevance import MRR as MRR
from keras_softsort.metrics.relevance import NDCG as NDCG
from keras_softsort.metrics.relevance import AverageRelevancePosition as AverageRelevancePosition
from keras_softsort.metrics.relevance import ExpectedReciprocalRank as ExpectedReciprocalRank
from keras_softsort.metrics.relevance import Hits as Hits
from keras_softsort.metrics.relevance import MeanAveragePrecision as MeanAveragePrecision
from keras_softsort.metrics.relevance import OrderedPairAccuracy as OrderedPairAccuracy
from keras_softsort.metrics.relevance import Precision as Precision
from keras_softsort.metrics.relevance import Recall as Recall

_set_all(__name__)
