"""Train, save, load and export one model that sorts and one that ranks: the least that any installed version must do.

`nox -s oldest newest tf_ranking` runs it with the versions that `pyproject.toml` allows. It needs neither
pytest nor the other tests, and prints the versions that it ran with.
"""

import importlib.metadata
import tempfile
from pathlib import Path

import numpy as np
import tensorflow as tf

import keras_softsort as ks

keras = tf.keras
PACKAGES = ("tensorflow", "keras", "tensorflow-probability", "numpy")


def scorer():
    """Three features of each item to its score."""
    return [keras.Input((4, 3)), keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1)]


def sorting_model():
    model = keras.Sequential(scorer())
    model.add(ks.NeuralSortLayer(tau=1.0))
    model.compile("adam", loss=ks.PermutationCrossEntropyLoss(), metrics=[ks.PermutationAccuracy()])
    return model


def ranking_model():
    model = keras.Sequential(scorer())
    model.compile("adam", loss=ks.RankNetLoss(), metrics=[ks.KendallTau()])
    return model


def assert_survives(model, features, labels, folder):
    """One step of `fit` changes the weights; the saved and the exported model give the same outputs."""
    before = model.predict(features, verbose=0)
    (loss,) = model.fit(features, labels, batch_size=len(features), verbose=0).history["loss"]
    outputs = model.predict(features, verbose=0)
    assert np.isfinite(loss)
    assert np.abs(outputs - before).max() > 1e-6
    model.save(folder / "model.keras")
    loaded = keras.models.load_model(folder / "model.keras")
    np.testing.assert_allclose(loaded.predict(features, verbose=0), outputs, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        loaded.evaluate(features, labels, verbose=0), model.evaluate(features, labels, verbose=0)
    )
    model.export(str(folder / "export"))
    exported = tf.saved_model.load(str(folder / "export"))
    np.testing.assert_allclose(exported.serve(features), outputs, rtol=1e-5, atol=1e-6)


def main():
    random = np.random.default_rng(0)
    features = random.normal(size=[8, 4, 3]).astype("float32")
    labels = random.permuted(np.tile(np.arange(4.0, dtype="float32"), [8, 1]), axis=1)
    for model in (sorting_model(), ranking_model()):
        with tempfile.TemporaryDirectory() as folder:
            assert_survives(model, features, labels, Path(folder))
    # The distributions are those of TensorFlow Probability.
    orders = ks.PlackettLuce(tf.constant([[0.5, 2.0, -1.0]])).sample(seed=0)
    assert sorted(orders.numpy().ravel()) == [0, 1, 2]
    print("passed with", *(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES))


if __name__ == "__main__":
    main()
