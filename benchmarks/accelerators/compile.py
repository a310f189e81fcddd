"""Compile exported programs for a TPU v5e or an H100, on a machine that has neither, and tell what became of them.

    echo /tmp/hlo/soft_sort-64x128-tpu | python benchmarks/accelerators/compile.py tpu 60

Reads names of folders with a `program.hlo` line by line, writes what the compiler makes of it (`optimized.txt`) beside
it, and prints a line of JSON for each: seconds of the processor; operations that
are launched as kernels, those of a loop as often as it runs, and of branches those of the longest; loops; temporary
memory; the largest numbers of elements of float64 and of 64-bit integers; and from the TPU's compiler its estimate in
microseconds. Needs jax, and libtpu or the CUDA plugin; no driver and no device.

The TPU's compiler replaces 64-bit numbers by pairs, so its programs are searched for them before it starts. Where it
knows no cost of a fusion, it takes one second from its estimate: these are added back and counted as "unknown".
"""

from __future__ import annotations

import collections
import json
import os
import re
import signal
import sys
import time
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

H100 = """
gpu_device_info {
  threads_per_block_limit: 1024 threads_per_warp: 32 shared_memory_per_block: 49152 shared_memory_per_core: 233472
  threads_per_core_limit: 2048 core_count: 132 fpus_per_core: 128 block_dim_limit_x: 2147483647 block_dim_limit_y: 65535
  block_dim_limit_z: 65535 memory_bandwidth: 3350000000000 l2_cache_size: 52428800 clock_rate_ghz: 1.98
  device_memory_size: 84978434048 shared_memory_per_block_optin: 232448 registers_per_core_limit: 65536
  registers_per_block_limit: 65536 cuda_compute_capability { major: 9 minor: 0 }
}
platform_name: "CUDA"
dnn_version_info { major: 9 minor: 1 }
device_description_str: "NVIDIA H100 80GB HBM3"
"""
# Read when jax and its plugins are imported. Kernels are not tuned, since there is nothing to try them on.
ENVIRONMENT = {
    "tpu": {
        "TPU_SKIP_MDS_QUERY": "1",
        "TPU_ACCELERATOR_TYPE": "v5litepod-1",
        "TPU_WORKER_HOSTNAMES": "localhost",
        "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",  # it compiles only, and takes no device from others
        "TPU_STDERR_LOG_LEVEL": "3",
        "TPU_MIN_LOG_LEVEL": "3",
    },
    "gpu": {"JAX_SKIP_CUDA_CONSTRAINTS_CHECK": "1", "XLA_FLAGS": "--xla_gpu_autotune_level=0"},
}
TOPOLOGY = {
    "tpu": {"platform": "tpu", "topology_name": "v5e:2x2x1"},
    "gpu": {"platform": "cuda", "topology_name": "h100", "target_config": H100, "topology": "1x1x1"},
}
LIBRARIES = {"tpu": ("jax", "libtpu"), "gpu": ("jax", "jax-cuda12-plugin", "nvidia-cuda-nvcc-cu12")}
# The head of a computation, and an instruction with the rest of its line.
COMPUTATION = re.compile(r"^(ENTRY )?%?([\w.-]+) \(.*\{$")
INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%?\S+ = (?:\(.*?\)|\S+) ([a-z][\w-]*)\((.*)$")
CALLED = re.compile(r"(?:body|condition|to_apply|calls|true_computation|false_computation)=%?([\w.-]+)")
BRANCHES = re.compile(r"branch_computations=\{([^}]*)\}")
TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d+)"\}')
WIDE = re.compile(r"\b(f64|[su]64)\[([\d,]*)\]")
# Launches nothing of its own.
FREE = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all", "partition-id", "replica-id"}
CONTROL = {"while", "conditional", "call"}


class Module:
    """The computations of an optimized program, as lists of operations with the rests of their lines."""

    def __init__(self, text: str) -> None:
        self.computations: dict[str, list[tuple[str, str]]] = {}
        for line in text.splitlines():
            if head := COMPUTATION.match(line):
                entry, name = head.groups()
                lines = self.computations.setdefault("ENTRY" if entry else name, [])
            elif instruction := INSTRUCTION.match(line):
                lines.append(instruction.groups())

    def launches(self, name: str = "ENTRY") -> collections.Counter[str]:
        """The kinds of operations that a computation launches, with those that it calls."""
        found: collections.Counter[str] = collections.Counter()
        for kind, rest in self.computations.get(name, []):
            called = CALLED.findall(rest) if kind in CONTROL else []
            called += [each.strip().lstrip("%") for text in BRANCHES.findall(rest) for each in text.split(",")]
            counts = [self.launches(each) for each in called]
            if kind == "while":
                trips = TRIPS.search(rest)
                for each in counts:
                    found.update({key: count * int(trips.group(1) if trips else 1) for key, count in each.items()})
            elif kind == "conditional":
                found.update(max(counts, key=lambda each: each.total()))
            elif kind == "call":
                found.update(counts[0])
            elif kind not in FREE and not kind.endswith("-done"):
                found[kind] += 1
        return found

    def loops(self) -> int:
        """The number of loops in all computations."""
        return sum(kind == "while" for lines in self.computations.values() for kind, _ in lines)


def largest(text: str) -> dict[str, int]:
    """The largest number of elements of float64, and of 64-bit integers."""
    sizes = {"float64": 0, "int64": 0}
    for dtype, shape in WIDE.findall(text):
        elements = 1
        for length in filter(None, shape.split(",")):
            elements *= int(length)
        name = "float64" if dtype == "f64" else "int64"
        sizes[name] = max(sizes[name], elements)
    return sizes


def told(error: Exception) -> str:
    """An error's type and its first line."""
    line, *_ = str(error).split("\n")
    return f"{type(error).__name__}: {line[:200]}"


def compiler(target: str) -> Any:
    """A function from a serialized program to a compiled one, with its text before."""
    for name, value in ENVIRONMENT[target].items():
        os.environ[name] = f"{value} {os.environ.get(name, '')}".strip() if name == "XLA_FLAGS" else value

    import numpy as np  # noqa: PLC0415
    from jax._src.interpreters import mlir  # noqa: PLC0415
    from jax._src.lib import _jax, xla_client  # noqa: PLC0415
    from jax._src.lib.mlir import ir  # noqa: PLC0415
    from jax.experimental import topologies  # noqa: PLC0415

    (device, *_) = topologies.get_topology_desc(**TOPOLOGY[target]).devices

    def compiled(program: bytes) -> tuple[Any, str]:
        computation = xla_client.XlaComputation(program)
        text = _jax.mlir.xla_computation_to_mlir_module(computation)
        with mlir.make_ir_context():
            options = xla_client.CompileOptions()
            options.num_replicas = options.num_partitions = 1
            options.device_assignment = xla_client.DeviceAssignment.create(np.array([[device.id]], "int32"))
            devices = xla_client.DeviceList((device,))
            return device.client.compile(ir.Module.parse(text), devices, options), computation.as_hlo_text()

    return compiled


def estimate(program: Any) -> dict[str, float]:
    """The microseconds that the TPU's compiler expects, and for how many fusions it knows none."""
    cost = program.cost_analysis()
    micro = 1e6 * (cost[0] if isinstance(cost, list) else cost)["optimal_seconds"]
    unknown = max(0, -int(micro // 1e6))
    return {"us": round(micro + 1e6 * unknown, 2), "unknown": unknown}


def answers(target: str, limit: float, folders: Iterator[str]) -> Iterator[dict[str, Any]]:
    """First the versions, and then what became of each program. One that takes longer than `limit` ends the process."""
    compiled = compiler(target)
    yield {name: metadata.version(name) for name in LIBRARIES[target]}
    for folder in folders:
        path = Path(folder.strip())
        program = (path / "program.hlo").read_bytes()
        start = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, limit)
        try:
            executable, before = compiled(program)
        except Exception as error:
            yield {"error": told(error)}
            continue
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        row: dict[str, Any] = {"seconds": round(time.process_time() - start, 1)}
        text = executable.hlo_modules()[0].to_string()
        (path / "optimized.txt").write_text(text)
        module = Module(text)
        launches = module.launches()
        if target == "tpu":
            row |= estimate(executable)
        row |= {"kernels": launches.total(), "kinds": dict(launches.most_common()), "loops": module.loops()}
        row |= {"KiB": round(executable.get_compiled_memory_stats().temp_size_in_bytes / 1024)}
        yield row | largest(before if target == "tpu" else text)


if __name__ == "__main__":
    for answer in answers(sys.argv[1], float(sys.argv[2]), iter(sys.stdin.readline, "")):
        print("answer", json.dumps(answer), flush=True)
