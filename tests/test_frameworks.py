"""Operators called from JAX and PyTorch, by the code of the pages in the documentation: `nox -s frameworks`."""

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
OPERATORS = {
    "soft_rank": (lambda scores: ks.ops.soft_rank(scores, 0.1), [SCORES]),
    "neural_sort": (ks.ops.neural_sort, [SCORES]),
    "sinkhorn": (lambda logits: ks.ops.sinkhorn(logits, 0.5), [MATRICES]),
    "ranknet_loss": (ks.ops.ranknet_loss, [SCORES, LABELS]),
    "plackett_luce_loss": (ks.ops.plackett_luce_loss, [SCORES, LABELS]),
}


def names_of_page(page):
    """The names that the only block of a page defines."""
    (block,) = fenced_blocks((README.parent / "docs" / "guides" / page).read_text())
    names = {"__name__": "page"}
    exec(compile(block, page, "exec"), names)
    return names


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


@pytest.mark.parametrize("name", OPERATORS)
def test_torch(name):
    torch = pytest.importorskip("torch")
    function, inputs = OPERATORS[name]
    converted = names_of_page("from-torch.md")["FromTensorFlow"]
    first, *others = map(torch.tensor, inputs)
    first.requires_grad_()
    value = (converted.apply(function, first, *others) ** 2).sum()
    value.backward()
    wanted, right = truth(function, inputs)
    np.testing.assert_allclose(value.detach(), wanted, rtol=1e-5)
    np.testing.assert_allclose(first.grad, right, rtol=1e-4, atol=1e-4 * np.max(np.abs(right)))
