"""TensorFlow's own search for NaN, `tf.debugging.enable_check_numerics`, must find none in the package on finite data.

It raises where any operation gives NaN or infinity, also where both are expected and left out afterwards.
"""

import pathlib

import pytest
from support.processes import json_from

pytestmark = [pytest.mark.default_stack_only, pytest.mark.nightly]

# What still raises. Who mends one removes its name.
STILL_RAISE = """
AlphaDCG ApproxRankMSELoss AverageRelevancePosition CalibratedSoftmaxLoss CircleLoss CoupledRankDistilLoss DCG
DkNNLoss DualLearningLoss ElementwiseAccuracy Hits KNNClassifier KendallTau ListNetLoss MRR MeanAveragePrecision NDCG
NeuralNDCGLoss NeuralSortCrossEntropyLoss OrderedPairAccuracy PLRankLoss PairwiseHingeLoss PairwiseMSELoss
PairwiseSoftZeroOneLoss PermutationAccuracy PermutationCrossEntropyLoss PlackettLuceLoss Precision PrecisionIA
RankNetLoss Recall SetLoss SinkhornLayer SoftmaxLoss SpearmanCorrelation SpearmanLoss UniqueSoftmaxLoss
YetiLogisticLoss alpha_dcg approx_rank_mse_loss average_relevance_position calibrated_softmax_loss circle_loss
coupled_rank_distil_loss dcg dknn_loss dual_learning_loss gumbel_sinkhorn gumbel_softmax harden hits kendall_tau
linear_assignment list_net_loss match mean_average_precision mrr ndcg nearest_neighbors neural_ndcg_loss neural_sort
neural_sort_cross_entropy_loss ordered_pair_accuracy pairwise_hinge_loss pairwise_mse_loss pairwise_soft_zero_one_loss
per_segment permutation_cross_entropy_loss pl_rank_loss plackett_luce_loss precision precision_ia ranknet_lambdas
ranknet_loss recall relaxed_top_k set_loss sinkhorn sinkhorn_divergence soft_quantile soft_rank soft_sort soft_top_k
soft_top_k_membership soft_values softmax_loss spearman_correlation spearman_loss transport_cost unique_softmax_loss
yeti_logistic_loss
"""


def test_finite_data_raise_nothing():
    # A process of its own, since the checks cannot be left out of what was traced under them.
    found = json_from("from support import numeric_checks; numeric_checks.main()", cwd=pathlib.Path(__file__).parent)
    new = {name: message for name, message in found.items() if name not in STILL_RAISE.split()}
    lines = "\n".join(f"{name}: {message}" for name, message in new.items())
    assert not new, (
        "the operations at these lines must give finite numbers for finite data: compare with a finite limit or by "
        f"tf.math.is_finite instead of an infinity, and fill masked entries with a finite number\n{lines}"
    )
    gone = sorted(set(STILL_RAISE.split()) - set(found))
    assert not gone, f"{gone} raise no longer: remove these names from STILL_RAISE in tests/test_numeric_checks.py"
