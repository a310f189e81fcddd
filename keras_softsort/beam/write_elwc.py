"""Lists as ELWC records in files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apache_beam as beam
from apache_beam.io.filesystem import CompressionTypes
from apache_beam.io.tfrecordio import WriteToTFRecord

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.data.elwc.records import Records


@export
class WriteELWC(beam.PTransform):
    """Write lists as TFRecord files of ExampleListWithContext, which `ks.data.elwc_batches` reads.

    For lists that a pipeline of Beam makes: elements `(query, (features [n, f], labels [n][, weights [n]]))`. The
    records are those of `ks.data.write_elwc`, with the query as `query_id`. Files get their names when all of them are
    complete. Existing files of these names are replaced.

    Args:
      path: the beginning of the names, `path-00000-of-00004` and so on.
      shards: number of files; `None` lets the runner choose.
      features, label, weight: as in `ks.data.write_elwc`.

    Raises:
      ValueError: `shards` is below 1. In the pipeline: lists have different numbers of features, or not as many as
        there are names; a number exceeds float32; or an integer query exceeds int64 (make text of all queries by
        `beam.MapTuple(lambda query, parts: (str(query), parts))`).

    Example:
      >>> import apache_beam as beam  # doctest: +SKIP
      >>> from keras_softsort.beam import WriteELWC  # doctest: +SKIP
      >>> beam.Create([(7, ([[1.0], [2.0]], [1, 0]))]) | WriteELWC("train.tfrecord", shards=1)  # doctest: +SKIP
    """

    def __init__(
        self,
        path: str,
        *,
        shards: int | None = None,
        features: str | Sequence[str] = "features",
        label: str = "label",
        weight: str = "weight",
    ) -> None:
        super().__init__()
        self._path, self._records = str(path), Records(features, label, weight)
        self._shards = 0 if shards is None else arguments.positive_integer("shards", shards)

    def expand(self, lists: Any) -> Any:
        """The names of the files."""
        records = self._records

        def encode(query: Any, parts: Any) -> bytes:
            return records.record(parts, f"the list of query {query!r}", query)

        plain = CompressionTypes.UNCOMPRESSED
        write = WriteToTFRecord(self._path, num_shards=self._shards, compression_type=plain)
        return lists | beam.MapTuple(encode).with_output_types(bytes) | write
