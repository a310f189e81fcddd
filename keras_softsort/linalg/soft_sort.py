"""SoftSort's soft permutation as a linear operator."""

from __future__ import annotations

from typing import Any

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.linalg._soft_permutation import SoftPermutation, composite

POWERS = (1, 2)


@export
@composite
class LinearOperatorSoftSort(SoftPermutation):
    """SoftSort's soft permutation `P [..., rank, item]` as a linear operator that never forms the matrix.

    Row i of P is `softmax_j(-|sort(s)_i - s_j|^power / tau)`. With power 1 the weights factor along the sorted order,
    and a product is two first-order recurrences. With power 2 only a band of the matrix matters.

    Args:
      scores: floating-point `[..., n]`, a tensor or a variable. The rank may be unknown when traced.
      tau: temperature, a positive number, tensor or variable, in units of the scores to the `power`. Its shape
        broadcasts against the batch shape of `scores`: a temperature per list.
      power: exponent of the distance of scores, 1 or 2. `ops.soft_sort` forms the matrix of any other power.
      mask: bool `[..., n]`, True for valid items. Masked items come last, and their ranks spread evenly over them.
      direction: order of the ranks, `"DESCENDING"` or `"ASCENDING"`.
      eps: with power 2, the largest total weight of a row that may be left out, positive. None leaves out less than
        rounding error. Power 1 leaves nothing out.
      name: name of the operator.

    `matmul` and `matvec` have first-order gradients with respect to scores, tau and the argument. There are no second
    derivatives. Short lists use the dense matrix. A score that is not finite makes the results of its list NaN. Half
    precision is computed in float32. The batch shapes of scores and values broadcast.

    The operator is a composite tensor: `tf.function`, `tf.cond` and `tf.nest` take and return it, and `operator[0]` is
    the operator of the first list.

    Raises:
      TypeError: `scores` is not floating-point, or `mask` is not bool.
      ValueError: `tau` or `eps` is not positive, `power` is neither 1 nor 2, `eps` is given with power 1, `mask` has
        another shape, or `direction` is unknown.

    Cost: O(n log n) time with power 1, and O(n w) for a band of w items with power 2; O(n) memory per list.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> operator = ks.linalg.LinearOperatorSoftSort(tf.constant([2.0, 5.0, 3.0]), tau=0.01)
    >>> operator.matvec(tf.constant([20.0, 50.0, 30.0])).numpy().tolist()
    [50.0, 30.0, 20.0]

    Source: that of `ops.soft_sort`. The recurrences are from this package.
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
            raise ValueError(f"power must be 1 or 2, got {power!r}; ops.soft_sort forms the matrix of any other power")
        if eps is not None and power == 1:
            raise ValueError(f"eps must be None with power 1, which leaves nothing out, got {eps!r}")
        self._power = arguments.positive_number("power", power)
        options = {"scores": scores, "tau": tau, "power": power, "mask": mask, "direction": direction, "eps": eps}
        super().__init__(
            scores, tau, mask=mask, direction=direction, eps=eps, parameters={**options, "name": name}, name=name
        )

    @property
    def power(self) -> float:
        """The exponent of the distance of scores."""
        return self._power

    def _method(self) -> dict[str, Any]:
        return {"method": "soft_sort", "power": self._power}
