"""The nearest of many references for a batch of queries, beside one matrix product, scikit-learn and FAISS.

`KNNClassifier` as one traced function, scikit-learn's `NearestNeighbors(algorithm="brute")` and FAISS' `IndexFlatL2`
find the k nearest by Euclidean distance in float32. "product" is one `tf.matmul` of all queries and all references,
the results of which nobody reads. The candidates take turns in one process; ratios are to the product. Recall is the
share of the k nearest by float64 distances that were found, for the first queries.

    pip install faiss-cpu scikit-learn
    python benchmarks/operators/nearest_neighbors.py --json benchmarks/results/nearest_neighbors.json
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib import util
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tools"))

import harness
import numpy as np
import tensorflow as tf

import keras_softsort as ks

JUDGED = 32  # queries whose neighbors are compared with those by float64 distances


def data(shape: str) -> tuple[np.ndarray, np.ndarray, int]:
    """Queries, references and k of `QUERIESxREFERENCESxDIMENSIONxK`."""
    count, size, dimension, k = map(int, shape.split("x"))
    random = np.random.default_rng(0)
    draw = [random.standard_normal((each, dimension), dtype="f") for each in (count, size)]
    return draw[0], draw[1], k


def ours(queries: np.ndarray, references: np.ndarray, k: int, approximate: bool) -> Callable[[], np.ndarray]:
    head = ks.KNNClassifier(k, approximate=approximate)
    head.set_references(references, np.zeros(len(references), int))
    run, inputs = tf.function(head, autograph=False), tf.constant(queries)

    def neighbors() -> np.ndarray:
        return run(inputs)["neighbors"].numpy()

    return neighbors


def product(queries: np.ndarray, references: np.ndarray) -> Callable[[], None]:
    run = tf.function(lambda a, b: tf.matmul(a, b, transpose_b=True), autograph=False)
    tensors = tf.constant(queries), tf.constant(references)

    def once() -> None:
        run(*tensors)[0, 0].numpy()

    return once


def scikit_learn(queries: np.ndarray, references: np.ndarray, k: int) -> Callable[[], np.ndarray]:
    from sklearn.neighbors import NearestNeighbors  # noqa: PLC0415  (a peer, which may be missing)

    index = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(references)
    return lambda: index.kneighbors(queries, return_distance=False)


def faiss_flat(queries: np.ndarray, references: np.ndarray, k: int) -> Callable[[], np.ndarray]:
    import faiss  # noqa: PLC0415  (a peer, which may be missing)

    index = faiss.IndexFlatL2(references.shape[1])
    index.add(references)
    return lambda: index.search(queries, k)[1]


def candidates(shape: str) -> Iterator[tuple[str, Callable]]:
    queries, references, k = data(shape)
    yield "one product", product(queries, references)
    yield "KNNClassifier", ours(queries, references, k, False)
    yield "KNNClassifier, approximate", ours(queries, references, k, True)
    if util.find_spec("sklearn"):
        yield "scikit-learn, brute force", scikit_learn(queries, references, k)
    if util.find_spec("faiss"):
        yield "FAISS, IndexFlatL2", faiss_flat(queries, references, k)


def nearest(shape: str) -> np.ndarray:
    """The ids of the k nearest of the first queries, by float64 distances."""
    queries, references, k = data(shape)
    queries, references = queries[:JUDGED].astype("float64"), references.astype("float64")
    squared = (references**2).sum(axis=1) - 2 * queries @ references.T
    return np.argpartition(squared, k - 1, axis=1)[:, :k]


def rows(shapes: list[str], repeats: int) -> Iterator[harness.Row]:
    for shape in shapes:
        wanted, runs = nearest(shape), dict(candidates(shape))
        spent = harness.alternating_medians(list(runs.values()), repeats, seconds=60, least=2, warmup=1)
        for (name, run), seconds in zip(runs.items(), spent, strict=True):
            found = run()
            shares = [] if found is None else [np.isin(a, b).mean() for a, b in zip(wanted, found, strict=False)]
            yield {
                "queries x references x dimension x k": shape,
                "by": name,
                "ms": 1000 * seconds,
                "/ product": seconds / spent[0],
                "recall": float(np.mean(shares)) if shares else None,
            }


def main(arguments: list[str] | None = None) -> dict:
    parser = harness.new_parser(__doc__)
    shapes = ["256x1000000x64x10", "1x1000000x64x10"]
    parser.add_argument("--shapes", nargs="+", default=shapes, help="QUERIESxREFERENCESxDIMENSIONxK")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args(arguments)
    return harness.publish("nearest_neighbors", {"times": rows(options.shapes, options.repeats)}, options.json)


if __name__ == "__main__":
    main()
