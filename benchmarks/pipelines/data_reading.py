"""Rows per second and peak memory of the readers in `keras_softsort.data`, beside scikit-learn's and TF-Ranking's.

Each reader runs in a process of its own on the same generated lists. The peak is that of the process while it reads,
less what it held before. TF-Ranking's row needs the interpreter of its stack.
"""

# ruff: noqa: PLC0415  (a process imports only what it measures)

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tools"))

import harness
import numpy as np

FEATURES = 136  # of MSLR-WEB30K
PER_LIST = 120


def generated(documents: int, seed: int = 0):
    """Features, labels and queries of this many documents."""
    random = np.random.default_rng(seed)
    features = np.empty([documents, FEATURES], np.float32)
    for start in range(0, documents, 100_000):  # in parts: the generator works in float64
        part = features[start : start + 100_000]
        part[:] = np.round(random.gamma(1.0, 10.0, size=part.shape), 3)
    return features, random.integers(5, size=documents), np.arange(documents) // PER_LIST


def write_svmlight(path: Path, documents: int) -> None:
    """Write a file like MSLR-WEB30K, with each feature in each line."""
    features, labels, queries = generated(documents)
    form = " ".join(f"{i}:%g" for i in range(1, FEATURES + 1))
    with path.open("w") as file:
        for item, label, query in zip(features, labels, queries, strict=True):
            file.write(f"{label} qid:{query} {form % tuple(item)} \n")


def frame(documents: int):
    """The documents of `write_svmlight` as a pandas frame."""
    import pandas as pd

    features, labels, queries = generated(documents)
    return pd.DataFrame(features, columns=[f"f{i}" for i in range(FEATURES)], copy=False).assign(
        grade=labels, query=queries
    )


def specs(tf):
    """Features of the records."""
    return {
        "features": tf.io.FixedLenFeature([FEATURES], tf.float32, [0.0] * FEATURES),
        "label": tf.io.FixedLenFeature([], tf.float32, -1.0),
    }


def prepare(folder: Path, documents: int) -> None:
    """Write the files that the readers need."""
    import keras_softsort as ks

    write_svmlight(folder / "train.txt", documents)
    table = frame(documents)
    table.to_parquet(folder / "train.parquet", row_group_size=100_000)
    lists = ks.data.from_frame(table, group="query", label="grade")
    ks.data.write_elwc(lists, folder / "train.tfrecord", shards=4)


def count(batches) -> int:
    """The documents in batches, without padding."""
    return sum(int(np.sum(labels >= 0)) for _, labels in batches.as_numpy_iterator())


def of_files(name: str, folder: Path):
    """A reader of the SVMlight or Parquet file."""
    import keras_softsort as ks

    if name == "read_parquet":
        return lambda: len(ks.data.read_parquet(folder / "train.parquet", group="query", label="grade").labels)
    if name == "read_svmlight":
        return lambda: len(ks.data.read_svmlight(folder / "train.txt").labels)
    return lambda: count(ks.data.bucketed_batches(ks.data.read_svmlight(folder / "train.txt"), 32))


def of_frames(name: str, folder: Path, documents: int):
    """A reader of a frame in memory, or the writer of records."""
    import keras_softsort as ks

    roles = {"group": "query", "label": "grade"}
    if name == "write_elwc":
        lists = ks.data.from_frame(frame(documents), **roles)
        return lambda: documents * len(ks.data.write_elwc(lists, tempfile.mkdtemp(dir=folder) + "/x"))
    table = frame(documents)
    if name == "from_frame (pandas)":
        return lambda: len(ks.data.from_frame(table, **roles).labels)
    return lambda: count(ks.data.bucketed_batches(ks.data.from_frame(table, **roles), 32))


def of_records(name: str, folder: Path):
    """A reader of the ELWC records."""
    import tensorflow as tf

    files = str(folder / "train.tfrecord-*")
    if "TF-Ranking" not in name:
        import keras_softsort as ks

        files = files if "whole" in name else files.replace("*", "00000-of-00004")
        return lambda: count(ks.data.elwc_batches(files, None, specs(tf), "label", 32, shuffle=False))
    import tensorflow_ranking as tfr

    def parsed():
        batches = tfr.data.build_ranking_dataset(
            files, tfr.data.ELWC, 32, {}, specs(tf), list_size=None, shuffle=False, num_epochs=1
        )
        return sum(int(np.sum(one["label"] >= 0)) for one in batches.as_numpy_iterator())

    return parsed


def by_scikit_learn(name: str, folder: Path):
    """A reader of scikit-learn, whose features are sparse unless `toarray` makes them dense."""
    from sklearn.datasets import load_svmlight_file

    def read():
        features = load_svmlight_file(str(folder / "train.txt"), dtype=np.float32, query_id=True)[0]
        return (features.toarray() if "toarray" in name else features).shape[0]

    return read


def reader(name: str, folder: Path, documents: int):
    """A function that reads and returns the number of documents."""
    if "sklearn" in name:
        return by_scikit_learn(name, folder)
    if "elwc_batches" in name or "TF-Ranking" in name:
        return of_records(name, folder)
    return of_frames(name, folder, documents) if "frame" in name or name == "write_elwc" else of_files(name, folder)


NAMES = [
    "read_svmlight",
    "read_svmlight and bucketed_batches",
    "sklearn load_svmlight_file",
    "sklearn, then toarray()",
    "from_frame (pandas)",
    "from_frame and bucketed_batches",
    "read_parquet",
    "write_elwc",
    "elwc_batches, a quarter",
    "elwc_batches, the whole",
    "TF-Ranking's parser",
]


def resident() -> int:
    """Bytes that this process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def measure(name: str, folder: Path, documents: int) -> dict:
    """Run one reader in this process."""
    read = reader(name, folder, documents)
    before, peak, done = resident(), 0, threading.Event()

    def watch():
        nonlocal peak
        while not done.wait(0.005):
            peak = max(peak, resident())

    watcher = threading.Thread(target=watch)
    watcher.start()
    started = time.perf_counter()
    documents = read()
    seconds = time.perf_counter() - started
    done.set()
    watcher.join()
    return {"name": name, "documents": documents, "seconds": seconds, "peak_bytes": peak - before}


def in_own_process(python: str, name: str, folder: Path, documents: int) -> dict | None:
    """The measurement of one reader, or `None` with a message if it failed."""
    command = [python, __file__, "--measure", name, "--folder", str(folder), "--documents", str(documents)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"{name}: {done.stderr.splitlines()[-1]}")
        return None
    return json.loads(done.stdout.splitlines()[-1])


def rows(documents: int, readers: Sequence[str], tf_ranking_python: str | None) -> Iterator[harness.Row]:
    """One row per reader; the last column compares the peak with all features as one float32 array."""
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder), documents)
        for name in readers:
            python = tf_ranking_python if "TF-Ranking" in name else sys.executable
            measured = python and in_own_process(python, name, Path(folder), documents)
            if measured:
                yield {
                    "reader": name,
                    "documents": measured["documents"],
                    "seconds": measured["seconds"],
                    "documents/s": measured["documents"] / measured["seconds"],
                    "peak, MiB": measured["peak_bytes"] / 2**20,
                    "peak / float32 array": measured["peak_bytes"] / (documents * FEATURES * 4),
                }


def main(arguments: list[str] | None = None) -> dict:
    """Measure all readers and write the results."""
    parser = harness.new_parser(__doc__)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--readers", nargs="*", default=NAMES, help="which ones; all by default")
    parser.add_argument("--tf-ranking-python", help="interpreter of the TF-Ranking stack, for TF-Ranking's row")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.measure:
        print(json.dumps(measure(options.measure, options.folder, options.documents)))
        return {}
    tables = {"readers": rows(options.documents, options.readers, options.tf_ranking_python)}
    return harness.publish("data_reading", tables, options.json)


if __name__ == "__main__":
    main()
