"""TF-Ranking's pipelines with the losses of this package, by name or as objects."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort._keras.compat import keras
from keras_softsort.tf_ranking._losses import get_loss, tfr


class _Pipeline(tfr.keras.pipeline.ModelFitPipeline):
    """Base class of pipelines that allow ragged tensors and the losses of this package."""

    def __init__(self, model_builder: Any, dataset_builder: Any, hparams: Any, *, ragged: bool = False) -> None:
        super().__init__(model_builder, dataset_builder, hparams)
        self._ragged = arguments.boolean("ragged", ragged)

    def _loss(self, loss: Any) -> Any:
        if isinstance(loss, keras.losses.Loss):
            return loss
        return get_loss(loss, self._hparams.loss_reduction, ragged=self._ragged)

    def build_metrics(self) -> Any:
        """TF-Ranking's metrics of this pipeline."""
        return tf.nest.map_structure(self._metric, super().build_metrics())

    def build_weighted_metrics(self) -> Any:
        """The metrics that are given the weights."""
        return tf.nest.map_structure(self._metric, super().build_weighted_metrics())

    def _metric(self, metric: Any) -> Any:
        # TF-Ranking's pipelines do not tell their metrics whether tensors are ragged.
        return type(metric).from_config({**metric.get_config(), "ragged": self._ragged})


@export
class SimplePipeline(_Pipeline, tfr.keras.pipeline.SimplePipeline):
    """`tfr.keras.pipeline.SimplePipeline` whose `hparams.loss` may be a loss of this package.

    For training scripts of TF-Ranking. `docs/guides/tf-ranking.md` has a complete one.

    Args:
      model_builder: a `tfr.keras.model.AbstractModelBuilder`.
      dataset_builder: a `tfr.keras.pipeline.AbstractDatasetBuilder`. Labels below 0 mark padding: give the label
        feature the default value -1.
      hparams: a `tfr.keras.pipeline.PipelineHparams`. Its `loss` is a name that `get_loss` knows, which gets
        `loss_reduction`, or a Keras loss with a reduction of its own.
      ragged: whether labels and scores are ragged instead of padded tensors.

    Raises:
      ValueError: when the pipeline runs, the name of the loss is unknown; the message lists all names.
      TypeError: `ragged` is not a bool.

    Example:
      >>> import tensorflow_ranking as tfr
      >>> from keras_softsort import tf_ranking
      >>> model = tfr.keras.model.ModelBuilder(None, None, None, mask_feature_name="mask")
      >>> data = tfr.keras.pipeline.NullDatasetBuilder(None, None)
      >>> steps = {"num_epochs": 2, "steps_per_epoch": 20, "validation_steps": 1}
      >>> hparams = tfr.keras.pipeline.PipelineHparams("runs", **steps, learning_rate=0.01, loss="ranknet_loss")
      >>> tf_ranking.SimplePipeline(model, data, hparams).build_loss().name
      'ranknet'
    """

    def build_loss(self) -> Any:
        """The loss, in the strategy's scope."""
        return self._loss(self._hparams.loss)


@export
class MultiTaskPipeline(_Pipeline, tfr.keras.pipeline.MultiTaskPipeline):
    """`tfr.keras.pipeline.MultiTaskPipeline` whose `hparams.loss`, a dictionary by task, may hold losses of ours.

    For training scripts of TF-Ranking with several labels, such as clicks and purchases.

    Args:
      model_builder: a `tfr.keras.model.AbstractModelBuilder` whose model returns a dictionary of scores by task.
      dataset_builder: as in `SimplePipeline`, but its labels are a dictionary by task.
      hparams: as in `SimplePipeline`, but its `loss` is a dictionary by task. `loss_weights` weights the tasks.
      ragged: whether labels and scores are ragged instead of padded tensors.

    Raises:
      TypeError: `ragged` is not a bool; when the pipeline runs, `loss` is not a dictionary.
      ValueError: when the pipeline runs, the name of a loss is unknown; the message lists all names.

    Example:
      >>> import tensorflow_ranking as tfr
      >>> from keras_softsort import tf_ranking
      >>> model = tfr.keras.model.ModelBuilder(None, None, None, mask_feature_name="mask")
      >>> data = tfr.keras.pipeline.NullDatasetBuilder(None, None)
      >>> steps = {"num_epochs": 2, "steps_per_epoch": 20, "validation_steps": 1, "learning_rate": 0.01}
      >>> losses = {"click": "softmax_loss", "purchase": "ranknet_loss"}
      >>> hparams = tfr.keras.pipeline.PipelineHparams("runs", **steps, loss=losses)
      >>> [type(loss).__name__ for loss in tf_ranking.MultiTaskPipeline(model, data, hparams).build_loss().values()]
      ['SoftmaxLoss', 'RankNetLoss']
    """

    def build_loss(self) -> Any:
        """The losses by task, in the strategy's scope."""
        losses = arguments.mapping("loss", self._hparams.loss, "of losses by task")
        return {task: self._loss(loss) for task, loss in losses.items()}
