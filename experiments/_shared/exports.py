"""Exported models, loaded again and compared with the models themselves."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import tensorflow as tf
from tensorflow import keras


def export(model: keras.Model, folder: Path) -> None:
    """Write a SavedModel, without the list of signatures that Keras 3 prints."""
    quiet = {"verbose": False} if "verbose" in inspect.signature(model.export).parameters else {}
    model.export(str(folder), **quiet)


def export_difference(model: keras.Model, inputs: np.ndarray, folder: Path) -> float:
    """Export, load, and run again: the largest difference between the two answers."""
    export(model, folder)
    served = tf.saved_model.load(str(folder)).signatures["serving_default"](tf.constant(inputs))
    expected = model.predict(inputs, verbose=0)
    if not isinstance(expected, dict):
        expected = dict.fromkeys(served, expected)
    return max(float(np.abs(served[name].numpy() - value).max()) for name, value in expected.items())
