"""The commands that start a server for an exported ranker and query it."""

from __future__ import annotations

import json
import shlex
import urllib.parse
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.serving._saved_model import DEFAULT, SIZES, local_folder, signature_inputs

_UNKNOWN = 2  # the size of every axis that the model leaves open


@export
def print_client_commands(path: str | Path, *, grpc_port: int = 8500, rest_port: int = 8501) -> None:
    """Print commands that start a server for a model from `export_ranker`, and requests that work.

    The requests hold one list with made-up numbers. Replace them with your own.

    Args:
      path: the local folder of a version, as returned by `export_ranker`.
      grpc_port: the server's port for gRPC.
      rest_port: the server's port for HTTP.

    Raises:
      FileNotFoundError: there is no SavedModel at `path`.
      ValueError: the SavedModel has no signature `serving_default`, `path` is not local, or a port is below 1.
      TypeError: a port is not an integer.

    Example:

    >>> import tempfile
    >>> import tensorflow as tf
    >>> from keras_softsort import serving
    >>> model = tf.keras.Sequential([tf.keras.Input((None, 1)), tf.keras.layers.Dense(1)])
    >>> folder = serving.export_ranker(model, tempfile.mkdtemp() + "/ranker")
    >>> serving.print_client_commands(folder)  # doctest: +ELLIPSIS
    Start the server ...
      curl -d '{"instances": [{"features": [[0.0], [0.1]], "sizes": 2}]}' http://localhost:8501/v1/models/ranker:predict
    ...
    """
    grpc_port = arguments.positive_integer("grpc_port", grpc_port)
    rest_port = arguments.positive_integer("rest_port", rest_port)
    folder = local_folder(path).resolve()
    specs = signature_inputs(folder, DEFAULT)
    request = {name: _made_up(name, spec) for name, spec in specs.items()}
    tensors = [
        f'  request.inputs["{name}"].CopyFrom(tf.make_tensor_proto({request[name]}, tf.{specs[name].dtype.name}))'
        for name in specs
    ]
    inputs = "\n".join(tensors)
    base, name, version = str(folder.parent), folder.parent.name, tf.__version__
    ports = ["-p", f"{grpc_port}:8500", "-p", f"{rest_port}:8501"]
    docker = ["docker", "run", "--rm", *ports, "-v", f"{base}:/models/{name}", "-e", f"MODEL_NAME={name}"]
    binary = ["tensorflow_model_server", f"--port={grpc_port}", f"--rest_api_port={rest_port}"]
    url = f"http://localhost:{rest_port}/v1/models/{urllib.parse.quote(name)}:predict"
    rows, columns = {"instances": [{name: request[name][0] for name in specs}]}, {"inputs": request}
    print(f"""\
Start the server with Docker, or without it if tensorflow_model_server is installed (TensorFlow {version} or later):

  {shlex.join([*docker, "tensorflow/serving"])}

  {shlex.join([*binary, f"--model_name={name}", f"--model_base_path={base}"])}

Request the order of a list, in the row format or the column format:

  {shlex.join(["curl", "-d", json.dumps(rows), url])}

  {shlex.join(["curl", "-d", json.dumps(columns), url])}

The same over gRPC, in Python with tensorflow-serving-api:

  import grpc
  import tensorflow as tf
  from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

  request = predict_pb2.PredictRequest()
  request.model_spec.name, request.model_spec.signature_name = {name!r}, {DEFAULT!r}
{inputs}
  channel = grpc.insecure_channel("localhost:{grpc_port}")
  response = prediction_service_pb2_grpc.PredictionServiceStub(channel).Predict(request, timeout=10)
  print(tf.make_ndarray(response.outputs["order"]))
""")


def _made_up(name: str, spec: tf.TensorSpec) -> Any:
    """Make up values for a batch of one list."""
    shape = [1, *(size or _UNKNOWN for size in spec.shape[1:])]
    if name == SIZES:
        return np.full(shape, _UNKNOWN).tolist()
    counted = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    if spec.dtype == tf.string:
        return np.char.add("text ", counted.astype(str)).tolist()
    return (counted / 10 if spec.dtype.is_floating else np.zeros(shape, spec.dtype.as_numpy_dtype)).tolist()
