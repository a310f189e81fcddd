"""Keras callbacks."""

from keras_softsort._internal.export import set_all as _set_all
from keras_softsort.callbacks.tau_schedule import TauSchedule as TauSchedule

_set_all(__name__)
