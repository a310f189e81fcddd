"""SoftSort's soft permutation as a linear operator."""

from __future__ import annotations

from typing import Any

from keras_softsort._internal import arguments
from keras_softsort.linalg._soft_permutation import SoftPermutation, composite

POWERS = (1, 2)


@composite
class LinearOperatorSoftSort(SoftPermutation):
    """SoftSort's matrix `P [..., rank, item]` as an operator that does not make it.

    Row i is `softmax_j(-|sort(s)_i - s_j|^power / tau)`. With power 1 the weights factor along the sorted order, and
    products are two first-order recurrences; with power 2 only a band of the matrix matters.

    Args:
      scores: floating-point `[..., n]`, a tensor or a variable. The rank may be unknown when traced.
      tau: temperature, positive: a number, tensor or variable, in units of the scores to the `power`. Its shape
        broadcasts against the batch shape of `scores`: a temperature per list.
      power: 1 or 2.
      mask: bool `[..., n]`, True = valid. Masked items come last; masked ranks spread evenly over them.
      direction: `"DESCENDING"` or `"ASCENDING"`.
      eps: with power 2, the weight of a row that may be left out in all, positive; by default less than the dtype
        rounds away. Power 1 leaves nothing out.
      name: the name of the operator.

    `matmul` and `matvec` have gradients with respect to scores, tau and what is multiplied, none of second order.
    Short lists take the dense matrix. Scores that are not finite give NaN in their list. Half precision is computed in
    float32. The batch shapes of scores and values broadcast.

    The operator is a composite tensor: `tf.function`, `tf.cond` and `tf.nest` take and return it, and `operator[0]` is
    the operator of the first list.

    Raises:
      TypeError: scores are not floating-point, `mask` is not bool.
      ValueError: `tau` or `eps` not positive, `eps` with power 1, another power (`ops.soft_sort` makes the matrix of
        any), `mask` of another shape, unknown `direction`.

    Cost: O(n log n) time with power 1, O(n w) for windows of w items with power 2; O(n) memory.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> operator = ks.linalg.LinearOperatorSoftSort(tf.constant([2.0, 5.0, 3.0]), tau=0.01)
    >>> operator.matvec(tf.constant([20.0, 50.0, 30.0])).numpy().tolist()
    [50.0, 30.0, 20.0]

    Source: as for `ops.soft_sort`; the recurrences are this package's.
    """

    def __init__(
        self,
        scores: Any,
        tau: Any,
        *,
        power: float = 1.0,
        mask: Any = None,
        direction: str = "DESCENDING",
        eps: float | None = None,
        name: str = "LinearOperatorSoftSort",
    ) -> None:
        if power not in POWERS:
            raise ValueError(f"power must be 1 or 2, got {power!r}; soft_sort makes the matrix of any other power")
        if eps is not None and power == 1:
            raise ValueError(f"eps must be None with power 1, which leaves nothing out, got {eps!r}")
        self._power = arguments.positive_number("power", power)
        options = {"scores": scores, "tau": tau, "power": power, "mask": mask, "direction": direction, "eps": eps}
        super().__init__(
            scores, tau, mask=mask, direction=direction, eps=eps, parameters={**options, "name": name}, name=name
        )

    @property
    def power(self) -> float:
        """The exponent of the distance."""
        return self._power

    def _method(self) -> dict[str, Any]:
        return {"method": "soft_sort", "power": self._power}
