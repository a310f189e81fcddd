"""Compiles the programs of `export.py` with XLA for the device of this machine, checks and times them.

Needs only jax and NumPy, with `harness.py`. A program and its formula take turns. A time is that of one of `--queued`
calls that wait in the device's queue together, the median of `--repeats` such queues, so it is the larger of launching
and running. The error is the largest difference from the results on the CPU that exported the program, as a part of
the largest number of the same output. Exits with 1 if one is above `--tolerance`.

With `--in-a-loop` a time is that of one of `--queued` steps of gradient descent on the first input, compiled as one
program: launches then wait for no host, as in a compiled training step. Programs without a gradient are left out.

    python benchmarks/accelerators/export.py /tmp/hlo --shapes 64x128 --formulas
    python benchmarks/accelerators/run_hlo.py /tmp/hlo --json benchmarks/results/gpu.json
    python benchmarks/accelerators/run_hlo.py /tmp/hlo --in-a-loop --json benchmarks/results/gpu_in_a_loop.json
"""

from __future__ import annotations

import dataclasses
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tools"))

import harness
import jax
import numpy as np
from jax._src.interpreters import mlir
from jax._src.lib import _jax, xla_client
from jax._src.lib.mlir import ir

jax.config.update("jax_enable_x64", True)
CONVERTED = "program.jax"
STABLEHLO = "1.10.0"
PLATFORM = {"gpu": "cuda"}.get(jax.default_backend(), jax.default_backend())


def converted(program: bytes, platform: str) -> jax.export.Exported:
    """A program as jax exports its own functions: one of the same arrays, with this program in its place."""
    computation = xla_client.XlaComputation(program)
    shape = computation.program_shape()
    result = shape.result_shape()
    inputs, outputs = (
        [jax.ShapeDtypeStruct(each.dimensions(), each.numpy_dtype()) for each in shapes]
        for shapes in (shape.parameter_shapes(), result.tuple_shapes() if result.is_tuple() else [result])
    )
    function = jax.jit(lambda *_: [jax.numpy.zeros(each.shape, each.dtype) for each in outputs], keep_unused=True)
    exported = jax.export.export(function, platforms=[platform])(*inputs)
    with mlir.make_ir_context():
        module = ir.Module.parse(_jax.mlir.xla_computation_to_mlir_module(computation))
        serialized = _jax.mlir.serialize_portable_artifact(module, STABLEHLO)
    return dataclasses.replace(exported, mlir_module_serialized=serialized)


def error(found: np.ndarray, expected: np.ndarray) -> float:
    """NaN counts as an error wherever the other is none."""
    found, expected = (each.astype("float64") for each in (found, expected))
    if found.shape != expected.shape or not np.array_equal(np.isnan(found), np.isnan(expected)):
        return float("inf")
    return float(
        np.nanmax(np.abs(found - expected), initial=0.0) / max(np.nanmax(np.abs(expected), initial=0.0), 1e-30)
    )


class Program:
    """The program of a folder, compiled for the device, with its inputs there."""

    def __init__(self, folder: Path) -> None:
        with np.load(folder / "arrays.npz") as arrays:
            self.arrays = dict(arrays)
        inputs = [name for name in self.arrays if name.startswith("input_")]
        self.inputs = [jax.device_put(self.arrays[f"input_{i}"]) for i in range(len(inputs))]
        path = folder / CONVERTED
        exported = (
            jax.export.deserialize(bytearray(path.read_bytes()))
            if path.exists()
            else converted((folder / "program.hlo").read_bytes(), PLATFORM)
        )
        self.function = jax.jit(exported.call)
        start = time.perf_counter()
        self.results = jax.block_until_ready(self.function(*self.inputs))
        self.seconds = time.perf_counter() - start  # nearly all of it compiles

    def error(self) -> float | None:
        """The largest of all results that are known: `export.py` leaves out the large ones."""
        found = {f"output_{i}": np.asarray(each) for i, each in enumerate(self.results)}
        return max((error(found[name], self.arrays[name]) for name in found.keys() & self.arrays.keys()), default=None)

    def queued(self, calls: int) -> Callable[[], None]:
        """A run of that many calls."""

        def run() -> None:
            for _ in range(calls):
                results = self.function(*self.inputs)
            jax.block_until_ready(results)

        return run

    def descends(self) -> bool:
        """Whether the last result is a gradient in the first input."""
        last, first = self.results[-1], self.inputs[0]
        return len(self.results) > 1 and (last.shape, last.dtype) == (first.shape, first.dtype)

    def looped(self, steps: int) -> Callable[[], None]:
        """A run of that many steps of gradient descent, which are one program."""

        def step(_: jax.Array, inputs: list[jax.Array]) -> list[jax.Array]:
            # No step knows that the other inputs are those of the last one, or XLA would sort the labels once for all.
            first, *others = jax.lax.optimization_barrier(inputs)
            # So short a step that all steps cost the same.
            return [first - 1e-9 * self.function(first, *others)[-1], *others]

        descent = jax.jit(lambda *inputs: jax.lax.fori_loop(0, steps, step, [*inputs])).lower(*self.inputs).compile()
        return lambda: jax.block_until_ready(descent(*self.inputs))


def rows(folder: Path, repeats: int, queued: int, in_a_loop: bool) -> Iterator[harness.Row]:
    """A row of each program, with the time of its formula where that was exported, too."""
    for path in sorted(path.parent for path in folder.glob("*/arrays.npz")):
        if "-formula-" in path.name:
            continue
        name, target = path.name.rsplit("-", 1)
        row: harness.Row = dict(zip(("program", "shape"), name.rsplit("-", 1), strict=True))
        formula = path.with_name(f"{name}-formula-{target}")
        try:
            programs = [Program(each) for each in (path, formula) if each.exists()]
            if in_a_loop and not all(each.descends() for each in programs):
                continue
            runs = [each.looped(queued) if in_a_loop else each.queued(queued) for each in programs]
            times = harness.alternating_medians(runs, repeats)
            micro = [round(1e6 * each / queued, 1) for each in times]
            row |= {"us": micro[0], "formula, us": micro[1] if len(micro) > 1 else None}
            row |= {"ratio": round(micro[0] / micro[1], 2) if len(micro) > 1 else None}
            worst = programs[0].error()
            row |= {"compiled in, s": round(programs[0].seconds, 1), "error": worst and float(f"{worst:.1e}")}
        except Exception as failure:  # the others shall still be tried
            row |= {"failure": f"{type(failure).__name__}: {str(failure).splitlines()[0][:120]}"}
        yield row


def means(rows: Sequence[harness.Row]) -> Iterator[harness.Row]:
    """The geometric means of the ratios, by shape."""
    for shape in sorted({row["shape"] for row in rows}):
        ratios = [row["ratio"] for row in rows if row["shape"] == shape and row.get("ratio")]
        if ratios:
            mean = statistics.geometric_mean(ratios)
            yield {"shape": shape, "ours / formula": round(mean, 2), "programs": len(ratios)}


def main() -> None:
    parser = harness.new_parser(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--queued", type=int, default=50)
    parser.add_argument("--in-a-loop", action="store_true", help="time steps that are one program")
    parser.add_argument("--tolerance", type=float, default=1e-3)
    parser.add_argument("--convert", action="store_true", help=f"only write {CONVERTED} beside each program")
    options = parser.parse_args()
    device = jax.devices()[0]
    if options.convert:
        for path in options.folder.glob("*/program.hlo"):
            path.with_name(CONVERTED).write_bytes(converted(path.read_bytes(), "cuda").serialize())
        return
    found: list[harness.Row] = []

    def timed() -> Iterator[harness.Row]:
        for row in rows(options.folder, options.repeats, options.queued, options.in_a_loop):
            found.append(row)
            yield row

    tables = {
        "device": [{"device": device.device_kind, "jax": jax.__version__}],
        "timed": timed(),
        "means": means(found),
    }
    harness.publish("gpu", tables, options.json)
    if not found:
        sys.exit(f"no programs in {options.folder}")
    sys.exit(int(any("failure" in row or (row["error"] or 0) > options.tolerance for row in found)))


if __name__ == "__main__":
    main()
