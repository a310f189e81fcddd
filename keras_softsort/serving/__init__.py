"""From a trained ranker to TensorFlow Serving: versions, signatures, warm-up. Imported when first used."""

from keras_softsort._internal.export import set_all as _set_all
from keras_softsort.serving.export_ranker import export_ranker as export_ranker
from keras_softsort.serving.scorer import Scorer as Scorer

_set_all(__name__)
