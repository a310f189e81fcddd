"""Base class of `SinkhornLayer` and `GumbelSinkhornLayer`: the arguments of Sinkhorn, and masks of rows and columns."""

from __future__ import annotations

from typing import Any

from keras_softsort._internal import arguments
from keras_softsort._internal.keras_compat import layer_shape
from keras_softsort.layers._base import TemperatureLayer
from keras_softsort.ops._core import lists


class MatchingLayer(TemperatureLayer):
    """Base class of layers that take logits `[batch, n, m]` of a matching."""

    def __init__(
        self,
        tau: float = 1.0,
        *,
        num_iterations: int = 20,
        tolerance: float | None = None,
        hard: bool = False,
        learn_tau: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(tau, learn_tau=learn_tau, **kwargs)
        self.num_iterations = arguments.positive_integer("num_iterations", num_iterations)
        self.tolerance = None if tolerance is None else arguments.non_negative_number("tolerance", tolerance)
        self.hard = arguments.boolean("hard", hard)

    def build(self, input_shape: Any) -> None:
        """Check that the input is a batch of matrices."""
        shape = self.split_shape(input_shape)
        if len(shape) != 3:
            raise ValueError(f"{self.name}: logits must have shape [batch, n, m], got {shape}")
        self.built = True

    def _matching_arguments(self, inputs: Any, mask: Any, column_mask: Any) -> tuple[Any, dict[str, Any]]:
        """The logits, and the arguments that `ops.sinkhorn` and `ops.gumbel_sinkhorn` share."""
        logits, tau, mask = self.split_inputs(inputs, mask)
        mask = arguments.axis_mask("mask", mask, logits, -2)
        return logits, {
            "tau": tau,
            "num_iterations": self.num_iterations,
            "tolerance": self.tolerance,
            "hard": self.hard,
            "row_mask": mask,
            "column_mask": (
                column_mask if mask is None or column_mask is not None else lists.leading_columns(logits, mask)
            ),
        }

    def compute_output_shape(self, input_shape: Any) -> Any:
        """The shape of the logits."""
        return layer_shape(self.split_shape(input_shape))

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """None: masked entries are 0 in the output, and a loss would read a mask of rows as a mask of items."""
        return None

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        own = {"num_iterations": self.num_iterations, "tolerance": self.tolerance, "hard": self.hard}
        return {**super().get_config(), **own}
