"""Compiles the programs of `accelerators/export.py` with XLA for the device of this machine, checks and times them.

Needs only jax, NumPy and `harness.py`. Each program is timed beside the device's own sort of the same scores; the two
take turns, and the figures are medians. The error is the largest difference from the results on the CPU that exported
it, of the largest number of the same output. Exits with 1 if one is above `--tolerance`.

    python benchmarks/accelerators/run_hlo.py /tmp/hlo
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tools"))

import harness
import jax
import jax.numpy as jnp
import numpy as np
from jax._src.lib import _jax, xla_client


def compiled(program: bytes, device: jax.Device) -> Callable:
    """The program as a function of lists of arrays on `device`."""
    module = _jax.mlir.xla_computation_to_mlir_module(xla_client.XlaComputation(program))
    arguments = (module, xla_client.DeviceList((device,)), xla_client.CompileOptions())
    client = device.client
    executable = (
        client.compile_and_load(*arguments) if hasattr(client, "compile_and_load") else client.compile(*arguments)
    )

    def run(inputs: list[jax.Array]) -> list[jax.Array]:
        results = executable.execute_sharded(inputs)
        return [shards[0] for shards in results.disassemble_into_single_device_arrays()]

    return run


def error(found: np.ndarray, expected: np.ndarray) -> float:
    """NaN counts as an error wherever the other is none."""
    if found.shape != expected.shape or not np.array_equal(np.isnan(found), np.isnan(expected)):
        return float("inf")
    return float(
        np.nanmax(np.abs(found - expected), initial=0.0) / max(np.nanmax(np.abs(expected), initial=0.0), 1e-30)
    )


def row(folder: Path, device: jax.Device, repeats: int) -> tuple[float, list[str]]:
    """The error of one program, and its cells."""
    with np.load(folder / "arrays.npz") as arrays:
        inputs = [jax.device_put(arrays[f"input_{i}"], device) for i in range(len(arrays)) if f"input_{i}" in arrays]
        expected = [arrays[f"output_{i}"] for i in range(len(arrays)) if f"output_{i}" in arrays]
    start = time.perf_counter()
    run = compiled((folder / "program.hlo").read_bytes(), device)
    seconds = time.perf_counter() - start
    found = [np.asarray(each) for each in run(inputs)]
    worst = max(error(*pair) for pair in zip(found, expected, strict=True))
    sort = jax.jit(jnp.sort)
    runs = [lambda: jax.block_until_ready(run(inputs)), lambda: jax.block_until_ready(sort(inputs[0]))]
    own, floor = harness.alternating_medians(runs, repeats)
    cells = [f"{seconds:.1f}", f"{1e3 * own:.3f}", f"{1e3 * floor:.3f}", f"{own / floor:.1f}", f"{worst:.1e}"]
    return worst, cells


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--tolerance", type=float, default=1e-3)
    options = parser.parse_args()
    device = jax.devices()[0]
    print(f"{device.device_kind}, jax {jax.__version__}\n")
    print("| program | compiled in, s | ours, ms | sort, ms | ours / sort | error |\n|---|---:|---:|---:|---:|---:|")
    errors = []
    for folder in sorted(path.parent for path in options.folder.glob("*/program.hlo")):
        try:
            worst, cells = row(folder, device, options.repeats)
        except Exception as failure:  # the others shall still be tried
            worst, cells = float("inf"), [f"{type(failure).__name__}: {str(failure).splitlines()[0][:120]}"]
        errors.append(worst)
        print(f"| {folder.name} | {' | '.join(cells)} |", flush=True)
    if not errors:
        sys.exit(f"no */program.hlo in {options.folder}")
    sys.exit(int(max(errors) > options.tolerance))


if __name__ == "__main__":
    main()
