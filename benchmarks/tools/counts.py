"""Counts that do not depend on the machine: what XLA gets of a call and its gradient, and the files that trace it.

For each call, at a fixed size: the operations of its HLO before XLA optimizes it, in all computations, without
parameters and tuples; the KiB of their results, a loop counted once; and the files of the package in which a function
runs. HLO after optimization depends on the processor, and peak memory is that of the optimized program.

For some calls also the nodes, without constants, that TensorFlow traces for a step of gradient descent of 64 lists of
50 items with a linear model, and those of the step with the published formula in their place.

    python benchmarks/tools/counts.py --check                               # beside results/counts.json
    python benchmarks/tools/counts.py --json benchmarks/results/counts.json # renews it

`--check` fails if operations, KiB or nodes have grown by more than 5 %; files are printed and not compared. All change
with TensorFlow: with another version than that of the file, nothing is compared.
"""

from __future__ import annotations

import functools
import json
import math
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path

import formulas
import harness
import tensorflow as tf

import keras_softsort as ks

sys.path.append(str(Path(__file__).parents[2] / "tests"))

from support import call_flow

COMMITTED = harness.RESULTS / "counts.json"
GROWTH = 1.05
COMPARED = ("operations", "KiB", "nodes")
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


def _squares(function: Callable) -> Callable:
    return lambda scores, labels: tf.reduce_sum(tf.square(function(scores)))


def _mean(function: Callable) -> Callable:
    return lambda scores, labels: tf.reduce_mean(function(scores, labels))


def _beside_a_loss(function: Callable) -> Callable:
    return lambda scores, labels: tf.reduce_mean(scores) + tf.reduce_mean(function(scores, labels))


def _keras(loss: Callable) -> Callable:
    return lambda scores, labels: loss(labels, scores)


# Losses of scores and labels: ours, and the formula's.
STEPS: dict[str, tuple[Callable, Callable]] = {
    "neural_sort": (_squares(ks.ops.neural_sort), _squares(formulas.neural_sort)),
    "soft_rank": (_squares(ks.ops.soft_rank), _squares(formulas.soft_rank)),
    "soft_top_k": (
        _squares(lambda scores: ks.ops.soft_top_k(scores, 10).values),
        _squares(lambda scores: formulas.soft_top_k(scores, 10)[0]),
    ),
    "RankNetLoss": (_keras(ks.RankNetLoss()), _mean(formulas.ranknet)),
    "PlackettLuceLoss": (_keras(ks.PlackettLuceLoss()), _mean(functools.partial(formulas.list_mle, ties="breslow"))),
    "SoftmaxLoss": (_keras(ks.SoftmaxLoss()), _mean(formulas.softmax)),
    "ApproxNDCGLoss": (_keras(ks.ApproxNDCGLoss()), _mean(formulas.approx_ndcg)),
    "ndcg": (_beside_a_loss(ks.ops.ndcg), _beside_a_loss(formulas.ndcg)),
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


def rows(names: Collection[str]) -> Iterator[harness.Row]:
    for name in [name for name in CALLS if name in names]:
        function, tensor = CALLS[name]
        program = with_gradient(function)
        files = set(call_flow.visits_of(lambda program=program, tensor=tensor: program.get_concrete_function(tensor)))
        operations, size = counted(program.experimental_get_compiler_ir(tensor)(stage="hlo"))
        yield {"call": name, "operations": operations, "KiB": round(size / 1024), "files": len(files)}


def nodes(loss: Callable) -> int:
    """The nodes of a step with this loss, without constants."""
    weights, bias = tf.Variable(tf.zeros([8, 1])), tf.Variable(0.0)

    @tf.function(autograph=False)
    def step(features: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            value = loss(tf.squeeze(features @ weights, axis=-1) + bias, labels)
        for gradient, variable in zip(tape.gradient(value, [weights, bias]), [weights, bias], strict=True):
            variable.assign_sub(0.1 * gradient)
        return value

    graph = step.get_concrete_function(tf.zeros([64, 50, 8]), tf.zeros([64, 50])).graph.as_graph_def()
    found = [*graph.node, *(node for function in graph.library.function for node in function.node_def)]
    return sum(node.op != "Const" for node in found)


def steps(names: Collection[str]) -> Iterator[harness.Row]:
    for name in [name for name in STEPS if name in names]:
        found, least = map(nodes, STEPS[name])
        yield {"call": name, "nodes": found, "of the formula": least, "ratio": round(found / least, 2)}


def grown(found: Mapping, committed: Mapping) -> list[str]:
    """A line for each compared count of `found` that is more than 5 % above the committed one, or has none."""
    here, then = (result["versions"]["tensorflow"] for result in (found, committed))
    if here != then:
        print(f"TensorFlow {here} is here, and the counts are of {then}: nothing is compared")
        return []
    return [
        f"{row['call']}: {row[column]} {column}, and {old} are committed"
        for table, of_table in found["tables"].items()
        for before in [{row["call"]: row for row in committed["tables"].get(table, [])}]
        for row in of_table
        for column in COMPARED
        if column in row
        for old in [before.get(row["call"], {}).get(column, 0)]
        if row[column] > GROWTH * old
    ]


def main(arguments: list[str] | None = None) -> dict:
    parser = harness.new_parser(__doc__)
    names = list(dict.fromkeys([*CALLS, *STEPS]))
    parser.add_argument("--calls", nargs="+", choices=names, default=names, metavar="CALL")
    parser.add_argument("--check", nargs="?", type=Path, const=COMMITTED, help="fail if counts have grown since")
    options = parser.parse_args(arguments)
    result = harness.publish("counts", {"counts": rows(options.calls), "steps": steps(options.calls)}, options.json)
    if options.check and (lines := grown(result, json.loads(options.check.read_text()))):
        sys.exit("\n".join(["counts have grown by more than 5 %:", *lines]))
    return result


if __name__ == "__main__":
    main()
