"""Model servers behind gRPC: the real one where it is installed, and a stand-in with our own C API processes inside.

The stand-in speaks TensorFlow Serving's protocol (its messages, its services) and runs models as it does (the C++
loader, no Python TensorFlow, no XLA), warm-up included. It is no proof of what else the real one does.
"""

import contextlib
import os
import shutil
import socket
import subprocess
import time
from concurrent import futures
from pathlib import Path
from typing import NamedTuple

import grpc
import tensorflow as tf
from tensorflow_serving.apis import (
    get_model_status_pb2,
    model_management_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_log_pb2,
    prediction_service_pb2_grpc,
)

from support.predict_offline import run_requests

# host:port:port, for gRPC and REST, of a server that sees this machine's temporary files. Its models are replaced.
ADDRESS = "KERAS_SOFTSORT_MODEL_SERVER"
BINARY = "tensorflow_model_server"
WARMUP = Path("assets.extra") / "tf_serving_warmup_requests"


class Address(NamedTuple):
    """The ports of a server; the stand-in has no REST API."""

    host: str
    port: int
    rest_port: int | None = None


def why_not_real():
    """Why there is no real server, or None."""
    if os.environ.get(ADDRESS) or shutil.which(BINARY):
        return None
    return f"no {BINARY} on the PATH, and no {ADDRESS} that tells the address of a running one"


@contextlib.contextmanager
def stand_in(base):
    """The address of a stand-in."""
    with futures.ThreadPoolExecutor(1) as pool:
        server = grpc.server(pool)
        service = StandIn()
        prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(service, server)
        model_service_pb2_grpc.add_ModelServiceServicer_to_server(service, server)
        port = server.add_insecure_port("localhost:0")
        server.start()
        yield Address("localhost", port)
        server.stop(None).wait()


class StandIn(prediction_service_pb2_grpc.PredictionServiceServicer, model_service_pb2_grpc.ModelServiceServicer):
    """The parts of the services that the tests ask for."""

    def __init__(self):
        self.folders = {}

    def HandleReloadConfigRequest(self, request, context):  # noqa: N802
        for model in request.config.model_config_list.config:
            numbers = [int(path.name) for path in Path(model.base_path).iterdir() if path.name.isdecimal()]
            self.folders[model.name] = Path(model.base_path) / str(max(numbers))
            for log in warmup_requests(self.folders[model.name]):
                self.Predict(log.predict_log.request, context)
        return model_management_pb2.ReloadConfigResponse()

    def GetModelStatus(self, request, context):  # noqa: N802
        answer = get_model_status_pb2.GetModelStatusResponse()
        if request.model_spec.name in self.folders:
            answer.model_version_status.add(state=get_model_status_pb2.ModelVersionStatus.AVAILABLE)
        return answer

    def Predict(self, request, context):  # noqa: N802
        folder = self.folders.get(request.model_spec.name)
        if folder is None:
            context.abort(grpc.StatusCode.NOT_FOUND, f"Servable not found for request: {request.model_spec.name}")
        inputs = {name: tf.make_ndarray(proto) for name, proto in request.inputs.items()}
        try:
            (answer,) = run_requests(folder, [(request.model_spec.signature_name or "serving_default", inputs)])
        except (RuntimeError, ValueError) as error:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
        outputs = {name: tf.make_tensor_proto(x) for name, x in answer.outputs.items()}
        return predict_pb2.PredictResponse(outputs=outputs)


def warmup_requests(folder):
    """The PredictionLogs of a model's warm-up file."""
    if not (folder / WARMUP).exists():
        return
    for record in tf.data.TFRecordDataset(str(folder / WARMUP)):
        yield prediction_log_pb2.PredictionLog.FromString(record.numpy())


@contextlib.contextmanager
def real_server(base):
    """The address of a running server, or of one that is started for the model in `base`."""
    if os.environ.get(ADDRESS):
        host, *ports = os.environ[ADDRESS].rsplit(":", 2)
        yield Address(host, *map(int, ports))
        return
    with socket.socket() as one, socket.socket() as other:
        one.bind(("localhost", 0))
        other.bind(("localhost", 0))
        port, rest_port = one.getsockname()[1], other.getsockname()[1]
    command = [BINARY, f"--port={port}", f"--rest_api_port={rest_port}", f"--model_base_path={base}"]
    with subprocess.Popen([*command, f"--model_name={base.name}"]) as process:
        try:
            yield Address("localhost", port, rest_port)
        finally:
            process.terminate()


def load(channel, base):
    """Have the server serve the model in `base` under its name, and wait until it does."""
    service = model_service_pb2_grpc.ModelServiceStub(channel)
    reload = model_management_pb2.ReloadConfigRequest()
    reload.config.model_config_list.config.add(name=base.name, base_path=str(base), model_platform="tensorflow")
    answer = service.HandleReloadConfigRequest(reload, wait_for_ready=True, timeout=120)
    assert answer.status.error_code == 0, answer
    status = get_model_status_pb2.GetModelStatusRequest()
    status.model_spec.name = base.name
    for _ in range(120):
        states = [version.state for version in service.GetModelStatus(status, timeout=120).model_version_status]
        if get_model_status_pb2.ModelVersionStatus.AVAILABLE in states:
            return
        time.sleep(1)
    raise AssertionError(f"{base} was not loaded: {states}")
