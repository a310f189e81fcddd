"""A callback that validates, keeps the best weights, and resumes training that was interrupted."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from tensorflow import keras


class Checkpoints(keras.callbacks.Callback):
    """Every few epochs, and after the last: measures the model and writes all that training needs to continue.

    `folder` then holds the weights and the optimizer's state of the last such epoch, those of the best one where
    `keep_best`, and `state.json`: the accuracies so far and the options of the run. The state is written last, by
    renaming, so that a process may be killed at any moment. `measure` returns "accuracy", by which the best epoch is
    chosen, and any other measures.
    """

    def __init__(
        self,
        folder: Path,
        measure: Callable[[], dict[str, float]],
        every: int,
        *,
        keep_best: bool,
        options: dict,
        resume: bool,
    ) -> None:
        super().__init__()
        self.folder, self.measure, self.every, self.keep_best = folder, measure, every, keep_best
        self.options = json.loads(json.dumps(options, default=str))
        self.curve: list[dict] = []
        folder.mkdir(parents=True, exist_ok=True)
        if resume and (folder / "state.json").exists():
            state = json.loads((folder / "state.json").read_text())
            different = sorted(name for name in self.options if self.options[name] != state["options"].get(name))
            if different:
                raise ValueError(f"{folder} holds a run with other options, {different}: use them, or another --output")
            self.curve = state["curve"]
        self.seconds_before = self.curve[-1]["seconds"] if self.curve else 0.0

    @property
    def epoch(self) -> int:
        """How many epochs the checkpoint has behind it."""
        return self.curve[-1]["epoch"] if self.curve else 0

    def restore(self, model: keras.Model) -> None:
        """Load the weights and the optimizer's state of the checkpoint, if there is one."""
        if self.curve:
            model.optimizer.build(model.trainable_variables)
            with np.load(self._training_state(self.epoch)) as file:
                for i, variable in enumerate(_training_variables(model)):
                    variable.assign(file[str(i)])
            print(f"  resumed after epoch {self.epoch}", flush=True)

    def restore_best(self, model: keras.Model) -> dict:
        """Load the best weights if they were stored; returns the measurement of the weights that `model` now has."""
        if not self.keep_best:
            return self.curve[-1]
        best = max(self.curve, key=lambda point: point["accuracy"])
        model.load_weights(self.folder / f"best_{best['epoch']}.weights.h5")
        return best

    def on_train_begin(self, logs: dict | None = None) -> None:
        """Start the clock."""
        self.started = time.monotonic()

    def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:
        """Measure and write."""
        if (epoch + 1) % (self.every or self.params["epochs"]) and epoch + 1 < self.params["epochs"]:
            return
        seconds = self.seconds_before + time.monotonic() - self.started
        point = {"epoch": epoch + 1, **self.measure(), "loss": float(logs["loss"]), "seconds": seconds}
        best_before = max((point["accuracy"] for point in self.curve), default=-1.0)
        self.curve.append(point)
        values = [keras.ops.convert_to_numpy(variable) for variable in _training_variables(self.model)]
        np.savez(self._training_state(epoch + 1), **{str(i): value for i, value in enumerate(values)})
        needed = {self._training_state(epoch + 1)}
        if self.keep_best and point["accuracy"] > best_before:
            self.model.save_weights(self.folder / f"best_{epoch + 1}.weights.h5")
        if self.keep_best:
            best = max(self.curve, key=lambda point: point["accuracy"])
            needed.add(self.folder / f"best_{best['epoch']}.weights.h5")
        state = {"options": self.options, "curve": self.curve}
        aside = self.folder / "state.json.writing"
        aside.write_text(json.dumps(state, indent=2) + "\n")
        aside.replace(self.folder / "state.json")
        for old in {*self.folder.glob("epoch_*.npz"), *self.folder.glob("best_*.weights.h5")} - needed:
            old.unlink()
        print(f"  epoch {epoch + 1:4}: {point['accuracy']:.4f}  loss {point['loss']:.4f}  {seconds:.0f} s", flush=True)

    def _training_state(self, epoch: int) -> Path:
        return self.folder / f"epoch_{epoch}.npz"


def _training_variables(model: keras.Model) -> list[keras.Variable]:
    """The variables of model and optimizer, with the state of dropout's noise, which `save_weights` leaves out."""
    return [*model.variables, *model.optimizer.variables]
