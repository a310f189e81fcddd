"""Numbers from READMEs and docstrings of other libraries, computed here as the pages "coming from" map their calls.

Numbers stand here as they are printed there. Where a page prints none, its example was run once, with the version that
the comment names.
"""

from typing import Any, NamedTuple

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp

import keras_softsort as ks

pytestmark = pytest.mark.default_stack_only


class Example(NamedTuple):
    """`function(x)` is `value`, and its sum has the `gradient`, where the example has one."""

    function: Any
    x: Any
    value: Any
    gradient: Any = None


def projected(operator, strength, item=slice(None)):
    return lambda x: operator(x, strength, method="projection", direction="ASCENDING")[..., item]


def rows(operator, *options):
    """Rows of a permutation, with weights 1 to n, times the scores as constants."""
    return lambda x: tf.linalg.matvec(operator(x, *options), tf.stop_gradient(x)) * tf.range(1.0, 5.0, dtype=x.dtype)


def by_hand(pred):
    """Spearman's correlation of two soft ranks, as the README of torchsort computes it."""
    target = tf.constant([[5, 6, 7, 8, 7]], pred.dtype)
    ranks = [projected(ks.soft_rank, 1.0)(each) for each in (pred, target)]
    centered = [each - tf.reduce_mean(each) for each in ranks]
    return tf.reduce_sum(tf.multiply(*(each / tf.norm(each) for each in centered)))


TORCHSORT = [[8, 0, 5, 3, 2, 1, 6, 7, 9]]
FAST_SOFT_SORT = [[5.0, 1, 2], [2, 1, 5]]
SOFTJAX = [-0.2, -1.0, 0.3, 1.0]
# jax.random.key(42), as in the README of OTT, rounded.
OTT_X = [[0.53, 0.31], [0.9, 0.7], [0.62, 0.62], [0.72, 0.21], [0.02, 0.74], [0.59, 0.5]]
OTT_Y = [[0.73, 0.79], [0.18, 0.26], [0.11, 0.2], [0.32, 0.11], [0.43, 0.48], [0.34, 0.35], [0.91, 0.59], [0.66, 0.39]]
OTT_Y += [[0.17, 0.67], [0.33, 0.18], [0.39, 0.75]]
OTT_A = np.divide([0.87, 0.92, 0.33, 0.55, 0.62, 0.24], 3.53)
OTT_B = np.divide([0.59, 0.29, 0.25, 0.82, 0.55, 0.78, 0.77, 0.39, 0.72, 0.51, 0.98], 6.65)
OTT_GRADIENT_X = [0.10804618, 0.07849963, 0.03797629, 0.10609293, -0.0732781, 0.02673219]
OTT_GRADIENT_Y = [0.0283769, 0.02222568, -0.00041335, -0.0091015, 0.03778355, 0.00545095]

EXAMPLES = {
    # torchsort's README
    "torchsort soft_sort": Example(projected(ks.soft_values, 1.0), TORCHSORT, [np.arange(0.5556, 9)]),
    "torchsort soft_sort 0.1": Example(projected(ks.soft_values, 0.1), TORCHSORT, [[0, 1, 2, 3, 5, 6, 7, 8, 9]]),
    "torchsort soft_rank": Example(projected(ks.soft_rank, 1.0), TORCHSORT, [[8, 1, 5, 4, 3, 2, 6, 7, 9]]),
    "torchsort grad": Example(projected(ks.soft_values, 1.0, 0), TORCHSORT, [0.5556], [[0.1111] * 9]),
    "torchsort spearmanr": Example(
        by_hand, [[1, 2, 3, 4, 5]], 0.8321, [[-5.5470e-02, 2.9802e-09, 5.5470e-02, 1.1094e-01, -1.1094e-01]]
    ),
    # the loss takes exact ranks of the labels, so its number is SciPy's
    "torchsort spearmanr, exact labels": Example(
        lambda x: 1 - ks.ops.spearman_loss(x, [5, 6, 7, 8, 7], method="projection"),
        [1, 2, 3, 4, 5],
        0.82078268,
        [-0.041039, -0.020520, 0.051299, 0.123117, -0.112858],
    ),
    # fast-soft-sort's README
    "fast-soft-sort soft_sort": Example(
        projected(ks.soft_values, 1.0), FAST_SOFT_SORT, [[1.66666667, 2.66666667, 3.66666667]] * 2
    ),
    "fast-soft-sort soft_sort 0.1": Example(projected(ks.soft_values, 0.1), FAST_SOFT_SORT, [[1, 2, 5]] * 2),
    "fast-soft-sort soft_rank 2": Example(
        projected(ks.soft_rank, 2.0), FAST_SOFT_SORT, [[3, 1.25, 1.75], [1.75, 1.25, 3]]
    ),
    "fast-soft-sort soft_rank": Example(projected(ks.soft_rank, 1.0), FAST_SOFT_SORT, [[3, 1, 2], [2, 1, 3]]),
    # the README of softjax at 07212e1, which sorts by SoftSort with softness 0.1
    "softjax sort": Example(
        lambda x: ks.soft_values(x, 0.1, method="soft_sort", direction="ASCENDING"),
        SOFTJAX,
        [-0.99972878, -0.19691387, 0.29728716, 0.9993549],
    ),
    "softjax top_k": Example(
        lambda x: ks.soft_top_k(x, 3, 0.1, method="soft_sort").values, SOFTJAX, [0.9993549, 0.29728716, -0.19691387]
    ),
    "softjax argsort": Example(
        lambda x: ks.soft_sort(x, 0.1, direction="ASCENDING"),
        SOFTJAX,
        [
            [3.35349372e-04, 9.99662389e-01, 2.25956629e-06, 2.06045775e-09],
            [9.92970214e-01, 3.33104397e-04, 6.69058067e-03, 6.10101985e-06],
            [6.68677917e-03, 2.24316451e-06, 9.92406021e-01, 9.04957153e-04],
            [6.13857697e-06, 2.05926316e-09, 9.11045600e-04, 9.99082814e-01],
        ],
    ),
    # pytorch/softsort.py of sprillo/softsort, pytorch/neuralsort.py of ermongroup/neuralsort: run with PyTorch 2.13
    "SoftSort": Example(
        rows(ks.soft_sort, 1.0),
        SOFTJAX,
        [0.49319444, 0.33906321, -0.21150415, -1.87976057],
        [0.67004035, 0.23718746, 0.01663198, -0.92385979],
    ),
    "SoftSort, power 2": Example(
        rows(lambda x: ks.soft_sort(x, 0.5, power=2.0)),
        SOFTJAX,
        [0.76899377, 0.51585921, -0.37091205, -3.18513155],
        [0.11732015, 0.79360189, -0.18443245, -0.72648958],
    ),
    "NeuralSort": Example(
        rows(ks.neural_sort, 1.0),
        SOFTJAX,
        [0.69887724, 0.57480626, -0.55362198, -2.72253028],
        [0.70623039, 0.09909778, -0.22722594, -0.57810223],
    ),
    # notebooks/soft_topk.ipynb of gmum/LapSum: run with PyTorch 2.13
    "LapSum": Example(
        lambda x: ks.ops.soft_top_k_membership(x, 2, 0.5) * [1.0, 2.0, 3.0, 4.0],
        SOFTJAX,
        np.multiply([0.30885331, 0.06235641, 0.70222155, 0.92656874], [1, 2, 3, 4]),
        [-0.73068445, -0.02280983, 0.48663023, 0.26686406],
    ),
    "LapSum, smallest": Example(
        lambda x: ks.ops.soft_top_k_membership(x, 2, 0.5, direction="ASCENDING") * [1.0, 2.0, 3.0, 4.0],
        SOFTJAX,
        np.multiply([0.69114669, 0.93764359, 0.29777845, 0.07343126], [1, 2, 3, 4]),
        [0.73068445, 0.02280983, -0.48663023, -0.26686406],
    ),
    # Rax: its README with 0.4.0, and the docstring of its losses, whose mean is over pairs
    "rax ndcg_metric": Example(lambda x: ks.ops.ndcg(x, [1.0, 0, 0]), [2.2, -1.3, 5.4], 0.63092975),
    "rax pairwise_hinge_loss": Example(
        lambda x: ks.ops.pairwise_hinge_loss(x, [1.0, 0, 0], normalization="none") / 2,
        [2.2, -1.3, 5.4],
        2.1,
        [-0.5, 0, 0.5],
    ),
    "rax approx_t12n": Example(
        lambda x: ks.ops.approx_ndcg_loss(x, [1.0, 0, 0], tau=1.0),
        [2.2, -1.3, 5.4],
        -0.63282481,
        [-0.01276882, 0.00549766, 0.00727116],
    ),
    "rax softmax_loss": Example(lambda x: ks.ops.softmax_loss(x, [1.0, 0, 0]), [2.0, 1, 3], 1.4076059),
    "rax where": Example(
        lambda x: (
            ks.ops.pairwise_hinge_loss(
                x, [[1.0, 0, 0], [0, 0, 1]], mask=[[True, True, False], [True] * 3], normalization="none"
            )
            / 3
        ),
        [[2.0, 1, 0], [1, 0.5, 1.5]],
        [0, 0.16666667],
    ),
    "rax grad": Example(
        lambda x: ks.ops.softmax_loss(x, [[0.0, 0, 1], [1, 0, 0]]) / 2,
        [[0.0, 1, 3], [1, 2, 0]],
        [0.08492293, 0.70380298],
        [[0.02100503, 0.0570976, -0.07810265], [-0.37763578, 0.33262047, 0.04501529]],
    ),
    # the README of OTT with epsilon 0.05 and threshold 1e-9: run with ott-jax 0.6.0
    "OTT": Example(
        lambda x: ks.ops.transport_cost(x, np.array(OTT_Y), 0.05, x_weights=OTT_A, y_weights=OTT_B, tolerance=1e-9),
        OTT_X,
        0.13272012,
        np.transpose([OTT_GRADIENT_X, OTT_GRADIENT_Y]),
    ),
    # the docstring of POT's ot.sinkhorn
    "POT": Example(
        lambda x: ks.sinkhorn(-x, 1.0, row_sums=[0.5, 0.5], column_sums=[0.5, 0.5]),
        [[0.0, 1], [1, 0]],
        [[0.36552929, 0.13447071], [0.13447071, 0.36552929]],
    ),
    # the docstring of SciPy's linear_sum_assignment
    "SciPy": Example(lambda x: ks.linear_assignment(-x), [[4.0, 1, 3], [2, 0, 5], [3, 2, 2]], [1, 0, 2]),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_of_other_libraries(name):
    function, x, value, gradient = EXAMPLES[name]
    x = tf.constant(x, tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(x)
        found = function(x)
    np.testing.assert_allclose(found, value, rtol=1e-4, atol=1e-7)
    if gradient is not None:
        np.testing.assert_allclose(tape.gradient(found, x), gradient, rtol=1e-3, atol=1e-7)


# The docstrings of tfr.keras.losses have two examples each: one list, and two ragged lists.
PLAIN = [[1.0, 0.0]], [[0.6, 0.8]], [[1.0, 0.0], [0.0, 1.0, 0.0]], [[0.6, 0.8], [0.5, 0.8, 0.4]]
TWO_SCORES = (
    *([[1.0, 0.0]], [[[0.6, 0.9], [0.8, 0.2]]]),
    *([[1.0, 0.0], [0.0, 1.0, 0.0]], [[[0.6, 0.9], [0.8, 0.2]], [[0.5, 0.9], [0.8, 0.2], [0.4, 0.8]]]),
)
ORDINAL = [[1.0, 0.0]], [[[0.6, 0.2], [0.8, 0.3]]], [[2.0, 1.0], [0.0]], [[[0.6, 0.2], [0.8, 0.3]], [[0.0, -0.2]]]
SUM = {"normalization": "none"}
# Loss -> its example and both numbers. "n": those there are divided by n, the size of the longest list.
LOSSES = {
    ks.SoftmaxLoss(): (PLAIN, "", 0.7981389, 0.83911896),
    ks.UniqueSoftmaxLoss(): (PLAIN, "", 0.7981389, 0.83911896),
    ks.ApproxMRRLoss(): (PLAIN, "", -0.53168947, -0.73514676),
    ks.ApproxNDCGLoss(): (PLAIN, "", -0.655107, -0.80536866),
    ks.CalibratedSoftmaxLoss(virtual_label=0.1): (PLAIN, "", 1.1808171, None),
    ks.PlackettLuceLoss(): (PLAIN, "", 0.7981389, None),  # the order of ties is random there
    ks.PairwiseHingeLoss(**SUM): (PLAIN, "n", 0.6, 0.41666666),
    ks.RankNetLoss(**SUM): (PLAIN, "n", 0.39906943, 0.3109182),
    ks.PairwiseSoftZeroOneLoss(**SUM): (PLAIN, "n", 0.274917, 0.22945064),
    ks.PairwiseMSELoss(**SUM): (PLAIN, "n", 1.44 / 2, 0.7666667 / 2),  # each pair counts twice there
    ks.SigmoidCrossEntropyLoss(**SUM): (PLAIN, "n", 0.8042943, 0.64446354),
    ks.MeanSquaredLoss(**SUM): (PLAIN, "n", 0.4, 0.20833336),
    ks.ClickEMLoss(**SUM): (TWO_SCORES, "n", 1.1462884, 1.0770882),
    ks.MixtureEMLoss(): (TWO_SCORES, "", 1.3198698, 1.909512),
    ks.OrdinalLoss(**SUM): (ORDINAL, "n", 1.6305413, 0.88809216),
}


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_docstrings_of_losses_of_tf_ranking(loss):
    (labels, scores, *ragged), divisor, first, second = LOSSES[loss]
    found = loss(tf.constant(labels), tf.constant(scores)) / (2 if divisor else 1)
    np.testing.assert_allclose(found, first, rtol=1e-5)
    if second is not None:
        labels, scores = ragged
        inner = np.shape(scores[0])[1:]
        found = loss(tf.ragged.constant(labels), tf.ragged.constant(scores, inner_shape=inner))
        np.testing.assert_allclose(found / (max(map(len, labels)) if divisor else 1), second, rtol=1e-5)


# The docstrings of tfr.keras.metrics: metric -> its numbers for one list and for two ragged lists.
METRICS = {
    "mrr": (ks.MRR, 0.5, 0.75),
    "hits@1": (lambda: ks.Hits(1), 0, 0.5),
    "arp": (ks.AverageRelevancePosition, 2.5, 1.75),
    "precision@2": (lambda: ks.Precision(2), 0.5, 0.5),
    "recall@2": (lambda: ks.Recall(2), 0.5, 0.75),
    "map@2": (lambda: ks.MeanAveragePrecision(2), 0.25, 0.5),
    "ndcg": (ks.NDCG, 0.6934264, 0.7974351),
    "dcg": (ks.DCG, 1.1309297, 2.065465),
}


@pytest.mark.parametrize("name", METRICS)
def test_docstrings_of_metrics_of_tf_ranking(name):
    make, first, second = METRICS[name]
    np.testing.assert_allclose(make()([[0.0, 1, 1]], [[3.0, 1, 2]]), first, rtol=1e-5)
    labels = [[0.0, 1], [1, 1, 0]] if name == "hits@1" else [[0.0, 1], [1, 2, 0]]
    found = make()(tf.ragged.constant(labels), tf.ragged.constant([[2.0, 1], [2, 5, 4]]))
    np.testing.assert_allclose(found, second, rtol=1e-5)


def test_docstrings_of_other_metrics_of_tf_ranking():
    np.testing.assert_allclose(ks.OrderedPairAccuracy()([[0.0, 1, 2]], [[3.0, 1, 2]]), 1 / 3, rtol=1e-5)
    topics, scores = tf.constant([[[0.0, 1], [1, 0], [1, 1]]]), [[3.0, 1, 2]]
    np.testing.assert_allclose(ks.PrecisionIA()(topics, scores), 0.6666667, rtol=1e-5)
    np.testing.assert_allclose(ks.AlphaDCG()(topics, scores), 2.1963947, rtol=1e-5)


# The docstrings of keras_rs.losses: loss -> one list, two lists, with a mask, with weights; there divided by all items.
KERAS_RS = {
    ks.PairwiseHingeLoss: (2.32, 0.75, 0.64999, 1.02499),
    ks.RankNetLoss: (1.70708, 0.73936, 0.53751, 0.80337),
    ks.PairwiseSoftZeroOneLoss: (0.86103, 0.46202, 0.29468, 0.40478),
    ks.PairwiseMSELoss: (19.104, 5.57999, 4.76, 11.05),
}


@pytest.mark.parametrize("loss", KERAS_RS, ids=lambda loss: loss.__name__)
def test_docstrings_of_losses_of_keras_rs(loss):
    ours = loss(normalization="none", reduction="sum")
    pairs = 2 if loss is ks.PairwiseMSELoss else 1  # counts each pair in both orders there
    labels, scores = [[1.0, 0, 1, 3], [0, 1, 2, 3]], [[1.0, 3, 2, 4], [1, 1.8, 2, 3]]
    found = [
        pairs * ours([[1.0, 0, 1, 3, 2]], [[1.0, 3, 2, 4, 0.8]]) / 5,
        pairs * ours(labels, scores) / 8,
        pairs * ours([[1.0, 0, 1, 3], [0, 1, -1, -1]], scores) / 8,
        pairs * ours(labels, scores, sample_weight=[[2.0, 3, 1, 1], [2, 1, 0, 0]]) / 8,
    ]
    np.testing.assert_allclose(found, KERAS_RS[loss], rtol=2e-5)


def test_docstring_of_plackett_luce_of_tfp():
    scores = tf.constant([[0.1, 2.3, 5.0], [4.2, 0.5, 3.1]], tf.float64)
    results = []
    for made in (tfp.distributions.PlackettLuce, lambda scores: ks.distributions.PlackettLuce(tf.math.log(scores))):
        with tf.GradientTape() as tape:
            tape.watch(scores)
            value = made(scores).prob([2, 1, 0])
        results.append((value, tape.gradient(value, scores)))
    for ours, theirs in zip(*reversed(results), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
