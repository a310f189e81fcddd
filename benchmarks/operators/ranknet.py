"""Time, memory and error of RankNet, forward and backward: ours beside the dense formula, TF-Ranking's and Keras-RS'.

The dense formula is a tensor of all pairs, differentiated by TensorFlow. The pairwise logistic losses of TF-Ranking and
of Keras-RS take part where they are installed. Each candidate runs as a `tf.function`, with XLA and without. They take
turns in one process and the figures are medians, as ratios to ours; values and gradients are compared first. Peers are
left out where there are more pairs than `--max-pairs`. Memory is what a process of its own grew by.

    python benchmarks/operators/ranknet.py
    python benchmarks/operators/ranknet.py --tables memory error
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tools"))

import formulas
import harness
import numpy as np
from steps import gradient_step, runner

import keras_softsort as ks


def losses() -> dict[str, Callable]:
    """Each, of scores and labels, as the sum over all pairs of all lists."""
    ours = ks.RankNetLoss(normalization="none", reduction="sum")
    found: dict[str, Callable] = {"ours": lambda s, y: ours(y, s), "dense": formulas.pair_costs}
    if importlib.util.find_spec("tensorflow_ranking"):
        import tensorflow_ranking as tfr  # noqa: PLC0415  (an optional peer)

        theirs = tfr.keras.losses.PairwiseLogisticLoss(reduction="sum")
        found["TF-Ranking"] = lambda s, y: theirs(y, s)
    if importlib.util.find_spec("keras_rs"):
        import keras_rs  # noqa: PLC0415  (an optional peer)

        other = keras_rs.losses.PairwiseLogisticLoss(reduction="sum")
        found["Keras-RS"] = lambda s, y: other(y, s)
    return found


def data(shape: str) -> tuple[np.ndarray, np.ndarray]:
    """Normal scores, and labels from 0 to 4."""
    batch, size = map(int, shape.split("x"))
    random = np.random.default_rng(0)
    labels = random.integers(0, 5, size=(batch, size)).astype("f")
    return random.normal(size=(batch, size)).astype("f"), labels


def chosen(shape: str, max_pairs: float) -> list[str]:
    batch, size = map(int, shape.split("x"))
    return list(losses()) if batch * size**2 <= max_pairs else ["ours"]


def times(shapes: list[str], repeats: int, max_pairs: float) -> Iterator[harness.Row]:
    weighted = ks.RankNetLoss(lambda_weight="ndcg", normalization="none", reduction="sum")
    for shape in shapes:
        for jit in (True, False):
            names = chosen(shape, max_pairs)
            arrays = data(shape)
            runs = {name: runner(gradient_step(losses()[name], jit), *arrays) for name in names}
            harness.check_agreement(runs, [1e-4, 1e-3])
            with_weights = runner(gradient_step(lambda s, y: weighted(y, s), jit), *arrays)
            ours, ndcg, *others = harness.alternating_medians(
                [runs.pop("ours"), with_weights, *runs.values()], repeats, least=3
            )
            found = dict(zip(runs, others, strict=True))
            ratios = {f"{name} / ours": found[name] / ours if name in found else None for name in list(losses())[1:]}
            mode = "XLA" if jit else "TF"
            yield {"shape": shape, "mode": mode, "ours, ms": 1e3 * ours, **ratios, "NDCG weights / none": ndcg / ours}


def memory_runs(shape: str, name: str, jit: bool) -> tuple[Callable, Callable]:
    step = gradient_step(losses()[name], jit)
    arrays = data(shape)
    return runner(step, *(array[:, :8] for array in arrays)), runner(step, *arrays)


def memory(shapes: list[str], max_pairs: float) -> Iterator[harness.Row]:
    for shape in shapes:
        for jit in (True, False):
            found = {
                f"{name}, MiB": harness.memory_growth(memory_runs, shape, name, jit)
                if name in chosen(shape, max_pairs)
                else None
                for name in losses()
            }
            yield {"shape": shape, "mode": "XLA" if jit else "TF", **found}


def truth(scores: np.ndarray, labels: np.ndarray) -> tuple[float, np.ndarray]:
    """The sum and its gradient in float64, some rows of pairs at a time."""
    total, gradient = 0.0, np.zeros(scores.shape)
    for row, (one_scores, one_labels) in enumerate(zip(scores.astype(np.float64), labels, strict=True)):
        for rows in np.array_split(np.arange(len(one_scores)), max(1, len(one_scores) // 500)):
            pairs = one_labels[rows, np.newaxis] > one_labels
            difference = one_scores[rows, np.newaxis] - one_scores
            total += np.sum(np.logaddexp(0, -difference), where=pairs)
            shares = np.where(pairs, 1 / (1 + np.exp(difference)), 0)
            gradient[row, rows] -= shares.sum(axis=1)
            gradient[row] += shares.sum(axis=0)
    return total, gradient


def errors(shapes: list[str], max_pairs: float) -> Iterator[harness.Row]:
    """Relative errors of the sum; those of gradients are relative to the largest number."""
    for shape in shapes:
        arrays = data(shape)
        expected, slopes = truth(*arrays)
        for name in chosen(shape, max_pairs):
            for jit in (True, False):
                value, gradient = runner(gradient_step(losses()[name], jit), *arrays)()
                yield {
                    "shape": shape,
                    "candidate": name,
                    "mode": "XLA" if jit else "TF",
                    "error of the sum": abs(float(value) / expected - 1),
                    "error of the gradient": float(np.abs(gradient - slopes).max() / np.abs(slopes).max()),
                }


def main(arguments: list[str] | None = None) -> dict:
    parser = harness.new_parser(__doc__)
    parser.add_argument("--tables", nargs="+", choices=("time", "memory", "error"), default=["time"])
    parser.add_argument("--shapes", nargs="+", default=["256x200", "8x2000", "1x20000"], help="batch x size")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--max-pairs", type=float, default=1e8, help="from which on peers are left out")
    options = parser.parse_args(arguments)
    tables = {
        "time": times(options.shapes, options.repeats, options.max_pairs),
        "memory": memory(options.shapes, options.max_pairs),
        "error": errors(options.shapes, options.max_pairs),
    }
    return harness.publish("ranknet", {name: tables[name] for name in options.tables}, options.json)


if __name__ == "__main__":
    main()
