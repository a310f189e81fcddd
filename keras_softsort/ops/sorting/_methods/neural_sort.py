"""NeuralSort as a method."""

from __future__ import annotations

from keras_softsort.ops._core.thresholds import Thresholds
from keras_softsort.ops.sorting._dense.neural_sort import neural_sort_logits
from keras_softsort.ops.sorting._matrix_free.products import MatrixFree, neural_sort_products
from keras_softsort.ops.sorting._methods.method import Method

NEURAL_SORT = Method(
    name="neural_sort",
    row_logits=lambda lists, ranks, _, log: neural_sort_logits(lists, ranks, log),
    # Measured by benchmarks/dense_matrix_free_threshold.py.
    matrix_free=lambda _: MatrixFree(neural_sort_products, degree=1.0, min_size=1024, min_size_compiled=768),
    # Measured by benchmarks/neural_sort_pairwise_threshold.py.
    thresholds=Thresholds(pairwise_max_size=128, pairwise_max_size_top_k=128),
)
