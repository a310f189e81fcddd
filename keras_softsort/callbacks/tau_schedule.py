"""Annealing of temperatures during `fit`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort._internal.keras_compat import keras

FREQUENCIES = ("batch", "epoch")


@export
class TauSchedule(keras.callbacks.Callback):
    """Set the temperature `layer.tau` of layers during `fit`: `tau = schedule(step)`.

    Training often starts with a high temperature, whose gradients reach all items, and ends with a low one, whose
    soft permutations are close to exact.

    Args:
      schedule: function of the step (a Python int, from 0) that returns a positive number, or any
        `keras.optimizers.schedules.LearningRateSchedule`.
      frequency: when tau is set. `"epoch"`: at the start of each epoch, and the step is the epoch. `"batch"`: before
        each training batch, and the step is the number of batches since training began. A model compiled with
        `steps_per_execution=n` runs n batches at a time, all at the temperature of the first of them.
      layers: the layers to set, or their names. None sets every layer of the model that has a temperature, except
        those that learn it (`learn_tau=True`).

    The current temperature is logged at the end of each epoch, as `"tau"`. Changing it makes no new trace, even if the
    model is compiled with `jit_compile=True`.

    Raises:
      TypeError: `schedule` is not callable, or `layers` is not a sequence. During training: `schedule` returns no
        number.
      ValueError: `frequency` is unknown. When training starts: no layer has a given name, a given layer has no
        temperature to set, or no layer of the model has one. During training: a temperature is not positive.

    Example:

    >>> import keras_softsort as ks
    >>> anneal = ks.TauSchedule(lambda epoch: max(0.1, 0.9 ** epoch))
    >>> # model.fit(data, epochs=20, callbacks=[anneal])
    """

    def __init__(
        self, schedule: Callable[[int], Any], *, frequency: str = "epoch", layers: Sequence[Any] | None = None
    ) -> None:
        super().__init__()
        self.schedule = arguments.function("schedule", schedule)
        self.frequency = arguments.one_of("frequency", frequency, FREQUENCIES)
        self.layers = None if layers is None else list(arguments.elements("layers", layers, "layers or their names"))
        self.params: dict[str, Any] | None = None  # which Keras 2 sets only in `fit`
        self._earlier_epochs = self._last_batch = 0
        self._tau = 0.0
        self._targets: list[Any] = []

    def on_train_begin(self, logs: Any = None) -> None:
        """Find the layers to set."""
        self._earlier_epochs = self._last_batch = 0
        # The only method of both Keras 2 and 3 that returns layers inside layers.
        every = list(self.model._flatten_layers(include_self=False, recursive=True))
        if self.layers is None:
            self._targets = [layer for layer in every if _has_tau(layer)]
            if not self._targets:
                raise ValueError("TauSchedule found no layer with a temperature to set in the model")
            return
        self._targets = [_find(layer, every) for layer in self.layers]

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Set the temperature of the epoch."""
        if self.frequency == "epoch":
            self._set(epoch)

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Set the temperature of the batch."""
        if self.frequency == "batch":
            self._set(self._earlier_epochs + batch)
            self._last_batch = max(batch, self._last_batch)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Count the batches of the epoch, and log the current temperature."""
        # Where `fit` does not know their number, it begins one more batch than there are, at least in the first epoch.
        # on_train_batch_end would know, but Keras 3 would wait for the results of each batch to call it.
        steps = (self.params or {}).get("steps", self._last_batch + 1)
        self._earlier_epochs += self._last_batch if steps is None else steps
        if logs is not None:
            logs["tau"] = self._tau

    def _set(self, step: int) -> None:
        found = self.schedule(step)
        try:
            tau = None if isinstance(found, (str, bytes, bool)) else float(found)
        except (TypeError, ValueError):
            tau = None
        if tau is None:
            raise TypeError(f"schedule must return a number, got {found!r} at {self.frequency} {step}")
        if not 0 < tau < float("inf"):
            raise ValueError(f"schedule must return a positive, finite tau, got {tau!r} at {self.frequency} {step}")
        self._tau = tau
        for layer in self._targets:
            layer.tau.assign(tau)


def _has_tau(layer: Any) -> bool:
    return hasattr(getattr(layer, "tau", None), "assign")


def _find(wanted: Any, layers: list[Any]) -> Any:
    found = [layer for layer in layers if layer.name == wanted] if isinstance(wanted, str) else [wanted]
    if not found:
        raise ValueError(f"layers must name layers of the model, got {wanted!r}; it has {[x.name for x in layers]}")
    if not _has_tau(found[0]):
        why = "has none" if getattr(found[0], "tau", None) is None else "learns its own"
        raise ValueError(f"layers must have a temperature to set, got {wanted!r}, which {why}")
    return found[0]
