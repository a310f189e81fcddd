"""Counts that do not depend on the machine: what XLA gets of a call and its gradient, and the files that trace it.

For each call, at a fixed size: the operations of its HLO before XLA optimizes it, in all computations, without
parameters and tuples; the KiB of their results, a loop counted once; and the files of the package in which a function
runs. HLO after optimization depends on the processor, and peak memory is that of the optimized program.

    python benchmarks/tools/counts.py --check                               # beside results/counts.json
    python benchmarks/tools/counts.py --json benchmarks/results/counts.json # renews it

`--check` fails if a count has grown by more than 5 %. HLO changes with TensorFlow: with another version than that of
the file, only the files are compared.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import harness
import tensorflow as tf

import keras_softsort as ks

sys.path.append(str(Path(__file__).parents[2] / "tests"))

from support import call_flow

COMMITTED = harness.RESULTS / "counts.json"
GROWTH = 1.05
SCORES, LOGITS = tf.random.stateless_normal([8, 64], [0, 1]), tf.random.stateless_normal([4, 16, 16], [0, 2])
LONG = tf.random.stateless_normal([1, 4096], [0, 3])
LABELS = tf.reshape(tf.cast(tf.range(8 * 64) * 7 % 5, tf.float32), [8, 64])
CALLS: dict[str, tuple[Callable, tf.Tensor]] = {
    "neural_sort": (ks.ops.neural_sort, SCORES),
    "soft_sort": (ks.ops.soft_sort, SCORES),
    "soft_values, neural_sort": (ks.ops.soft_values, LONG),
    "soft_values, soft_sort": (lambda s: ks.ops.soft_values(s, method="soft_sort"), LONG),
    "soft_rank, projection": (lambda s: ks.ops.soft_rank(s, method="projection"), SCORES),
    "soft_rank, lapsum": (lambda s: ks.ops.soft_rank(s, method="lapsum"), SCORES),
    "soft_top_k": (lambda s: ks.ops.soft_top_k(s, 5).values, SCORES),
    "sinkhorn": (ks.ops.sinkhorn, LOGITS),
    "linear_assignment": (ks.ops.linear_assignment, LOGITS),
    "gumbel_softmax": (lambda s: ks.ops.gumbel_softmax(s, seed=[0, 1], k=5), SCORES),
    "ranknet_loss": (lambda s: ks.ops.ranknet_loss(s, LABELS), SCORES),
    "ranknet_loss, ndcg": (lambda s: ks.ops.ranknet_loss(s, LABELS, lambda_weight="ndcg"), SCORES),
    "plackett_luce_loss": (lambda s: ks.ops.plackett_luce_loss(s, LABELS), SCORES),
    "approx_ndcg_loss": (lambda s: ks.ops.approx_ndcg_loss(s, LABELS), SCORES),
    "neural_ndcg_loss": (lambda s: ks.ops.neural_ndcg_loss(s, LABELS), SCORES),
    "nearest_neighbors": (lambda s: ks.ops.nearest_neighbors(s, s, 3).distances, SCORES),
}
# An instruction: its type, which has no blanks but in tuples and layouts, and its name.
INSTRUCTION = re.compile(r"^\s+(?:ROOT )?\S+ = (.*?) ([a-z][\w-]*)\(", re.MULTILINE)
ARRAY = re.compile(r"\b(pred|[a-z]+?)(\d*)\[([\d,]*)\]")
NOT_COUNTED = {"parameter", "tuple", "get-tuple-element"}


def with_gradient(function: Callable) -> tf.types.experimental.PolymorphicFunction:
    """The function and its gradient, where it has one, as one program."""

    def both(tensor: tf.Tensor) -> tuple:
        with tf.GradientTape() as tape:
            tape.watch(tensor)
            result = function(tensor)
        return result, tape.gradient(result, tensor) if result.dtype.is_floating else None

    return tf.function(both, jit_compile=True, autograph=False)


def counted(hlo: str) -> tuple[int, int]:
    """The operations of an HLO module, and the bytes of their results."""
    found = [types for types, name in INSTRUCTION.findall(hlo) if name not in NOT_COUNTED]
    arrays = [array for types in found for array in ARRAY.findall(types)]
    # A predicate takes a byte.
    sizes = [math.prod(map(int, filter(None, shape.split(",")))) * (int(bits or 8) // 8) for _, bits, shape in arrays]
    return len(found), sum(sizes)


def rows(names: Iterable[str]) -> Iterator[harness.Row]:
    for name in names:
        function, tensor = CALLS[name]
        program = with_gradient(function)
        files = set(call_flow.visits_of(lambda program=program, tensor=tensor: program.get_concrete_function(tensor)))
        operations, size = counted(program.experimental_get_compiler_ir(tensor)(stage="hlo"))
        yield {"call": name, "operations": operations, "KiB": round(size / 1024), "files": len(files)}


def grown(found: Mapping, committed: Mapping) -> list[str]:
    """A line for each count of `found` that is more than 5 % above the committed one, or has none."""
    versions = [result["versions"]["tensorflow"] for result in (found, committed)]
    columns = ["operations", "KiB", "files"]
    if versions[0] != versions[1]:
        print(f"TensorFlow {versions[0]} is here, and the counts are of {versions[1]}: only files are compared")
        columns = ["files"]
    before = {row["call"]: row for row in committed["tables"]["counts"]}
    return [
        f"{row['call']}: {row[column]} {column}, and {old} are committed"
        for row in found["tables"]["counts"]
        for column in columns
        for old in [before.get(row["call"], {}).get(column, 0)]
        if row[column] > GROWTH * old
    ]


def main(arguments: list[str] | None = None) -> dict:
    parser = harness.new_parser(__doc__)
    parser.add_argument("--calls", nargs="+", choices=CALLS, default=list(CALLS), metavar="CALL")
    parser.add_argument("--check", nargs="?", type=Path, const=COMMITTED, help="fail if counts have grown since")
    options = parser.parse_args(arguments)
    result = harness.publish("counts", {"counts": rows(options.calls)}, options.json)
    if options.check and (lines := grown(result, json.loads(options.check.read_text()))):
        sys.exit("\n".join(["counts have grown by more than 5 %:", *lines]))
    return result


if __name__ == "__main__":
    main()
