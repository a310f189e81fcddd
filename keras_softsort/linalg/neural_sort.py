"""NeuralSort's soft permutation as a linear operator."""

from __future__ import annotations

from typing import Any

from keras_softsort.linalg._soft_permutation import SoftPermutation, composite


@composite
class LinearOperatorNeuralSort(SoftPermutation):
    """NeuralSort's matrix `P [..., rank, item]` as an operator that does not make it.

    Row i is `softmax_j(((n + 1 - 2 i) s_j - B_j) / tau)`, `B_j = sum_k |s_j - s_k|`. In sorted coordinates a row's
    weights fall from its own item on either side, so that only a band of the matrix matters: `matmul` walks the
    blocks of it, `matmul(adjoint=True)` those of its transpose.

    Args:
      scores: floating-point `[..., n]`, a tensor or a variable. The rank may be unknown when traced.
      tau: temperature, positive: a number, tensor or variable, in units of scores times list size. Its shape broadcasts
        against the batch shape of `scores`: a temperature per list.
      mask: bool `[..., n]`, True = valid. Masked items come last; masked ranks spread evenly over them.
      direction: `"DESCENDING"` or `"ASCENDING"`.
      eps: the weight of a row that may be left out in all, positive; by default less than the dtype rounds away.
      name: the name of the operator.

    `matmul` and `matvec` have gradients with respect to scores, tau and what is multiplied, none of second order.
    Short lists take the dense matrix. Scores that are not finite give NaN in their list. Half precision is computed in
    float32. The batch shapes of scores and values broadcast.

    The operator is a composite tensor: `tf.function`, `tf.cond` and `tf.nest` take and return it, and `operator[0]` is
    the operator of the first list.

    Raises:
      TypeError: scores are not floating-point, `mask` is not bool.
      ValueError: `tau` or `eps` not positive, `mask` of another shape, unknown `direction`.

    Cost: O(n w) time for windows of w items, about `sqrt(30 tau / gap)` of them where scores lie evenly `gap` apart,
    and all n where tau is large; O(n) memory, forward and backward.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> operator = ks.linalg.LinearOperatorNeuralSort(tf.constant([2.0, 5.0, 3.0]), tau=0.01)
    >>> operator.matvec(tf.constant([20.0, 50.0, 30.0])).numpy().tolist()
    [50.0, 30.0, 20.0]
    >>> operator.matvec(tf.constant([1.0, 2.0, 3.0]), adjoint=True).numpy().tolist()  # the ranks
    [3.0, 1.0, 2.0]

    Source: as for `ops.neural_sort`; the band is this package's.
    """

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
        arguments = {"scores": scores, "tau": tau, "mask": mask, "direction": direction, "eps": eps, "name": name}
        super().__init__(scores, tau, mask=mask, direction=direction, eps=eps, parameters=arguments, name=name)

    def _method(self) -> dict[str, Any]:
        return {"method": "neural_sort"}
