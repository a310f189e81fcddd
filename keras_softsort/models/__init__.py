"""Scorers of items as plain Keras models."""

from keras_softsort.models.dnn_scorer import dnn_scorer
from keras_softsort.models.gam_scorer import gam_scorer

__all__ = ["dnn_scorer", "gam_scorer"]
