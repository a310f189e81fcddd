"""Lists per second of an exported ranker: a request per list, `Scorer`, Beam and Spark, which have to agree.

Lists have 1 to 1,000 items, heavy-tailed, and 136 features. They are written to Parquet files first; every way reads
these and scores all lists. Start-up of the engine, reading and writing the scores count for Beam and Spark.

    python benchmarks/pipelines/batch_scoring.py --json benchmarks/results/batch_scoring.json

With `--folder` the lists, the ranker and the scores of `Scorer` stay there, and rows that are in the file of `--json`
are not measured again, so `--most 1` measures a row per run.
"""

# ruff: noqa: PLC0415  (an engine is imported only where it is measured)

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "tools"))

import numpy as np
import pyarrow as pa
from harness import Row, new_parser, publish
from pyarrow import parquet

FEATURES, FILES = 136, 8
TRAIN = """
import sys, numpy as np, tensorflow as tf
from keras_softsort import serving
tf.keras.utils.set_random_seed(0)
layers = [tf.keras.layers.Dense(64, activation="relu"), tf.keras.layers.Dense(1)]
model = tf.keras.Sequential([tf.keras.Input((None, int(sys.argv[2]))), *layers])
serving.export_ranker(model, sys.argv[1], item_ids=None)
"""


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    """Write lists and a ranker, score them in every way, compare."""
    parser = new_parser(__doc__)
    parser.add_argument("--lists", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, help="keep here what is needed to go on later; None keeps nothing")
    parser.add_argument("--most", type=int, default=len(WAYS), help="measure so many rows, and leave out the others")
    options = parser.parse_args(arguments)
    # A worker is one thread of TensorFlow, in the processes of the engines too.
    os.environ |= {"TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "1", "OMP_NUM_THREADS": "1"}
    os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1", "PYSPARK_PYTHON": sys.executable}
    with tempfile.TemporaryDirectory() as name:
        folder = options.folder or Path(name)
        if not (folder / "ranker").exists():
            folder.mkdir(exist_ok=True)
            write_lists(folder, options.lists)
            subprocess.run([sys.executable, "-c", TRAIN, str(folder / "ranker"), str(FEATURES)], check=True)
        return publish("batch_scoring", {"batch_scoring": rows(folder, options)}, options.json)


def write_lists(folder: Path, lists: int) -> None:
    """Parquet files of `query` and `features`, an array per row."""
    random, total = np.random.default_rng(0), 0
    for i, part in enumerate(np.array_split(np.arange(lists), FILES)):
        sizes = np.clip(np.ceil(8 * random.pareto(1.1, len(part))), 1, 1000).astype(int)
        values = random.standard_normal(sizes.sum() * FEATURES, dtype=np.float32)
        columns = {
            "query": np.repeat(part, sizes),
            "row": np.arange(total, total + sizes.sum()),
            "features": pa.FixedSizeListArray.from_arrays(pa.array(values), FEATURES),
        }
        parquet.write_table(pa.table(columns), folder / f"lists-{i}.parquet", row_group_size=2**14)
        total += int(sizes.sum())


def rows(folder: Path, options: Any) -> Iterator[Row]:
    """One row per way and number of workers; the scores of the first way are what the others must give."""
    known = known_rows(options)
    reference, left = folder / "scores.npy", options.most
    for name, workers, run in WAYS:
        if (name, workers) in known and reference.exists():
            yield known[name, workers]
            continue
        if left == 0:
            continue
        left -= 1
        scores, seconds = run(folder, workers)
        if not reference.exists():
            np.save(reference, scores)
        expected = np.load(reference)
        if scores.shape != expected.shape:
            raise AssertionError(f"{name} must give {expected.shape} scores, got {scores.shape}")
        difference = float(np.max(np.abs(scores - expected) / np.maximum(1, np.abs(expected))))
        if not difference <= 1e-6:
            raise AssertionError(f"scores of {name} differ by {difference:.1e}")
        yield {
            "way": name,
            "workers": workers,
            "lists": options.lists,
            "items": len(scores),
            "seconds": round(seconds, 1),
            "lists per second": options.lists / seconds,
            "items per second": len(scores) / seconds,
            "largest difference": difference,
        }


def known_rows(options: Any) -> dict[tuple[str, int], Row]:
    """The rows of an earlier run with the same lists, by way and workers."""
    if options.folder is None or options.json is None or not options.json.exists():
        return {}
    found = json.loads(options.json.read_text())["tables"]["batch_scoring"]
    return {(row["way"], row["workers"]): row for row in found if row["lists"] == options.lists}


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("lists-*.parquet"))


def in_memory(path: Path) -> list[np.ndarray]:
    """The lists of a file."""
    table = parquet.read_table(path)
    features = table["features"].combine_chunks().flatten().to_numpy().reshape(-1, FEATURES)
    return np.split(features, np.flatnonzero(np.diff(table["query"].to_numpy())) + 1)


def by_scorer(folder: Path, _: int) -> tuple[np.ndarray, float]:
    """`Scorer` in this process, with reading, without importing and loading."""
    from keras_softsort import serving

    scorer = serving.Scorer(folder / "ranker/1")
    scorer.score(in_memory(files(folder)[0])[:50])
    started, found = time.perf_counter(), []
    for path in files(folder):
        found += scorer.score(in_memory(path))
    return np.concatenate(found), time.perf_counter() - started


def by_request(folder: Path, _: int) -> tuple[np.ndarray, float]:
    """TensorFlow's C API, a request per list, as a server runs it; the seconds are those in the session."""
    sys.path.append(str(Path(__file__).parents[2] / "tests"))
    from support.predict_offline import predict_offline

    found, seconds = [], 0.0
    for path in files(folder):
        requests = [{"features": one[np.newaxis], "sizes": [len(one)]} for one in in_memory(path)]
        for answer in predict_offline(folder / "ranker/1", requests):
            found.append(answer.outputs["scores"][0])
            seconds += answer.seconds
    return np.concatenate(found), seconds


def by_beam(folder: Path, workers: int) -> tuple[np.ndarray, float]:
    """RunInference on Beam's DirectRunner, in processes."""
    import apache_beam as beam
    from apache_beam.ml.inference.base import KeyedModelHandler, RunInference
    from apache_beam.options.pipeline_options import PipelineOptions

    from keras_softsort.beam import RankerModelHandler

    handler = KeyedModelHandler(RankerModelHandler(folder / "ranker/1"))
    schema = pa.schema([("query", pa.int64()), ("scores", pa.list_(pa.float32()))])
    mode = ["--direct_running_mode=multi_processing", f"--direct_num_workers={workers}"]
    started = time.perf_counter()
    with beam.Pipeline(options=PipelineOptions(["--runner=DirectRunner", *mode])) as pipeline:
        _ = (
            pipeline
            | beam.Create([(i * 10**9, str(path)) for i, path in enumerate(files(folder))])
            | beam.Reshuffle()
            | beam.FlatMap(numbered_lists)
            | RunInference(handler)
            | beam.MapTuple(lambda query, result: {"query": query, "scores": result.inference.tolist()})
            | beam.io.WriteToParquet(str(folder / f"beam-{workers}/scores"), schema)
        )
    seconds = time.perf_counter() - started
    table = parquet.read_table(folder / f"beam-{workers}").sort_by("query")
    return table["scores"].combine_chunks().flatten().to_numpy(), seconds


def numbered_lists(start_and_path: tuple[int, str]) -> Iterator[tuple[int, np.ndarray]]:
    """Pairs of a number and a list, as they stand in a file."""
    start, path = start_and_path
    yield from enumerate(in_memory(Path(path)), start)


def by_spark(folder: Path, workers: int) -> tuple[np.ndarray, float]:
    """`spark.score` on a local master of as many workers."""
    from pyspark.sql import SparkSession

    from keras_softsort import spark

    started = time.perf_counter()
    builder = SparkSession.builder.master(f"local[{workers}]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.memory", "4g").config("spark.sql.shuffle.partitions", "16")
    session = builder.config("spark.driver.bindAddress", "127.0.0.1").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    output = folder / f"spark-{workers}"
    frame = session.read.parquet(*map(str, files(folder)))
    scored = spark.score(frame, folder / "ranker/1", group="query", features=["features"])
    scored.select("row", "score").write.parquet(str(output))
    seconds = time.perf_counter() - started
    session.stop()
    table = parquet.read_table(output).sort_by("row")
    with contextlib.suppress(OSError):
        shutil.rmtree(output)
    return table["score"].to_numpy(), seconds


WAYS = (
    ("Scorer", 1, by_scorer),
    ("a request per list (C API)", 1, by_request),
    ("Beam, DirectRunner", 1, by_beam),
    ("Beam, DirectRunner", 2, by_beam),
    ("Spark, local", 1, by_spark),
    ("Spark, local", 2, by_spark),
)


if __name__ == "__main__":
    main()
