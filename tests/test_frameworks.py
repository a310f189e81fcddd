"""Operators called from JAX and PyTorch, by the code of the pages in the documentation: `nox -s frameworks`."""

import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
from support.readme import README, fenced_blocks

import keras_softsort as ks

# PyTorch warns where it finds no GPU.
pytestmark = [pytest.mark.default_stack_only, pytest.mark.filterwarnings("ignore:CUDA init")]

RANDOM = np.random.default_rng(0)
SCORES, LABELS = RANDOM.normal(size=(4, 9)).astype("float32"), RANDOM.integers(0, 3, (4, 9)).astype("float32")
MATRICES = RANDOM.normal(size=(3, 6, 6)).astype("float32")
TAU = np.float32(0.7)
OPERATORS = {
    "soft_rank": (lambda scores: ks.ops.soft_rank(scores, 0.1), [SCORES]),
    "neural_sort": (ks.ops.neural_sort, [SCORES]),
    "sinkhorn": (lambda logits: ks.ops.sinkhorn(logits, 0.5), [MATRICES]),
    "ranknet_loss": (ks.ops.ranknet_loss, [SCORES, LABELS]),
    "plackett_luce_loss": (ks.ops.plackett_luce_loss, [SCORES, LABELS]),
}


def only_block(page):
    (block,) = fenced_blocks((README.parent / "docs" / "guides" / page).read_text())
    return block


def names_of_page(page):
    """The names that the only block of a page defines."""
    names = {"__name__": "page"}
    exec(compile(only_block(page), page, "exec"), names)
    return names


def imported_torch():
    """PyTorch, where it was imported before TensorFlow: Triton ends a process that has TensorFlow already."""
    torch = pytest.importorskip("torch")
    if "torch._dynamo" not in sys.modules:
        pytest.skip("needs `pytest -p torch._dynamo`")
    return torch


def truth(function, inputs):
    """The sum of squares, and its gradient with respect to the first input."""
    first, *others = map(tf.constant, inputs)
    with tf.GradientTape() as tape:
        tape.watch(first)
        value = tf.reduce_sum(tf.square(function(first, *others)))
    return value, tape.gradient(value, first)


@pytest.mark.parametrize("name", OPERATORS)
def test_jax(name):
    jax = pytest.importorskip("jax")
    function, inputs = OPERATORS[name]
    converted = names_of_page("from-jax.md")["from_tensorflow"](function)

    def value(first, *others):
        return jax.numpy.sum(converted(first, *others) ** 2)

    wanted, right = truth(function, inputs)
    for run in (jax.value_and_grad(value), jax.jit(jax.value_and_grad(value))):
        found, gradient = run(*map(jax.numpy.asarray, inputs))
        np.testing.assert_allclose(found, wanted, rtol=1e-5)
        np.testing.assert_allclose(gradient, right, rtol=1e-4, atol=1e-4 * np.max(np.abs(right)))


def test_jax_assignment():
    jax = pytest.importorskip("jax")
    found = names_of_page("from-jax.md")["assignment"](jax.numpy.asarray(MATRICES))
    np.testing.assert_array_equal(found, ks.linear_assignment(MATRICES))


def test_the_page_of_torch_runs_in_a_process_of_its_own():
    """It takes the steps of an optimizer, which end a process that has imported TensorFlow first."""
    pytest.importorskip("torch")
    done = subprocess.run(
        [sys.executable, "-c", only_block("from-torch.md")], capture_output=True, check=False, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", OPERATORS)
def test_torch(name):
    torch = imported_torch()
    function, inputs = OPERATORS[name]
    converted = names_of_page("from-torch.md")["FromTensorFlow"]
    first, *others = map(torch.tensor, inputs)
    first.requires_grad_()
    value = (converted.apply(function, first, *others) ** 2).sum()
    value.backward()
    wanted, right = truth(function, inputs)
    np.testing.assert_allclose(value.detach(), wanted, rtol=1e-5)
    np.testing.assert_allclose(first.grad, right, rtol=1e-4, atol=1e-4 * np.max(np.abs(right)))


@pytest.mark.parametrize("name", [*OPERATORS, "soft_top_k", "soft_rank_and_tau"])
def test_gradcheck_of_torch(name):
    """One result or several, one gradient of a tape or many."""
    torch = imported_torch()
    function, inputs = {
        **OPERATORS,
        "soft_top_k": (lambda scores: ks.ops.soft_top_k(scores, 2, 0.7), [SCORES]),
        "soft_rank_and_tau": (ks.ops.soft_rank, [SCORES, TAU]),
    }[name]
    converted = names_of_page("from-torch.md")["FromTensorFlow"]
    tensors = [torch.tensor(each[:2, :4] if each.ndim else each, dtype=torch.float64) for each in inputs]
    for tensor, array in zip(tensors, inputs, strict=True):
        tensor.requires_grad_(array is not LABELS)
    assert torch.autograd.gradcheck(lambda *given: converted.apply(function, *given), tensors)


def test_torch_has_the_results_of_the_operator():
    torch = imported_torch()
    converted = names_of_page("from-torch.md")["FromTensorFlow"]
    mask = SCORES < 1
    found = converted.apply(lambda x, m: ks.ops.soft_top_k(x, 3, mask=m), torch.tensor(SCORES), torch.tensor(mask))
    wanted = ks.ops.soft_top_k(SCORES, 3, mask=mask)
    assert len(found) == len(wanted) == 2
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
