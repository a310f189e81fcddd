"""Scorers of items as plain Keras models, and the scores of a table by such models."""

from keras_softsort._internal.export import set_all as _set_all
from keras_softsort.models.dnn_scorer import dnn_scorer as dnn_scorer
from keras_softsort.models.gam_scorer import gam_scorer as gam_scorer
from keras_softsort.models.load_tf_ranking_weights import load_tf_ranking_weights as load_tf_ranking_weights
from keras_softsort.models.score_rows import score_rows as score_rows

_set_all(__name__)
