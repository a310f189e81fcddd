"""Losses by name, of this package and of TF-Ranking, and the one import of TF-Ranking."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from keras_softsort import losses
from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort._keras.compat import keras

try:
    import tensorflow_ranking as _tensorflow_ranking
except ImportError as error:
    raise ImportError(
        "keras_softsort.tf_ranking needs TF-Ranking 0.5.5 with TensorFlow 2.15, which are installed by "
        f'pip install "keras-softsort[tf-ranking]" on Python 3.10 or 3.11; got TensorFlow {tf.__version__} and: {error}'
    ) from error

tfr: Any = _tensorflow_ranking


def _name(loss: type) -> str:
    """The name of the operator. It begins with "keras_softsort_" where TF-Ranking has a loss of that name."""
    name = f"{loss().name}_loss"
    return f"keras_softsort_{name}" if name in tfr.keras.losses.RankingLossKey.all_keys() else name


_CLASSES = [each for each in (getattr(losses, name) for name in vars(losses)["__all__"]) if isinstance(each, type)]
LOSSES: dict[str, type] = {
    _name(each): each for each in _CLASSES if issubclass(each, losses.ScoreLoss) and each is not losses.ScoreLoss
}


@export
def get_loss(
    loss: str,
    reduction: str | None = "auto",
    lambda_weight: Any = None,
    name: str | None = None,
    *,
    ragged: bool = False,
    **kwargs: Any,
) -> Any:
    """Return the loss with a given name, of this package or of TF-Ranking, as `tfr.keras.losses.get` does.

    For pipelines that choose their loss by name. `LOSSES` maps the names of this package to their classes:
    `"ranknet_loss"` is `RankNetLoss`. A name that is also in `tfr.keras.losses.RankingLossKey` is the loss of
    TF-Ranking; that of this package then begins with `"keras_softsort_"`, as `"keras_softsort_softmax_loss"` does.

    Args:
      loss: one of these names, or several with weights for their sum, such as `"softmax_loss:0.9,ranknet_loss:0.1"`. A
        name without a weight has weight 1.
      reduction: a `tf.keras.losses.Reduction`. With `"auto"` losses are means over lists. (TF-Ranking's that have a
        value per item are means over items, padding included.)
      lambda_weight: the name of a metric; for TF-Ranking's losses one of its lambda weight objects.
      name: name of the loss; `None` takes its default name.
      ragged: whether TF-Ranking's losses get ragged labels and scores. The losses of this package take both kinds.
      **kwargs: other arguments of the loss.

    Raises:
      ValueError: the name is unknown; the message lists all names.
      TypeError: `ragged` is not a bool, or the loss does not have an argument.

    Example:
      >>> from keras_softsort import tf_ranking
      >>> both = tf_ranking.get_loss("ranknet_loss:0.1, plackett_luce_loss:0.9")
      >>> round(float(both([[1.0, 0.0]], [[0.3, 0.9]])), 4)
      1.0375
    """
    if isinstance(loss, str) and set(loss) & set(":,"):
        names, weights = zip(*map(_name_and_weight, loss.split(",")), strict=True)
        parts = [get_loss(each, reduction, lambda_weight, ragged=ragged, **kwargs) for each in names]
        return SumOfLosses(parts, weights, name=name)
    arguments.one_of("loss", loss, [*LOSSES, *tfr.keras.losses.RankingLossKey.all_keys()])
    is_ragged = {"ragged": True} if arguments.boolean("ragged", ragged) else {}  # one loss does not have it
    if loss not in LOSSES:
        return tfr.keras.losses.get(loss, reduction, lambda_weight, name, **is_ragged, **kwargs)
    options = {"lambda_weight": lambda_weight, "name": name}
    kwargs.update({key: value for key, value in options.items() if value is not None})
    return LOSSES[loss](reduction=reduction, **kwargs)


def _name_and_weight(text: str) -> tuple[str, float]:
    """The parts of `"name:weight"`, with weight 1 if there is none."""
    name, _, weight = text.partition(":")
    try:
        return name.strip(), float(weight) if weight.strip() else 1.0
    except ValueError:
        raise ValueError(f"loss must have a number after each colon, got {text!r}") from None


class SumOfLosses(keras.losses.Loss):
    """A weighted sum of losses with the same reduction, by which Keras tells whether to divide it by the replicas."""

    def __init__(self, losses: list[Any], weights: Sequence[float], name: str | None = None) -> None:
        super().__init__(reduction=losses[0].reduction, name=name)
        self.losses = losses  # where `TauSchedule` finds them
        self._weights = weights

    @tf.autograph.experimental.do_not_convert
    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> tf.Tensor:
        parts = zip(self.losses, self._weights, strict=True)
        return sum(weight * loss(y_true, y_pred, sample_weight) for loss, weight in parts)
