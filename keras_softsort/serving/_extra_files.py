"""The files that an export has beside the SavedModel: the names of its features, and requests that warm a server up."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort.serving._model_inputs import ModelInputs
from keras_softsort.serving._saved_model import REQUESTS, SINGLE, checked_request, signature_inputs

FEATURE_NAMES = "assets.extra/feature_names.json"
WARMUP = "assets.extra/tf_serving_warmup_requests"
MOST = 1000  # a server reads no more
Requests = Mapping[str, Sequence[Mapping[str, Any]]]


def checked_names(names: Sequence[str], inputs: ModelInputs) -> list[str]:
    """Check that `names` are different strings, one for each feature of a model of one tensor `[batch, n, f]`."""
    found = list(arguments.elements("feature_names", names, "strings"))
    if not all(isinstance(name, str) for name in found) or len(set(found)) != len(found):
        raise ValueError(f"feature_names must be different strings, got {found}")
    shapes = {name: inputs.specs[name].shape for name in inputs.request_inputs}
    if list(shapes) != [SINGLE] or not shapes[SINGLE].is_compatible_with([None, None, len(found)]):
        raise ValueError(
            f"feature_names must name each feature of a model of one tensor [batch, n, f], got {len(found)} names for "
            f"inputs {shapes}"
        )
    return found


def write_names(folder: Path, names: list[str]) -> None:
    (folder / FEATURE_NAMES).parent.mkdir(exist_ok=True)
    (folder / FEATURE_NAMES).write_text(json.dumps(names))


def read_names(folder: str) -> tuple[str, ...] | None:
    """Read the names that an export has, if any."""
    path = f"{folder}/{FEATURE_NAMES}"
    if not tf.io.gfile.exists(path):
        return None
    with tf.io.gfile.GFile(path) as file:
        return tuple(json.loads(file.read()))


def check_same(expected: tuple[str, ...] | None, received: Any) -> None:
    """Check that lists have the features of the model, in its order, if the names of both are known."""
    if expected is None or received is None or received == expected:
        return
    missing = [name for name in expected if name not in received]
    others = [name for name in received if name not in expected]
    problem = f"{missing} missing" if missing else f"{others} in addition" if others else "another order"
    raise ValueError(
        f"lists must have the features of the model in its order, {list(expected)}, got {list(received)}: {problem}"
    )


def serving_api() -> Any:
    try:
        from tensorflow_serving.apis import predict_pb2, prediction_log_pb2  # noqa: PLC0415  (an extra)
    except ImportError as error:
        raise ImportError(
            'warmup needs tensorflow-serving-api, which is not installed: pip install "keras-softsort[serving]"'
        ) from error
    return predict_pb2, prediction_log_pb2


def checked_warmup(warmup: Requests) -> dict[str, list[Any]]:
    """Check the number and types of the requests by signature, before anything is written."""
    serving_api()
    named = arguments.mapping("warmup", warmup, "from names of signatures to sequences of requests")
    found = {name: list(arguments.elements(f"warmup[{name!r}]", asked, REQUESTS)) for name, asked in named.items()}
    count = sum(map(len, found.values()))
    if not 1 <= count <= MOST:
        raise ValueError(f"warmup must have from 1 to {MOST} requests, got {count}")
    return found


def write_warmup(folder: Path, model_name: str, warmup: Requests) -> None:
    """Write a TFRecord with one PredictionLog per request to the folder of a SavedModel."""
    predict_pb2, prediction_log_pb2 = serving_api()
    (folder / WARMUP).parent.mkdir(exist_ok=True)
    with tf.io.TFRecordWriter(str(folder / WARMUP)) as writer:
        for signature_name, requests in warmup.items():
            specs = signature_inputs(folder, signature_name)
            for request in requests:
                tensors = checked_request(specs, request)
                message = predict_pb2.PredictRequest(
                    inputs={name: tf.make_tensor_proto(array, specs[name].dtype) for name, array in tensors.items()}
                )
                message.model_spec.name, message.model_spec.signature_name = model_name, signature_name
                log = prediction_log_pb2.PredictLog(request=message)
                writer.write(prediction_log_pb2.PredictionLog(predict_log=log).SerializeToString())
