"""A process that runs SavedModels through TensorFlow's C API, and the requests to it."""

from __future__ import annotations

import contextlib
import functools
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, NamedTuple, cast

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


@contextlib.contextmanager
def c_api_process(*, xla: bool = False) -> Iterator[Callable[[Path, str, Mapping[str, np.ndarray]], Answer]]:
    """Start a process with NumPy and that library, and yield a function that runs a signature of a folder in it.

    The first request to a folder loads it.
    """
    command = [sys.executable, str(SCRIPT), c_api_library(), *([] if xla else ["--no-xla"])]
    environment = {"TF_CPP_MIN_LOG_LEVEL": "2", **os.environ}
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env=environment
        ) as process,
    ):
        requests, answers = cast(IO[bytes], process.stdin), cast(IO[bytes], process.stdout)
        signature_of = functools.cache(signature)

        def ask(folder: Path, signature_name: str, inputs: Mapping[str, np.ndarray]) -> Answer:
            found = signature_of(folder, signature_name)
            fed = {found.inputs[name].name: array for name, array in inputs.items()}
            try:
                pickle.dump((str(folder), fed, [output.name for output in found.outputs.values()]), requests)
                requests.flush()
                answer = pickle.load(answers)
            except (EOFError, BrokenPipeError) as error:
                errors.seek(0)
                said = errors.read()[-2000:].decode(errors="replace")
                raise RuntimeError(f"the process that ran {folder} died: {said}") from error
            if isinstance(answer, str):
                raise RuntimeError(f"{signature_name!r} of {folder} failed: {answer}")
            outputs, seconds = answer
            return Answer(dict(zip(found.outputs, outputs, strict=True)), seconds)

        yield ask
