"""The weights of a saved TF-Ranking model in a scorer of this package."""

from __future__ import annotations

import os
from typing import Any

import tensorflow as tf

from keras_softsort._internal.export import export

_KEY = "variables/{}/.ATTRIBUTES/VARIABLE_VALUE"


@export
def load_tf_ranking_weights(model: Any, saved_model: str | os.PathLike[str]) -> None:
    """Give a `dnn_scorer` the weights of a TF-Ranking model, which then gives the same scores.

    For a move away from TF-Ranking: neither it nor Keras 2 is needed.

    Args:
      model: a `dnn_scorer` with the features, `hidden_units` and `batch_norm` of the other model, and with
        `input_normalization="batch"` if that normalizes its inputs. Its weights are set.
      saved_model: folder of the SavedModel of a TF-Ranking model with a `DNNScorer`, from `model.save` or a pipeline.

    Raises:
      ValueError: the folder holds no such SavedModel, or its weights have other shapes; the message names the first.

    Example:
      >>> scorer = ks.models.dnn_scorer(10, hidden_units=(32, 16), batch_norm=0.9)
      >>> ks.models.load_tf_ranking_weights(scorer, "tf_ranking/export/latest_model")  # doctest: +SKIP
    """
    try:
        reader = tf.train.load_checkpoint(os.path.join(os.fspath(saved_model), "variables", "variables"))
    except (tf.errors.OpError, ValueError) as error:
        raise ValueError(f"saved_model must be the folder of a SavedModel, got {os.fspath(saved_model)!r}") from error
    theirs: list[Any] = []
    while reader.has_tensor(_KEY.format(len(theirs))):
        theirs.append(reader.get_tensor(_KEY.format(len(theirs))))
    if len(theirs) != len(model.weights):
        raise ValueError(f"saved_model must hold {len(model.weights)} weights as model does, got {len(theirs)}")
    for i, (own, value) in enumerate(zip(model.weights, theirs, strict=True)):
        if tuple(own.shape) != value.shape:
            raise ValueError(
                f"saved_model must have the shapes of model's weights, {tuple(own.shape)} for weight {i}, {own.name}, "
                f"got {value.shape}"
            )
    model.set_weights(theirs)
