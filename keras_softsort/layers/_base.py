"""Base classes for layers with a temperature: the weight, a temperature per example, input checks, masks."""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort._internal.unknown_names import other_name
from keras_softsort._keras.compat import (
    IS_KERAS_3,
    add_scalar_weight,
    exp_of_weight,
    keras,
    layer_shape,
    mask_of_call,
    plain_number,
)
from keras_softsort._keras.options import KeepsOptions
from keras_softsort.ops.core.axes import of_all_entries
from keras_softsort.ops.core.deviations import checked_scale
from keras_softsort.ops.core.temperature import temperature_per_example

# The checks of the options that layers share.
CHECKS: dict[str, Any] = {
    "axis": arguments.integer,
    "direction": arguments.choice(*arguments.DIRECTIONS),
    "hard": arguments.boolean,
    "k": arguments.positive_integer,
    "noise_scale": arguments.non_negative_number,
    "num_iterations": arguments.positive_integer,
    "num_samples": arguments.optional_positive_integer,
    "scale": lambda _, scale: checked_scale(scale),
    "seed": arguments.optional_integer,
    "tolerance": arguments.optional(arguments.non_negative_number),
    "top_k": arguments.optional_positive_integer,
}


class LayerOptions(KeepsOptions):
    """A layer with options. An argument that has another name here raises an error that gives the name to use."""

    def __init__(self, **kwargs: Any) -> None:
        self._refuse(name for name in kwargs if other_name(name, self._all_arguments()))
        super().__init__(**kwargs)

    def _keep_checked(self, **options: Any) -> None:
        """Check each option by its name, and keep it."""
        self._keep_options(**{name: CHECKS[name](name, value) for name, value in options.items()})

    def _options(self, *names: str) -> dict[str, Any]:
        """The options of these names, as the attributes hold them now."""
        return {name: getattr(self, name) for name in names}


@export
class TemperatureLayer(LayerOptions, keras.layers.Layer):
    """Base class of layers with a temperature. It describes what all of them share.

    Args:
      tau: initial temperature, a positive number. It is stored in the non-trainable weight `layer.tau`, which is saved
        and exported with the model. Change it during training with `TauSchedule`, `layer.tau.assign(...)` or
        `layer.tau = ...`; none of them makes a new trace.
      learn_tau: whether to train the temperature. The trainable weight is then its logarithm, `layer.log_tau`, and
        `layer.tau` is the tensor `exp(log_tau)`. `TauSchedule` skips such a layer, or raises if the layer is named.
      **kwargs: arguments of `keras.layers.Layer`. Under a policy of mixed precision pass `dtype="float32"`: half
        precision rounds small entries of a soft permutation to 0, which has no gradient.

    Input: layers of scores take `[batch, n]`, or `[batch, n, 1]` from a `Dense(1)`. For a temperature per example, pass
    it after the input: `layer([scores, tau])`, with `tau` of shape `[batch]` or `[batch, 1]`. It may come from another
    part of the model, and it replaces the weight. The mask, bool `[batch, n]` and True for valid items, comes from
    Keras or the caller: `layer(scores, mask=mask)`.

    Noise: layers that sample do so during training (`training=True`, as in `fit`). Every sample, call and replica has
    its own noise. The `seed` is an integer for reproducible noise; None draws one from Python's generator (see
    `keras.utils.set_random_seed`). The number of calls is a weight, so training resumes with the next noise after a
    saved model is loaded. In inference there is no noise, and an exported model draws no random numbers.

    AutoGraph does not convert `call` on either Keras: in a subclass use `tf.cond` and `tf.while_loop`.

    Raises:
      ValueError: `tau` is not positive, another option is out of range, or the input has another shape.
      TypeError: the input is not floating-point, or an option has another type.

    Example:
      >>> layer, scores = ks.SoftRankLayer(tau=1.0), tf.constant([[2.0, 5.0, 3.0]])
      >>> [round(float(rank), 2) for rank in layer(scores)[0]]
      [2.69, 1.06, 2.26]
      >>> layer.tau = 0.1
      >>> [round(float(rank), 2) for rank in layer(scores)[0]]
      [3.0, 1.0, 2.0]
    """

    # The number of inputs without the temperature.
    num_inputs = 1

    def __init__(self, tau: float = 1.0, *, learn_tau: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True
        self._initial_tau = arguments.positive_number("tau", tau)
        self._keep_options(learn_tau=arguments.boolean("learn_tau", learn_tau))
        self.log_tau: Any = None
        if self.learn_tau:
            self.log_tau = add_scalar_weight(self, "log_tau", math.log(self._initial_tau), trainable=True)
        else:
            self._fixed_tau = add_scalar_weight(self, "tau", self._initial_tau)

    @property
    def tau(self) -> Any:
        """The current temperature: a weight, or with `learn_tau` a tensor."""
        return exp_of_weight(self.log_tau) if self.learn_tau else self._fixed_tau

    @tau.setter
    def tau(self, value: Any) -> None:
        number = arguments.positive_number("tau", plain_number(value))
        if self.learn_tau:
            self.log_tau.assign(math.log(number))
        else:
            self._fixed_tau.assign(number)

    @tf.autograph.experimental.do_not_convert  # which takes Keras 2 longer than the rest
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the layer. It is an error if `layer.tau.trainable` was set, which would not train the temperature."""
        if not self.learn_tau and self._fixed_tau.trainable:
            raise ValueError(f"{self.name}: tau is not trained; make the layer with learn_tau=True to train it")
        return super().__call__(*args, **kwargs)

    def split_inputs(self, inputs: Any, mask: Any = None) -> tuple[Any, Any, Any]:
        """The inputs without the temperature, the temperature (a scalar or [batch]), and the mask or masks."""
        if any(each is None for each in (inputs if isinstance(inputs, (list, tuple)) else [inputs])):
            raise TypeError(f"{self.name}: the input must be a tensor or a list of tensors, got {inputs!r}")
        mask = mask_of_call(inputs, mask)
        inputs, tau = _split(inputs, self.num_inputs)
        return inputs, self.tau if tau is None else tf.reshape(tau, [-1]), self.split_mask(mask)

    def split_mask(self, mask: Any) -> Any:
        """The mask or masks of the inputs without the one of the temperature."""
        if not isinstance(mask, (list, tuple)):
            return mask
        return mask[0] if self.num_inputs == 1 else list(mask[: self.num_inputs])

    def split_shape(self, input_shape: Any) -> Any:
        """The shape or shapes of the inputs without the one of the temperature, which is checked."""
        input_shape = known_shape(input_shape)
        if not _is_list(input_shape):
            return tuple(input_shape)
        shapes = [tuple(shape) for shape in input_shape]
        shapes, tau = _split(shapes, self.num_inputs)
        if tau is not None and (len(tau) not in (1, 2) or tau[1:] not in ((), (1,))):
            raise ValueError(f"{self.name}: tau must have shape [batch] or [batch, 1], got {tau}")
        return shapes

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "tau": self._initial_tau}


class SortingLayer(TemperatureLayer):
    """Base class of layers with a temperature that take scores `[batch, n]`, or `[batch, n, 1]` from a `Dense(1)`."""

    # The option that is at most the list size, or None.
    _rows_option: str | None = None
    # The axis of the items, which some layers have as an option. With another one than -1, scores may have any rank.
    axis = -1
    _list_axis = 1  # from 0

    def build(self, input_shape: Any) -> None:
        """Check that the input is a batch of lists, with as many items as the layer needs."""
        shape = self.scores_shape(input_shape)
        self._list_axis = range(len(shape))[self.axis]
        size = shape[self._list_axis]
        name = self._rows_option
        count = None if name is None else getattr(self, name)
        if count is not None and size is not None and count > size:
            raise ValueError(f"{self.name}: {name} must be at most the list size, {size}, got {count}")
        self.built = True

    def scores_shape(self, input_shape: Any) -> tuple[int | None, ...]:
        """The shape of the scores: `[batch, n]`, or any shape if there is an `axis`."""
        shape = self.split_shape(input_shape)
        if self.axis != -1:
            if _is_list(shape) or not -len(shape) <= self.axis < len(shape):
                raise ValueError(
                    f"{self.name}: axis must be an axis of the shape of the scores, {shape}, got {self.axis}"
                )
            if range(len(shape))[self.axis] == 0:
                raise ValueError(
                    f"{self.name}: axis must not be the batch, got {self.axis} for scores of shape {shape}"
                )
            return shape
        if not (len(shape) == 2 or (len(shape) == 3 and shape[2] == 1)) or _is_list(shape):
            raise ValueError(f"{self.name}: scores must have shape [batch, n] or [batch, n, 1], got {shape}")
        return shape[0], shape[1]

    def result_shape(self, input_shape: Any, count: int | None = None, *, is_matrix: bool = False) -> Any:
        """The shape of the scores with `count` in place of the list size n, if it is given. A matrix has a last n."""
        shape = self.scores_shape(input_shape)
        axis = range(len(shape))[self.axis]
        size = shape[axis]
        ranks = size if count is None else count
        return layer_shape((*shape[:axis], ranks, *shape[axis + 1 :], *([size] if is_matrix else [])))

    def split_scores(self, inputs: Any, mask: Any = None) -> tuple[Any, Any, Any]:
        """The scores, the temperature to use, and the mask of the scores."""
        scores, tau, mask = self.split_inputs(inputs, mask)
        if self.axis != -1:
            tau = temperature_per_example(tf.convert_to_tensor(tau), scores)
            return scores, tau, of_all_entries("mask", mask, scores)
        return tf.squeeze(scores, axis=-1) if len(scores.shape) == 3 else scores, tau, mask

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """The mask of the scores."""
        return self.split_mask(mask)


def ranks_mask(mask: Any, count: int | None = None, axis: int = 1) -> Any:
    """The mask of ranks along `axis`: as many leading ranks as there are valid items, of all or the first `count`.

    A mask of fewer axes is the same for all items.
    """
    if mask is None or len(mask.shape) <= axis:
        return mask
    ops = keras.ops if IS_KERAS_3 else tf  # Keras 3 calls `compute_mask` with symbolic masks, which only it can add up
    valid, before = ops.cast(mask, "int32"), tuple(slice(None) for _ in range(axis))
    last, first = (*before, slice(-1, None)), (*before, slice(count))
    return (ops.cumsum(ops.ones_like(valid), axis=axis) <= ops.cumsum(valid, axis=axis)[last])[first]


def known_shape(input_shape: Any) -> Any:
    """The shape that Keras passes to `build`, or () if it passes none because the input is not a tensor."""
    has_none = input_shape is None or (isinstance(input_shape, tf.TensorShape) and input_shape.rank is None)
    return () if has_none else input_shape


def _is_list(nest: Any) -> bool:
    """Whether `nest` is a list of tensors or shapes rather than a single one."""
    return isinstance(nest, (list, tuple)) and any(
        hasattr(each, "shape") or isinstance(each, (list, tuple, tf.TensorShape)) for each in nest
    )


def _split(nest: Any, count: int) -> tuple[Any, Any]:
    """Split a list into its first `count` entries and the next one, None if there is none; others are unchanged."""
    if not _is_list(nest):
        return nest, None
    first = nest[0] if count == 1 else nest[:count]
    return first, nest[count] if len(nest) > count else None
