"""The loss of predicted sets that are matched to their targets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keras_softsort import ops
from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort._keras.options import read_option
from keras_softsort._targets.lists import WeightedLosses
from keras_softsort._targets.sets import predicted_sets
from keras_softsort.losses._base import WeightedLoss
from keras_softsort.ops.matching.set_loss import NORMALIZATIONS

_optional_function = arguments.optional(arguments.function)


@export
class SetLoss(WeightedLoss):
    """The loss of a predicted set: match predictions to targets, then add up the losses of matched and unmatched ones.

    Use it if a model predicts a set, whose order does not matter: boxes of an image, particles of an event, sources of
    a mixture. By default the sum over the batch is divided by the number of targets in the batch. With a `class_loss`
    this is DETR's `SetCriterion`. See `ops.set_loss` for the formula, edge cases, errors, cost and source.

    Args:
      pair_cost, matched_loss, unmatched_loss, class_loss: functions as in `ops.set_loss`, of `y_true` and `y_pred`.
      unmatched_weight: as in `ops.set_loss`; DETR's `eos_coef`.
      target_mask: the valid targets, `[batch, m]`: the key of an entry of `y_true`, or a function of `y_true`. True, or
        a number of at least 0, is valid; False, or a negative number, is padding. None: all targets are valid.
      prediction_mask: the valid predictions, `[batch, n]`, alike. A Keras mask of `y_pred` also masks predictions.
      normalization: divisor of the sum of losses. `"batch"`: the number of valid targets in the batch, at least 1, so
        that all targets have the same weight. `"set"`: the number of valid targets of each set, at least 1, and the
        number of sets, so that all sets have the same weight. `"none"`: the number of sets.
      layer_axis: None, or 0 or 1: the axis of `y_pred` over the layers of a decoder that each predict all sets. All
        layers are matched in one call, and the loss of a set is the sum over layers (auxiliary losses).
      skip_nan: whether a set that would cost NaN, such as one with a NaN prediction, costs 0 and has gradient 0. Its
        targets count in the divisor all the same. Otherwise it makes the mean over the batch NaN.
      reduction: `"sum_over_batch_size"` or `"mean"`: the sum over sets, divided as above. `"mean_with_sample_weight"`:
        the same, with targets or sets counted by their weight. `"sum"`: the sum over sets. None or `"none"`: one loss
        per set. With `"sum"` and None only `normalization="set"` divides, each set by its targets.
      name, dtype: see `ListLoss`.

    Call arguments:
      y_true: targets, a tensor `[batch, m, ...]` or a nest of such tensors (a dictionary, say), cast to the dtype of
        the predictions if they are floating-point. Padding is replaced by 0 before any function sees it.
      y_pred: predictions, a tensor `[batch, n, ...]` or a nest of such tensors; with `layer_axis=0`
        `[layers, batch, n, ...]`, with `layer_axis=1` `[batch, layers, n, ...]`, as a Keras model has to return them.
        Functions see the sets of all layers as one batch, `[layers * batch, n, ...]`.
      sample_weight: a number, or one weight per set, `[batch]` or `[batch, 1]`.

    In `model.compile` the targets and the predictions are one tensor each: concatenate what the model predicts, and
    split it in the functions. `docs/guides/matching.md` shows this, dictionaries on Keras 3, and how to save the
    functions. With several replicas `"batch"` divides by the targets of each replica's part of the batch, and the
    losses of the replicas are averaged. Other normalizations give the same result as on one replica.

    Example:
      >>> loss = ks.SetLoss(  # of points on a line
      ...     pair_cost=lambda t, p: tf.abs(t[:, :, None] - p[:, None, :]),
      ...     matched_loss=lambda t, p: tf.abs(t - p),
      ...     unmatched_loss=lambda p: 0.1 * tf.ones_like(p),
      ... )
      >>> round(float(loss(tf.constant([[2.0, 5.0]]), tf.constant([[5.5, 9.0, 1.75]]))), 4)  # (0.25 + 0.5 + 0.1) / 2
      0.425
    """

    def __init__(
        self,
        pair_cost: Callable[[Any, Any], Any],
        matched_loss: Callable[[Any, Any], Any],
        unmatched_loss: Callable[[Any], Any] | None = None,
        *,
        class_loss: Callable[[Any, Any], Any] | None = None,
        unmatched_weight: float = 1.0,
        target_mask: str | Callable[[Any], Any] | None = None,
        prediction_mask: str | Callable[[Any], Any] | None = None,
        normalization: str = "batch",
        layer_axis: int | None = None,
        skip_nan: bool = False,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "set_loss",
        dtype: Any = None,
        **unknown: Any,
    ) -> None:
        super().__init__(reduction=reduction, name=name, dtype=dtype, **unknown)
        self._keep_options(
            pair_cost=arguments.function("pair_cost", read_option(pair_cost)),
            matched_loss=arguments.function("matched_loss", read_option(matched_loss)),
            unmatched_loss=_optional_function("unmatched_loss", read_option(unmatched_loss)),
            class_loss=_optional_function("class_loss", read_option(class_loss)),
            unmatched_weight=arguments.non_negative_number("unmatched_weight", unmatched_weight),
            target_mask=_mask("target_mask", target_mask),
            prediction_mask=_mask("prediction_mask", prediction_mask),
            normalization=arguments.one_of("normalization", normalization, NORMALIZATIONS),
            layer_axis=_layer_axis(layer_axis),
            skip_nan=arguments.boolean("skip_nan", skip_nan),
        )

    def weighted_losses(self, y_true: Any, y_pred: Any, sample_weight: Any) -> WeightedLosses:
        """The loss of each set [batch], and what the sum of them is divided by."""
        sets = predicted_sets(
            y_true,
            y_pred,
            sample_weight,
            target_mask=self.target_mask,
            prediction_mask=self.prediction_mask,
            dtype=self.given_dtype,
            layer_axis=self.layer_axis,
        )
        losses = ops.set_loss(
            sets.targets,
            sets.predictions,
            target_mask=sets.target_mask,
            prediction_mask=sets.prediction_mask,
            pair_cost=self.pair_cost,
            matched_loss=self.matched_loss,
            unmatched_loss=self.unmatched_loss,
            class_loss=self.class_loss,
            unmatched_weight=self.unmatched_weight,
            normalization=self.normalization,
            skip_nan=self.skip_nan,
        )
        if self.class_loss is not None and self.normalization == "batch":
            losses = sets.with_classes_of_each_layer(losses)
        return sets.normalized(losses, self.normalization)


def _layer_axis(value: Any) -> int | None:
    axis = arguments.optional_integer("layer_axis", value)
    if axis not in (None, 0, 1):
        raise ValueError(f"layer_axis must be None, 0 or 1, got {value!r}")
    return axis


def _mask(name: str, value: Any) -> Any:
    """Return `value`, the key of an entry, a function, the config of one, or None."""
    return value if isinstance(value, str) else _optional_function(name, read_option(value))
