"""Base classes of losses of scores, and of losses that are a function of `ops`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import tensorflow as tf

from keras_softsort._internal.export import export
from keras_softsort._keras.options import read_options
from keras_softsort._targets.lists import Lists
from keras_softsort.losses._base import ListLoss, fresh_seed, loss_of_each_list
from keras_softsort.losses._temperature import checked_tau
from keras_softsort.ops.core.deviations import checked_scale, in_deviations
from keras_softsort.ops.core.gradients import nan_lists
from keras_softsort.ops.ranking.lists import Derivatives, checked_arguments


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
        `LambdaWeight`. In a traced function the attribute of a number `tau` is a tensor, because it can be assigned.
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
        raise self._not_implemented("call")

    def list_losses(self, lists: Lists, y_pred: tf.Tensor) -> tf.Tensor:
        """The loss of each list [batch], NaN for a list with a NaN label or score."""
        scores = lists.only_valid(self._scaled(lists, y_pred))
        losses = self.score_losses(scores, lists.labels, mask=lists.mask, weights=lists.weights)
        losses = loss_of_each_list(losses, f"score_losses of {type(self).__name__}", scores)
        return nan_lists(lists.failed(scores), losses, scores)

    def list_derivatives(self, lists: Lists, y_pred: tf.Tensor) -> Derivatives | None:
        """The gradient of the loss of each list and the diagonal of its hessian: here None, no closed form."""
        return None

    def _scaled(self, lists: Lists, scores: tf.Tensor) -> tf.Tensor:
        if self.scale is None:
            return scores
        return in_deviations(scores, lists.given_mask, from_origin=not self._depends_on_offset)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "scale": self.scale}


class OperatorLoss(ScoreLoss):
    """A `ScoreLoss` that is `operator(scores or logits, labels, *, mask, weights, **options)`, for a subclass with it.

    The operator masks and weighs, gives NaN for a list with any NaN, and has the rules of all options by `checks`.
    `derivatives` takes the same arguments. A constructor passes its `locals()` as `options`.
    """

    _operator: Any
    _derivatives: Any = None
    _spread_nan = False
    _depends_on_offset = False
    _instead: ClassVar[dict[str, str]] = dict.fromkeys(["call", "score_losses"], "list_losses(lists, y_pred)")

    def __init_subclass__(cls, operator: Any = None, derivatives: Any = None) -> None:
        super().__init_subclass__()
        if operator is not None:
            cls._operator = staticmethod(operator)
            cls._derivatives = staticmethod(derivatives) if derivatives else None  # not inherited from a base class
        elif cls.list_losses is not OperatorLoss.list_losses:
            cls._derivatives = None  # they would be the operator's

    def __init__(self, options: dict[str, Any], **kwargs: Any) -> None:
        kwargs.setdefault("name", self._operator.__name__.removesuffix("_loss"))
        options = read_options(options)
        tau = {name: checked_tau(options.pop(name)) for name in ("tau",) if name in options}
        super().__init__({**tau, **self._operator.check(**options)}, **kwargs)

    def list_losses(self, lists: Lists, y_pred: tf.Tensor) -> tf.Tensor:
        """The loss of each list [batch]."""
        return self._called(self._operator, lists, y_pred)

    def list_derivatives(self, lists: Lists, y_pred: tf.Tensor) -> Derivatives | None:
        """The gradient of the loss of each list and the diagonal of its hessian, if they have a closed form."""
        if self._derivatives is None or self.scale is not None:
            return None
        return self._called(self._derivatives, lists, y_pred)

    def _called(self, operator: Callable[..., Any], lists: Lists, y_pred: tf.Tensor) -> Any:
        options = self.options(y_pred.dtype)
        for name, rule in self._operator.seeds.items():
            is_drawn = rule.only_if is None or options[rule.only_if]
            options[name] = fresh_seed(options[name]) if is_drawn else None
        scores, mask, weights = self._scaled(lists, y_pred), lists.given_mask, lists.given_weights
        with checked_arguments():
            return operator(scores, lists.given_labels, mask=mask, weights=weights, **options)
