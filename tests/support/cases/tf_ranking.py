"""Each loss of TF-Ranking 0.5.5 and ours with the same value, on fixed lists, with what TF-Ranking gives.

`docs/coming-from/tf-ranking-losses.md` has the same mapping in words. To record the values again, where TF-Ranking is
installed, from the folder `tests`:

    python -m support.cases.tf_ranking
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

import keras_softsort as ks
from keras_softsort.losses import LambdaWeight
from keras_softsort.ops.core import gumbel_noise

VALUES = Path(__file__).with_suffix(".json")
GRADED = np.float32([[3, 1, 2, 0, 1], [1, 0, 2, -1, -1], [0, 0, 0, 0, -1]])
DISTINCT = np.float32([[3, 1, 2, 0, 4], [1, 0, 2, -1, -1], [2, 0, 1, 3, -1]])
CLICKS = np.float32([[0, 1, 0, 0, 1], [1, 0, 0, -1, -1], [0, 0, 0, 0, -1]])
BATCH, SIZE = GRADED.shape
SCORES = np.round(np.random.default_rng(4).normal(size=GRADED.shape), 3).astype("float32")
LOGITS = np.round(np.random.default_rng(5).normal(size=[*GRADED.shape, 2]), 3).astype("float32")
SIMILARITIES = np.random.default_rng(6).uniform(-0.2, 1.2, size=GRADED.shape).round(3).astype("float32")
WEIGHTS = {
    "none": None,
    "lists": np.float32([[2.0], [0.5], [1.5]]),
    "items": np.round(np.random.default_rng(2).uniform(0.5, 2, size=GRADED.shape), 3).astype("float32"),
}
REDUCTIONS = ("none", "sum", "auto")
SEED, SAMPLES = [1, 2], 3


@dataclass(frozen=True)
class Parity:
    """`factor * ours + padding` is TF-Ranking's sum over lists; its mean is the sum over `means_over` numbers."""

    ours: Callable[..., tf.Tensor]  # the loss of each list, of labels, scores and weights
    theirs: Callable[[Any, str], Any]  # the loss, of TF-Ranking's module and a reduction
    factor: float = 1.0
    means_over: int = BATCH
    labels: np.ndarray = field(default_factory=lambda: GRADED)
    scores: np.ndarray = field(default_factory=lambda: SCORES)
    # Weights of items are one weight per list there: their mean, weighted by the labels.
    averages_weights: bool = False
    # Weights that are not compared.
    without: tuple[str, ...] = ()
    # The number that padding adds to the loss of each list.
    padding: np.ndarray | float = 0.0

    def weights(self, name):
        weights = WEIGHTS[name]
        if name != "items" or not self.averages_weights:
            return weights
        labels = np.maximum(self.labels, 0)
        return np.sum(weights * labels, 1, keepdims=True) / np.maximum(np.sum(labels, 1, keepdims=True), 1e-9)

    def expected(self, name):
        """Ours, as TF-Ranking's: per list, sum, mean, and the gradient of the sum."""
        scores, weights = tf.constant(self.scores), self.weights(name)
        with tf.GradientTape() as tape:
            tape.watch(scores)
            each = self.factor * self.ours(self.labels, scores, weights)
        gradient = tape.gradient(each, scores).numpy()
        each = each.numpy() + self.padding * (1 if weights is None else np.ravel(weights)[:BATCH])
        return {"none": each, "sum": each.sum(), "auto": each.sum() / self.means_over, "gradient": gradient}

    def recorded(self, tfr, name):
        """The numbers that TF-Ranking gives."""
        found = {}
        for reduction in REDUCTIONS:
            scores = tf.constant(self.scores)
            with tf.GradientTape() as tape:
                tape.watch(scores)
                loss = self.theirs(tfr.keras.losses, reduction)
                value = loss(tf.constant(self.labels), scores, WEIGHTS[name])
            if reduction == "none":
                value = tf.reduce_sum(tf.reshape(value, [BATCH, -1]), axis=1)
            if reduction == "sum":
                found["gradient"] = tape.gradient(value, scores).numpy()
            found[reduction] = value.numpy()
        return found


def each(loss):
    """The loss of each list of one of our classes."""
    return type(loss).from_config({**loss.get_config(), "reduction": "none"})


def pairs(cls, theirs, **options):
    return Parity(each(cls(normalization="none", **options)), theirs, means_over=BATCH * SIZE)


def weighted_pairs(ours, theirs, factor=SIZE):
    """RankNet with a lambda weight of ours, and the logistic loss with one of theirs."""
    return Parity(
        each(ks.RankNetLoss(lambda_weight=ours, normalization="none")),
        lambda t, r: t.PairwiseLogisticLoss(r, lambda_weight=theirs(t)),
        factor,
        BATCH * SIZE,
    )


def items(loss, theirs, labels=GRADED, scores=SCORES):
    return Parity(each(loss), theirs, means_over=BATCH * SIZE, labels=labels, scores=scores)


def older(name, base="ApproxNDCGLoss", gumbel_temperature=None, **options):
    """A loss that TF-Ranking's Keras API lacks, in a class of that API."""

    def theirs(losses, reduction):
        from tensorflow_ranking.python import losses_impl

        loss = getattr(losses, base)(reduction)
        if gumbel_temperature is not None:
            sampler = {"gumbel_temperature": gumbel_temperature, "sample_size": SAMPLES}
            loss = losses.GumbelApproxNDCGLoss(reduction, **sampler)
        loss._loss = getattr(losses_impl, name)(name=name, **options)
        return loss

    return theirs


def sampled(function, theirs, **fields):
    """A loss with noise: ours, of a seed; theirs, with the noise of that seed."""

    def ours(labels, scores, weights):
        weights = None if weights is None else tf.constant(weights)
        return function(scores, tf.constant(labels), seed=SEED, num_samples=SAMPLES, mask=labels >= 0, weights=weights)

    return Parity(ours, theirs, **fields)


def reciprocal_rank(_):
    from tensorflow_ranking.python import losses

    return losses.create_reciprocal_rank_lambda_weight(2)


@tf.keras.utils.register_keras_serializable(package="tests")
def inverse_log(ranks):
    return 1 / tf.math.log1p(tf.cast(ranks, tf.float32))


LOG_FACTORIAL = np.float32([math.lgamma(1 + padded) for padded in np.sum(DISTINCT < 0, axis=1)])
PARITY = {
    "pairwise_hinge_loss": pairs(ks.PairwiseHingeLoss, lambda t, r: t.PairwiseHingeLoss(r, temperature=0.5), tau=0.5),
    "pairwise_logistic_loss": pairs(ks.RankNetLoss, lambda t, r: t.PairwiseLogisticLoss(r, temperature=0.5), tau=0.5),
    "pairwise_soft_zero_one_loss": pairs(
        ks.PairwiseSoftZeroOneLoss, lambda t, r: t.PairwiseSoftZeroOneLoss(r, temperature=0.5), tau=0.5
    ),
    "pairwise_mse_loss": Parity(
        each(ks.PairwiseMSELoss(0.5, normalization="none")),
        lambda t, r: t.PairwiseMSELoss(r, temperature=0.5),
        2,
        BATCH * SIZE,
    ),
    "pairwise_mse_loss, ndcg": Parity(
        each(ks.PairwiseMSELoss(lambda_weight=LambdaWeight("ndcg", smooth_fraction=0), normalization="none")),
        lambda t, r: t.PairwiseMSELoss(r, lambda_weight=t.NDCGLambdaWeight()),
        2 * SIZE,
        BATCH * SIZE,
    ),
    "pairwise_logistic_loss, label_diff": weighted_pairs("label_diff", lambda t: t.LabelDiffLambdaWeight(), 1),
    "pairwise_logistic_loss, dcg": weighted_pairs(
        LambdaWeight("dcg", gain="linear", discount="reciprocal", smooth_fraction=0), lambda t: t.DCGLambdaWeight()
    ),
    "pairwise_logistic_loss, dcg, k": weighted_pairs(
        LambdaWeight("dcg", k=2, gain="linear", discount="reciprocal", smooth_fraction=0.25),
        lambda t: t.DCGLambdaWeight(2, smooth_fraction=0.25),
    ),
    "pairwise_logistic_loss, ndcg": weighted_pairs("ndcg", lambda t: t.NDCGLambdaWeight(smooth_fraction=1.0)),
    "pairwise_logistic_loss, ndcg, version 2": weighted_pairs(
        LambdaWeight("ndcg", k=2, version=2), lambda t: t.NDCGLambdaWeightV2(2)
    ),
    "pairwise_logistic_loss, function": weighted_pairs(
        LambdaWeight("ndcg", version=2, discount=inverse_log),
        lambda t: t.NDCGLambdaWeightV2(rank_discount_fn=inverse_log),
    ),
    "pairwise_logistic_loss, yeti": weighted_pairs(
        LambdaWeight("ndcg", version=2, neighbors_only=True), lambda t: t.YetiDCGLambdaWeight(normalized=True)
    ),
    "pairwise_logistic_loss, precision": weighted_pairs(
        LambdaWeight("precision", k=2), lambda t: t.PrecisionLambdaWeight(2), 1
    ),
    "pairwise_logistic_loss, mrr": weighted_pairs(LambdaWeight("mrr", k=2, smooth_fraction=0), reciprocal_rank),
    "yeti_logistic_loss": sampled(
        lambda s, y, **more: ks.ops.yeti_logistic_loss(s, y, tau=0.5, normalization="none", **more),
        lambda t, r: t.YetiLogisticLoss(r, temperature=0.25, gumbel_temperature=2.0, sample_size=SAMPLES),
        factor=SIZE * SAMPLES,
        means_over=BATCH * SIZE * SAMPLES,
    ),
    "softmax_loss": Parity(each(ks.SoftmaxLoss(0.5)), lambda t, r: t.SoftmaxLoss(r, temperature=0.5)),
    "softmax_loss, ndcg": Parity(
        each(ks.SoftmaxLoss(lambda_weight=LambdaWeight("ndcg", k=2))),
        lambda t, r: t.SoftmaxLoss(r, lambda_weight=t.NDCGLambdaWeight(2)),
    ),
    "softmax_loss, dcg": Parity(
        each(ks.SoftmaxLoss(lambda_weight=LambdaWeight("dcg", gain="linear", discount="reciprocal"))),
        lambda t, r: t.SoftmaxLoss(r, lambda_weight=t.DCGLambdaWeight()),
    ),
    "calibrated_softmax_loss": Parity(
        each(ks.CalibratedSoftmaxLoss(0.5, virtual_label=0.3)),
        lambda t, r: t.CalibratedSoftmaxLoss(r, temperature=0.5, virtual_label=0.3),
        without=("items",),  # the virtual item has the mean weight here and 1 there
    ),
    "unique_softmax_loss": Parity(
        each(ks.UniqueSoftmaxLoss(0.5)), lambda t, r: t.UniqueSoftmaxLoss(r, temperature=0.5), averages_weights=True
    ),
    "sigmoid_cross_entropy_loss": items(
        ks.SigmoidCrossEntropyLoss(normalization="none"), lambda t, r: t.SigmoidCrossEntropyLoss(r), CLICKS
    ),
    "mean_squared_loss": items(ks.MeanSquaredLoss(normalization="none"), lambda t, r: t.MeanSquaredLoss(r)),
    "ordinal_loss": items(
        ks.OrdinalLoss(normalization="none"), lambda t, r: t.OrdinalLoss(r, ordinal_size=2), scores=LOGITS
    ),
    "ordinal_loss, fractions": items(
        ks.OrdinalLoss(use_fraction_label=True, normalization="none"),
        lambda t, r: t.OrdinalLoss(r, ordinal_size=2, use_fraction_label=True),
        GRADED * np.float32([[0.4], [0.7], [1.0]]),
        LOGITS,
    ),
    "list_mle_loss": Parity(
        each(ks.PlackettLuceLoss(tau=0.5)),
        lambda t, r: t.ListMLELoss(r, temperature=0.5),
        labels=DISTINCT,
        averages_weights=True,
        padding=LOG_FACTORIAL,
    ),
    "list_mle_loss, discount": Parity(
        each(ks.PlackettLuceLoss(discount=inverse_log)),
        lambda t, r: t.ListMLELoss(r, lambda_weight=t.ListMLELambdaWeight(inverse_log)),
        labels=np.abs(DISTINCT) + np.float32([[0, 0, 0, 0, 0], [0, 0, 0, 2, 3], [0, 0, 0, 0, 3]]),
        averages_weights=True,
    ),
    "approx_ndcg_loss": Parity(
        each(ks.ApproxNDCGLoss(0.5)), lambda t, r: t.ApproxNDCGLoss(r, temperature=0.5), averages_weights=True
    ),
    "approx_mrr_loss": Parity(
        each(ks.ApproxMRRLoss(0.5)), lambda t, r: t.ApproxMRRLoss(r, temperature=0.5), averages_weights=True
    ),
    "gumbel_approx_ndcg_loss": sampled(
        lambda s, y, **more: ks.ops.gumbel_approx_ndcg_loss(s, y, tau=0.5, **more),
        lambda t, r: t.GumbelApproxNDCGLoss(r, temperature=0.25, gumbel_temperature=2.0, sample_size=SAMPLES),
        averages_weights=True,
        factor=SAMPLES,
        means_over=BATCH * SAMPLES,
    ),
    "coupled_rankdistil_loss": sampled(
        lambda s, y, **more: ks.ops.coupled_rank_distil_loss(s, y, k=2, tau=0.5, **more),
        lambda t, r: t.CoupledRankDistilLoss(r, topk=2, temperature=0.5, sample_size=SAMPLES),
        averages_weights=True,
    ),
    "poly_one_softmax_loss": Parity(
        each(ks.SoftmaxLoss(poly_epsilon=0.5)),
        older("PolyOneSoftmaxLoss", base="SoftmaxLoss", epsilon=0.5),
        labels=np.maximum(GRADED, 0),
    ),
    "circle_loss": Parity(
        each(ks.CircleLoss(tau=0.5, margin=0.1)),
        older("CircleLoss", gamma=2.0, margin=0.1),
        labels=DISTINCT,
        scores=SIMILARITIES,
        averages_weights=True,
    ),
    "neural_sort_cross_entropy_loss": Parity(
        each(ks.NeuralSortCrossEntropyLoss(tau=0.5, label_tau=1)),
        older("NeuralSortCrossEntropyLoss", temperature=0.5),
        averages_weights=True,
    ),
    "neural_sort_ndcg_loss": Parity(
        each(ks.NeuralNDCGLoss(tau=0.5, num_iterations=0)),
        older("NeuralSortNDCGLoss", temperature=0.5),
        averages_weights=True,
    ),
    "gumbel_neural_sort_cross_entropy_loss": sampled(
        lambda s, y, **more: ks.ops.neural_sort_cross_entropy_loss(s, y, tau=4.0, label_tau=1, stochastic=True, **more),
        older("NeuralSortCrossEntropyLoss", temperature=2.0, gumbel_temperature=2.0),
        averages_weights=True,
        factor=SAMPLES,
        means_over=BATCH * SAMPLES,
    ),
    "gumbel_neural_sort_ndcg_loss": sampled(
        lambda s, y, **more: ks.ops.neural_ndcg_loss(s, y, tau=0.5, num_iterations=0, stochastic=True, **more),
        older("NeuralSortNDCGLoss", temperature=0.25, gumbel_temperature=2.0),
        averages_weights=True,
        factor=SAMPLES,
        means_over=BATCH * SAMPLES,
    ),
    "click_em": items(
        ks.ClickEMLoss(exam_loss_weight=0.5, rel_loss_weight=2.0, normalization="none"),
        lambda t, r: t.ClickEMLoss(r, exam_loss_weight=0.5, rel_loss_weight=2.0),
        CLICKS,
        LOGITS,
    ),
    "mixture_em": Parity(
        each(ks.MixtureEMLoss(alpha=0.5)),
        lambda t, r: t.MixtureEMLoss(r, alpha=0.5),
        labels=CLICKS,
        scores=LOGITS,
        averages_weights=True,
    ),
}


def use_our_noise(monkeypatch_setattr):
    """Make TF-Ranking take the noise of `SEED`."""
    from tensorflow_ranking.python import losses_impl

    def gumbel(shape, eps=1e-20, seed=None):
        batch, samples, size = map(int, shape)
        return tf.transpose(gumbel_noise.gumbel([size, samples, batch], tf.constant(SEED), tf.float32), [2, 1, 0])

    monkeypatch_setattr(losses_impl, "_sample_gumbel", gumbel)


def main():
    import tensorflow_ranking as tfr

    use_our_noise(setattr)
    values = {
        case: {
            name: {key: np.float64(value).round(7).tolist() for key, value in parity.recorded(tfr, name).items()}
            for name in WEIGHTS
        }
        for case, parity in PARITY.items()
    }
    VALUES.write_text(json.dumps(values, indent=1) + "\n")


if __name__ == "__main__":
    main()
