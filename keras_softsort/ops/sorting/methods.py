"""The methods of soft sorting by name, which only this module uses, and the checked arguments that choose one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.arguments import compute_dtype
from keras_softsort._internal.unknown_names import instead_of
from keras_softsort.ops.core.axes import moved_axis
from keras_softsort.ops.core.deviations import checked_scale
from keras_softsort.ops.core.tracing import compares_pairs
from keras_softsort.ops.sorting._dense.formulas import neural_sort_logits, soft_sort_logits
from keras_softsort.ops.sorting._lapsum import lapsum_membership, lapsum_ranks
from keras_softsort.ops.sorting._matrix_free.neural_sort import neural_sort_products
from keras_softsort.ops.sorting._matrix_free.products import MatrixFree
from keras_softsort.ops.sorting._matrix_free.soft_sort import soft_sort_products
from keras_softsort.ops.sorting._ordering import Lists, OrderedLists, Ranks, flat_lists
from keras_softsort.ops.sorting._permutahedron.memberships import projected_membership
from keras_softsort.ops.sorting._permutahedron.projection import projected_ranks, projected_scores


class Method(NamedTuple):
    """A method of soft sorting. Functions that it does not have are None, and follow from its matrix if it has one.

    It gives the logits of the rows or the matrix itself. All take lists `[B, n]`, all but `logits` also their
    descending order, masked items last. No sum of a column of a matrix may underflow to 0.
    """

    name: str
    # (lists, ranks, power): [B, r, n]. The soft permutation at these ranks is their softmax over items, divided by tau.
    logits: Callable[[Lists, Ranks, float], tf.Tensor] | None = None
    matrix_free: MatrixFree | None = None  # products without the matrix, for a power of 1
    ranks: Callable[[OrderedLists], tf.Tensor] | None = None  # [B, n] from 1, 0 for masked items
    sorted_scores: Callable[[OrderedLists], tf.Tensor] | None = None  # [B, n], 0 after the valid ones
    membership: Callable[[OrderedLists, tf.Tensor], tf.Tensor] | None = None  # [B, n], summing to k [B or 1, 1]
    takes_power: bool = False
    # [B, n, n]: a soft permutation whose rows are no softmaxes, with a gradient for `scores` and `tau` of the lists.
    # Padding may not change the entries of valid items, which have the first rows.
    matrix: Callable[[OrderedLists], tf.Tensor] | None = None


# The capabilities that an operator may require, and the field of `Method` that provides it where there are no logits.
CAPABILITIES = {"permutation": "matrix", "values": "sorted_scores", "ranks": "ranks", "membership": "membership"}
METHODS: dict[str, Method] = {}


def register(method: Method) -> None:
    """Register `method`, so that every operator, layer and loss knows its name."""
    if method.name in METHODS:
        raise ValueError(f"method names must be unique, got {method.name!r}, which is registered already")
    METHODS[method.name] = method


def names(capability: str = "permutation") -> tuple[str, ...]:
    """The names of the methods that give `capability`, sorted."""
    own = CAPABILITIES[capability]
    return tuple(sorted(name for name, each in METHODS.items() if each.logits or each.matrix or getattr(each, own)))


def checked_method(method: Any, capability: str = "permutation") -> str:
    """Return `method`, checked to be the name of a method with `capability`."""
    allowed = names(capability)
    if method not in allowed:
        if isinstance(method, str) and method in METHODS:
            more = f", which has no {capability}"
        elif callable(method):
            more = "; methods are a fixed set: docs/choosing-an-operator.md has the results of a matrix of your own"
        else:
            more = instead_of(method, allowed)
        raise ValueError(f"method must be one of {list(allowed)}, got {method!r}{more}")
    return method


def checked_power(power: Any, method: str) -> float:
    """Return `power`, checked to be positive, and 1 for a method without a power."""
    number = arguments.positive_number("power", power)
    if number != 1 and not METHODS[method].takes_power:
        raise ValueError(f"power must be 1 with method {method!r}, which has none, got {power!r}")
    return number


def check_power(options: Mapping[str, Any]) -> None:
    """Check that the option `power` fits the option `method`."""
    checked_power(options["power"], options["method"])


class SortArguments(NamedTuple):
    """Checked arguments of a soft sort. `tf.function` accepts it, since it is a nest of tensors and Python values."""

    scores: tf.Tensor  # [..., n], as given but for the list axis, which is the last one
    tau: tf.Tensor  # in the compute dtype: a scalar, or broadcasts against the leading axes
    mask: tf.Tensor | None  # [..., n] bool
    direction: str
    method: str
    power: float
    # Whether the lists are so long that products do without the matrix; None if only the graph knows when it runs. An
    # eager call decides it before its trace, so that the trace holds no other algorithm.
    is_long: bool | None
    # "std": the scores of each list count in their standard deviations.
    scale: str | None = None
    axis: int = -1  # where results have the list axis, counted from the last axis of the scores

    def with_list_axis_last(self, tensor: tf.Tensor) -> tf.Tensor:
        """Move the list axis of `tensor` to where that of the scores was moved. Axes after those of the scores stay."""
        end = self.scores.shape.rank - 1
        return moved_axis(tensor, end + 1 + self.axis, end)

    def with_list_axis_back(self, tensor: tf.Tensor) -> tf.Tensor:
        """Move the list axis of a result to where the scores had it. Axes behind it, such as the items', stay last."""
        end = self.scores.shape.rank - 1
        return tensor if self.axis == -1 else moved_axis(tensor, end, end + 1 + self.axis)

    def lists(self) -> Lists:
        """The lists, flattened to one leading axis."""
        lists = flat_lists(self.scores, self.tau, self.mask, self.direction, bool(self.is_long))
        return lists if self.scale is None else lists.in_deviations()


def sort_arguments(
    scores: Any,
    tau: Any,
    capability: str = "permutation",
    *,
    mask: Any = None,
    direction: str = "DESCENDING",
    method: str = "neural_sort",
    power: float = 1.0,
    scale: str | None = None,
    top_k: int | None = None,
    axis: int = -1,
) -> SortArguments:
    """Check the arguments. `method` must have `capability`, and `top_k` is at most the list size."""
    scores = arguments.list_tensor("scores", scores)
    mask, end = arguments.list_mask(mask, scores), scores.shape.rank - 1
    axis = arguments.axis_of("axis", axis, scores.shape)
    if axis != end:
        scores = moved_axis(scores, axis, end)
        mask = None if mask is None else moved_axis(mask, axis, end)
    method = checked_method(method, capability)
    power = checked_power(power, method)
    return SortArguments(
        scores=arguments.top_k_rows(top_k, scores),
        tau=arguments.temperature(tau, compute_dtype(scores.dtype), scores),
        mask=mask,
        direction=arguments.one_of("direction", direction, arguments.DIRECTIONS),
        method=method,
        power=power,
        is_long=_is_long(method, power, scores.shape[-1]),
        scale=None if scale is None else checked_scale(scale),
        axis=axis - end - 1,
    )


def sort_of_lists(
    scores: tf.Tensor, tau: tf.Tensor, mask: tf.Tensor | None, method: str = "neural_sort", power: float = 1.0
) -> SortArguments:
    """The arguments for sorting checked lists `[..., B, n]` in the compute dtype. `tau` is a scalar or `[B, 1]`."""
    tau = tau if tau.shape.rank == 0 else tau[:, 0]
    return SortArguments(scores, tau, mask, "DESCENDING", method, power, _is_long(method, power, scores.shape[-1]))


def _is_long(method: str, power: float, size: int | None) -> bool | None:
    matrix_free = METHODS[method].matrix_free
    if matrix_free is None or power != 1:
        return False
    return None if size is None else size >= matrix_free.min_size and not compares_pairs(size)


# From these sizes on it is faster, by benchmarks/operators/dense_matrix_free_threshold.py.
register(Method("neural_sort", neural_sort_logits, MatrixFree(neural_sort_products, min_size=1024)))
register(Method("soft_sort", soft_sort_logits, MatrixFree(soft_sort_products, min_size=192), takes_power=True))
register(Method("lapsum", ranks=lapsum_ranks, membership=lapsum_membership))
for _name, _entropic in (("projection", False), ("projection_kl", True)):
    register(
        Method(
            _name,
            ranks=functools.partial(projected_ranks, entropic=_entropic),
            sorted_scores=functools.partial(projected_scores, entropic=_entropic),
            membership=functools.partial(projected_membership, entropic=_entropic),
        )
    )
