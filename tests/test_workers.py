"""Training on several machines, as processes of this one: the scripts of `examples/several_machines`."""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
from support.data.judged import random_lists
from support.processes import free_ports, run_python
from support.readme import README, fenced_blocks

import keras_softsort as ks
from keras_softsort import serving

pytestmark = pytest.mark.default_stack_only
EXAMPLES = pathlib.Path(__file__).parents[1] / "examples" / "several_machines"
OPTIONS = {"features": 3, "batch": 4, "steps": 3, "epochs": 3}
# Runs the script in argv, and dies when it has saved once, in the middle of the training.
DIE = """
import os, runpy, signal, sys
import tensorflow as tf
save = tf.train.CheckpointManager.save
def save_and_die(*arguments, **options):
    save(*arguments, **options)
    os.kill(os.getpid(), signal.SIGKILL)
tf.train.CheckpointManager.save = save_and_die
sys.argv = sys.argv[1:]
sys.path.insert(0, os.path.dirname(sys.argv[0]))
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Twelve lists, which are three batches."""
    (name,) = ks.data.write_elwc(random_lists([5, 3, 8] * 4), tmp_path_factory.mktemp("lists") / "train")
    return name


def start(command, **environment):
    env = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2", "CUDA_VISIBLE_DEVICES": "-1", **environment}
    return subprocess.Popen(
        [sys.executable, *map(str, command)], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def run_pair(script, files, output, dies=False, **environment):
    """The exit codes and the output of two workers; with `dies` the second one is killed."""
    cluster = {"worker": [f"localhost:{port}" for port in free_ports(2)]}
    options = [f"--{name}={value}" for name, value in OPTIONS.items()]
    processes = []
    for i in range(2):
        config = json.dumps({"cluster": cluster, "task": {"type": "worker", "index": i}})
        dying = ["-c", DIE] if dies and i == 1 else []
        command = [*dying, EXAMPLES / script, files, *options, "--output", output, "--no-shuffle"]
        processes.append(start(command, TF_CONFIG=config, **environment))
    found = [process.communicate(timeout=240)[0] for process in reversed(processes)][::-1]
    return [process.returncode for process in processes], found


def trained_alone(keras, files):
    """The model of one replica after plain steps over the same global batches."""
    keras.utils.set_random_seed(0)
    layers = [keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)]
    model = keras.Sequential([keras.Input((None, 3)), *layers])
    optimizer = keras.optimizers.SGD(0.01, momentum=0.9)
    number = tf.io.FixedLenFeature
    spec = {"features": number([3], tf.float32), "label": number([], tf.float32)}
    data = ks.data.elwc_batches(files, None, spec, "label", 4, boundaries=(8,), shuffle=False)
    for features, labels in [*data] * OPTIONS["epochs"]:
        with tf.GradientTape() as tape:
            scores = model(features["features"])[..., 0]
            loss = tf.reduce_mean(ks.ops.plackett_luce_loss(scores, labels, mask=labels >= 0))
        weights = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
    return model


def assert_same_ranker(folder, keras, files):
    """The exported scores are those of training on one replica."""
    x = random_lists([6], seed=1)[0][0]
    (scores,) = serving.Scorer(folder).score([x])
    expected = np.asarray(trained_alone(keras, files)(x[np.newaxis]))[0, :, 0]
    np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.nightly
def test_keras_3_by_a_custom_loop_that_is_killed_and_resumed(files, tmp_path):
    codes, outputs = run_pair("train.py", files, tmp_path, dies=True)
    assert codes[1] == -9
    assert codes[0] != 0, outputs[0]  # the other one cannot go on alone, and says so
    assert not (tmp_path / "ranker").exists()
    codes, outputs = run_pair("train.py", files, tmp_path)
    assert codes == [0, 0], outputs
    assert "epoch 1" not in outputs[0]
    assert "epoch 2" in outputs[0]
    assert "epoch 3" in outputs[0]
    assert_same_ranker(tmp_path / "ranker/1", tf.keras, files)


@pytest.mark.nightly
@pytest.mark.parametrize("dies", [False, True])
def test_tf_keras_by_fit(files, tmp_path, dies):
    import tf_keras

    if dies:
        codes, outputs = run_pair("train_with_fit.py", files, tmp_path, dies=True, TF_USE_LEGACY_KERAS="1")
        assert codes[1] == -9
        assert codes[0] != 0, outputs[0]
    codes, outputs = run_pair("train_with_fit.py", files, tmp_path, TF_USE_LEGACY_KERAS="1")
    assert codes == [0, 0], outputs
    assert ("Epoch 1/3" in outputs[0]) != dies
    assert "Epoch 3/3" in outputs[0]
    assert_same_ranker(tmp_path / "ranker/1", tf_keras, files)


@pytest.mark.nightly
def test_a_data_service_of_two_processes_feeds_a_trainer(files, tmp_path):
    lists = ks.data.RankingDataset.of(random_lists([5, 3, 8] * 4))
    names = ks.data.write_elwc(
        ks.data.RankingDataset(lists.features, lists.labels, lists.sizes, np.arange(12)), tmp_path / "train", shards=4
    )
    spec = {"features": tf.io.FixedLenFeature([3], tf.float32), "label": tf.io.FixedLenFeature([], tf.float32)}
    query = {"query_id": tf.io.FixedLenFeature([], tf.int64)}
    batches = ks.data.elwc_batches(names, query, spec, "label", 2, boundaries=(8,), shuffle=False)
    service = tf.data.experimental.service
    dispatcher = service.DispatchServer()
    address = dispatcher.target.removeprefix("grpc://")
    workers = [start([EXAMPLES / "data_worker.py", address]) for _ in range(2)]
    try:
        for worker in workers:
            assert any(line == "ready\n" for line in worker.stdout)
        served = batches.apply(service.distribute(service.ShardingPolicy.DYNAMIC, dispatcher.target)).shuffle(100)
        for _ in range(2):
            found = [query for features, _ in served.as_numpy_iterator() for query in features["query_id"].tolist()]
            assert sorted(found) == [*range(12)]
        keras = tf.keras
        model = keras.Sequential([keras.Input((None, 3)), keras.layers.Dense(1)])
        model.compile("sgd", loss=ks.PlackettLuceLoss())
        data = served.map(lambda features, labels: (features["features"], labels))
        history = model.fit(data.repeat(), steps_per_epoch=4, epochs=2, shuffle=False, verbose=0).history
        assert np.all(np.isfinite(history["loss"]))
    finally:
        for worker in workers:
            worker.kill()
            worker.communicate()


@pytest.mark.nightly
def test_the_page_runs_on_spark_and_beam(tmp_path):
    for engine in ("apache_beam", "pyspark"):
        pytest.importorskip(engine)
    page = README.parent / "docs" / "guides" / "several-machines.md"
    run_python("\n".join(fenced_blocks(page.read_text())), cwd=tmp_path)
    assert len(list((tmp_path / "beam").glob("train-*-of-00004"))) == 4
    assert list((tmp_path / "spark").glob("train-00000-of-*"))
    assert (tmp_path / "scored-by-spark" / "_SUCCESS").exists()
    assert list(tmp_path.glob("scored-by-beam-*"))
