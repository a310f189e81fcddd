"""Milliseconds of requests to an exported ranker, in the signature and without a network, and whether it agrees.

A network of 32 units is trained on wards of 20 real patients (`tools/ranking_data.py`) and exported. The
folder is loaded by `tf.saved_model.load`. Scores (to 1e-4) and orders must be those of the model, for lists of several
sizes in one request with NaN in the padding.

    python benchmarks/pipelines/serving_latency.py --json benchmarks/results/serving.json
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tools"))

import harness
import numpy as np
import tensorflow as tf
from ranking_data import patients
from tensorflow import keras

import keras_softsort as ks
from keras_softsort import serving

SIZES = (20, 7, 1)  # of lists in the request that is checked: a ward, and parts of one


def wards(lists: ks.data.RankingDataset) -> tuple[np.ndarray, np.ndarray]:
    """Features `[ward, patient, 10]` and grades `[ward, patient]` of wards of one size."""
    features, grades = zip(*lists, strict=True)
    return np.stack(features), np.stack(grades)


def trained(lists: ks.data.RankingDataset, epochs: int) -> keras.Model:
    keras.utils.set_random_seed(0)
    parts = [keras.layers.Dense(32, activation="relu"), keras.layers.Dense(1)]
    model = keras.Sequential([keras.Input((None, lists.features.shape[1])), *parts])
    model.compile("adam", loss=ks.PlackettLuceLoss(), metrics=[ks.KendallTau(name="tau")])
    model.fit(*wards(lists), batch_size=16, epochs=epochs, verbose=0)
    return model


def check(folder: Path, model: keras.Model, features: np.ndarray) -> None:
    """Compare the answers of the export with the model."""
    loaded = tf.saved_model.load(str(folder))  # keep it: the signature does not
    features = features[: len(SIZES)].copy()
    for one, size in zip(features, SIZES, strict=True):
        one[size:] = np.nan
    answer = loaded.signatures["serving_default"](features=tf.constant(features), sizes=tf.constant(SIZES))
    for i, size in enumerate(SIZES):
        scores = model.predict(features[i : i + 1, :size], verbose=0)[0, :, 0]
        np.testing.assert_allclose(answer["scores"][i, :size], scores, rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(answer["order"][i, :size], np.argsort(-scores, kind="stable"))


def milliseconds(folder: Path, features: np.ndarray, lists: int, requests: int) -> Iterator[harness.Row]:
    """The first request, and the median and 99th percentile of later ones."""
    size = features.shape[1]
    for count in (1, lists):
        request = {"features": tf.constant(features[:count]), "sizes": tf.fill([count], size)}
        loaded, spent = tf.saved_model.load(str(folder)), []
        for _ in range(requests + 1):
            started = time.perf_counter()
            loaded.signatures["serving_default"](**request)["order"].numpy()
            spent.append(1000 * (time.perf_counter() - started))
        first, *later = spent
        median, slow = float(np.median(later)), float(np.quantile(later, 0.99))
        yield {"request": f"{count} x {size}", "first": first, "median": median, "99th percentile": slow}


def main(arguments: list[str] | None = None) -> dict:
    parser = harness.new_parser(__doc__)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--lists", type=int, default=64, help="lists in the larger request")
    parser.add_argument("--requests", type=int, default=200)
    options = parser.parse_args(arguments)
    training, test = patients()
    model = trained(training, options.epochs)
    unseen, grades = wards(test)
    tau = model.evaluate(unseen, grades, verbose=0, return_dict=True)["tau"]
    with tempfile.TemporaryDirectory() as temporary:
        folder = serving.export_ranker(model, Path(temporary) / "patients", top_k=3)
        check(folder, model, unseen)
        tables = {
            "milliseconds": milliseconds(folder, unseen, options.lists, options.requests),
            "tau": iter([{"wards of unseen patients": len(test), "Kendall's tau": round(tau, 3)}]),
        }
        return harness.publish("serving_latency", tables, options.json)


if __name__ == "__main__":
    main()
