"""On a GPU every operation of every operator, layer, loss and metric runs there: asked without a GPU.

TensorFlow's registry names the kernels for GPUs, also where there is none. Traces are made as they are on a GPU.
"""

import functools
import re

import numpy as np
import pytest
import tensorflow as tf
from support import gpu_kernels, models
from support.cases import objects, operators
from support.readme import README

from keras_softsort.ops.core import tracing

# On TensorFlow 2.15 `take` reshapes what it gathers, which copies items to the host in a few more functions.
pytestmark = pytest.mark.default_stack_only

PAGE = README.parent / "docs" / "guides" / "gpus-and-tpus.md"
# Operations without a kernel for GPUs, by the words of the page. They run on the host.
WITHOUT_KERNEL = {"Const of string": "texts of error messages"}
# Files of the package that let TensorFlow compute with int32 of list size on the host, by the words of the page.
ON_HOST = {
    "ops/core/segments.py": "rows of lists with ids",
    "ops/matching/_assignment.py": "partners in exact matchings",
    "ops/matching/_assignment_costs.py": "partners in exact matchings",
    "ops/metrics/_pairs.py": "places in the sort that counts pairs",
    "ops/neighbors/_exact.py": "numbers of the nearest neighbors",
    "ops/sorting/_matrix_free/block_sums.py": "items of blocks of long lists",
    "ops/sorting/_matrix_free/neural_sort.py": "items of blocks of long lists",
    "ops/sorting/_permutahedron/isotonic.py": "blocks of projections",
    "ops/sorting/harden.py": "ranks that `harden` has given",
}
# Files whose products of float32 matrices a GPU may round. A product with a vector is `numbers.vector_product`.
ROUNDED = {
    "layers/ranking.py",  # attention, and scores with trained weights, as in layers of Keras
    "ops/neighbors/embeddings.py",
    "ops/core/numbers.py",  # `inner_products`, whose factors are not rounded
    "ops/core/distances.py",  # a shape, whose values do not matter
}


def differentiated(function, *inputs):
    """The values and the gradients of the floating-point inputs, where there are any."""
    inputs_of_numbers = [each for each in inputs if each.dtype.is_floating]
    with tf.GradientTape() as tape:
        tape.watch(inputs_of_numbers)
        values = function(*inputs)
    numbers = [each for each in tf.nest.flatten(values) if each.dtype.is_floating]
    return values, tape.gradient(numbers, inputs_of_numbers) if numbers else []


def of_layer(case):
    layer = case.make()
    return functools.partial(differentiated, lambda scores: layer(case.inputs(scores))), [models.scores(2)]


def of_loss(case):
    labels, predicted = np.float32([[0, 2, 1, -1, 3], [1, 0, 0, 2, 1]]), models.scores(2)
    if case.subject.takes in {"permutation", "logits"}:
        predicted = np.full([2, 5, 2 if case.subject.takes == "logits" else 5], 0.2, "f")
    if case.subject.takes == "embeddings":
        labels, predicted = np.int32([0, 1, 0, 1, 1]), models.scores(5, 3)
    loss = case.make()
    return functools.partial(differentiated, lambda predicted: loss(labels, predicted)), [predicted]


def of_metric(case):
    metric = case.make()

    def run(labels, scores):
        metric.update_state(tf.stack([labels] * 2, axis=-1) if case.subject.takes_topics else labels, scores)
        return metric.result()

    return run, [np.abs(models.scores(2)), models.scores(2)]


def of_operation(operation):
    function = operation.function
    return function if operation.forward_only else functools.partial(differentiated, function), operation.tensors


MADE_BY = {
    of_operation: operators.OPERATIONS,
    of_loss: objects.first_of_class(objects.LOSSES),
    of_layer: objects.first_of_class([*objects.LAYERS, *objects.OTHER_LAYERS]),
    of_metric: objects.first_of_class(objects.METRICS),
}
CASES = {
    str(case) if make is of_operation else case.cls.__name__: (make, case)
    for make, cases in MADE_BY.items()
    for case in cases
}


def trace_of(name, jit_compile):
    """The call of a case with its gradient, traced as on a GPU."""
    make, case = CASES[name]
    function, arrays = make(case)
    specs = [tf.TensorSpec(each.shape, each.dtype) for each in arrays]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tracing, "_device", lambda: "gpu" if tracing.is_compiled() else tracing.GPU_WITHOUT_XLA)
        return tf.function(function, jit_compile=jit_compile, autograph=False).get_concrete_function(*specs)


@functools.cache
def found_in(name):
    """Return the operations of a case without XLA that have no kernel, and the copies to the host."""
    trace = trace_of(name, None)
    return gpu_kernels.without_kernel(trace), gpu_kernels.copied_to_host(trace)


@pytest.mark.nightly
@pytest.mark.parametrize("name", CASES)
def test_kernels(name):
    missing, copied = found_in(name)
    assert missing <= WITHOUT_KERNEL.keys()
    new = {file: lines for file, lines in copied.items() if file not in ON_HOST}
    assert not new, "compute with `tracing.on_device` of these numbers, or add a row to the page and to ON_HOST"


@pytest.mark.nightly
@pytest.mark.parametrize("name", CASES)
def test_kernels_of_xla(name):
    # TensorFlow registers these kernels before it compiles for the first time.
    tf.function(tf.negative, jit_compile=True)(1.0)
    assert gpu_kernels.without_kernel(trace_of(name, True), ("XLA_GPU_JIT",)) <= WITHOUT_KERNEL.keys()


@pytest.mark.slow
def test_values_are_not_rounded(monkeypatch):
    monkeypatch.setitem(globals(), "differentiated", lambda function, *inputs: function(*inputs))
    found = set()
    for name in CASES:
        products = (each for each in gpu_kernels.operations(trace_of(name, None)) if "MatMul" in each.type)
        found |= {gpu_kernels.place(each)[0] for each in products if each.outputs[0].dtype == tf.float32}
    assert found == ROUNDED


@pytest.mark.nightly
def test_every_row_is_needed():
    found = [found_in(name) for name in CASES]
    assert set().union(*(missing for missing, _ in found)) == WITHOUT_KERNEL.keys()
    assert set().union(*(copied for _, copied in found)) == ON_HOST.keys()


def test_the_page_has_every_row():
    table = PAGE.read_text().partition("## What stays on the host")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([^|]*) \|", table, flags=re.MULTILINE)[1:]
    assert set(rows) == {*WITHOUT_KERNEL.values(), *ON_HOST.values()}
    assert len(rows) == len(set(rows))


def trace(function, *specs):
    return tf.function(function, autograph=False).get_concrete_function(*specs)


def test_the_check_finds_what_has_no_kernel():
    def run(values):
        return tf.cond(values[0] > 0, lambda: tf.numpy_function(np.sort, [values], tf.float32), lambda: values)

    assert gpu_kernels.without_kernel(trace(run, tf.TensorSpec([5]))) == {"PyFunc of float32"}
    # A kernel need not take every dtype.
    of_floats, of_integers = (trace(tf.sort, tf.TensorSpec([5], dtype)) for dtype in ("float32", "float64"))
    assert gpu_kernels.without_kernel(of_floats) == gpu_kernels.without_kernel(of_integers) == set()
    assert gpu_kernels.without_kernel(trace(tf.math.segment_sum, *[tf.TensorSpec([5], tf.int64)] * 2))


def test_the_check_finds_what_is_copied():
    scores = tf.TensorSpec([2, 5])
    found = gpu_kernels.copied_to_host(trace(lambda values: tf.math.top_k(values, 5).indices + 1, scores))
    assert found == {"other packages": {"0: TopKV2 -> AddV2 (2, 5)"}}
    in_int64 = trace(lambda values: tf.cast(tf.math.top_k(values, 5).indices, tf.int64) + 1, scores)
    assert not gpu_kernels.copied_to_host(in_int64)
