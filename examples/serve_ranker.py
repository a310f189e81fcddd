"""From `fit` to TensorFlow Serving: train a small ranker, export it, and query it as a server would.

The model ranks wards of real patients by the progression of their disease (see `_shared/ranking_data.py`). It is
exported with its signatures and, if tensorflow-serving-api is installed, a warm-up file. Then the folder is loaded by
`tf.saved_model.load`. Its answers must be those of the model. Latencies are those of its signature in this process,
without a network. At the end the command that starts a server is printed.

    python examples/serve_ranker.py                          # ten seconds
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from pathlib import Path
from typing import Any

from _shared import command_line


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Options of the command line."""
    quick = {"epochs": 1, "requests": 5, "lists": 4}
    parser = command_line.new_parser(__doc__, "serve_ranker", quick)
    at_least = command_line.at_least
    parser.add_argument("--epochs", type=at_least(1), default=10, help="of the training")
    parser.add_argument("--seed", type=int, default=0, help="of the weights")
    parser.add_argument("--lists", type=at_least(1), default=64, help="lists in the larger request")
    parser.add_argument("--requests", type=at_least(1), default=200, help="requests whose latency is measured")
    return command_line.parse(parser, arguments, quick)


if __name__ == "__main__":
    OPTIONS = parse()  # a wrong argument fails here, before the seconds that TensorFlow takes to import
    command_line.import_tensorflow()

import numpy as np
import tensorflow as tf
from _shared.pictures.serving import draw_served
from _shared.ranking_data import patients
from tensorflow import keras

import keras_softsort as ks
from keras_softsort import serving

SIZES = (20, 7, 1)  # of lists in the requests that are checked: a ward, and parts of one


def train(
    options: argparse.Namespace, training: ks.data.RankingDataset, test: ks.data.RankingDataset
) -> tuple[keras.Model, float]:
    """Features `[ward, patient, 10]` to scores `[ward, patient, 1]`, and Kendall's tau on wards of unseen patients."""
    keras.utils.set_random_seed(options.seed)
    parts = [keras.layers.Dense(32, activation="relu"), keras.layers.Dense(1)]
    model = keras.Sequential([keras.Input((None, training.features.shape[1])), *parts])
    model.compile("adam", loss=ks.PlackettLuceLoss(), metrics=[ks.KendallTau(name="tau")])
    model.fit(*wards(training), batch_size=16, epochs=options.epochs, verbose=0)
    tau = model.evaluate(*wards(test), verbose=0, return_dict=True)["tau"]
    print(f"Kendall's tau with the true order, {len(test)} wards of unseen patients: {tau:.3f}")
    return model, tau


def wards(lists: ks.data.RankingDataset) -> tuple[np.ndarray, np.ndarray]:
    """Features `[ward, patient, 10]` and grades `[ward, patient]` of wards that are all of one size."""
    features, grades = zip(*lists, strict=True)
    return np.stack(features), np.stack(grades)


def requests_of(wards: np.ndarray) -> list[dict[str, Any]]:
    """Wards of several sizes in one request, NaN in the padding, which must not count; and one single ward."""
    features = wards[: len(SIZES)].copy()
    for one, size in zip(features, SIZES, strict=True):
        one[size:] = np.nan
    ids = np.array([[f"ward {i} bed {j}" for j in range(features.shape[1])] for i in range(len(SIZES))])
    together = {"features": features, "sizes": SIZES, "item_ids": ids}
    return [together, {"features": features[:1], "sizes": SIZES[:1], "item_ids": ids[:1]}]


def check(folder: Path, model: keras.Model, wards: np.ndarray) -> None:
    """Query the export, and compare with the model itself."""
    loaded = tf.saved_model.load(str(folder))  # keep it: the signature does not
    for request in requests_of(wards):
        tensors = {name: tf.constant(value) for name, value in request.items()}
        answer = {name: value.numpy() for name, value in loaded.signatures["with_ids"](**tensors).items()}
        for i, size in enumerate(request["sizes"]):
            scores = model.predict(wards[i : i + 1, :size], verbose=0)[0, :, 0]
            np.testing.assert_allclose(answer["scores"][i, :size], scores, rtol=1e-4, atol=1e-5)
            expected = [request["item_ids"][i, j].encode() for j in np.argsort(-scores, kind="stable")]
            assert answer["sorted_ids"][i].tolist() == expected + [b""] * (wards.shape[1] - size)
    print(f"the export has the scores and order of the model, for lists of {', '.join(map(str, SIZES))}")


def latency(
    folder: Path, wards: np.ndarray, options: argparse.Namespace
) -> tuple[list[dict[str, Any]], dict[str, list[float]]]:
    """Milliseconds in the signature: the first request, and the median and 99th percentile of later ones.

    Also the seconds of each request.
    """
    size, rows, seconds = wards.shape[1], [], {}
    for lists in (1, options.lists):
        request = {"features": tf.constant(wards[:lists]), "sizes": tf.fill([lists], size)}
        loaded, spent = tf.saved_model.load(str(folder)), []
        for _ in range(options.requests + 1):
            started = time.perf_counter()
            loaded.signatures["serving_default"](**request)["order"].numpy()
            spent.append(time.perf_counter() - started)
        seconds[f"{lists} x {size} patients"] = spent
        first, *later = [1000 * each for each in spent]
        median, slow = float(np.median(later)), float(np.quantile(later, 0.99))
        print(
            f"requests of {lists:2} x {size} patients: first {first:.1f} ms, then median {median:.2f} ms, "
            f"99th percentile {slow:.2f} ms"
        )
        rows.append({"request": f"{lists} x {size}", "first": first, "median": median, "99th percentile": slow})
    return rows, seconds


def warmup_requests(training: ks.data.RankingDataset) -> dict[str, list[dict[str, Any]]] | None:
    """A request for the warm-up file, where tensorflow-serving-api can write one."""
    if importlib.util.find_spec("tensorflow_serving") is None:
        return None
    return {"serving_default": [{"features": wards(training)[0][:1], "sizes": training.sizes[:1]}]}


def main(options: argparse.Namespace) -> dict[str, Any]:
    """Train, export, check, measure; then print how to go on."""
    started = time.monotonic()
    print("Training a ranker of patients")
    training, test = patients()
    model, tau = train(options, training, test)
    unseen, grades = wards(test)
    warmup = warmup_requests(training)
    folder = serving.export_ranker(model, options.output / "patients", top_k=3, warmup=warmup)
    without = "without a warm-up file, which needs tensorflow-serving-api"
    print(f"exported to {folder}, {'with a warm-up file' if warmup else without}")
    check(folder, model, unseen)
    milliseconds, seconds = latency(folder, unseen, options)
    (scores,) = serving.Scorer(folder).score(unseen[:1])
    ward = scores, grades[0]
    print(f"Picture: {draw_served(ward, seconds, options.output / 'serve_ranker.png')}")
    print(f"{time.monotonic() - started:.0f} s in all\n")
    base = folder.parent.resolve()
    print("Start a server (docs/guides/serving.md has requests by REST and gRPC):")
    print(f"  tensorflow_model_server --rest_api_port=8501 --model_name=patients --model_base_path={base}")
    return command_line.save_report(options, "serve_ranker", tau=tau, wards=len(test), milliseconds=milliseconds)


if __name__ == "__main__":
    main(OPTIONS)
