"""Differentiable sorting, ranking and matching as pure TensorFlow functions, without Keras and without state."""

from keras_softsort.ops.matching._assignment import MatchResult
from keras_softsort.ops.matching.linear_assignment import linear_assignment, match
from keras_softsort.ops.matching.set_loss import set_loss
from keras_softsort.ops.matching.sinkhorn import SinkhornResult, gumbel_sinkhorn, sinkhorn
from keras_softsort.ops.neighbors.dknn_loss import dknn_loss
from keras_softsort.ops.neighbors.nearest_neighbors import NearestNeighbors, nearest_neighbors, neighbor_votes
from keras_softsort.ops.neighbors.retrieval_loss import retrieval_loss
from keras_softsort.ops.neighbors.soft_neighbor_membership import soft_neighbor_membership
from keras_softsort.ops.ranking.listwise.approx_mrr import approx_mrr
from keras_softsort.ops.ranking.listwise.approx_ndcg import approx_ndcg
from keras_softsort.ops.ranking.listwise.calibrated_softmax import calibrated_softmax
from keras_softsort.ops.ranking.listwise.coupled_rank_distil import coupled_rank_distil
from keras_softsort.ops.ranking.listwise.gumbel_approx_ndcg import gumbel_approx_ndcg
from keras_softsort.ops.ranking.listwise.list_mle import list_mle
from keras_softsort.ops.ranking.listwise.mixture_em import mixture_em
from keras_softsort.ops.ranking.listwise.neural_ndcg import neural_ndcg
from keras_softsort.ops.ranking.listwise.neural_sort_cross_entropy import neural_sort_cross_entropy
from keras_softsort.ops.ranking.listwise.permutation_cross_entropy import permutation_cross_entropy
from keras_softsort.ops.ranking.listwise.pl_rank import pl_rank
from keras_softsort.ops.ranking.listwise.softmax_cross_entropy import softmax_cross_entropy
from keras_softsort.ops.ranking.listwise.spearman import spearman
from keras_softsort.ops.ranking.listwise.unique_softmax import unique_softmax
from keras_softsort.ops.ranking.pairwise.pairwise_hinge import pairwise_hinge
from keras_softsort.ops.ranking.pairwise.pairwise_logistic import pairwise_logistic
from keras_softsort.ops.ranking.pairwise.pairwise_mse import pairwise_mse
from keras_softsort.ops.ranking.pairwise.pairwise_soft_zero_one import pairwise_soft_zero_one
from keras_softsort.ops.ranking.pairwise.ranknet import ranknet
from keras_softsort.ops.ranking.pairwise.ranknet_lambdas import ranknet_lambdas
from keras_softsort.ops.ranking.pairwise.yeti_logistic import yeti_logistic
from keras_softsort.ops.ranking.pointwise.click_em import click_em
from keras_softsort.ops.ranking.pointwise.mean_squared import mean_squared
from keras_softsort.ops.ranking.pointwise.ordinal import ordinal
from keras_softsort.ops.ranking.pointwise.sigmoid_cross_entropy import sigmoid_cross_entropy
from keras_softsort.ops.sampling.gumbel_softmax import gumbel_softmax, relaxed_top_k
from keras_softsort.ops.sorting.harden import harden
from keras_softsort.ops.sorting.neural_sort import neural_sort
from keras_softsort.ops.sorting.soft_quantile import soft_quantile
from keras_softsort.ops.sorting.soft_rank import soft_rank
from keras_softsort.ops.sorting.soft_sort import soft_sort
from keras_softsort.ops.sorting.soft_top_k import SoftTopK, soft_top_k
from keras_softsort.ops.sorting.soft_top_k_membership import soft_top_k_membership
from keras_softsort.ops.sorting.soft_values import soft_values

__all__ = [
    "click_em",
    "ordinal",
    "mean_squared",
    "sigmoid_cross_entropy",
    "yeti_logistic",
    "mixture_em",
    "coupled_rank_distil",
    "gumbel_approx_ndcg",
    "unique_softmax",
    "calibrated_softmax",
    "approx_mrr",
    "pairwise_soft_zero_one",
    "pairwise_mse",
    "pairwise_hinge",
    "MatchResult",
    "NearestNeighbors",
    "nearest_neighbors",
    "neighbor_votes",
    "SinkhornResult",
    "SoftTopK",
    "approx_ndcg",
    "gumbel_sinkhorn",
    "gumbel_softmax",
    "harden",
    "linear_assignment",
    "list_mle",
    "match",
    "dknn_loss",
    "neural_ndcg",
    "neural_sort",
    "neural_sort_cross_entropy",
    "pairwise_logistic",
    "permutation_cross_entropy",
    "pl_rank",
    "ranknet",
    "ranknet_lambdas",
    "relaxed_top_k",
    "set_loss",
    "sinkhorn",
    "soft_neighbor_membership",
    "soft_quantile",
    "soft_rank",
    "retrieval_loss",
    "soft_sort",
    "soft_top_k",
    "soft_top_k_membership",
    "soft_values",
    "softmax_cross_entropy",
    "spearman",
]
