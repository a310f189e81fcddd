"""Losses of items: pointwise ones, and those of several logits per item, against loops in float64."""

import json

import numpy as np
import pytest
import tensorflow as tf
from support import models, modes
from support.cases import objects
from support.data import graded_lists
from support.gradients import central_differences, fixed_weights

import keras_softsort as ks

pytestmark = pytest.mark.default_stack_only

NONE = models.NO_REDUCTION
LABELS = np.float64([[2, 0.3, 1, 0, 1], [1, 0, 2, -1, -1], [0, 0, 0, 0, -1], [-1] * 5])
SCORES, LOGITS, WEIGHTS = (each[:4] for each in (graded_lists.SCORES, graded_lists.LOGITS, graded_lists.WEIGHTS))
# Each name with its loss, the arguments, and what the loss takes.
CASES = {
    name: (loss, arguments, LOGITS if loss.takes == "logits" else SCORES)
    for loss in objects.SUBJECTS.values()
    if loss.oracle and (loss.takes == "logits" or loss.labels == "numbers")
    for name, arguments in loss.values.items()
}
LOGIT_LOSSES = [cls for cls, loss in objects.SUBJECTS.items() if loss.takes == "logits"]


def expected(case, scores):
    loss, arguments, base = CASES[case]
    return loss.truth(LABELS, scores, WEIGHTS, frozen=base, **arguments)


@pytest.mark.parametrize("case", CASES)
def test_value_and_gradient(case):
    subject, arguments, scores = CASES[case]
    loss, upstream = subject.cls(reduction=NONE, **arguments), fixed_weights(len(LABELS))
    junk = np.where((LABELS >= 0).reshape(LABELS.shape + (1,) * (scores.ndim - 2)), scores, np.nan)
    value, (gradient,) = modes.run("op_by_op", lambda s, _: loss(LABELS, s, WEIGHTS), [tf.constant(junk)], upstream)
    np.testing.assert_allclose(value, expected(case, scores), rtol=1e-10)
    (slopes,) = central_differences(lambda s: expected(case, s), [scores], upstream)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-6, atol=1e-8)


@pytest.mark.slow
def test_all_under_xla_with_masks():
    losses = [(loss.cls(reduction=NONE, **arguments), base.ndim) for loss, arguments, base in CASES.values()]

    def total(scores, logits, labels):
        return tf.add_n([loss(labels, scores if rank == 2 else logits, WEIGHTS) for loss, rank in losses])

    upstream = fixed_weights(len(LABELS))
    value, gradients = modes.run("xla", total, [tf.constant(SCORES), tf.constant(LOGITS)], upstream, LABELS)
    np.testing.assert_allclose(value, sum(expected(case, CASES[case][2]) for case in CASES), rtol=1e-9)
    assert all(np.isfinite(gradient).all() for gradient in gradients)


@pytest.mark.parametrize("cls", LOGIT_LOSSES)
def test_other_ways_to_give_lists(cls):
    labels, logits, weights = LABELS[1], LOGITS[1], WEIGHTS[1]
    one = cls(reduction=NONE)(labels[None], logits[None], weights[None])
    np.testing.assert_allclose(cls(reduction=NONE, lists="batch")(labels, logits, weights), one, rtol=1e-12)
    nan_padded = np.where(labels < 0, np.nan, labels)
    np.testing.assert_allclose(
        cls(reduction=NONE, padding="nan_labels")(nan_padded[None], logits[None], weights[None]), one, rtol=1e-12
    )
    ragged = [tf.RaggedTensor.from_tensor(each[None], [3]) for each in (labels, logits, weights)]
    np.testing.assert_allclose(cls(reduction=NONE)(*ragged), one, rtol=1e-12)
    spoiled = logits.copy()
    spoiled[0, 1] = np.nan
    assert np.isnan(cls()(labels[None], spoiled[None]))
    half = cls(dtype="float16")
    assert half(labels[None], logits[None]).dtype == tf.float16
    assert cls.from_config(json.loads(json.dumps(half.get_config()))).get_config() == half.get_config()


@pytest.mark.parametrize("cls", LOGIT_LOSSES)
def test_lists_without_items_cost_nothing(cls):
    labels, logits = tf.zeros([2, 0]), tf.zeros([2, 0, 2])
    ragged = [tf.RaggedTensor.from_row_lengths(each[0], [0, 0]) for each in (labels, logits)]
    np.testing.assert_array_equal(cls(reduction=NONE)(labels, logits), [0, 0])
    np.testing.assert_array_equal(cls(reduction=NONE)(*ragged), [0, 0])
    assert float(cls(lists="batch")(labels[0], logits[0])) == 0


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: ks.DualLearningLoss()(LABELS, LOGITS[..., :1]), ValueError, r"logits must have shape"),
        (lambda: ks.SoftmaxLoss(lambda_weight="map")(LABELS, SCORES), ValueError, "lambda_weight of a softmax must be"),
        (lambda: ks.OrdinalLoss()(LABELS, SCORES), ValueError, r"y_pred must be logits \[batch, n, m\], got shape"),
        (
            lambda: ks.OrdinalLoss(lists="batch")(LABELS[0], SCORES[0]),
            ValueError,
            r"y_pred must be logits \[batch, m\]",
        ),
        (lambda: ks.ClickEMLoss()(LABELS, LOGITS[..., :1]), ValueError, r"logits must have shape \[\.\.\., n, 2\]"),
        (lambda: ks.MixtureEMLoss()(LABELS[:, :1], LOGITS[:, :1]), ValueError, "lists of one item have no order"),
    ],
)
def test_errors(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.slow
def test_samples():
    """The mean over samples of scores without noise is the loss without samples."""
    plain = {
        ks.GumbelApproxNDCGLoss: ks.ApproxNDCGLoss(0.1),
        ks.YetiLogisticLoss: ks.RankNetLoss(
            lambda_weight=ks.losses.LambdaWeight("dcg", version=2, neighbors_only=True)
        ),
    }
    for cls, loss in plain.items():
        without = cls(num_samples=3, noise_scale=0.0, reduction=NONE)
        quiet = loss.from_config({**loss.get_config(), "reduction": "none"})
        np.testing.assert_allclose(without(LABELS, SCORES), quiet(LABELS, SCORES), rtol=1e-9, atol=1e-12)
    certain = np.float64([[40.0, 0.0, 20.0, 10.0]])
    found = ks.CoupledRankDistilLoss(2.0, k=2)(certain, SCORES[:1, :4])
    assert float(found) == pytest.approx(float(ks.PlackettLuceLoss(k=2, tau=2.0)(certain, SCORES[:1, :4])))


def test_discounts_of_list_mle():
    scores, weights = np.float64([0.3, -1.0, 0.7, 0.1]), 1 / np.log2([2, 3, 4, 5])
    shares = [scores[i] - np.log(np.sum(np.exp(scores[i:]))) for i in range(4)]
    distinct = ks.ops.plackett_luce_loss(scores, [4, 3, 2, 1], discount="log2", k=3)
    np.testing.assert_allclose(distinct, -np.sum(shares[:3] * weights[:3]), rtol=1e-12)
    tied = ks.ops.plackett_luce_loss(scores, [2, 2, 1, 1], discount=lambda ranks: 1 / (1 + ranks))
    normalizers = [np.log(np.sum(np.exp(scores[i:]))) for i in (0, 0, 2, 2)]
    shared = np.float64([1 / 2 + 1 / 3, 1 / 2 + 1 / 3, 1 / 4 + 1 / 5, 1 / 4 + 1 / 5]) / 2
    np.testing.assert_allclose(tied, -np.sum(shared * (scores - normalizers)), rtol=1e-12)
    cooled = ks.ops.plackett_luce_loss(scores, [4, 3, 2, 1], tau=0.5)
    np.testing.assert_allclose(cooled, ks.ops.plackett_luce_loss(scores / 0.5, [4, 3, 2, 1]), rtol=1e-12)
