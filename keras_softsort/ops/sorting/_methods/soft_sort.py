"""SoftSort as a method."""

from __future__ import annotations

from keras_softsort.ops.sorting._dense.soft_sort import soft_sort_logits
from keras_softsort.ops.sorting._matrix_free.products import MatrixFree, soft_sort_products
from keras_softsort.ops.sorting._methods.method import Method


def _matrix_free(power: float) -> MatrixFree | None:
    """Products exist for powers 1 and 2."""
    products = soft_sort_products(power)
    if products is None:
        return None
    # Measured by benchmarks/dense_matrix_free_threshold.py. The band of power 2 saves memory rather than time.
    if power == 1:
        return MatrixFree(products, degree=power, min_size=192, min_size_compiled=128)
    return MatrixFree(products, degree=power, min_size=2048, min_size_compiled=2048)


SOFT_SORT = Method(
    name="soft_sort",
    row_logits=lambda lists, ranks, power, _: soft_sort_logits(lists, ranks, power),
    matrix_free=_matrix_free,
    takes_power=True,
)
