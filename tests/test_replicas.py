"""Training on several replicas: mirrored on two logical CPUs, and multi-worker in two processes."""

import json
import pathlib
from concurrent import futures

import numpy as np
import pytest
from support import models, two_replicas
from support.processes import free_ports, json_from

import keras_softsort as ks

TESTS = pathlib.Path(__file__).parent
RUN = "import sys; sys.path.insert(0, sys.argv[1]); from support import two_replicas; two_replicas.main(sys.argv[2])"
# Its process runs for a minute. `tf_ranking/test_pipelines.py` trains two replicas of Keras 2 each time.
pytestmark = pytest.mark.nightly
NOISY = {ks.GumbelSinkhornLayer, ks.GumbelSoftmaxLayer, ks.PlackettLuceSampler, ks.DkNNLayer}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return json_from(RUN, TESTS, tmp_path_factory.mktemp("replicas"))


def test_replicas_and_steps_draw_different_noise(found):
    names = list(found["noise"])
    assert {name.split("-")[0] for name in names} == {cls.__name__ for cls in NOISY} | {"NeuralNDCGLoss", "PLRankLoss"}
    for name in names:
        drawn = [np.array(one) for one in found["noise"][name]]
        assert len(drawn) == 4
        for i, one in enumerate(drawn):
            for other in drawn[:i]:
                assert np.max(np.abs(one - other)) > 1e-5, name


def test_stochastic_layers_train(found):
    result = found["noisy_training"]
    assert np.all(np.isfinite(result["losses"]))
    assert result["moved"] > 1e-3
    assert result["kernels"][0] == result["kernels"][1]


def test_the_state_of_the_noise_is_one_for_all_replicas(found):
    states = found["noisy_training"]["states"]
    assert len(states) == len(NOISY)
    for first, second in states:
        assert first == second
        assert first[0] == 4 * 256  # steps, not replicas


def test_the_memory_of_retrieval_is_that_of_the_first_replica(found):
    result = found["memory"]
    labels = result["labels"]
    assert np.all(np.isfinite(result["losses"]))
    assert result["memory"] == [[*labels[8:12], *labels[:2]]] * 2


def test_the_temperature_of_a_loss_is_annealed_on_all_replicas(found):
    alone, before, within = found["annealed"]
    assert len(set(alone)) == 3
    np.testing.assert_allclose(before, alone, rtol=1e-5)
    np.testing.assert_allclose(within, alone, rtol=1e-5)


@pytest.mark.parametrize("name", two_replicas.TRAINED)
def test_same_training_as_on_one_replica(found, name):
    alone, together = found["trained"][name]
    np.testing.assert_allclose(together["weights"], alone["weights"], rtol=1e-5, atol=1e-6)
    for logs in ("logs", "evaluated"):
        assert set(together[logs]) == set(alone[logs]) >= {"loss", "metric"}
        for key in alone[logs]:
            np.testing.assert_allclose(together[logs][key], alone[logs][key], rtol=1e-5)


def test_saved_and_loaded_in_the_strategy_and_exported(found):
    here, loaded = found["saved"]["weights"]
    assert loaded == here
    logs = found["trained"]["PlackettLuceLoss"][1]["logs"]["loss"]
    assert found["saved"]["loss"][0] < logs[-1] < logs[0]
    scores, served = map(np.array, found["saved"]["scores"])
    kept = served > np.finfo(np.float32).min
    assert np.sum(~kept) == 2 * 6  # two padded items in every third list of sixteen
    np.testing.assert_allclose(served[kept], scores[kept], rtol=1e-5)


WORK = "import sys; sys.path.insert(0, sys.argv[1]); from support import two_replicas; two_replicas.worker()"


@pytest.mark.nightly
@pytest.mark.skipif(models.IS_KERAS_3, reason="Keras 3 has no MultiWorkerMirroredStrategy: keras-team/keras#20585")
def test_two_workers_train_as_one(found):
    cluster = {"worker": [f"localhost:{port}" for port in free_ports(2)]}
    configs = [json.dumps({"cluster": cluster, "task": {"type": "worker", "index": i}}) for i in range(2)]
    with futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda config: json_from(WORK, TESTS, TF_CONFIG=config), configs))
    for weights, _ in results:
        np.testing.assert_allclose(
            weights, found["trained"]["PermutationCrossEntropyLoss"][0]["weights"], rtol=1e-5, atol=1e-6
        )
    drawn = [np.array(one) for _, one in results]
    assert np.max(np.abs(drawn[0] - drawn[1])) > 0.1
