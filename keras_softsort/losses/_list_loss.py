"""Base classes of losses of lists: of any predictions, of scores, and those that are a function of `ops`."""

from __future__ import annotations

from typing import Any, ClassVar

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort._keras.options import read_options
from keras_softsort._targets.layout import checked_lists
from keras_softsort._targets.lists import Lists, WeightedLosses, checked_padding, losses_of_groups, predicted_lists
from keras_softsort.losses._base import WeightedLoss, checked_tau, fresh_seed, is_of_this_package
from keras_softsort.ops.core.deviations import checked_scale, in_deviations
from keras_softsort.ops.core.numbers import nan_lists
from keras_softsort.ops.ranking.lists import Derivatives, checked_arguments


@export
class ListLoss(WeightedLoss):
    """Base class of losses with one value per list. It describes the arguments that all list losses share.

    To write a loss of scores, derive from `ScoreLoss`. For other losses derive from this class, with `list_losses`.

    Args:
      lists: what one list is. `"rows"`: each row of `y_pred`. `"batch"`: the whole batch (a query, a day, an era).
        `"groups"`: the rows of the batch with the same group id.
      padding: which labels mark padding. `"negative_labels"`: labels below 0. `"nan_labels"`: NaN. None: no label does.
        Targets around 0, such as returns or residuals, need `"nan_labels"` or None; by default all negative targets are
        padding. A Keras mask of `y_pred` also marks padding.
      reduction: `"sum_over_batch_size"` or `"mean"`: the mean over lists. `"sum"`. `"mean_with_sample_weight"`: the sum
        divided by the sum of the weights of lists. None or `"none"`: one loss per list. Keras 2's `"auto"` is the mean.
      name: name of the loss.
      dtype: dtype of the result, to which `y_pred` is cast first. A Keras dtype policy, or its name, stands for its
        compute dtype. None takes the dtype of `y_pred`, or float32 if that is a half precision.
      **unknown: none is allowed. An unknown name raises an error that suggests the right one.

    Call arguments:
      y_true: labels `[batch, n]` or `[batch, n, 1]`, dense or ragged; with `lists="batch"` `[batch]` or `[batch, 1]`.
        With `lists="groups"` `[batch, 2]`: group ids and labels. See below.
      y_pred: scores `[batch, n]` or `[batch, n, 1]`, as a `Dense(1)` per item gives them, dense or ragged; with
        `lists="batch"` or `"groups"` `[batch]` or `[batch, 1]`. Losses of m logits per item take `[batch, n, m]`, or
        `[batch, m]`. Losses of soft permutations take `[batch, rank, item]`, with `lists="batch"` `[rank, item]`.
      sample_weight: a number, `[batch]` or `[batch, 1]` (one weight per list), or `[batch, n]` (one per item); with
        `lists="batch"` or `"groups"` one weight per item. The weight of a list is the mean weight of its items.

    Temperature: the `tau` of a loss is a positive number. It can be assigned at any time, as in `loss.tau = 0.1`, or
    annealed by `TauSchedule`. Models that are already traced use the new one. A scalar `tf.Variable` as `tau` stays in
    use: the loss reads it in each call, gives it a gradient, and assigns it. A config, and a copy made from it, have
    its present number. Other options cannot be assigned.

    Noise: the `seed` of a loss is an integer or None. Each call draws new noise from TensorFlow's generator. With a
    seed and `tf.random.set_seed` runs repeat, except under XLA, whose generator takes no seed.

    Groups: the id comes first, `[id, label]`. The rows of a group may be anywhere in the batch, and their order is that
    of the list. Group ids are integers, below 2^24 in float32; `data.batches_of_groups` numbers the groups of each
    batch. A group that is split between batches or replicas is several lists. `docs/guides/tabular-ranks.md` has the
    rest.

    Padding, even NaN, never affects the loss or its gradient. Lists without valid items give 0. A NaN label that is not
    padding makes the loss of its list NaN. Each list is normalized on its own, and then lists are averaged. Half
    precision is computed in float32.

    Raises:
      TypeError: `y_pred` is not floating-point, or an argument has another type.
      ValueError: a name is unknown, an option is out of range, shapes do not match, or lists can only hold one item,
        such as the dense scores `[batch, 1]` of a regressor. One item has no order, so such a loss would train nothing.
        Ragged lists are no error if the longest list of a batch has one item.

    Example:
      >>> class FirstRankLoss(ks.losses.ListLoss):  # 1 minus the weight of the best item at rank 1 of a permutation
      ...     def list_losses(self, lists, y_pred):  # `lists` has labels, mask and weights, each [batch, n]
      ...         best = tf.one_hot(tf.argmax(lists.labels, axis=-1), tf.shape(y_pred)[-1])
      ...         return 1 - lists.mean_over_items(best * y_pred[:, 0, :]) * lists.sizes()
      >>> round(float(FirstRankLoss()([[0.0, 9.0, 5.0]], ks.ops.neural_sort([[1.0, 3.0, 2.0]], tau=0.01))), 6)
      0.0
    """

    _fixed_names = (*WeightedLoss._fixed_names, "lists", "padding")
    _instead: ClassVar[dict[str, str]] = {"call": "list_losses(lists, y_pred)"}
    # The content of `y_pred`: "matrices" or "scores".
    predicts = "matrices"

    def __init__(
        self,
        *,
        lists: str = "rows",
        padding: str | None = "negative_labels",
        reduction: str | None = "sum_over_batch_size",
        name: str | None = None,
        dtype: Any = None,
        **unknown: Any,
    ) -> None:
        super().__init__(reduction=reduction, name=name, dtype=dtype, **unknown)
        self.lists = checked_lists(lists, self.predicts)
        self.padding = checked_padding(padding)

    def list_losses(self, lists: Lists, y_pred: tf.Tensor) -> tf.Tensor:
        """The weighted loss of each list: `[batch]`.

        `lists` has `labels`, `mask` and `weights`, each `[batch, n]` and 0 (False) in the padding. They have the dtype
        of `y_pred`, float32 or float64. In a list with a NaN label all labels are NaN.
        """
        raise self._not_implemented()

    def _not_implemented(self) -> NotImplementedError:
        """The error of a subclass without the hook that stands in for `call`."""
        hook = self._instead["call"]
        return NotImplementedError(f"{type(self).__name__} must define {hook}, which returns the losses [batch]")

    def weighted_losses(self, y_true: Any, y_pred: Any, sample_weight: Any) -> WeightedLosses:
        """The loss of each list [batch]. The mean is taken over all lists."""
        lists, y_pred = predicted_lists(
            y_true,
            y_pred,
            sample_weight,
            lists=self.lists,
            padding=self.padding,
            predicts=self.predicts,
            dtype=self.given_dtype,
        )
        if lists.groups is not None:
            return losses_of_groups(self.losses_of_lists, lists, y_pred)
        losses = self.losses_of_lists(lists, y_pred)
        return WeightedLosses(losses, losses.shape[0] or tf.size(losses), lists.mean_weights)

    def losses_of_lists(self, lists: Lists, y_pred: tf.Tensor) -> tf.Tensor:
        """The result of `list_losses` [batch]. A user's method gets complete lists, and its result is checked."""
        if is_of_this_package(type(self).list_losses):
            return self.list_losses(lists, y_pred)
        losses = self.list_losses(lists.complete(), y_pred)
        return _loss_of_each_list(losses, f"list_losses of {type(self).__name__}", y_pred)


@export
class ScoreLoss(ListLoss):
    """Base class for your own losses of scores: implement `score_losses`. The ranking losses here derive from it.

    It handles shapes, masks, weights, options and the config. `score_losses(scores, labels, *, mask, weights)` returns
    the loss of each list, `[batch]`. It gets tensors `[batch, n]` in float32 or float64: scores and labels, both 0 in
    the padding; the mask, True for valid items; and item weights, 0 in the padding. The ranking losses in
    `keras_softsort.ops` have this signature. A list with a NaN label or score always gives NaN.

    Args:
      options: options of the loss, by the names of the arguments of its constructor. Each becomes an attribute, and is
        written into the config and read from it. Values are plain JSON values, registered functions, or a
        `LambdaWeight`. In a traced function `self.tau` is a tensor, because it can be assigned. Its dtype is that of
        the loss, float32 by default: pass `dtype="float64"` if your scores are float64.
      scale: `"std"` divides the scores of each list by the standard deviation of its valid items: a temperature then
        means the same for scores of any scale, and no score grows without end. Lists of equal scores are not divided.
        Losses of several logits per item refuse it. None does not divide.
      **kwargs: `lists`, `padding`, `reduction`, `name` and `dtype`; see `ListLoss`.

    Example:
      >>> @tf.keras.utils.register_keras_serializable(package="mine")
      ... class PairwiseHinge(ks.losses.ScoreLoss):
      ...     def __init__(self, margin=1.0, **kwargs):
      ...         super().__init__({"margin": margin}, **kwargs)
      ...
      ...     def score_losses(self, scores, labels, *, mask, weights):
      ...         pairs = (labels[:, :, None] > labels[:, None, :]) & mask[:, :, None] & mask[:, None, :]
      ...         costs = tf.nn.relu(self.margin - (scores[:, :, None] - scores[:, None, :]))
      ...         return tf.reduce_sum(weights[:, :, None] * tf.where(pairs, costs, 0), axis=[1, 2])
      >>> float(PairwiseHinge()([[2.0, 0.0, 1.0, -1.0]], [[3.0, 0.5, 1.0, 9.0]]))
      0.5
    """

    _fixed_names = (*ListLoss._fixed_names, "scale")
    _instead: ClassVar[dict[str, str]] = {"call": "score_losses(scores, labels, *, mask, weights)"}
    predicts = "scores"
    # Whether an offset of all scores of a list may change its loss.
    _depends_on_offset = True

    def __init__(self, options: dict[str, Any] | None = None, *, scale: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.scale = checked_scale(scale)
        if scale is not None and self.predicts != "scores":
            raise ValueError(f"scale must be None for a loss of several logits per item, got {scale!r}")
        self._keep_options(**read_options(options or {}))

    def score_losses(self, scores: tf.Tensor, labels: tf.Tensor, *, mask: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
        """The weighted loss of each list: `[batch]`."""
        raise self._not_implemented()

    def list_losses(self, lists: Lists, y_pred: tf.Tensor) -> tf.Tensor:
        """The loss of each list [batch], NaN for a list with a NaN label or score."""
        lists = lists.complete()
        scores = lists.only_valid(self._scaled(lists, y_pred))
        losses = self.score_losses(scores, lists.labels, mask=lists.mask, weights=lists.weights)
        losses = _loss_of_each_list(losses, f"score_losses of {type(self).__name__}", scores)
        return nan_lists(lists.failed(scores), losses, scores)

    def list_derivatives(self, lists: Lists, y_pred: tf.Tensor) -> Derivatives | None:
        """The gradient of the loss of each list and the diagonal of its hessian: here None, no closed form."""
        return None

    def _scaled(self, lists: Lists, scores: tf.Tensor) -> tf.Tensor:
        if self.scale is None:
            return scores
        return in_deviations(scores, lists.mask, from_origin=not self._depends_on_offset)


class OperatorLoss(ScoreLoss):
    """A `ScoreLoss` that calls a public operator: `operator(scores or logits, labels, *, mask, weights, **options)`.

    A subclass names its operator: `class XLoss(OperatorLoss, operator=ops.x_loss)`. The operator applies mask and
    weights, gives NaN for a list with any NaN, and checks all options by its `check`. A constructor passes its
    `locals()` as `options`.
    """

    _operator: Any
    _derivatives: Any = None
    _depends_on_offset = False
    _instead: ClassVar[dict[str, str]] = dict.fromkeys(["call", "score_losses"], "list_losses(lists, y_pred)")

    def __init_subclass__(cls, operator: Any = None) -> None:
        super().__init_subclass__()
        if operator is not None:
            cls._operator = staticmethod(operator)
            closed = operator.interface.closed_derivatives
            cls._derivatives = staticmethod(closed) if closed else None  # not inherited from a base class
        elif cls.list_losses is not OperatorLoss.list_losses:
            cls._derivatives = None  # they would be the operator's

    def __init__(self, options: dict[str, Any], **kwargs: Any) -> None:
        kwargs.setdefault("name", self._operator.__name__.removesuffix("_loss"))
        options = read_options(options)
        tau = {name: checked_tau(options.pop(name)) for name in ("tau",) if name in options}
        super().__init__({**tau, **self._operator.check(**options)}, **kwargs)

    def list_losses(self, lists: Lists, y_pred: tf.Tensor) -> tf.Tensor:
        """The loss of each list [batch]."""
        scores, options = self._scaled(lists, y_pred), self._call_options(lists, y_pred.dtype)
        with checked_arguments():
            return self._operator(scores, lists.labels, **options)

    def list_derivatives(self, lists: Lists, y_pred: tf.Tensor) -> Derivatives | None:
        """The gradient of the loss of each list and the diagonal of its hessian, if they have a closed form."""
        if self._derivatives is None or self.scale is not None:
            return None
        options = self._call_options(lists, y_pred.dtype)
        with checked_arguments():
            return self._derivatives(y_pred, lists.labels, **options)

    def _call_options(self, lists: Lists, dtype: tf.DType) -> dict[str, Any]:
        """The mask, the weights and the options of a call, with new seeds."""
        options = self.options(dtype)
        for name, rule in self._operator.seeds.items():
            is_drawn = rule.only_if is None or options[rule.only_if]
            options[name] = fresh_seed(options[name]) if is_drawn else None
        return {"mask": lists.mask, "weights": lists.weights, **options}


def _loss_of_each_list(losses: Any, title: str, y_pred: tf.Tensor) -> tf.Tensor:
    """Check that `losses`, the result of the method `title`, holds one loss per list of `y_pred`: [batch]."""
    tensor = arguments.floating_tensor(f"the result of {title}", losses)
    if not tensor.shape.is_compatible_with(y_pred.shape[:1]):
        raise ValueError(
            f"{title} must return one loss per list, [batch], which is {y_pred.shape[:1]} here, got {tensor.shape}"
        )
    return arguments.of_shape(f"the result of {title}", tensor, tf.shape(y_pred)[:1])
