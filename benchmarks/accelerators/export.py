"""Write what programs lower to in XLA, with inputs and their results on this CPU, for a machine with a GPU.

Each program, forward and backward, becomes a folder with the serialized program (`program.hlo`) and arrays
(`arrays.npz`: `input_0`, ..., `output_0`, ...). `run_hlo.py` runs them there; it needs neither TensorFlow nor this
package.

    python benchmarks/accelerators/export.py /tmp/hlo --programs neural_sort soft_rank --shapes 64x128 --formulas
    python benchmarks/accelerators/run_hlo.py /tmp/hlo
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import programs
import tensorflow as tf

try:
    from keras_softsort.ops.core.tracing import lowering_for
except ImportError:
    lowering_for = contextlib.nullcontext  # type: ignore[assignment]


# Elements of results that are written, so that the programs of several sizes fit into one copy.
LARGEST = 2**18


def step(function: Callable) -> Callable:
    """The results, and the gradient in the first input of half the sum of their squares, which takes no weights."""

    @tf.function(jit_compile=True, autograph=False)
    def run(first: tf.Tensor, *others: tf.Tensor) -> list[tf.Tensor]:
        with tf.GradientTape() as tape:
            tape.watch(first)
            results = tf.nest.flatten(function(first, *others))
            total = sum(tf.reduce_sum(tf.square(each)) / 2 for each in results if each.dtype.is_floating)
        # A metric has no gradient.
        gradient = tape.gradient(total, first) if isinstance(total, tf.Tensor) else None
        return results if gradient is None else [*results, gradient]

    return run


def digest(text: str) -> str:
    """A digest of a program's text, without the numbers that TensorFlow gives to functions as it traces them."""
    return hashlib.sha256(re.sub(r"_\d+(?=_|\b)", "_", text).encode()).hexdigest()[:12]


def export(
    folder: Path, name: str, shape: str, target: str = "gpu", *, formula: bool = False, with_arrays: bool = False
) -> Path:
    """Write one program, or the formula beside it, as `target` gets it; the folder it is in."""
    program = programs.PROGRAMS[name]
    tensors = [tf.constant(array) for array in programs.arrays(program, *map(int, shape.split("x")))]
    run = step(program.formula if formula and program.formula else program.function)
    with lowering_for(target):
        # A TPU gets this HLO, too: it has no part of a GPU, and TensorFlow for CPUs lowers for no TPU.
        ir = run.experimental_get_compiler_ir(*tensors)
        hlo = ir(stage="hlo_serialized", platform_name="GPU")
        text = ir(stage="hlo_no_metadata", platform_name="GPU")
    folder = folder / "-".join([name, shape, *["formula"] * formula, target])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "program.hlo").write_bytes(hlo)
    (folder / "digest.txt").write_text(digest(text))
    if with_arrays:
        inputs = {f"input_{i}": tensor.numpy() for i, tensor in enumerate(tensors)}
        outputs = {f"output_{i}": each.numpy() for i, each in enumerate(run(*tensors)) if tf.size(each) <= LARGEST}
        np.savez(folder / "arrays.npz", **inputs, **outputs)
    return folder


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--programs", nargs="+", default=list(programs.PROGRAMS), choices=programs.PROGRAMS)
    parser.add_argument("--shapes", nargs="+", help="batch x size, in place of those of each program")
    parser.add_argument("--formulas", action="store_true", help="also the formula of each program")
    parser.add_argument("--no-tf32", action="store_true", help="multiply matrices in float32 on GPUs and TPUs")
    parser.add_argument("--target", default="gpu", choices=["cpu", "gpu", "tpu"], help="whose form is written")
    options = parser.parse_args(arguments)
    if options.no_tf32:
        tf.config.experimental.enable_tensor_float_32_execution(False)
    for name in options.programs:
        for shape in options.shapes or programs.PROGRAMS[name].shapes:
            for formula in (False, True)[: 1 + (options.formulas and programs.PROGRAMS[name].formula is not None)]:
                made = export(options.folder, name, shape, options.target, formula=formula, with_arrays=True)
                print(made, flush=True)


if __name__ == "__main__":
    main()
