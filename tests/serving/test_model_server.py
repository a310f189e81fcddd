"""The last rungs of the ladder: requests and warm-up by tensorflow-serving-api's messages, over gRPC, to a server."""

import json
import urllib.request

import numpy as np
import pytest
import tensorflow as tf
from support.data import rankers

from keras_softsort import serving

pytest.importorskip("tensorflow_serving", reason="tensorflow-serving-api is not installed, which the extra `test` does")

import grpc
from support import model_server
from tensorflow_serving.apis import input_pb2, predict_pb2, prediction_service_pb2_grpc

pytestmark = pytest.mark.default_stack_only

TOP_K = 3
WARMUP = {"serving_default": 2, "with_ids": 1}
EXAMPLES = {"documents": tf.io.FixedLenFeature([3], tf.float32)}
CONTEXT = {"query": tf.io.FixedLenFeature([2], tf.float32)}


def request_for(signature, **options):
    request = rankers.request(**options)
    if signature == "serving_default":
        del request["item_ids"]
    return request


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    warmup = {name: [request_for(name, seed=i) for i in range(count)] for name, count in WARMUP.items()}
    return serving.export_ranker(
        rankers.of_names(),
        tmp_path_factory.mktemp("models") / "ranker",
        mask_name="mask",
        top_k=TOP_K,
        example_features=EXAMPLES,
        context_features=CONTEXT,
        warmup=warmup,
    )


@pytest.fixture(scope="module", params=["a stand-in", "tensorflow_model_server"])
def server(request, folder):
    """The address of a server that has loaded the model and run its warm-up, and a channel to it."""
    reason = model_server.why_not_real()
    if request.param == "tensorflow_model_server" and reason:
        pytest.skip(reason)
    start = model_server.stand_in if request.param == "a stand-in" else model_server.real_server
    with start(folder.parent) as address, grpc.insecure_channel(f"{address.host}:{address.port}") as channel:
        model_server.load(channel, folder.parent)
        yield address, channel


@pytest.fixture
def channel(server):
    return server[1]


def predict(channel, signature, inputs):
    request = predict_pb2.PredictRequest()
    request.model_spec.name, request.model_spec.signature_name = "ranker", signature
    for name, value in inputs.items():
        request.inputs[name].CopyFrom(tf.make_tensor_proto(value))
    response = prediction_service_pb2_grpc.PredictionServiceStub(channel).Predict(request, timeout=60)
    return {name: tf.make_ndarray(proto) for name, proto in response.outputs.items()}


@pytest.mark.slow
@pytest.mark.parametrize("signature", WARMUP)
def test_request_over_grpc(channel, signature):
    request = request_for(signature)
    rankers.assert_same(predict(channel, signature, request), rankers.expected(**request, top_k=TOP_K))


@pytest.mark.slow
def test_serialized_records_over_grpc(channel):
    request = request_for("serving_default")
    records = []
    for documents, query, size in zip(request["documents"], request["query"], request["sizes"], strict=True):
        record = input_pb2.ExampleListWithContext()
        record.context.features.feature["query"].float_list.value.extend(query)
        for document in documents[:size]:
            record.examples.add().features.feature["documents"].float_list.value.extend(document)
        records.append(record.SerializeToString())
    outputs = predict(channel, "elwc", {"serialized": records})
    rankers.assert_same(outputs, rankers.expected(**request, top_k=TOP_K))


@pytest.mark.slow
def test_warmup_records_over_grpc(channel, folder):
    """The records are the given requests, in order, and a server accepts each."""
    logs = list(model_server.warmup_requests(folder))
    assert [log.predict_log.request.model_spec.signature_name for log in logs] == ["serving_default"] * 2 + ["with_ids"]
    stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
    for log, seed in zip(logs, [0, 1, 0], strict=True):
        message = log.predict_log.request
        response = stub.Predict(message, timeout=60)
        request = request_for(message.model_spec.signature_name, seed=seed)
        outputs = {name: tf.make_ndarray(proto) for name, proto in response.outputs.items()}
        rankers.assert_same(outputs, rankers.expected(**request, top_k=TOP_K))


@pytest.mark.slow
def test_request_over_rest(server):
    """The row format and the column format of the guide. The stand-in has no REST API."""
    address, _ = server
    if address.rest_port is None:
        pytest.skip("the stand-in has no REST API")
    inputs = {"documents": [[[0.0, 0.1, 0.2], [0.3, 0.4, 0.5]]], "sizes": [2]}
    order = rankers.expected(documents=np.float32(inputs["documents"]), sizes=[2])["order"].tolist()
    url = f"http://{address.host}:{address.rest_port}/v1/models/ranker:predict"
    rows, columns = (
        json.loads(urllib.request.urlopen(url, json.dumps(body).encode(), timeout=60).read())
        for body in ({"instances": [{name: value[0] for name, value in inputs.items()}]}, {"inputs": inputs})
    )
    assert [row["order"] for row in rows["predictions"]] == columns["outputs"]["order"] == order


@pytest.mark.slow
@pytest.mark.parametrize(
    ("signature", "change", "code"),
    [
        ("unknown", {}, None),
        ("serving_default", {"sizes": [5]}, grpc.StatusCode.INVALID_ARGUMENT),
        ("serving_default", {"documents": np.zeros([4, 5, 2], "float32")}, grpc.StatusCode.INVALID_ARGUMENT),
    ],
)
def test_wrong_requests_are_refused(channel, signature, change, code):
    with pytest.raises(grpc.RpcError) as caught:
        predict(channel, signature, {**request_for("serving_default"), **change})
    assert code in (None, caught.value.code())


@pytest.mark.parametrize(
    ("warmup", "message"),
    [
        ({}, "warmup must have from 1 to 1000 requests, got 0"),
        ({"serving_default": [{}] * 1001}, "warmup must have from 1 to 1000 requests, got 1001"),
        ({"rank": [{}]}, r"signature_name must be one of .*'serving_default'.* got 'rank'"),
        ({"serving_default": [{"sizes": [1]}]}, r"must have the inputs \['features', 'sizes'\] .* got \['sizes'\]"),
    ],
)
def test_errors_of_warmup_leave_nothing(tmp_path, warmup, message):
    with pytest.raises(ValueError, match=message):
        serving.export_ranker(rankers.identity(), tmp_path / "ranker", warmup=warmup)
    assert list(tmp_path.rglob("*.pb")) == []
