"""Annealing of temperatures during `fit`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort._keras.compat import keras

FREQUENCIES = ("batch", "epoch")


@export
class TauSchedule(keras.callbacks.Callback):
    """Set the temperature of layers and losses during `fit`: `tau = schedule(step)`.

    Training often starts with a high temperature, whose gradients reach all items, and ends with a low one, whose soft
    permutations are close to exact. The temperature is logged as `"tau"` at the end of each epoch. Changing it makes no
    new trace, even with `jit_compile=True`.

    At low temperatures the default of 20 iterations of `SinkhornLayer` is not enough: its rows do not sum to 1. Give it
    a `tolerance` and more iterations, as in the example.

    Args:
      schedule: function of the step (a Python int, from 0) that returns a positive number, or any
        `keras.optimizers.schedules.LearningRateSchedule`.
      frequency: when tau is set. `"epoch"`: at the start of each epoch, and the step is the epoch. `"batch"`: before
        each training batch, and the step is the number of batches so far. With `steps_per_execution=n`, n batches have
        the temperature of the first of them. If `fit` does not know the number of batches, the schedule is also asked
        for the step after the last one of an epoch, and the last execution counts as n batches.
      targets: the layers and losses to set, or their names. None sets every layer of the model and every loss that it
        was compiled with that has a temperature, except layers that learn it (`learn_tau=True`). A layer that is called
        with a temperature, as in `layer([scores, tau])`, uses that one.

    Raises:
      TypeError: `schedule` is not callable or returns no number, or `targets` is not a sequence.
      ValueError: `frequency` is unknown. When training starts: no layer or loss has a given name, a given one has no
        temperature to set, or the model has none with a temperature. During training: a temperature is not positive.

    Example:
      >>> anneal = ks.TauSchedule(lambda epoch: max(0.1, 0.9 ** epoch))
      >>> # model.fit(data, epochs=20, callbacks=[anneal])
      >>> layer = ks.SinkhornLayer(num_iterations=500, tolerance=0.01)  # for a schedule that ends at 0.01
      >>> layer.tau = 0.01
      >>> sums = tf.reduce_sum(layer(tf.random.stateless_normal([20, 5, 5], seed=[0, 0])), axis=-1)
      >>> bool(tf.reduce_all(abs(sums - 1) <= 0.0101))
      True
    """

    # Keras 3 then need not wait for the results of a batch to call on_train_batch_end.
    async_safe = True

    def __init__(
        self, schedule: Callable[[int], Any], *, frequency: str = "epoch", targets: Sequence[Any] | None = None
    ) -> None:
        super().__init__()
        self.schedule = arguments.function("schedule", schedule)
        self.frequency = arguments.one_of("frequency", frequency, FREQUENCIES)
        expected = "layers, losses or their names"
        self.targets = None if targets is None else list(arguments.elements("targets", targets, expected))
        self.params: dict[str, Any] | None = None  # which Keras 2 sets only in `fit`
        self._earlier_epochs = 0
        self._begun, self._ended = -1, list[int]()
        self._tau = self._tau_before = 0.0
        self._targets: list[Any] = []

    def on_train_begin(self, logs: Any = None) -> None:
        """Find the layers and losses to set."""
        self._earlier_epochs = 0
        # The only method of both Keras 2 and 3 that returns layers inside layers.
        layers = self.model._flatten_layers(include_self=False, recursive=True)
        every = [*layers, *_losses(getattr(self.model, "loss", None))]
        if self.targets is None:
            self._targets = [each for each in every if _has_tau(each)]
            if not self._targets:
                raise ValueError("TauSchedule found no layer and no loss of the model with a temperature to set")
            return
        self._targets = [_find(wanted, every) for wanted in self.targets]

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Set the temperature of the epoch."""
        self._begun, self._ended = -1, []
        if self.frequency == "epoch":
            self._set(epoch)

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Set the temperature of the batch."""
        self._tau_before = self._tau
        if self.frequency == "batch":
            self._set(self._earlier_epochs + batch)
        self._begun = batch

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Note that there was such a batch."""
        self._ended.append(batch)  # from several threads, in any order

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Count the batches of the epoch, and log the current temperature."""
        steps = (self.params or {}).get("steps", self._begun + 1)
        if steps is None:  # `fit` does not know their number, and may have begun one more than there are
            steps = max(self._ended, default=-1) + 1
            if self._begun >= steps > 0:
                self._set_tau(self._tau_before)
        self._earlier_epochs += steps
        if logs is not None:
            logs["tau"] = self._tau

    def _set(self, step: int) -> None:
        value = self.schedule(step)
        try:
            tau = None if isinstance(value, (str, bytes, bool)) else float(value)
        except (TypeError, ValueError):
            tau = None
        if tau is None:
            raise TypeError(f"schedule must return a number, got {value!r} at {self.frequency} {step}")
        if not 0 < tau < float("inf"):
            raise ValueError(f"schedule must return a positive, finite tau, got {tau!r} at {self.frequency} {step}")
        self._set_tau(tau)

    def _set_tau(self, tau: float) -> None:
        self._tau = tau
        for target in self._targets:
            if _keeps_tau(target):
                target.tau = tau
            else:
                target.tau.assign(tau)


def _losses(nest: Any) -> list[Any]:
    """The losses of a model, which may stand in lists, dictionaries and sums of losses."""
    losses = tf.nest.flatten(nest)
    return [*losses, *(part for loss in losses for part in getattr(loss, "losses", []))]


def _has_tau(target: Any) -> bool:
    """Whether the temperature of a layer or loss can be set."""
    return _keeps_tau(target) or hasattr(getattr(target, "tau", None), "assign")


def _keeps_tau(target: Any) -> bool:
    """Whether it is a loss of this package: its temperature is a number, and a layer's is a weight."""
    return getattr(target, "has_tau", False)


def _find(wanted: Any, every: list[Any]) -> Any:
    """The layer or loss that `wanted` is, or names."""
    target = wanted
    if isinstance(wanted, str):
        names = [getattr(each, "name", None) for each in every]
        if wanted not in names:
            raise ValueError(f"targets must name layers or losses of the model, got {wanted!r}; it has {names}")
        target = every[names.index(wanted)]
    if not _has_tau(target):
        why = "has none" if getattr(target, "tau", None) is None else "learns its own"
        raise ValueError(f"targets must have a temperature to set, got {wanted!r}, which {why}")
    return target
