"""Base classes of losses with one value per list, of those of scores, and of those that are a function of `ops`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._targets.layout import LISTS
from keras_softsort._targets.lists import Lists, checked_padding, predicted_lists
from keras_softsort._targets.reduction import WeightedLosses
from keras_softsort.losses._base import WeightedLoss, checked_seed, fresh_seed
from keras_softsort.losses._configs import read_option, written_option
from keras_softsort.ops._core.gradients import nan_lists


class ListLoss(WeightedLoss):
    """Base class of losses with one value per list. It describes the arguments that all list losses share.

    To write a loss, derive from `ScoreLoss` if it takes scores; otherwise derive from this class and implement
    `list_losses`.

    Args:
      lists: what one list is. `"rows"`: each row of `y_pred`. `"batch"`: the whole batch (a query, a day, an era).
      padding: which labels mark padding. `"negative_labels"`: labels below 0. `"nan_labels"`: NaN. None: no label does.
        Targets around 0, such as returns or residuals, need `"nan_labels"` or None; by default all negative targets
        are padding. A Keras mask of `y_pred` also marks padding.
      reduction: `"sum_over_batch_size"` or `"mean"`: the mean over lists. `"sum"`. `"mean_with_sample_weight"`: the sum
        divided by the sum of the weights of lists. None or `"none"`: one loss per list. Keras 2's `"auto"` is the mean.
      name: name of the loss.
      dtype: dtype of the result, to which `y_pred` is cast first. A Keras dtype policy, or its name, stands for its
        compute dtype. None takes the dtype of `y_pred`, or float32 if that is a half precision.

    Call arguments:
      y_true: labels `[batch, n]` or `[batch, n, 1]`, dense or ragged; with `lists="batch"` `[batch]` or `[batch, 1]`.
      y_pred: scores `[batch, n]` or `[batch, n, 1]`, as a `Dense(1)` per item gives them, dense or ragged; with
        `lists="batch"` `[batch]` or `[batch, 1]`. Soft permutations, for losses that take them, have the shape
        `[batch, rank, item]`, with `lists="batch"` `[rank, item]`.
      sample_weight: a number, `[batch]` or `[batch, 1]` (one weight per list), or `[batch, n]` (one per item); with
        `lists="batch"` one weight per item. The weight of a list is the mean weight of its items.

    Padding, even NaN, never affects the loss or its gradient. Lists without valid items give 0. A NaN label that is not
    padding makes the loss of its list NaN. Each list is normalized on its own, and then lists are averaged. Half
    precision is computed in float32.

    Raises:
      TypeError: `y_pred` is not floating-point, or an argument has another type.
      ValueError: a name is unknown, shapes do not match, or lists can only hold one item, such as the dense scores
        `[batch, 1]` of a regressor. One item has no order, so such a loss would train nothing. Ragged lists are no
        error if the longest list of a batch has one item.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> class FirstRankLoss(ks.losses.ListLoss):  # 1 minus the weight of the best item at rank 1 of a soft permutation
    ...     def list_losses(self, lists, y_pred):  # `lists` has labels, mask and weights, each [batch, n]
    ...         best = tf.one_hot(tf.argmax(lists.labels, axis=-1), tf.shape(y_pred)[-1])
    ...         return 1 - lists.mean_over_items(best * y_pred[:, 0, :]) * lists.sizes()
    >>> matrix = ks.ops.neural_sort(tf.constant([[1.0, 3.0, 2.0]]), tau=0.01)
    >>> round(float(FirstRankLoss()(tf.constant([[0.0, 9.0, 5.0]]), matrix)), 6)
    0.0
    """

    # What `y_pred` holds: "matrices" or "scores".
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
    ) -> None:
        super().__init__(reduction=reduction, name=name, dtype=dtype)
        self.lists = arguments.one_of("lists", lists, LISTS)
        self.padding = checked_padding(padding)

    def list_losses(self, lists: Lists, y_pred: tf.Tensor) -> tf.Tensor:
        """The weighted loss of each list: `[batch]`.

        `lists` has `labels`, `mask` and `weights`, each `[batch, n]` and 0 (False) in the padding. They have the dtype
        of `y_pred`, float32 or float64. In a list with a NaN label all labels are NaN.
        """
        raise NotImplementedError

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
            spread_nan=self._spread_nan,
        )
        losses = self.list_losses(lists, y_pred)
        return WeightedLosses(losses, tf.size(losses), lists.list_weights())

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), "lists": self.lists, "padding": self.padding}


class ScoreLoss(ListLoss):
    """Base class for your own losses of scores: implement `score_losses`.

    This class handles shapes, masks, weights, options and the config. The ranking losses of this package derive from
    it.

    Args:
      options: options of the loss, by the names of the arguments of its constructor. Each becomes an attribute, and is
        written into the config and read from it. Values are plain JSON values, registered functions, or a
        `LambdaWeight`.
      **kwargs: `lists`, `padding`, `reduction`, `name` and `dtype`, see `ListLoss`.

    `score_losses(scores, labels, *, mask, weights)` returns the loss of each list, `[batch]`. It gets tensors
    `[batch, n]` in float32 or float64: scores and labels, both 0 in the padding; the mask, True for valid items; and
    item weights, 0 in the padding. A list with a NaN label or score always gives NaN. The ranking losses in
    `keras_softsort.ops` have this signature.

    Example, a loss of your own:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> @tf.keras.utils.register_keras_serializable(package="mine")
    ... class PairwiseHinge(ks.losses.ScoreLoss):
    ...     def __init__(self, margin=1.0, **kwargs):
    ...         super().__init__({"margin": margin}, **kwargs)
    ...
    ...     def score_losses(self, scores, labels, *, mask, weights):
    ...         pairs = (labels[:, :, None] > labels[:, None, :]) & mask[:, :, None] & mask[:, None, :]
    ...         costs = tf.nn.relu(self.margin - (scores[:, :, None] - scores[:, None, :]))
    ...         return tf.reduce_sum(weights[:, :, None] * tf.where(pairs, costs, 0), axis=[1, 2])
    >>> labels, scores = tf.constant([[2.0, 0.0, 1.0, -1.0]]), tf.constant([[3.0, 0.5, 1.0, 9.0]])
    >>> float(PairwiseHinge()(labels, scores))
    0.5

    Example, in `model.compile`:

    >>> model = tf.keras.Sequential([tf.keras.Input((None, 5)), tf.keras.layers.Dense(1)])
    >>> model.compile("adam", loss=PairwiseHinge(margin=0.5))
    """

    predicts = "scores"

    def __init__(self, options: dict[str, Any] | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        options = {name: read_option(value) for name, value in (options or {}).items()}
        self._option_names = tuple(options)
        for name, value in options.items():
            setattr(self, name, value)

    def score_losses(self, scores: tf.Tensor, labels: tf.Tensor, *, mask: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
        """The weighted loss of each list: `[batch]`."""
        raise NotImplementedError

    def list_losses(self, lists: Lists, y_pred: tf.Tensor) -> tf.Tensor:
        """The loss of each list [batch], NaN for a list with a NaN label or score."""
        scores = tf.where(lists.mask, y_pred, tf.zeros_like(y_pred))
        losses = self.score_losses(scores, lists.labels, mask=lists.mask, weights=lists.weights)
        return nan_lists(lists.failed(scores), losses, scores)

    def options(self) -> dict[str, Any]:
        """The options of the loss, as its attributes hold them now."""
        return {name: getattr(self, name) for name in self._option_names}

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        written = {name: written_option(value) for name, value in self.options().items()}
        return {**super().get_config(), **written}


class OperatorLoss(ScoreLoss):
    """A `ScoreLoss` that is `_operator(scores or logits, labels, *, mask, weights, **options)`.

    The operator masks and weighs, and gives NaN for a list with any NaN. `_check` checks the options, besides `tau` and
    `seed`, and returns the checked ones. The option `seed` is an integer or None, from which each call draws a seed.
    """

    _operator: Callable[..., tf.Tensor]
    _check: Callable[..., Any] | None = None
    _spread_nan = False

    def __init__(self, options: dict[str, Any], **kwargs: Any) -> None:
        kwargs.setdefault("name", self._operator.__name__.removesuffix("_loss"))
        super().__init__(_checked({name: read_option(value) for name, value in options.items()}, self._check), **kwargs)

    def list_losses(self, lists: Lists, y_pred: tf.Tensor) -> tf.Tensor:
        """The loss of each list [batch]."""
        options = self.options()
        if "seed" in options:
            options["seed"] = self._draw_seed()
        weights = lists.weights if lists.weighted else None
        return self._operator(y_pred, lists.labels, mask=lists.mask, weights=weights, **options)

    def _draw_seed(self) -> tf.Tensor | None:
        """The seed of one call."""
        return fresh_seed(self.options()["seed"])


def _checked(options: dict[str, Any], check: Callable[..., Any] | None) -> dict[str, Any]:
    """The options with the values that `check` makes of them."""
    common = {"tau": arguments.positive_number, "seed": lambda _, seed: checked_seed(seed)}
    checked = {name: common[name](name, value) for name, value in options.items() if name in common}
    own = {name: value for name, value in options.items() if name not in common}
    found = _flat(check(**own)) if check is not None else {}
    # A lambda weight stays the name or the object that was given.
    return {name: checked[name] if name in checked else found.get(name, value) for name, value in options.items()}


def _flat(checked: Any) -> dict[str, Any]:
    """The fields of a tuple of options, and of those that are inside it."""
    fields: dict[str, Any] = {}
    for name, value in (checked._asdict() if checked is not None else {}).items():
        fields.update(_flat(value) if hasattr(value, "_asdict") else {name: value})
    return fields
