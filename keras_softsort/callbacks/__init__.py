"""Keras callbacks."""

from keras_softsort.callbacks.tau_schedule import TauSchedule

__all__ = ["TauSchedule"]
