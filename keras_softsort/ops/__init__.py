"""Differentiable sorting, ranking and matching as pure TensorFlow functions, without Keras and without state."""

from keras_softsort.ops.correlation import kendall_tau, spearman_correlation
from keras_softsort.ops.matching.gumbel_sinkhorn import gumbel_sinkhorn
from keras_softsort.ops.matching.linear_assignment import linear_assignment
from keras_softsort.ops.matching.match import MatchResult, match
from keras_softsort.ops.matching.sinkhorn import SinkhornResult, sinkhorn
from keras_softsort.ops.neighbors.neighbor_share import neighbor_share
from keras_softsort.ops.neighbors.soft_neighbor_membership import soft_neighbor_membership
from keras_softsort.ops.neighbors.soft_retrieval_metric import soft_retrieval_metric
from keras_softsort.ops.ranking.approx_ndcg import approx_mrr_loss, approx_ndcg_loss, gumbel_approx_ndcg_loss
from keras_softsort.ops.ranking.em import click_em_loss, mixture_em_loss
from keras_softsort.ops.ranking.neural_ndcg import neural_ndcg_loss
from keras_softsort.ops.ranking.pairwise import (
    pairwise_hinge_loss,
    pairwise_mse_loss,
    pairwise_soft_zero_one_loss,
    yeti_logistic_loss,
)
from keras_softsort.ops.ranking.permutation_cross_entropy import (
    neural_sort_cross_entropy_loss,
    permutation_cross_entropy_loss,
)
from keras_softsort.ops.ranking.pl_rank import pl_rank_loss
from keras_softsort.ops.ranking.plackett_luce import coupled_rank_distil_loss, plackett_luce_loss
from keras_softsort.ops.ranking.pointwise import mean_squared_loss, ordinal_loss, sigmoid_cross_entropy_loss
from keras_softsort.ops.ranking.ranknet import pairwise_logistic, ranknet_lambdas, ranknet_loss
from keras_softsort.ops.ranking.softmax import calibrated_softmax_loss, softmax_loss, unique_softmax_loss
from keras_softsort.ops.ranking.spearman import spearman_loss
from keras_softsort.ops.sampling.gumbel_softmax import gumbel_softmax
from keras_softsort.ops.sampling.relaxed_top_k import relaxed_top_k
from keras_softsort.ops.sorting.harden import harden
from keras_softsort.ops.sorting.neural_sort import neural_sort
from keras_softsort.ops.sorting.soft_quantile import soft_quantile
from keras_softsort.ops.sorting.soft_rank import soft_rank
from keras_softsort.ops.sorting.soft_sort import soft_sort
from keras_softsort.ops.sorting.soft_top_k import SoftTopK, soft_top_k
from keras_softsort.ops.sorting.soft_top_k_membership import soft_top_k_membership
from keras_softsort.ops.sorting.soft_values import soft_values

__all__ = [
    "kendall_tau",
    "spearman_correlation",
    "click_em_loss",
    "ordinal_loss",
    "mean_squared_loss",
    "sigmoid_cross_entropy_loss",
    "yeti_logistic_loss",
    "mixture_em_loss",
    "coupled_rank_distil_loss",
    "gumbel_approx_ndcg_loss",
    "unique_softmax_loss",
    "calibrated_softmax_loss",
    "approx_mrr_loss",
    "pairwise_soft_zero_one_loss",
    "pairwise_mse_loss",
    "pairwise_hinge_loss",
    "MatchResult",
    "SinkhornResult",
    "SoftTopK",
    "approx_ndcg_loss",
    "gumbel_sinkhorn",
    "gumbel_softmax",
    "harden",
    "linear_assignment",
    "plackett_luce_loss",
    "match",
    "neighbor_share",
    "neural_ndcg_loss",
    "neural_sort",
    "neural_sort_cross_entropy_loss",
    "pairwise_logistic",
    "permutation_cross_entropy_loss",
    "pl_rank_loss",
    "ranknet_loss",
    "ranknet_lambdas",
    "relaxed_top_k",
    "sinkhorn",
    "soft_neighbor_membership",
    "soft_quantile",
    "soft_rank",
    "soft_retrieval_metric",
    "soft_sort",
    "soft_top_k",
    "soft_top_k_membership",
    "soft_values",
    "softmax_loss",
    "spearman_loss",
]
