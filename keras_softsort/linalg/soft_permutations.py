"""The soft permutations of NeuralSort and SoftSort as linear operators: products without the matrix."""

from __future__ import annotations

import numbers
from typing import Any

import tensorflow as tf
import tensorflow_probability as tfp

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.ops.core.axes import broadcast_leading, flatten_lists, with_static_shape
from keras_softsort.ops.core.order import valid_counts
from keras_softsort.ops.sorting import dispatch
from keras_softsort.ops.sorting.methods import SortArguments, sort_arguments

# Makes a subclass a composite tensor: its tensors are components, its other arguments are part of its type.
composite = tfp.experimental.auto_composite_tensor(
    non_identifying_kwargs=("name",), module_name="keras_softsort.linalg"
)
_OperatorGradient: Any = type(tf.linalg.LinearOperator.__composite_gradient__)


class _Gradient(_OperatorGradient):
    """The gradient with respect to an operator is an operator, and it needs the same mask."""

    def replace_gradient_components(self, value: Any, components: dict[str, Any]) -> Any:
        if any(component is not None for component in components.values()) and value.mask is not None:
            components = {**components, "mask": value.mask}
        return super().replace_gradient_components(value, components)


class SoftPermutation(tf.linalg.LinearOperator):
    """A soft permutation `[..., n, n]` of `scores` `[..., n]`: `matmul` sorts values, its adjoint reverses that."""

    __composite_gradient__ = _Gradient()
    _method: str  # the `method` of `ops.soft_values` with this soft permutation

    def __init__(self, parameters: dict[str, Any], eps: float | None = None) -> None:
        scores, tau, mask, name = (parameters[key] for key in ("scores", "tau", "mask", "name"))
        with tf.name_scope(name):
            self.scores = scores if isinstance(scores, tf.Variable) else arguments.dense_tensor("scores", scores)
            # A variable stays a variable and is read at each product.
            is_tensor = not isinstance(tau, (tf.Variable, numbers.Real))
            self.tau = arguments.dense_tensor("tau", tau) if is_tensor else tau
            self.mask = None if mask is None else arguments.bool_mask("mask", mask)
            self.direction = parameters["direction"]
            self.eps = None if eps is None else arguments.positive_number("eps", eps)
            if self.scores.shape.rank is None:
                checked, *_ = self._flat_arguments()
            else:
                checked = self._sort_arguments(self.scores, self.tau, self.mask)
            if is_tensor and self.tau.shape.rank == self.scores.shape.rank is not None:
                self.tau = tf.squeeze(self.tau, axis=-1)  # the trailing axis of a `Dense(1)`
        super().__init__(dtype=checked.scores.dtype, is_square=True, parameters=parameters, name=name)

    @property
    def _experimental_parameter_ndims_to_matrix_ndims(self) -> dict[str, int]:
        """The parameters to slice, with the number of their axes that belong to the matrix."""
        sliced = {"scores": 1, "mask": 1}
        return sliced if isinstance(self.tau, numbers.Real) else {**sliced, "tau": 0}

    def _sort_arguments(self, scores: Any, tau: Any, mask: Any) -> SortArguments:
        return sort_arguments(scores, tau, mask=mask, direction=self.direction, method=self._method)

    def _flat_arguments(self, *values: tf.Tensor) -> tuple[SortArguments, list[tf.Tensor], tf.Tensor]:
        """Flatten leading axes, which broadcast: lists `[B, n]`, `values` as `[B, n, d]`, and the axes."""
        own = {"scores": (arguments.dense_tensor("scores", self.scores), 1)}
        if self.mask is not None:
            own["mask"] = (self.mask, 1)
        if not isinstance(self.tau, numbers.Real):
            own["tau"] = (arguments.dense_tensor("tau", self.tau), 0)
        tensors, inner = zip(*own.values(), *((value, 2) for value in values), strict=True)
        batched = broadcast_leading(tensors, inner)
        flat = [flatten_lists(*pair) for pair in zip(batched, inner, strict=True)]
        lists = dict(zip(own, flat[: len(own)], strict=True))
        args = self._sort_arguments(lists["scores"], lists.get("tau", self.tau), lists.get("mask"))
        return args, flat[len(own) :], tf.shape(batched[0])[:-1]

    def matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul") -> Any:
        """The product with a matrix `x` `[..., n, d]`, as of every `tf.linalg.LinearOperator`."""
        if not isinstance(x, tf.linalg.LinearOperator):
            x = _of_rank(x, 2, "[..., n, d]; matvec takes vectors [..., n]")
        return super().matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg, name=name)

    def matvec(self, x: Any, adjoint: bool = False, name: str = "matvec") -> tf.Tensor:
        """The product with a vector `x` `[..., n]`, as of every `tf.linalg.LinearOperator`."""
        return super().matvec(_of_rank(x, 1, "[..., n]"), adjoint=adjoint, name=name)

    def _shape(self) -> tf.TensorShape:
        shape = tf.TensorShape(self.scores.shape)
        return shape.concatenate(shape[-1:])

    def _shape_tensor(self) -> tf.Tensor:
        shape = tf.shape(self.scores)
        return tf.concat([shape, shape[-1:]], axis=0)

    def _to_dense(self) -> tf.Tensor:
        args, _, leading = self._flat_arguments()
        return with_static_shape(_with_leading(dispatch.permutation(args), leading), self.shape)

    def _matmul(self, x: tf.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> tf.Tensor:
        x = tf.linalg.adjoint(x) if adjoint_arg else x
        args, (flat,), leading = self._flat_arguments(x)
        product = dispatch.multiply_transposed if adjoint else dispatch.multiply
        result = product(args, flat, eps=self.eps)
        if args.mask is not None:
            result += _of_masked(flat, args.mask, adjoint)
        return _with_leading(result, leading)


@export
@composite
class LinearOperatorNeuralSort(SoftPermutation):
    """NeuralSort's soft permutation `P [..., rank, item]` as a linear operator that never forms the matrix.

    Use it to sort many columns, or long lists, by the same scores. In the sorted order the weights of a row decrease on
    both sides of its own item, so only a band of the matrix matters. `matmul` computes it in blocks. `ops.neural_sort`
    has the formula and source; the band is from this package.

    Args:
      scores: floating-point `[..., n]`, a tensor or a variable. The rank may be unknown when traced.
      tau: temperature in units of the scores times the list size, positive: a number, tensor or variable whose shape
        broadcasts against the batch shape of `scores`.
      mask: bool `[..., n]`, True for valid items. Masked items come last, and their ranks spread evenly over them.
      direction: order of the ranks, `"DESCENDING"` or `"ASCENDING"`.
      eps: largest total weight of a row that may be left out, positive. None leaves out less than rounding error.
      name: name of the operator.

    `matmul` and `matvec` have first-order gradients with respect to scores, tau and the argument, and no second
    derivatives. Short lists use the dense matrix. A score that is not finite makes its list NaN. Half precision is
    computed in float32. The batch shapes of scores and values broadcast. The operator is a composite tensor,
    `operator[0]` is that of the first list, and the arguments are attributes.

    Raises:
      TypeError: `scores` is not floating-point, or `mask` is not bool.
      ValueError: `tau` or `eps` is not positive, `direction` is unknown, or shapes do not match.

    Cost: O(n w) time and O(n) memory per list, forward and backward. w is the number of items in the band, about
    `sqrt(30 tau / gap)` for scores that lie evenly `gap` apart, and n if tau is large.

    Example:
      >>> ks.linalg.LinearOperatorNeuralSort([2.0, 5.0, 3.0], tau=0.01).matvec([20.0, 50.0, 30.0]).numpy().tolist()
      [50.0, 30.0, 20.0]
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


@export
@composite
class LinearOperatorSoftSort(SoftPermutation):
    """SoftSort's soft permutation `P [..., rank, item]` as a linear operator that never forms the matrix.

    Row i of P is `softmax_j(-|sort(s)_i - s_j| / tau)`. The weights factor along the sorted order, so a product is two
    first-order recurrences: O(n log n) time and O(n) memory per list. For other powers of the distance,
    `ops.soft_sort`, which has the source, forms the matrix. Gradients, numbers that are not finite, attributes and
    errors are as in `LinearOperatorNeuralSort`.

    Args:
      scores, mask, direction, name: as in `LinearOperatorNeuralSort`.
      tau: as in `LinearOperatorNeuralSort`, but in units of the scores.

    Example:
      >>> ks.linalg.LinearOperatorSoftSort([2.0, 5.0, 3.0], tau=0.01).matvec([20.0, 50.0, 30.0]).numpy().tolist()
      [50.0, 30.0, 20.0]
    """

    _method = "soft_sort"

    def __init__(
        self,
        scores: Any,
        tau: Any,
        *,
        mask: Any = None,
        direction: str = "DESCENDING",
        name: str = "LinearOperatorSoftSort",
    ) -> None:
        super().__init__({"scores": scores, "tau": tau, "mask": mask, "direction": direction, "name": name})


def _of_rank(x: Any, least: int, expected: str) -> Any:
    """Return `x`, which has at least `least` axes. TensorFlow's own error does not name it."""
    tensor = x if tf.is_tensor(x) else arguments.dense_tensor("x", x)
    if tensor.shape.rank is not None and tensor.shape.rank < least:
        raise ValueError(f"x must have shape {expected}, got {tensor.shape}")
    return x


def _with_leading(matrices: tf.Tensor, leading: tf.Tensor) -> tf.Tensor:
    """Restore the leading axes of `matrices` `[B, n, m]`."""
    return tf.reshape(matrices, tf.concat([leading, tf.shape(matrices)[1:]], axis=0))


def _of_masked(x: tf.Tensor, mask: tf.Tensor, adjoint: bool) -> tf.Tensor:
    """Compute the part of masked ranks, which spread evenly over masked items. The adjoint swaps the two."""
    count = valid_counts(mask, keepdims=True)
    masked_ranks = tf.range(tf.shape(mask)[-1]) >= count
    source, target = (masked_ranks, ~mask) if adjoint else (~mask, masked_ranks)
    masked = tf.where(source[..., tf.newaxis], x, tf.zeros_like(x))
    size = tf.cast(valid_counts(source), x.dtype)[..., tf.newaxis, tf.newaxis]
    mean = tf.math.divide_no_nan(tf.reduce_sum(masked, axis=-2, keepdims=True), size)
    return tf.where(target[..., tf.newaxis], mean, tf.zeros_like(mean))
