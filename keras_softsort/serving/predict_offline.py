"""A SavedModel asked as a server would ask it, where there is no server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from keras_softsort.serving._process import Answer, c_api_process
from keras_softsort.serving._saved_model import checked_request, signature_inputs


def predict_offline(
    path: str | Path,
    requests: Sequence[Mapping[str, Any]],
    *,
    signature_name: str = "serving_default",
    xla: bool = False,
) -> list[Answer]:
    """What `tensorflow_model_server` would answer, found without it.

    A process of its own loads the SavedModel by TensorFlow's C API, from the shared library in TensorFlow's wheel; it
    has no Python TensorFlow, no Keras and nothing of this package. What runs here finds its variables and operations
    in the file alone, as in a server, which is more than `tf.saved_model.load` shows.

    Args:
      path: the folder of the SavedModel, which for `export_ranker` is that of a version.
      requests: the inputs of each by name: arrays, lists, tensors.
      signature_name: which signature.
      xla: whether graphs that demand XLA's compiler may have it. `tensorflow_model_server` refuses them on a CPU
        unless it is started with `--xla_cpu_compilation_enabled`, and so does this.

    Returns:
      A list of named tuples: `outputs`, arrays by name (strings as bytes objects), and `seconds` in the session. The
      first request is slow, as in a server without a warm-up file.

    Raises:
      FileNotFoundError: no SavedModel at `path`, or a TensorFlow without its C API (that of Windows).
      ValueError: an unknown signature, or a request with other names, dtypes or shapes than it has.
      RuntimeError: what the server would say, for example "XLA compilation disabled".

    Cost: a second to start the process and load the library, and what loading the model takes.

    Example:

    >>> import tempfile
    >>> import tensorflow as tf
    >>> from keras_softsort import serving
    >>> keras = tf.keras
    >>> model = keras.Sequential([keras.Input((None, 2)), keras.layers.Dense(1), keras.layers.Reshape((-1,))])
    >>> folder = serving.export_ranker(model, tempfile.mkdtemp() + "/ranker")
    >>> request = {"features": [[[1.0, 2.0], [0.5, 0.0], [0.0, 0.0]]], "sizes": [2]}
    >>> (answer,) = serving.predict_offline(folder, [request])
    >>> sorted(answer.outputs["order"][0].tolist())  # the third item is padding
    [-1, 0, 1]
    """
    specs = signature_inputs(Path(path), signature_name)
    checked = [checked_request(specs, request) for request in requests]
    with c_api_process(xla=xla) as ask:
        return [ask(Path(path), signature_name, request) for request in checked]
