"""Running sums, as products with a triangle and one by one."""

import numpy as np
import pytest
import tensorflow as tf

from keras_softsort.ops._core import running_sums

SIZES = [0, 1, 16, 17, 128, 129, 256, 257]


@pytest.mark.parametrize("jit_compile", [None, True], ids=["traced", "xla"])
def test_sums_are_those_of_numpy(jit_compile):
    @tf.function(jit_compile=jit_compile, autograph=False)
    def both(terms):
        return running_sums.sums_up_to(terms), running_sums.sums_after(terms)

    for size in SIZES:
        terms = np.random.default_rng(size).exponential(size=(3, size)).astype(np.float32)
        up_to, after = both(tf.constant(terms))
        wide = terms.astype(np.float64)
        np.testing.assert_allclose(up_to, np.cumsum(wide, axis=1), rtol=1e-5)
        np.testing.assert_allclose(after, np.cumsum(wide[:, ::-1], axis=1)[:, ::-1] - wide, rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize(
    ("size", "keeps_digits", "product"), [(50, True, True), (50, False, False), (257, True, False)]
)
def test_products_only_where_they_are_fast_and_exact(size, keeps_digits, product, monkeypatch):
    monkeypatch.setattr(running_sums, "products_keep_digits", lambda dtype: keeps_digits)

    def kinds(sums):
        graph = tf.function(sums, autograph=False).get_concrete_function(tf.TensorSpec([2, size])).graph
        return {operation.type for operation in graph.get_operations()}

    for sums in (running_sums.sums_up_to, running_sums.sums_after):
        assert ("MatMul" in kinds(sums)) == product
        assert ("Cumsum" in kinds(sums)) != product
