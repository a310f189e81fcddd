"""Base classes of losses: options, lists, masks and weights, and the reduction."""

from __future__ import annotations

import contextlib
import numbers
from typing import Any, ClassVar

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import PACKAGE, export
from keras_softsort._keras.compat import IS_KERAS_3, keras, number_of, tf_variable
from keras_softsort._keras.options import FixedOptions
from keras_softsort._targets.layout import checked_lists
from keras_softsort._targets.lists import (
    Lists,
    WeightedLosses,
    checked_padding,
    checked_reduction,
    predicted_lists,
    reduced,
    weighted_list_losses,
)
from keras_softsort.losses._temperature import Temperature, checked_tau

NEVER_SET = object()


class WeightedLoss(FixedOptions, keras.losses.Loss):
    """Base class of losses that resolve masks and weights themselves; Keras would apply them to the result of `call`.

    Args:
      **unknown: other names are an error, which says what the argument is called here.
    """

    _fixed_names: tuple[str, ...] = ("reduction", "dtype")
    # Methods that are never called, and what a subclass overrides instead.
    _instead: ClassVar[dict[str, str]] = {"call": "weighted_losses(y_true, y_pred, sample_weight)"}
    _tau: Any = NEVER_SET

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, hook in cls._instead.items():
            overridden = next(base for base in cls.__mro__ if name in vars(base))
            if not _is_of_this_package(overridden):
                raise TypeError(f"{cls.__name__} must not override {name}, which is not called: override {hook}")

    def __init__(
        self,
        *,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = None,
        dtype: Any = None,
        **unknown: Any,
    ) -> None:
        self._refuse(unknown)
        reduction = checked_reduction(reduction)
        dtype = None if dtype is None else _floating_dtype(dtype)
        known = reduction if reduction in ("none", "sum") else "sum_over_batch_size"  # the names of Keras 2
        super().__init__(reduction=known, name=name, **({"dtype": dtype} if IS_KERAS_3 else {}))
        if IS_KERAS_3:  # Keras 2 needs its own name of the mean, to scale it by the number of replicas
            object.__setattr__(self, "reduction", reduction)
        self._given_reduction = reduction
        self._given_dtype = dtype

    def compute_in(self, dtype: tf.DType) -> None:
        """Tell the dtype of the computation that begins, in which traced functions read the temperature."""
        if self.has_tau:
            self._tau.dtype = dtype

    @property
    def has_tau(self) -> bool:
        """Whether the loss has a temperature that can be assigned."""
        return isinstance(self._tau, Temperature)

    @property
    def tau(self) -> Any:
        """The temperature: a number; in a traced function, or from a variable, a tensor that changes with it."""
        if self._tau is NEVER_SET:
            raise AttributeError(f"{type(self).__name__} has no tau")
        return self._tau.read() if self.has_tau else self._tau

    @tau.setter
    def tau(self, value: Any) -> None:
        if self.has_tau:
            self._tau.assign(arguments.positive_number("tau", number_of(value)))
        else:
            is_temperature = isinstance(value, numbers.Real) or tf_variable(value) is not None
            self._tau = Temperature(checked_tau(value)) if is_temperature else value

    def _option(self, name: str) -> Any:
        return self._tau.number if name == "tau" and self.has_tau else super()._option(name)

    @property
    def given_dtype(self) -> tf.DType | None:
        return None if self._given_dtype is None else tf.as_dtype(self._given_dtype)

    def options(self, dtype: tf.DType) -> dict[str, Any]:
        """The options of the loss, the temperature in `dtype`."""
        self.compute_in(dtype)
        return {name: getattr(self, name) for name in self._option_names}

    def weighted_losses(self, y_true: Any, y_pred: Any, sample_weight: Any) -> WeightedLosses:
        """The weighted losses [m] and the count that their mean is taken over."""
        raise NotImplementedError

    @tf.autograph.experimental.do_not_convert
    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> tf.Tensor:
        """The reduced loss: the mean, the sum, or with reduction None all losses."""
        with tf.name_scope(self.name or type(self).__name__):
            result = reduced(self.weighted_losses(y_true, y_pred, sample_weight), self._given_reduction)
            return tf.cast(result, self.given_dtype or result.dtype)

    def call(self, y_true: Any, y_pred: Any) -> tf.Tensor:
        """The losses without weights: [m]."""
        return self.weighted_losses(y_true, y_pred, None).values

    def get_config(self) -> dict[str, Any]:
        own = {"reduction": self._given_reduction, "name": self.name, "dtype": self._given_dtype}
        return {**super().get_config(), **own}


def _is_of_this_package(defined: Any) -> bool:
    """Whether a class or function is defined here, and not by a user."""
    return defined.__module__.startswith(f"{PACKAGE}.")


def _floating_dtype(dtype: Any) -> str:
    """The name of `dtype`, which may be a Keras policy or the name of one."""
    result = _as_dtype(dtype)
    if result is None and isinstance(dtype, str):
        with contextlib.suppress(ValueError):  # it is no policy
            result = _as_dtype(keras.mixed_precision.Policy(dtype))
    if result is None or not result.is_floating:
        raise ValueError(f"dtype must be floating-point, got {dtype!r}")
    return result.name


def _as_dtype(dtype: Any) -> tf.DType | None:
    try:
        return tf.as_dtype(getattr(dtype, "compute_dtype", dtype))
    except TypeError:
        return None


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
      **unknown: other names are an error, which says what the argument is called here.

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
    # Whether `list_losses` needs a NaN label to make all labels of its list NaN.
    _spread_nan = True

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
        raise self._not_implemented("call")

    def _not_implemented(self, name: str) -> NotImplementedError:
        """The error of a subclass without the hook that stands in for the method `name`."""
        hook = self._instead[name]
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
        self.compute_in(y_pred.dtype)

        def list_losses(lists: Lists, y_pred: tf.Tensor) -> tf.Tensor:
            losses = self.list_losses(lists.with_nan_spread() if self._spread_nan else lists, y_pred)
            is_own = not _is_of_this_package(type(self).list_losses)
            return loss_of_each_list(losses, f"list_losses of {type(self).__name__}", y_pred) if is_own else losses

        return weighted_list_losses(list_losses, lists, y_pred)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "lists": self.lists, "padding": self.padding}


def loss_of_each_list(losses: Any, title: str, y_pred: tf.Tensor) -> tf.Tensor:
    """Check that `losses`, the result of the method `title`, holds one loss per list of `y_pred`: [batch]."""
    tensor = arguments.floating_tensor(f"the result of {title}", losses)
    if not tensor.shape.is_compatible_with(y_pred.shape[:1]):
        raise ValueError(
            f"{title} must return one loss per list, [batch], which is {y_pred.shape[:1]} here, got {tensor.shape}"
        )
    return arguments.of_shape(f"the result of {title}", tensor, tf.shape(y_pred)[:1])


def fresh_seed(seed: int | None) -> tf.Tensor:
    """Draw two integers from TensorFlow's stateful generator, which `seed` and `tf.random.set_seed` initialize."""
    # Unlike a layer, a loss has no weights to count its calls, and is never exported.
    drawn = tf.random.uniform([2], maxval=tf.int32.max, dtype=tf.int32, seed=seed)
    context = tf.distribute.get_replica_context()
    # With a seed the generators of all replicas draw the same integers.
    return drawn if context is None else tf.bitwise.bitwise_xor(drawn, context.replica_id_in_sync_group)
