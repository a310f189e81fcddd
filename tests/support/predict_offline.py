"""A SavedModel run as TensorFlow Serving runs it, without a server."""

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from keras_softsort.serving._saved_model import checked_request, signature, signature_inputs

LIBRARIES = ("libtensorflow_cc.so.2", "libtensorflow_cc.2.dylib")
SCRIPT = Path(__file__).with_name("c_api.py")


class Answer(NamedTuple):
    """The answer to a request."""

    outputs: dict[str, np.ndarray]
    seconds: float  # in the session


def predict_offline(path, requests, *, signature_name="serving_default", xla=False):
    """Return what `tensorflow_model_server` would answer: one `Answer` per request. Strings are bytes objects.

    A separate process loads the SavedModel through TensorFlow's C API, without Python TensorFlow, Keras or this
    package. So a model that runs there finds all its variables and operations in the SavedModel, as it must in a
    server. Graphs that require XLA's compiler are refused without `xla`, as a server does on a CPU.
    """
    folder = Path(path)
    specs = signature_inputs(folder, signature_name)
    return run_requests(folder, [(signature_name, checked_request(specs, request)) for request in requests], xla=xla)


def c_api_library():
    """Find the shared library in TensorFlow's wheel that has its C API."""
    folder = Path(tf.sysconfig.get_lib())
    for name in LIBRARIES:
        if (folder / name).exists():
            return str(folder / name)
    raise FileNotFoundError(f"this TensorFlow has no C API to load: none of {LIBRARIES} is in {folder}")


def run_requests(folder, requests, *, xla=False):
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
