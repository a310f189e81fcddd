"""Differentiable sorting, ranking and matching as pure TensorFlow functions, without Keras and without state."""

from keras_softsort._internal.export import set_all as _set_all
from keras_softsort.ops.matching.gumbel_sinkhorn import gumbel_sinkhorn as gumbel_sinkhorn
from keras_softsort.ops.matching.linear_assignment import MatchResult as MatchResult
from keras_softsort.ops.matching.linear_assignment import linear_assignment as linear_assignment
from keras_softsort.ops.matching.linear_assignment import match as match
from keras_softsort.ops.matching.sinkhorn import SinkhornResult as SinkhornResult
from keras_softsort.ops.matching.sinkhorn import sinkhorn as sinkhorn
from keras_softsort.ops.neighbors.neighbor_share import neighbor_share as neighbor_share
from keras_softsort.ops.neighbors.soft_neighbor_membership import soft_neighbor_membership as soft_neighbor_membership
from keras_softsort.ops.neighbors.soft_retrieval_metric import soft_retrieval_metric as soft_retrieval_metric
from keras_softsort.ops.ranking.listwise.approx_mrr import approx_mrr as approx_mrr
from keras_softsort.ops.ranking.listwise.approx_ndcg import approx_ndcg as approx_ndcg
from keras_softsort.ops.ranking.listwise.calibrated_softmax import calibrated_softmax as calibrated_softmax
from keras_softsort.ops.ranking.listwise.coupled_rank_distil import coupled_rank_distil as coupled_rank_distil
from keras_softsort.ops.ranking.listwise.gumbel_approx_ndcg import gumbel_approx_ndcg as gumbel_approx_ndcg
from keras_softsort.ops.ranking.listwise.list_mle import list_mle as list_mle
from keras_softsort.ops.ranking.listwise.mixture_em import mixture_em as mixture_em
from keras_softsort.ops.ranking.listwise.neural_ndcg import neural_ndcg as neural_ndcg
from keras_softsort.ops.ranking.listwise.neural_sort_cross_entropy import (
    neural_sort_cross_entropy as neural_sort_cross_entropy,
)
from keras_softsort.ops.ranking.listwise.permutation_cross_entropy import (
    permutation_cross_entropy as permutation_cross_entropy,
)
from keras_softsort.ops.ranking.listwise.pl_rank import pl_rank as pl_rank
from keras_softsort.ops.ranking.listwise.softmax_cross_entropy import softmax_cross_entropy as softmax_cross_entropy
from keras_softsort.ops.ranking.listwise.spearman import spearman as spearman
from keras_softsort.ops.ranking.listwise.unique_softmax import unique_softmax as unique_softmax
from keras_softsort.ops.ranking.pairwise.pairwise_hinge import pairwise_hinge as pairwise_hinge
from keras_softsort.ops.ranking.pairwise.pairwise_logistic import pairwise_logistic as pairwise_logistic
from keras_softsort.ops.ranking.pairwise.pairwise_mse import pairwise_mse as pairwise_mse
from keras_softsort.ops.ranking.pairwise.pairwise_soft_zero_one import pairwise_soft_zero_one as pairwise_soft_zero_one
from keras_softsort.ops.ranking.pairwise.ranknet import ranknet as ranknet
from keras_softsort.ops.ranking.pairwise.ranknet_lambdas import ranknet_lambdas as ranknet_lambdas
from keras_softsort.ops.ranking.pairwise.yeti_logistic import yeti_logistic as yeti_logistic
from keras_softsort.ops.ranking.pointwise.click_em import click_em as click_em
from keras_softsort.ops.ranking.pointwise.mean_squared import mean_squared as mean_squared
from keras_softsort.ops.ranking.pointwise.ordinal import ordinal as ordinal
from keras_softsort.ops.ranking.pointwise.sigmoid_cross_entropy import sigmoid_cross_entropy as sigmoid_cross_entropy
from keras_softsort.ops.sampling.gumbel_softmax import gumbel_softmax as gumbel_softmax
from keras_softsort.ops.sampling.relaxed_top_k import relaxed_top_k as relaxed_top_k
from keras_softsort.ops.sorting.harden import harden as harden
from keras_softsort.ops.sorting.neural_sort import neural_sort as neural_sort
from keras_softsort.ops.sorting.soft_quantile import soft_quantile as soft_quantile
from keras_softsort.ops.sorting.soft_rank import soft_rank as soft_rank
from keras_softsort.ops.sorting.soft_sort import soft_sort as soft_sort
from keras_softsort.ops.sorting.soft_top_k import SoftTopK as SoftTopK
from keras_softsort.ops.sorting.soft_top_k import soft_top_k as soft_top_k
from keras_softsort.ops.sorting.soft_top_k_membership import soft_top_k_membership as soft_top_k_membership
from keras_softsort.ops.sorting.soft_values import soft_values as soft_values

_set_all(__name__)
