"""A loss of one's own, written as the documentation of `ScoreLoss` says."""

import json

import numpy as np
import pytest
import tensorflow as tf
from support import models

import keras_softsort as ks

keras = tf.keras


@keras.utils.register_keras_serializable(package="tests")
class PairwiseHinge(ks.losses.ScoreLoss):
    def __init__(self, margin=1.0, **kwargs):
        super().__init__({"margin": margin}, **kwargs)

    def score_losses(self, scores, labels, *, mask, weights):
        pairs = (labels[:, :, None] > labels[:, None, :]) & mask[:, :, None] & mask[:, None, :]
        costs = tf.nn.relu(self.margin - (scores[:, :, None] - scores[:, None, :]))
        return tf.reduce_sum(weights[:, :, None] * tf.where(pairs, costs, 0), axis=[1, 2])


LABELS = np.float32([[2, 0, 1, -1], [1, -1, 0, 3]])
SCORES = np.float32([[3.0, 0.5, 1.0, np.nan], [0.0, np.inf, 1.0, 0.0]])
EACH = np.float32([0.5, 2 + 1 + 2])  # by hand: 1 - (1 - 0.5); 1 - (0 - 1), 1 - (0 - 0), 1 - (0 - 1)


def test_value_masks_and_weights():
    loss = PairwiseHinge(reduction="none")
    np.testing.assert_allclose(loss(LABELS, SCORES), EACH)
    np.testing.assert_allclose(loss(LABELS, SCORES[..., None], np.float32([2, 3])), EACH * [2, 3])
    np.testing.assert_allclose(PairwiseHinge(lists="batch")(LABELS[1], SCORES[1]), EACH[1])
    assert float(PairwiseHinge(margin=0.0, reduction="sum")(LABELS, SCORES)) == 2


@pytest.mark.parametrize("where", ["label", "score"])
def test_nan_is_seen(where):
    # The comparison of a NaN label is False, so that the loss itself would leave its pairs out.
    labels, scores = LABELS.copy(), SCORES.copy()
    (labels if where == "label" else scores)[0, 0] = np.nan
    values = PairwiseHinge(reduction=models.NO_REDUCTION)(labels, scores).numpy()
    np.testing.assert_array_equal(np.isnan(values), [True, False])


@pytest.mark.parametrize("padding", ["negative_labels", "nan_labels", None])
@pytest.mark.parametrize("weights", [None, [2.0, 3.0]])
@pytest.mark.parametrize("base", [ks.losses.ListLoss, ks.losses.ScoreLoss, ks.RankNetLoss])
def test_lists_have_a_mask_and_weights_if_none_are_given(base, padding, weights):
    seen = []

    class Seen(base):
        predicts = "scores"

        def list_losses(self, lists, y_pred):
            seen.append(lists)
            return tf.reduce_sum(y_pred, axis=-1)

    Seen(padding=padding)(np.ones([2, 3], "float32"), np.ones([2, 3], "float32"), weights)
    assert seen[0].mask.numpy().all()
    np.testing.assert_array_equal(seen[0].weights, np.outer(weights or [1, 1], np.ones(3)))


@pytest.mark.parametrize("base", [ks.losses.ListLoss, ks.losses.ScoreLoss, ks.RankNetLoss])
def test_labels_of_lists(base):
    """They are 0 where masked, and all NaN in a list with a NaN label."""
    seen = []

    class Seen(base):
        predicts = "scores"

        def list_losses(self, lists, y_pred):
            seen.append(lists)
            return tf.reduce_sum(y_pred, axis=-1)

    Seen()(np.float32([[3, -1, 1], [np.nan, -1, 1]]), np.ones([2, 3], "float32"))
    np.testing.assert_array_equal(seen[0].labels, [[3, 0, 1], [np.nan] * 3])
    np.testing.assert_array_equal(seen[0].weights, [[1, 0, 1]] * 2)


def test_config_round_trip():
    loss = PairwiseHinge(0.5, padding=None, lists="batch", name="mine", dtype="float64")
    again = PairwiseHinge.from_config(json.loads(json.dumps(loss.get_config())))
    assert again.get_config() == loss.get_config()
    assert again.margin == 0.5


class OptionalTau(ks.losses.ScoreLoss):
    def __init__(self, tau=1.0, **kwargs):
        super().__init__({"tau": tau}, **kwargs)

    def score_losses(self, scores, labels, *, mask, weights):
        return tf.reduce_sum(weights * (scores if self.tau is None else scores / self.tau), axis=-1)


def test_a_temperature_of_none_is_an_option_like_any_other():
    loss = OptionalTau(tau=None, reduction="sum")
    assert loss.tau is None
    assert not loss.has_tau
    assert repr(loss) == "OptionalTau(tau=None, reduction='sum')"
    again = OptionalTau.from_config(json.loads(json.dumps(loss.get_config())))
    assert again.tau is None
    labels, scores = np.zeros([1, 2], "float32"), np.float32([[1, 2]])
    assert float(loss(labels, scores)) == float(tf.function(again)(labels, scores)) == 3
    assert float(OptionalTau(tau=2.0, reduction="sum")(labels, scores)) == 1.5


def test_without_a_hook():
    class OfScores(ks.losses.ScoreLoss):
        pass

    class OfMatrices(ks.losses.ListLoss):
        pass

    with pytest.raises(
        NotImplementedError, match=r"OfScores must define score_losses\(scores, labels, \*, mask, weights"
    ):
        OfScores()(LABELS, SCORES)
    with pytest.raises(NotImplementedError, match=r"OfMatrices must define list_losses\(lists, y_pred\), .* \[batch\]"):
        OfMatrices()(LABELS, np.ones((2, 4, 4)))


WRONG = {
    "a loss per item": tf.square,
    "a scalar": tf.reduce_sum,
    "a Python number": lambda scores: 1.0,
    "a column": lambda scores: tf.reduce_sum(scores, axis=-1, keepdims=True),
    "a loss per column": lambda scores: tf.reduce_sum(scores, axis=0),
}


def own_loss(hook, result):
    if hook == "score_losses":

        class Own(ks.losses.ScoreLoss):
            def score_losses(self, scores, labels, *, mask, weights):
                return result(scores)
    else:

        class Own(ks.losses.ListLoss):
            predicts = "scores"

            def list_losses(self, lists, y_pred):
                return result(y_pred)

    return Own


@pytest.mark.parametrize("base", ["score_losses", "list_losses"])
@pytest.mark.parametrize("mode", ["eager", "traced", "xla", "unknown_shape"])
@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("n", [2, 3])
def test_results_that_are_not_one_loss_per_list(n, wrong, mode, base):
    """With as many items as lists, a loss per item would be trained as if it were right."""
    if (wrong, n) == ("a loss per column", 2):
        return  # [batch]
    loss = own_loss(base, WRONG[wrong])()
    labels, scores = tf.ones([2, n]), tf.ones([2, n])
    call = loss.__call__ if mode == "eager" else tf.function(loss.__call__, jit_compile=mode == "xla", autograph=False)
    if mode == "unknown_shape":
        call = tf.function(loss.__call__, input_signature=[tf.TensorSpec([None, None])] * 2, autograph=False)
    # XLA checks no sizes that are unknown when traced; here all are known.
    message = rf"{base} of Own must return one loss per list, \[batch\]|the result of {base} of Own must have"
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match=message):
        call(labels, scores)


@pytest.mark.parametrize("hook", ["score_losses", "list_losses"])
def test_results_that_are_no_floating_point_tensors(hook):
    loss = own_loss(hook, lambda scores: tf.zeros(tf.shape(scores)[:1], tf.int32))()
    with pytest.raises(TypeError, match=f"the result of {hook} of Own must be floating-point, got dtype int32"):
        loss(LABELS, np.ones((2, 4), "float32"))


@pytest.mark.parametrize("hook", ["score_losses", "list_losses"])
def test_the_error_of_call_names_the_hook_of_the_class(hook):
    with pytest.raises(TypeError, match=rf"Wrong must not override call, which is not called: override {hook}\("):
        type("Wrong", (own_loss(hook, None),), {"call": lambda self, y_true, y_pred: 0.0})
