"""A SavedModel run as a server runs it, without a server."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.serving._saved_model import REQUESTS, checked_request, local_folder, signature, signature_inputs

LIBRARIES = ("libtensorflow_cc.so.2", "libtensorflow_cc.2.dylib")
SCRIPT = Path(__file__).with_name("_c_api.py")


class Answer(NamedTuple):
    """The answer to a request."""

    outputs: dict[str, np.ndarray]
    seconds: float  # in the session


@export
def predict_offline(
    path: str | Path,
    requests: Sequence[Mapping[str, Any]],
    *,
    signature_name: str = "serving_default",
    xla: bool = False,
) -> list[Answer]:
    """Return what `tensorflow_model_server` would answer, without a server.

    A separate process loads the SavedModel through TensorFlow's C API, without Python TensorFlow, Keras or this
    package. So a model that runs there finds all its variables and operations in the SavedModel, as it must in a
    server.

    Args:
      path: the local folder of the SavedModel, as returned by `export_ranker`.
      requests: one mapping per request, from input names to arrays, lists or tensors.
      signature_name: the signature to run.
      xla: whether graphs that require XLA's compiler may use it. `tensorflow_model_server` refuses them on a CPU unless
        it is started with `--xla_cpu_compilation_enabled`.

    Returns:
      One named tuple per request: `outputs`, a dictionary of arrays (strings are bytes objects), and `seconds`, the
      time of the session. The first request is slow, as in a server without warm-up.

    Raises:
      FileNotFoundError: there is no SavedModel at `path`, or this TensorFlow has no C API (on Windows).
      ValueError: the signature is unknown, or a request does not fit it: names, dtypes, shapes, numbers of lists or
        items, or `sizes` below 0 or above the list size (which a server would clip).
      TypeError: `requests` is not a sequence, or `xla` is not a boolean.
      RuntimeError: the model or TensorFlow failed, for example with "XLA compilation disabled".

    Cost: a second to start the process, and the time to load the model.

    Example:

    >>> import tempfile
    >>> import tensorflow as tf
    >>> from keras_softsort import serving
    >>> model = tf.keras.Sequential([tf.keras.Input((None, 2)), tf.keras.layers.Dense(1)])
    >>> folder = serving.export_ranker(model, tempfile.mkdtemp() + "/ranker")
    >>> request = {"features": [[[1.0, 2.0], [0.5, 0.0], [0.0, 0.0]]], "sizes": [2]}
    >>> (answer,) = serving.predict_offline(folder, [request])
    >>> sorted(answer.outputs["order"][0].tolist())  # the third item is padding
    [-1, 0, 1]
    """
    folder = local_folder(path)
    specs = signature_inputs(folder, signature_name)
    given = arguments.elements("requests", requests, REQUESTS)
    checked = [(signature_name, checked_request(specs, request)) for request in given]
    return run_requests(folder, checked, xla=arguments.boolean("xla", xla))


def c_api_library() -> str:
    """Find the shared library in TensorFlow's wheel that has its C API."""
    folder = Path(tf.sysconfig.get_lib())
    for name in LIBRARIES:
        if (folder / name).exists():
            return str(folder / name)
    raise FileNotFoundError(f"this TensorFlow has no C API to load: none of {LIBRARIES} is in {folder}")


def run_requests(
    folder: Path, requests: Sequence[tuple[str, Mapping[str, np.ndarray]]], *, xla: bool = False
) -> list[Answer]:
    """Run pairs of a signature and its inputs, by name, in a process that has NumPy and TensorFlow's shared library."""
    command = [sys.executable, str(SCRIPT), c_api_library(), str(folder), *([] if xla else ["--no-xla"])]
    signatures = {name: signature(folder, name) for name, _ in requests}
    tensors = []
    for name, inputs in requests:
        fed = {signatures[name].inputs[key].name: array for key, array in inputs.items()}
        tensors.append((fed, [output.name for output in signatures[name].outputs.values()]))
    environment = {"TF_CPP_MIN_LOG_LEVEL": "2", **os.environ}
    done = subprocess.run(command, input=pickle.dumps(tensors), capture_output=True, env=environment, check=False)
    if not done.stdout:
        raise RuntimeError(f"the process that ran {folder} died: {done.stderr[-2000:].decode(errors='replace')}")
    answers = []
    for (name, _), answer in zip(requests, pickle.loads(done.stdout), strict=False):  # the process ends with an error
        if isinstance(answer, str):
            raise RuntimeError(f"{name!r} of {folder} failed: {answer}")
        outputs, seconds = answer
        answers.append(Answer(dict(zip(signatures[name].outputs, outputs, strict=True)), seconds))
    return answers
