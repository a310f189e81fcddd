"""Data for learning to rank: read lists from files and frames, write records, and make batches for `fit`."""

from keras_softsort._internal.export import set_all as _set_all
from keras_softsort.data._ranking_dataset import RankingDataset as RankingDataset
from keras_softsort.data.batches_of_groups import batches_of_groups as batches_of_groups
from keras_softsort.data.bucketed_batches import bucketed_batches as bucketed_batches
from keras_softsort.data.click_log import ClickLog as ClickLog
from keras_softsort.data.click_log import examination_curve as examination_curve
from keras_softsort.data.click_log import simulate_clicks as simulate_clicks
from keras_softsort.data.click_log import slate_value as slate_value
from keras_softsort.data.elwc_batches import elwc_batches as elwc_batches
from keras_softsort.data.svmlight import read_svmlight as read_svmlight
from keras_softsort.data.tables import from_frame as from_frame
from keras_softsort.data.tables import read_parquet as read_parquet
from keras_softsort.data.write_elwc import write_elwc as write_elwc

_set_all(__name__)
