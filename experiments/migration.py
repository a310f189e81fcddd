"""The pipeline of `docs/coming-from/tf-ranking.md` on both stacks: NDCG over seeds, and the time of training.

The blocks of that page are run as they are, once per seed, in a process and a folder of their own: the one that writes
records, and the one of TF-Ranking or of this package. The exported model is then sent the serialized records of
`valid.tfrecord`, and NDCG is that of the scores which it returns. Rows in `--json`, also of the other stack, are kept
and not run again.

A seed draws other initial weights in Keras 3 than in Keras 2. With `--weights` TF-Ranking's run also writes the initial
weights of each seed to a folder, and the run on Keras 3 starts from them as well as from its own.

    python experiments/migration.py --json migration.json --weights initial  # with TF-Ranking
    python experiments/migration.py --json migration.json --weights initial  # on Keras 3
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import multiprocessing
import re
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "benchmarks" / "tools"))

import harness
import numpy as np
import tensorflow as tf

import keras_softsort as ks

keras = tf.keras
PAGE = Path(__file__).parents[1] / "docs" / "coming-from" / "tf-ranking.md"
IS_TF_RANKING = importlib.util.find_spec("tensorflow_ranking") is not None
NAME = "TF-Ranking 0.5.5, Keras 2.15" if IS_TF_RANKING else "keras_softsort, Keras 3"
SAME_START = f"{NAME}, from TF-Ranking's initial weights"
CUTOFFS = (1, 3, 5, 10)


def blocks() -> tuple[str, str]:
    """The block that writes records, and the pipeline of this stack."""
    data, theirs, ours, *_ = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), flags=re.MULTILINE | re.DOTALL)
    return data, theirs if IS_TF_RANKING else ours


def run(code: str, seed: int = 0, **names: Any) -> dict[str, Any]:
    """Run a block of the page as a program of its own, which knows `names`."""
    keras.utils.set_random_seed(seed)
    space = {"__name__": "page", **names}
    exec(compile(code, str(PAGE), "exec"), space)
    return space


def from_weights(pipeline: str) -> str:
    """Our pipeline, that starts from `initial`."""
    assert pipeline.count("model.compile(") == 1
    return pipeline.replace("model.compile(", "model.set_weights(initial)\nmodel.compile(")


def served_scores(records: Sequence[bytes]) -> np.ndarray:
    """The scores of the exported model for serialized records."""
    if IS_TF_RANKING:
        loaded = tf.saved_model.load("tf_ranking/export/latest_model")
        answer = loaded.signatures["tensorflow/serving/predict"](tf.constant(records))
        return next(iter(answer.values())).numpy()
    (version,) = Path("keras_softsort/ranker").iterdir()
    return tf.saved_model.load(str(version)).signatures["elwc"](serialized=tf.constant(records))["scores"].numpy()


def labels_of(records: Sequence[bytes]) -> list[np.ndarray]:
    """The labels of each record."""
    spec = {"label": tf.io.FixedLenFeature([1], tf.float32)}
    dataset = tf.data.Dataset.from_tensor_slices(records)
    batches = ks.data.elwc_batches(dataset, None, spec, "label", len(records), boundaries=(64,), shuffle=False)
    (batch,) = [labels for _, labels in batches.as_numpy_iterator()]
    return [labels[labels >= 0] for labels in batch]


def ndcg(labels: Sequence[np.ndarray], scores: np.ndarray, k: int) -> float:
    """Mean NDCG@k of the lists with a relevant item."""
    found = []
    for grades, row in zip(labels, scores, strict=True):
        gains, order = 2.0**grades - 1, np.argsort(-row[: len(grades)], kind="stable")
        discounts = 1 / np.log2(np.arange(min(k, len(grades))) + 2)
        if gains.any():
            found.append(gains[order][:k] @ discounts / (np.sort(gains)[::-1][:k] @ discounts))
    return float(np.mean(found))


def trained(name: str, seed: int, weights: Path | None) -> dict[str, Any]:
    """The measures of one seed."""
    data, pipeline = blocks()
    start = {}
    if name == SAME_START:
        with np.load(weights / f"{seed}.npz") as stored:
            start["initial"] = [stored[each] for each in stored.files]
        pipeline = from_weights(pipeline)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        run(data)
        records = list(tf.data.TFRecordDataset("valid.tfrecord").as_numpy_iterator())
        started = time.perf_counter()
        space = run(pipeline, seed, **start)
        seconds = time.perf_counter() - started
        labels, scores = labels_of(records), served_scores(records)
    if IS_TF_RANKING and weights:
        keras.utils.set_random_seed(seed)
        weights.mkdir(parents=True, exist_ok=True)
        np.savez(weights / f"{seed}.npz", *space["model_builder"].build().get_weights())
    measured = {f"NDCG@{k}": ndcg(labels, scores, k) for k in CUTOFFS}
    return {"pipeline": name, "seed": seed, **measured, "seconds": seconds, "requests": len(records)}


def table(runs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Means and spread over the seeds of each pipeline."""
    rows = []
    for name in sorted({run["pipeline"] for run in runs}):
        own = [run for run in runs if run["pipeline"] == name]
        row: dict[str, Any] = {"pipeline": name, "seeds": len(own)}
        row |= {f"NDCG@{k}": float(np.mean([run[f"NDCG@{k}"] for run in own])) for k in CUTOFFS}
        fives = [run["NDCG@5"] for run in own]
        row |= {"std of NDCG@5": float(np.std(fives)), "least to most": f"{min(fives):.3f} to {max(fives):.3f}"}
        rows.append(row)
    return rows


def main(arguments: list[str] | None = None) -> dict:
    parser = harness.new_parser(__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(10)))
    parser.add_argument("--weights", type=Path, help="folder of initial weights by seed")
    options = parser.parse_args(arguments)
    path = options.json
    weights = options.weights and options.weights.resolve()
    runs = json.loads(path.read_text())["runs"] if path and path.exists() else []
    done = [(run["pipeline"], run["seed"]) for run in runs]
    names = [NAME] if IS_TF_RANKING or not weights else [NAME, SAME_START]
    todo = [(name, seed, weights) for seed in options.seeds for name in names if (name, seed) not in done]
    result = {"benchmark": "migration", "command": harness.shown_command(), **harness.environment()}
    # TF-Ranking cannot export twice in a process.
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1 if IS_TF_RANKING else None) as pool:
        for each in todo:
            runs.append(pool.apply(trained, each))
            print(runs[-1], flush=True)
            result |= {"runs": runs, "tables": {"ndcg": table(runs)}}
            if path:
                path.write_text(harness.as_json(result) + "\n")
    result |= {"runs": runs, "tables": {"ndcg": table(runs)}}
    print(*harness.table(result["tables"]["ndcg"]), sep="\n")
    return result


if __name__ == "__main__":
    main()
