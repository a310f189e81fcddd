"""NeuralSort's soft permutation as a linear operator."""

from __future__ import annotations

from typing import Any

from keras_softsort._internal.export import export
from keras_softsort.linalg._soft_permutation import SoftPermutation, composite


@export
@composite
class LinearOperatorNeuralSort(SoftPermutation):
    """NeuralSort's soft permutation `P [..., rank, item]` as a linear operator that never forms the matrix.

    Row i of P, from 1, is `softmax_j(((n + 1 - 2 i) s_j - B_j) / tau)` with `B_j = sum_k |s_j - s_k|`. In the sorted
    order the weights of a row decrease on both sides of its own item, so only a band of the matrix matters. `matmul`
    computes with the blocks of this band, and `matmul(adjoint=True)` with those of its transpose.

    Args:
      scores: floating-point `[..., n]`, a tensor or a variable. The rank may be unknown when traced.
      tau: temperature, a positive number, tensor or variable, in units of scores times list size. Its shape broadcasts
        against the batch shape of `scores`: a temperature per list.
      mask: bool `[..., n]`, True for valid items. Masked items come last, and their ranks spread evenly over them.
      direction: order of the ranks, `"DESCENDING"` or `"ASCENDING"`.
      eps: largest total weight of a row that may be left out, positive. None leaves out less than rounding error.
      name: name of the operator.

    `matmul` and `matvec` have first-order gradients with respect to scores, tau and the argument. There are no second
    derivatives. Short lists use the dense matrix. A score that is not finite makes the results of its list NaN. Half
    precision is computed in float32. The batch shapes of scores and values broadcast.

    The operator is a composite tensor: `tf.function`, `tf.cond` and `tf.nest` take and return it, and `operator[0]` is
    the operator of the first list. `scores`, `tau`, `mask`, `direction` and `eps` are attributes.

    Raises:
      TypeError: `scores` is not floating-point, or `mask` is not bool.
      ValueError: `tau` or `eps` is not positive, `mask` has another shape, or `direction` is unknown.

    Cost: O(n w) time and O(n) memory per list, forward and backward. w is the number of items in the band, about
    `sqrt(30 tau / gap)` for scores that lie evenly `gap` apart, and n if tau is large.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> operator = ks.linalg.LinearOperatorNeuralSort(tf.constant([2.0, 5.0, 3.0]), tau=0.01)
    >>> operator.matvec(tf.constant([20.0, 50.0, 30.0])).numpy().tolist()
    [50.0, 30.0, 20.0]
    >>> operator.matvec(tf.constant([1.0, 2.0, 3.0]), adjoint=True).numpy().tolist()  # the ranks
    [3.0, 1.0, 2.0]

    Source: that of `ops.neural_sort`. The band is from this package.
    """

    _method = "neural_sort"

    def __init__(
        self,
        scores: Any,
        tau: Any,
        *,
        mask: Any = None,
        direction: str = "DESCENDING",
        eps: float | None = None,
        name: str = "LinearOperatorNeuralSort",
    ) -> None:
        own = {"scores": scores, "tau": tau, "mask": mask, "direction": direction, "eps": eps, "name": name}
        super().__init__(own, eps)
