"""The file of requests that a server runs before it serves a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort.serving._saved_model import REQUESTS, checked_request, signature_inputs

FILE = Path("assets.extra") / "tf_serving_warmup_requests"
MOST = 1000  # a server reads no more
Requests = Mapping[str, Sequence[Mapping[str, Any]]]


def serving_api() -> Any:
    """Import the messages of tensorflow-serving-api."""
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
    (folder / FILE).parent.mkdir(exist_ok=True)
    with tf.io.TFRecordWriter(str(folder / FILE)) as writer:
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
