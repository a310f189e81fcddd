"""Lists for learning to rank: files and frames read, and batches of few shapes for `model.fit`."""

from keras_softsort.data._ranking_dataset import RankingDataset
from keras_softsort.data.batches_by_group import batches_by_group
from keras_softsort.data.bucketed_batches import bucketed_batches
from keras_softsort.data.elwc_batches import elwc_batches
from keras_softsort.data.svmlight import read_svmlight

__all__ = ["RankingDataset", "batches_by_group", "bucketed_batches", "elwc_batches", "read_svmlight"]
