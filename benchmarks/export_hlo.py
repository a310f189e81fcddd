"""Writes what operators lower to in XLA, with inputs and their results on this CPU, for a machine with a GPU.

Each operator, forward and backward, becomes a folder with the serialized program (`program.hlo`) and arrays
(`arrays.npz`: `input_0`, ..., `output_0`, ...). `run_hlo.py` runs them there; it needs neither TensorFlow nor this
package.

    python benchmarks/export_hlo.py /tmp/hlo
    python benchmarks/run_hlo.py /tmp/hlo
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
import tensorflow as tf

import keras_softsort as ks

OPERATORS: dict[str, tuple[Callable, list[str]]] = {
    "neural_sort": (ks.neural_sort, ["64x128", "8x1000"]),
    "soft_sort": (ks.soft_sort, ["64x128", "8x1000"]),
    "soft_values_neural_sort": (ks.soft_values, ["64x128", "8x1000", "1x100000"]),
    "soft_values_soft_sort": (lambda s: ks.soft_values(s, method="soft_sort"), ["64x128", "8x1000", "1x1000000"]),
    "soft_rank_neural_sort": (ks.soft_rank, ["64x128", "8x1000", "1x100000"]),
    "soft_top_k": (lambda s: ks.soft_top_k(s, 10)[0], ["64x128", "8x1000"]),
    "ranknet": (lambda s: _loss(ks.RankNetLoss(), s), ["256x200", "8x2000"]),
    "plackett_luce": (lambda s: _loss(ks.PlackettLuceLoss(), s), ["256x200", "8x2000"]),
    "neural_ndcg": (lambda s: _loss(ks.NeuralNDCGLoss(), s), ["64x128"]),
}


def _loss(loss: Callable, scores: tf.Tensor) -> tf.Tensor:
    """With labels 0 to 4 that come of the place in the list."""
    places = tf.range(scores.shape[-1]) * 7 % 5
    return loss(tf.broadcast_to(tf.cast(places, scores.dtype), scores.shape), scores)


def step(operator: Callable) -> Callable:
    """The results and the gradient of half the sum of their squares, which takes no weights along."""

    @tf.function(jit_compile=True, autograph=False)
    def run(scores: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        with tf.GradientTape() as tape:
            tape.watch(scores)
            results = operator(scores)
            total = tf.reduce_sum(tf.square(results)) / 2
        return results, tape.gradient(total, scores)

    return run


def export(folder: Path, operator: Callable, shape: str, platform: str) -> int:
    """Writes one program with its arrays; the size of the program in bytes."""
    size = tuple(map(int, shape.split("x")))
    scores = tf.constant(np.random.default_rng(0).normal(size=size), tf.float32)
    run = step(operator)
    program = run.experimental_get_compiler_ir(scores)(stage="hlo_serialized", platform_name=platform)
    outputs = {f"output_{i}": result.numpy() for i, result in enumerate(run(scores))}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "program.hlo").write_bytes(program)
    np.savez(folder / "arrays.npz", input_0=scores.numpy(), **outputs)
    return len(program)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--operators", nargs="+", default=list(OPERATORS), choices=list(OPERATORS))
    parser.add_argument("--shapes", nargs="+", help="batch x size, in place of those of each operator")
    parser.add_argument("--platform", default="GPU", choices=["GPU", "CPU"], help="for which XLA the program is made")
    options = parser.parse_args()
    for name in options.operators:
        operator, shapes = OPERATORS[name]
        for shape in options.shapes or shapes:
            size = export(options.folder / f"{name}-{shape}", operator, shape, options.platform)
            print(f"{name} {shape}: {size} bytes", flush=True)


if __name__ == "__main__":
    main()
