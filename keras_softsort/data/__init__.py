"""Data for learning to rank: read lists from files and frames, write records, and make batches for `fit`."""

from keras_softsort.data._ranking_dataset import RankingDataset
from keras_softsort.data.batches_by_group import batches_by_group
from keras_softsort.data.bucketed_batches import bucketed_batches
from keras_softsort.data.elwc_batches import elwc_batches
from keras_softsort.data.from_frame import from_frame
from keras_softsort.data.parquet import read_parquet
from keras_softsort.data.svmlight import read_svmlight
from keras_softsort.data.write_elwc import write_elwc

__all__ = [
    "RankingDataset",
    "batches_by_group",
    "bucketed_batches",
    "elwc_batches",
    "from_frame",
    "read_parquet",
    "read_svmlight",
    "write_elwc",
]
