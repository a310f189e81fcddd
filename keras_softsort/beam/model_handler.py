"""An exported ranker for Beam's RunInference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apache_beam.ml.inference.base import ModelHandler, PredictionResult

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.serving import Scorer

_BATCHES = 8  # number of the scorer's batches in a batch of Beam: the scorer sorts their lists by size
_BUCKETS = [8, 16, 32, 64, 128, 256, 512, 1024]


@export
class RankerModelHandler(ModelHandler):
    """Score lists by `RunInference` with a model from `serving.export_ranker`, loaded once per worker process.

    For pipelines that score lists. An element is the features `[n, ...]` of a list, or a mapping of features for a
    model of several inputs, as for `serving.Scorer`. Its result is a `PredictionResult` whose `inference` holds the
    scores `[n]`. Wrap the handler in Beam's `KeyedModelHandler` to keep the query with its scores.

    Args:
      path: the folder of a version, which every worker must be able to read.
      batch_items: number of items, padding included, that the model scores at a time.
      max_batch_duration_secs: longest time in seconds that a list of a stream waits for others. Beam then keeps lists
        of similar sizes together across bundles. `None` batches within bundles, which is best for files.

    Raises:
      ValueError: `batch_items` is below 1. In the pipeline: the errors of `serving.Scorer`.

    Example:
      >>> import apache_beam as beam  # doctest: +SKIP
      >>> from apache_beam.ml.inference.base import KeyedModelHandler, RunInference  # doctest: +SKIP
      >>> from keras_softsort.beam import RankerModelHandler  # doctest: +SKIP
      >>> handler = KeyedModelHandler(RankerModelHandler("models/ranker/1"))  # doctest: +SKIP
      >>> lists = beam.Create([("query", [[1.0, 2.0], [5.0, 0.0]])])  # doctest: +SKIP
      >>> results = lists | RunInference(handler)  # doctest: +SKIP
    """

    def __init__(self, path: str, *, batch_items: int = 8192, max_batch_duration_secs: float | None = None) -> None:
        self._path, self._batch_items = str(path), arguments.positive_integer("batch_items", batch_items)
        most = _BATCHES * self._batch_items
        waiting: dict[str, Any] = {}
        if max_batch_duration_secs is not None:
            seconds = arguments.positive_number("max_batch_duration_secs", max_batch_duration_secs)
            waiting = {"batch_length_fn": _items, "batch_bucket_boundaries": _BUCKETS}
            waiting["max_batch_duration_secs"] = seconds
        # Beam would emit an empty batch before a first list above the maximum.
        sizes: dict[str, Any] = {
            "min_batch_size": most,
            "max_batch_size": most,
            "element_size_fn": lambda one: min(_items(one), most),
        }
        super().__init__(**sizes, **waiting)

    def load_model(self) -> Scorer:
        """The scorer of a worker process."""
        return Scorer(self._path, batch_items=self._batch_items)

    def run_inference(
        self, batch: Sequence[Any], model: Scorer, inference_args: Mapping[str, Any] | None = None
    ) -> list[PredictionResult]:
        """The scores of the lists of a batch."""
        found = zip(batch, model.score(batch), strict=True)
        return [PredictionResult(example=one, inference=scores, model_id=model.path) for one, scores in found]

    def update_model_path(self, model_path: str | None = None) -> None:
        """Take another version, as `RunInference(model_metadata_pcoll=...)` asks."""
        self._path = model_path or self._path

    def get_num_bytes(self, batch: Sequence[Any]) -> int:
        """The bytes of the features, for Beam's metrics, which would pickle them otherwise."""
        return sum(getattr(array, "nbytes", 0) for one in batch for array in _arrays(one))


def _items(element: Any) -> int:
    """Count the items of a list, with or without its key: at least 1."""
    features = element[1] if isinstance(element, tuple) else element
    return max([1, *map(len, _arrays(features))])


def _arrays(features: Any) -> list[Any]:
    return list(features.values()) if isinstance(features, Mapping) else [features]
