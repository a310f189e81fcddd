"""`SetLoss` beside DETR's `SetCriterion`, and sets with NaN."""

import numpy as np
import pytest
import tensorflow as tf
from scipy.optimize import linear_sum_assignment
from scipy.special import log_softmax

import keras_softsort as ks

CLASSES = 3  # NO_OBJECT is the last logit
NO_OBJECT = CLASSES
RNG = np.random.default_rng(2)


def corners(boxes):
    """(center x, center y, width, height) -> (left, top, right, bottom), in NumPy and TensorFlow."""
    x, y, w, h = (boxes[..., i] for i in range(4))
    return x - w / 2, y - h / 2, x + w / 2, y + h / 2


def giou(first, second, least=np.minimum, most=np.maximum):
    """The generalized intersection over union of boxes that broadcast."""
    l1, t1, r1, b1 = corners(first)
    l2, t2, r2, b2 = corners(second)
    width, height = least(r1, r2) - most(l1, l2), least(b1, b2) - most(t1, t2)
    inner = most(width, 0 * width) * most(height, 0 * height)
    union = (r1 - l1) * (b1 - t1) + (r2 - l2) * (b2 - t2) - inner
    hull = (most(r1, r2) - least(l1, l2)) * (most(b1, b2) - least(t1, t2))
    return inner / union - (hull - union) / hull


def set_criterion(boxes, classes, predicted, logits):
    """The weighted sum of DETR's `loss_labels`, `loss_boxes` and of their GIoU, in float64."""
    num_boxes = max(np.sum(classes >= 0), 1)
    logs, entropy, weights, distance, overlap = log_softmax(logits, axis=-1), 0.0, 0.0, 0.0, 0.0
    for box, label, found, log in zip(boxes, classes, predicted, logs, strict=True):
        real = np.flatnonzero(label >= 0)
        pairs = box[real, None], found[None]
        cost = 5 * np.abs(pairs[0] - pairs[1]).sum(-1) - 2 * giou(*pairs) - np.exp(log[:, label[real]]).T
        rows, columns = linear_sum_assignment(cost)
        target_classes = np.full(len(found), NO_OBJECT)
        target_classes[columns] = label[real[rows]]
        weight = np.where(target_classes == NO_OBJECT, 0.1, 1.0)  # empty_weight
        entropy -= np.sum(weight * log[np.arange(len(found)), target_classes])
        weights += np.sum(weight)
        distance += np.abs(box[real[rows]] - found[columns]).sum()
        overlap += np.sum(1 - giou(box[real[rows]], found[columns]))
    return entropy / weights + 5 * distance / num_boxes + 2 * overlap / num_boxes


def box_distances(t, p):
    return 5 * tf.reduce_sum(tf.abs(t - p), axis=-1) - 2 * giou(t, p, tf.minimum, tf.maximum)


def pair_cost(t, p):
    one_hot = tf.one_hot(t["classes"], CLASSES + 1, dtype=p["classes"].dtype)
    chances = tf.matmul(one_hot, tf.nn.softmax(p["classes"]), transpose_b=True)
    return box_distances(t["boxes"][:, :, None], p["boxes"][:, None]) - chances


def box_loss(t, p):
    return 2 + box_distances(t["boxes"], p["boxes"])


def class_loss(t, p):
    return tf.nn.sparse_softmax_cross_entropy_with_logits(tf.maximum(t["classes"], 0), p["classes"])


def no_object_loss(p):
    return -tf.nn.log_softmax(p["classes"])[..., NO_OBJECT]


def criterion(**options):
    functions = {"class_loss": class_loss, "unmatched_weight": 0.1, "target_mask": "classes", **options}
    return ks.SetLoss(pair_cost, box_loss, no_object_loss, **functions)


def images(queries, targets, batch=3):
    boxes, predicted = (RNG.uniform(0.1, 0.9, (batch, n, 4)) for n in (targets, queries))
    classes = RNG.integers(0, CLASSES, (batch, targets))
    classes[0, targets // 2 :] = -1
    return boxes, classes, predicted, RNG.normal(size=(batch, queries, CLASSES + 1))


def call(loss, boxes, classes, predicted, logits):
    return loss({"boxes": boxes, "classes": classes}, {"boxes": predicted, "classes": logits})


@pytest.mark.parametrize(("queries", "targets"), [(8, 2), (100, 7), (5, 0), (3, 6)])
def test_numbers_of_set_criterion(queries, targets):
    inputs = images(queries, targets)
    assert float(call(criterion(), *inputs)) == pytest.approx(set_criterion(*inputs), rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("jit_compile", [None, pytest.param(True, marks=pytest.mark.nightly)])
def test_layers_are_added_up_as_auxiliary_losses(jit_compile):
    boxes, classes, *_ = images(8, 3)
    layers = [images(8, 3)[2:] for _ in range(2)]
    stacked = [np.stack(each, axis=1) for each in zip(*layers, strict=True)]
    run = tf.function(lambda *found: call(criterion(layer_axis=1), boxes, classes, *found), jit_compile=jit_compile)
    wanted = sum(set_criterion(boxes, classes, *each) for each in layers)
    np.testing.assert_allclose(run(*map(tf.constant, stacked)), wanted, rtol=1e-6)


def test_classes_of_each_set_by_its_own_weights():
    inputs = images(8, 4)
    found = call(criterion(normalization="set", reduction="none"), *inputs)
    wanted = [set_criterion(*(each[i : i + 1] for each in inputs)) for i in range(3)]
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    without_layers = criterion(normalization="none", reduction="none")
    plain = ks.SetLoss(
        pair_cost,
        lambda t, p: box_loss(t, p) + class_loss(t, p),
        lambda p: 0.1 * no_object_loss(p),
        target_mask="classes",
        reduction="none",
    )
    np.testing.assert_allclose(call(without_layers, *inputs), call(plain, *inputs), rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("jit_compile", [None, pytest.param(True, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("where", ["boxes", "classes"])
def test_a_set_with_nan_is_left_out(where, jit_compile):
    """The loss and gradient of this set are 0, and other sets do not change."""
    boxes, classes, predicted, logits = images(8, 3)
    spoiled = {"boxes": predicted.copy(), "classes": logits.copy()}
    spoiled[where][1, 4] = np.nan

    @tf.function(jit_compile=jit_compile)
    def value_and_gradients(predicted, logits):
        with tf.GradientTape() as tape:
            tape.watch([predicted, logits])
            losses = call(
                criterion(skip_nan=True, reduction="none", normalization="set"), boxes, classes, predicted, logits
            )
        return losses, *tape.gradient(losses, [predicted, logits])

    wanted = value_and_gradients(tf.constant(predicted), tf.constant(logits))
    found = value_and_gradients(*map(tf.constant, spoiled.values()))
    for own, right in zip(found, wanted, strict=True):
        np.testing.assert_allclose(tf.gather(own, [0, 2]), tf.gather(right, [0, 2]), rtol=1e-9)
        assert not np.any(own[1])
    mean = float(call(criterion(skip_nan=True), boxes, classes, *spoiled.values()))
    assert np.isfinite(mean)
    assert np.isnan(float(call(criterion(), boxes, classes, *spoiled.values())))


def test_errors_say_what_to_do():
    with pytest.raises(ValueError, match=r"target_mask must name an entry .*nest the outputs of the model, and y"):
        criterion()(np.ones([2, 3]), np.ones([2, 4]))
    loss = ks.SetLoss(lambda t, p: tf.matmul(t, p, transpose_b=True), lambda t, p: tf.reduce_sum(t - p, axis=-1))
    message = r"pair_cost failed for tensors of shape \(2, 3, 4\) and \(2, 6, 5, 4\).*layer_axis=1"
    with pytest.raises(ValueError, match=message):
        loss(np.ones([2, 3, 4]), np.ones([2, 6, 5, 4]))
    with pytest.raises(ValueError, match=message):
        tf.function(loss.__call__)(tf.ones([2, 3, 4]), tf.ones([2, 6, 5, 4]))
