"""A process that runs SavedModels through TensorFlow's C API, and the requests to it."""

from __future__ import annotations

import io
import os
import pickle
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from keras_softsort.serving._saved_model import signature

LIBRARIES = ("libtensorflow_cc.so.2", "libtensorflow_cc.2.dylib")
SCRIPT = Path(__file__).with_name("_c_api.py")


class Answer(NamedTuple):
    """The answer to a request."""

    outputs: dict[str, np.ndarray]
    seconds: float  # in the session


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
    command = [sys.executable, str(SCRIPT), c_api_library(), *([] if xla else ["--no-xla"])]
    signatures = {name: signature(folder, name) for name, _ in requests}
    asked = io.BytesIO()
    for name, inputs in requests:
        fed = {signatures[name].inputs[key].name: array for key, array in inputs.items()}
        pickle.dump((str(folder), fed, [output.name for output in signatures[name].outputs.values()]), asked)
    environment = {"TF_CPP_MIN_LOG_LEVEL": "2", **os.environ}
    done = subprocess.run(command, input=asked.getvalue(), capture_output=True, env=environment, check=False)
    answered, answers = io.BytesIO(done.stdout), []
    for name, _ in requests:
        try:
            answer = pickle.load(answered)
        except EOFError as error:
            said = done.stderr[-2000:].decode(errors="replace")
            raise RuntimeError(f"the process that ran {folder} died: {said}") from error
        if isinstance(answer, str):
            raise RuntimeError(f"{name!r} of {folder} failed: {answer}")
        outputs, seconds = answer
        answers.append(Answer(dict(zip(signatures[name].outputs, outputs, strict=True)), seconds))
    return answers
