"""Whether Keras is on the TensorFlow backend, which Keras objects need and operators do not."""

from __future__ import annotations

import os
from typing import Any

import tensorflow as tf

_ADVICE = (
    "the Keras objects of keras_softsort need Keras on the TensorFlow backend, got backend {backend!r}; set "
    "KERAS_BACKEND=tensorflow before Keras is imported"
)


class KerasBackendError(ImportError):
    """Keras is on another backend."""


def tensorflow_keras() -> Any:
    """`tf.keras`, or a `KerasBackendError`."""
    try:
        backend = tf.keras.backend.backend()
    except (ImportError, AttributeError, RecursionError) as error:
        # Importing Keras fails if the requested backend is not installed; a second try in TensorFlow never ends.
        wanted = os.environ.get("KERAS_BACKEND", "tensorflow")
        if wanted == "tensorflow":
            raise
        raise KerasBackendError(_ADVICE.format(backend=wanted)) from error
    if backend != "tensorflow":
        raise KerasBackendError(_ADVICE.format(backend=backend))
    return tf.keras
