"""The programs that train DkNN without TensorFlow do what the experiment with Keras does."""

import argparse
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from tensorflow import keras

import keras_softsort as ks

sys.path.insert(0, str(Path(__file__).parents[2] / "experiments"))
import dknn_published
import export_dknn

pytestmark = [pytest.mark.default_stack_only, pytest.mark.nightly]

OPTIONS = argparse.Namespace(blocks=[1, 1], width=4, batch=12)
SEED = np.array([3, 4], "int32")


@pytest.mark.parametrize("method", ["dknn", "cross_entropy"])
def test_steps_are_those_of_keras(method, rng):
    pixels = rng.integers(0, 256, [40, 8, 8, 3]).astype("uint8")
    classes = rng.integers(0, 3, 40).astype("int32")
    programs = export_dknn.Programs(method, (8, 8, 3), 3, OPTIONS)
    model, loss = programs.model, programs.network.loss
    optimizer = keras.optimizers.SGD(dknn_published.RATE, dknn_published.MOMENTUM)
    model.compile(optimizer, loss, loss_weights=[programs.network.weight], jit_compile=False)
    state = [*programs.values, *(np.zeros_like(value) for value in programs.values[: programs.trained])]
    chosen = rng.permutation(40)[: 24 if method == "dknn" else 12]
    images = export_dknn.moved(tf.constant(pixels), chosen, SEED)
    step = tf.function(programs.step, autograph=False)
    for _ in range(3):
        _, *state = step(pixels, classes, chosen, SEED, *state)
        model.train_on_batch(images, classes[chosen])
    weights = state[: len(programs.weights)]
    for found, weight in zip(weights, programs.weights, strict=True):
        np.testing.assert_allclose(found, weight, rtol=1e-4, atol=1e-6, err_msg=weight.path)
    (found,) = programs.outputs(pixels, chosen, SEED, *weights)
    np.testing.assert_allclose(found, programs.answering(images), rtol=1e-4, atol=1e-5)


def test_first_weights_are_uniform(rng):
    programs = export_dknn.Programs("cross_entropy", (8, 8, 3), 3, OPTIONS)
    state = programs.start(tf.constant(SEED))
    kernel = next(np.array(each) for each in state if each.shape == (3, 3, 4, 8))
    assert abs(kernel).max() <= 1 / 6
    assert np.std(kernel) == pytest.approx(1 / 6 / 3**0.5, rel=0.1)
    assert all(not np.any(each) for each in state[len(programs.weights) :])


def test_votes_are_those_of_the_classifier(rng):
    queries, references = rng.normal(size=(5, 4)), rng.normal(size=(30, 4))
    classes = rng.integers(0, 3, 30)
    (found,) = export_dknn.votes(*map(tf.constant, (queries, references, classes)), count=3)
    head = ks.KNNClassifier(dknn_published.K, num_classes=3)
    head.adapt(references, classes)
    np.testing.assert_allclose(found, head(queries)["probabilities"], rtol=1e-6)


def test_programs_are_written(tmp_path):
    arguments = ["--images", "40", "8", "8", "3", "--validation-count", "10", "--measured", "5", "--batch", "10"]
    export_dknn.main([str(tmp_path), *arguments, "--blocks", "1", "--width", "2", "--methods", "dknn"])
    assert {path.stem for path in (tmp_path / "dknn").iterdir()} == {"start", "step", "outputs", "votes"}
