"""Ragged labels, scores and weights in losses and metrics: what each list gives by itself."""

import numpy as np
import pytest
import tensorflow as tf
from support import models
from support.cases import objects

import keras_softsort as ks

pytestmark = pytest.mark.default_stack_only

LABELS = [[3.0, 1.0, 2.0], [1.0, 1.0, 0.0, 2.0], [], [2.0, 0.0]]
SCORES = [[0.3, 0.9, -0.4], [1.0, 0.2, 0.6, -1.0], [], [0.5, 0.7]]
WEIGHTS = [[1.0, 2.0, 0.5], [1.0, 0.5, 3.0, 0.0], [], [2.0, 1.0]]
# A loss that draws noise would draw other noise for ragged lists.
LOSSES = {case.cls for case in objects.LOSSES if case.subject.takes == "scores" and not case.subject.draws_noise}
CLASSES = sorted(LOSSES, key=lambda cls: cls.__name__)


def ragged(lists):
    return tf.ragged.constant(lists, dtype=tf.float32, ragged_rank=1)


def value_and_gradient(loss, labels, scores, weights):
    """The loss and its gradient, for scores that are ragged or of one list."""
    with tf.GradientTape() as tape:
        flat = scores.flat_values if isinstance(scores, tf.RaggedTensor) else tf.constant(scores)
        tape.watch(flat)
        given = scores.with_flat_values(flat) if isinstance(scores, tf.RaggedTensor) else flat
        value = loss(labels, given, sample_weight=weights)
    return value.numpy(), tf.convert_to_tensor(tape.gradient(value, flat)).numpy()


@pytest.mark.slow
@pytest.mark.parametrize("cls", CLASSES)
def test_losses_are_those_of_each_list(cls):
    lists = zip(LABELS, SCORES, WEIGHTS, strict=True)
    alone = [value_and_gradient(cls(), *(np.float32([part]) for part in parts)) for parts in lists]
    slopes = np.concatenate([slope.ravel() for _, slope in alone])
    assert np.count_nonzero(slopes) > 5
    value, slope = value_and_gradient(cls(reduction="sum"), ragged(LABELS), ragged(SCORES), ragged(WEIGHTS))
    np.testing.assert_allclose(value, sum(value for value, _ in alone), rtol=1e-5)
    np.testing.assert_allclose(slope, slopes, rtol=1e-4, atol=1e-6)


@pytest.mark.slow
def test_traced_with_weights_of_lists_and_dense_labels():
    spec = tf.RaggedTensorSpec([None, None])
    loss = ks.ApproxNDCGLoss(reduction=models.NO_REDUCTION)
    labels, scores, weights = ragged(LABELS), ragged(SCORES), tf.constant([1.0, 2.0, 3.0, 4.0])
    dense = loss(labels.to_tensor(-1.0), scores.to_tensor(), weights)
    assert np.count_nonzero(dense) == 3
    for given in (labels, labels.to_tensor(0.0)):  # items without a score are padding, whatever their label
        found = tf.function(lambda y, s: loss(y, s, weights), input_signature=[spec_of(given), spec])(given, scores)
        np.testing.assert_allclose(found, dense, rtol=1e-6)


def spec_of(labels):
    return tf.RaggedTensorSpec([None, None]) if isinstance(labels, tf.RaggedTensor) else tf.TensorSpec([None, None])


def test_metric():
    metric, alone = ks.KendallTau(), ks.KendallTau()
    metric.update_state(ragged(LABELS), ragged(SCORES))
    for labels, scores in zip(LABELS, SCORES, strict=True):
        alone.update_state(np.float32([labels]), np.float32([scores]))
    assert float(metric.result()) == pytest.approx(float(alone.result()), rel=1e-6)
    assert float(metric.result()) != 0


METRICS = sorted({case.cls for case in objects.METRICS if not case.subject.takes_topics}, key=lambda cls: cls.__name__)
ONE_ITEM = [[2.0], [1.0], []]


def measured(metric, labels, scores):
    metric.update_state(labels, scores)
    return metric.result()


@pytest.mark.nightly
# Lists of one item have no pairs, of which the first metric of a process warns.
@pytest.mark.filterwarnings("ignore:.*no list counted:UserWarning")
@pytest.mark.parametrize("cls", [*CLASSES, ks.MixtureEMLoss, *METRICS])
@pytest.mark.parametrize("column", [False, True])
def test_lists_of_at_most_one_item(cls, column):
    """The longest list of a batch depends on the data: eagerly and in a graph it is no error, as in a wider batch."""
    labels, scores = ragged(ONE_ITEM), ragged([[0.3], [-0.2], []])
    if cls is ks.MixtureEMLoss:
        scores = scores.with_flat_values(tf.stack([scores.flat_values, -scores.flat_values], axis=-1))
    elif column:
        scores = scores.with_flat_values(scores.flat_values[:, tf.newaxis])
    compute = (lambda y, s: measured(cls(), y, s)) if cls in METRICS else cls()
    wide = [tf.pad(labels.to_tensor(-1.0), [[0, 0], [0, 1]], constant_values=-1.0)]
    wide.append(tf.concat([scores.to_tensor()] * 2, axis=1))
    expected = compute(*wide).numpy()
    np.testing.assert_allclose(compute(labels, scores), expected, rtol=1e-6)
    if cls in METRICS:
        metric = cls()
        models.traced_update(metric, input_signature=[tf.type_spec_from_value(each) for each in (labels, scores)])(
            labels, scores
        )
        np.testing.assert_allclose(metric.result(), expected, rtol=1e-6)
    else:
        np.testing.assert_allclose(tf.function(compute)(labels, scores), expected, rtol=1e-6)


def test_ragged_lists_of_one_item_by_their_shape():
    one = tf.RaggedTensor.from_uniform_row_length(tf.constant([1.0, 2.0]), 1)
    for loss in (ks.RankNetLoss(), tf.function(ks.RankNetLoss())):
        with pytest.raises(ValueError, match="lists of one item have no order"):
            loss(one, one)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("labels", "scores", "weights", "message"),
    [
        ([[1.0], [1.0, 2.0]], ragged([[1.0, 2.0], [1.0]]), None, "y_true must have lists of the lengths of those of"),
        ([[1.0, 2.0], [1.0]], ragged([[1.0, 2.0], [1.0]]), [[1.0], []], "sample_weight must have lists of the lengths"),
        ([[1.0, 2.0, 3.0], [1.0]], tf.ones([2, 2]), None, "y_true must have no list longer than those of y_pred"),
        (
            [[1.0], [1.0]],
            tf.ones([2, 2]),
            [[1.0, 2.0, 3.0], [1.0]],
            "sample_weight must have no list longer than those of",
        ),
    ],
    ids=["labels", "weights", "long_labels", "long_weights"],
)
def test_lists_of_other_lengths(labels, scores, weights, message):
    loss, weights = ks.ApproxNDCGLoss(), None if weights is None else ragged(weights)
    with pytest.raises(ValueError, match=message):
        loss(ragged(labels), scores, weights)
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        tf.function(loss)(ragged(labels), scores, weights)


def test_ragged_matrices():
    matrices = tf.ragged.constant([[[1.0]], [[1.0, 0.0], [0.0, 1.0]]])
    with pytest.raises(
        TypeError, match=r"y_pred must be dense, or ragged scores \[batch, n\] .* got ragged shape \(2, None"
    ):
        ks.PermutationCrossEntropyLoss()(ragged([[1.0], [2.0, 1.0]]), matrices)
