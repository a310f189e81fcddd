"""The README's pipeline on records of real patients, in two replicas, and the model that it exports."""

import sys

import numpy as np
import pytest
import tensorflow as tf
from support.data import wards
from support.oracles.pairs import list_loss
from support.oracles.ranking import each_list, ideal_dcg
from support.processes import json_from
from support.readme import TF_RANKING_PAGE, fenced_blocks, is_tf_ranking

pytest.importorskip("tensorflow_ranking")

TRAIN = """
import json, pathlib, sys
import tensorflow as tf
(cpu,) = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
from keras_softsort import tf_ranking
found = {}

class Watched(tf_ranking.SimplePipeline):
    def build_metrics(self):
        return super().build_metrics()[-1:]  # the others take as long to trace

    def export_saved_model(self, model, export_to, checkpoint=None):
        features, labels = next(iter(self._dataset_builder.build_valid_dataset()))
        found["strategy"] = self._strategy
        found["logs"] = model.history.history
        found["labels"] = labels.numpy().tolist()
        found["scores"] = model(features, training=False).numpy().tolist()
        super().export_saved_model(model, export_to, checkpoint)

tf_ranking.SimplePipeline = Watched
tf.keras.utils.set_random_seed(0)  # some starts are so good that the second epoch has nothing left to learn
exec(compile(pathlib.Path(sys.argv[1]).read_text(), "README.md", "exec"), {"__name__": "readme"})

def step(strategy):
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.Input((None, 1)), tf.keras.layers.Dense(1, kernel_initializer="ones")])
        model.add(tf.keras.layers.Reshape([-1]))
        loss = tf_ranking.get_loss("keras_softsort_approx_ndcg_loss", tau=1.0)
        model.compile(tf.keras.optimizers.SGD(1.0), loss=loss)
    x, y = tf.reshape(tf.sin(tf.range(12.0)), [4, 3, 1]), tf.constant([[0.0, 1, 2], [2, 1, -1], [0, 0, 0], [3, 1, 2]])
    model.fit(x, y, batch_size=4, verbose=0)
    return float(model.weights[0][0, 0])

two = found.pop("strategy")  # the only one of the process, whose replicas would meet those of another
found["replicas"] = two.num_replicas_in_sync
found["steps"] = [step(two), step(tf.distribute.get_strategy())]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pipeline")


@pytest.fixture(scope="module")
def judged():
    """The lists of which the pipeline reports."""
    return list(wards.wards(64, seed=1))


@pytest.fixture(scope="module")
def trained(folder, judged):
    (block,) = filter(is_tf_ranking, fenced_blocks(TF_RANKING_PAGE.read_text()))
    (folder / "block.py").write_text(block)
    wards.write(folder / "train.tfrecord", wards.wards(64, seed=0))
    wards.write(folder / "valid.tfrecord", judged)
    found = json_from(TRAIN, folder / "block.py", cwd=folder)
    return {**found, **{name: np.array(found[name]) for name in ("labels", "scores")}}


@pytest.fixture(scope="module")
def signatures(folder, trained):
    with pytest.MonkeyPatch.context() as patch:
        # TensorFlow 2.15 would import it, and Keras 2 then takes its classes and reads a file without end.
        patch.setitem(sys.modules, "tf_keras", None)
        loaded = tf.saved_model.load(str(folder / "runs/export/latest_model"))
    return {name.split("/")[-1]: Signature(loaded, function) for name, function in loaded.signatures.items()}


class Signature:
    def __init__(self, model, function):
        self.model = model  # or its variables would be gone
        self.function = function

    def __call__(self, messages):
        serialized = tf.constant([message.SerializeToString() for message in messages])
        (outputs,) = self.function(serialized).values()
        return outputs.numpy()


def ndcg(labels, scores, _):
    gains = 2.0**labels - 1
    return sum(gains[np.argsort(-scores)] / np.log2(np.arange(len(gains)) + 2)) / ideal_dcg(gains)


def test_padding_of_the_records(trained, judged):
    for labels, (_, grades) in zip(trained["labels"], judged, strict=True):
        np.testing.assert_array_equal(labels, np.pad(grades, (0, len(labels) - len(grades)), constant_values=-1))
    assert (trained["labels"] == -1).any()


def test_what_it_reports_and_that_it_learned(trained):
    assert trained["replicas"] == 2
    logs, given = trained["logs"], (trained["labels"], trained["scores"])
    losses = [list_loss(*pair) for pair in zip(*given, strict=True)]
    # Each replica normalizes batches by moving averages of its own; outside of them the model reads their mean.
    assert logs["val_loss"][-1] == pytest.approx(np.mean(losses), rel=1e-3)
    relevant = (trained["labels"] > 0).any(axis=1)
    found = each_list(ndcg, *(part[relevant] for part in given))
    assert logs["val_metric/ndcg"][-1] == pytest.approx(found.mean(), rel=1e-3)
    random = np.random.default_rng(0).normal(size=given[1].shape)
    assert found.mean() > each_list(ndcg, given[0][relevant], random[relevant]).mean() + 0.05
    assert logs["loss"][-1] < logs["loss"][0]


def test_two_replicas_make_the_step_of_one(trained):
    two, one = trained["steps"]
    assert abs(one - 1) > 0.01
    assert two == pytest.approx(one, rel=1e-5)


def test_serialized_lists_get_the_models_scores(trained, judged, signatures):
    found = signatures["predict"]([wards.record(*ward) for ward in judged])
    kept = trained["labels"] >= 0
    np.testing.assert_allclose(found[kept[:, : found.shape[1]]], trained["scores"][kept], rtol=1e-5, atol=1e-6)
    short = min(range(len(judged)), key=lambda i: len(judged[i][1]))
    alone = signatures["predict"]([wards.record(*judged[short])])
    assert alone.shape[1] < found.shape[1]
    np.testing.assert_allclose(alone[0], found[short, : alone.shape[1]], rtol=1e-5, atol=1e-6)


def test_serialized_examples_get_the_scores_of_lists_of_one(judged, signatures):
    features, grades = judged[0]
    rows = [slice(i, i + 1) for i in range(len(grades))]
    lists = [wards.record(features[row], grades[row]) for row in rows]
    examples = [one.examples[0] for one in lists]
    for example, one in zip(examples, lists, strict=True):
        example.MergeFrom(one.context)
    wanted = signatures["predict"](lists)[:, 0]
    for name in ("regress", "serving_default"):
        np.testing.assert_allclose(signatures[name](examples), wanted, rtol=1e-5, atol=1e-6)
    assert np.ptp(wanted) > 0.01
