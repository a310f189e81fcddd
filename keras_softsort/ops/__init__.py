"""Differentiable sorting, ranking and matching as pure TensorFlow functions, without Keras and without state."""

from keras_softsort._internal.export import set_all as _set_all
from keras_softsort.ops.matching.linear_assignment import MatchResult as MatchResult
from keras_softsort.ops.matching.linear_assignment import linear_assignment as linear_assignment
from keras_softsort.ops.matching.linear_assignment import match as match
from keras_softsort.ops.matching.set_loss import set_loss as set_loss
from keras_softsort.ops.matching.sinkhorn import SinkhornResult as SinkhornResult
from keras_softsort.ops.matching.sinkhorn import gumbel_sinkhorn as gumbel_sinkhorn
from keras_softsort.ops.matching.sinkhorn import sinkhorn as sinkhorn
from keras_softsort.ops.matching.transport import sinkhorn_divergence as sinkhorn_divergence
from keras_softsort.ops.matching.transport import transport_cost as transport_cost
from keras_softsort.ops.metrics.correlation import kendall_tau as kendall_tau
from keras_softsort.ops.metrics.correlation import spearman_correlation as spearman_correlation
from keras_softsort.ops.metrics.diversity import alpha_dcg as alpha_dcg
from keras_softsort.ops.metrics.diversity import precision_ia as precision_ia
from keras_softsort.ops.metrics.gains import dcg as dcg
from keras_softsort.ops.metrics.gains import expected_reciprocal_rank as expected_reciprocal_rank
from keras_softsort.ops.metrics.gains import ndcg as ndcg
from keras_softsort.ops.metrics.positions import average_relevance_position as average_relevance_position
from keras_softsort.ops.metrics.positions import ordered_pair_accuracy as ordered_pair_accuracy
from keras_softsort.ops.metrics.relevance import hits as hits
from keras_softsort.ops.metrics.relevance import mean_average_precision as mean_average_precision
from keras_softsort.ops.metrics.relevance import mrr as mrr
from keras_softsort.ops.metrics.relevance import precision as precision
from keras_softsort.ops.metrics.relevance import recall as recall
from keras_softsort.ops.neighbors.nearest_neighbors import NearestNeighbors as NearestNeighbors
from keras_softsort.ops.neighbors.nearest_neighbors import nearest_neighbors as nearest_neighbors
from keras_softsort.ops.neighbors.nearest_neighbors import neighbor_votes as neighbor_votes
from keras_softsort.ops.neighbors.retrieval_loss import retrieval_loss as retrieval_loss
from keras_softsort.ops.neighbors.soft_neighbors import dknn_loss as dknn_loss
from keras_softsort.ops.neighbors.soft_neighbors import soft_neighbor_membership as soft_neighbor_membership
from keras_softsort.ops.ranking.approx import approx_mrr_loss as approx_mrr_loss
from keras_softsort.ops.ranking.approx import approx_ndcg_loss as approx_ndcg_loss
from keras_softsort.ops.ranking.approx import approx_rank_mse_loss as approx_rank_mse_loss
from keras_softsort.ops.ranking.approx import gumbel_approx_ndcg_loss as gumbel_approx_ndcg_loss
from keras_softsort.ops.ranking.circle import circle_loss as circle_loss
from keras_softsort.ops.ranking.clicks import click_em_loss as click_em_loss
from keras_softsort.ops.ranking.clicks import dual_learning_loss as dual_learning_loss
from keras_softsort.ops.ranking.clicks import mixture_em_loss as mixture_em_loss
from keras_softsort.ops.ranking.neural_ndcg import neural_ndcg_loss as neural_ndcg_loss
from keras_softsort.ops.ranking.pairwise import pairwise_hinge_loss as pairwise_hinge_loss
from keras_softsort.ops.ranking.pairwise import pairwise_mse_loss as pairwise_mse_loss
from keras_softsort.ops.ranking.pairwise import pairwise_soft_zero_one_loss as pairwise_soft_zero_one_loss
from keras_softsort.ops.ranking.pairwise import ranknet_lambdas as ranknet_lambdas
from keras_softsort.ops.ranking.pairwise import ranknet_loss as ranknet_loss
from keras_softsort.ops.ranking.pairwise import yeti_logistic_loss as yeti_logistic_loss
from keras_softsort.ops.ranking.permutation_cross_entropy import (
    neural_sort_cross_entropy_loss as neural_sort_cross_entropy_loss,
)
from keras_softsort.ops.ranking.permutation_cross_entropy import (
    permutation_cross_entropy_loss as permutation_cross_entropy_loss,
)
from keras_softsort.ops.ranking.pl_rank import pl_rank_loss as pl_rank_loss
from keras_softsort.ops.ranking.plackett_luce import coupled_rank_distil_loss as coupled_rank_distil_loss
from keras_softsort.ops.ranking.plackett_luce import plackett_luce_loss as plackett_luce_loss
from keras_softsort.ops.ranking.pointwise import mean_squared_loss as mean_squared_loss
from keras_softsort.ops.ranking.pointwise import ordinal_loss as ordinal_loss
from keras_softsort.ops.ranking.pointwise import sigmoid_cross_entropy_loss as sigmoid_cross_entropy_loss
from keras_softsort.ops.ranking.segments import per_segment as per_segment
from keras_softsort.ops.ranking.softmax import calibrated_softmax_loss as calibrated_softmax_loss
from keras_softsort.ops.ranking.softmax import list_net_loss as list_net_loss
from keras_softsort.ops.ranking.softmax import softmax_loss as softmax_loss
from keras_softsort.ops.ranking.softmax import unique_softmax_loss as unique_softmax_loss
from keras_softsort.ops.ranking.spearman import spearman_loss as spearman_loss
from keras_softsort.ops.sampling.gumbel_softmax import gumbel_softmax as gumbel_softmax
from keras_softsort.ops.sorting.harden import harden as harden
from keras_softsort.ops.sorting.permutations import neural_sort as neural_sort
from keras_softsort.ops.sorting.permutations import soft_sort as soft_sort
from keras_softsort.ops.sorting.soft_quantile import soft_quantile as soft_quantile
from keras_softsort.ops.sorting.soft_rank import soft_rank as soft_rank
from keras_softsort.ops.sorting.soft_top_k import SoftTopK as SoftTopK
from keras_softsort.ops.sorting.soft_top_k import soft_top_k as soft_top_k
from keras_softsort.ops.sorting.soft_top_k import soft_top_k_membership as soft_top_k_membership
from keras_softsort.ops.sorting.soft_values import soft_values as soft_values

_set_all(__name__)
