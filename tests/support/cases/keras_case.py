"""Keras objects of the package: what the shared checks must know of a class, and arguments to try it with."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tensorflow as tf

import keras_softsort as ks
from support import models
from support.oracles import ranking


def by_name(name, *options):
    """Arguments by a name that tells them."""
    return {", ".join([name, *(f"{key}={value}" for key, value in each.items())]): each for each in options}


@dataclass(frozen=True, eq=False)
class KerasObject:
    """A class, and arguments away from the defaults. Each argument stands in one of `options`."""

    cls: type
    options: list[dict[str, Any]]

    @functools.cached_property
    def cases(self):
        return [KerasCase(self, arguments) for arguments in self.options]


@dataclass(frozen=True, eq=False)
class Layer(KerasObject):
    """A layer, what it takes and what it gives."""

    # A class of layers that turns scores [batch, n] into what this layer takes. `None`: it takes scores.
    adapter: type | None = None
    # What a layer takes that stands in no model of scores, from scores [batch, n].
    inputs: Callable[[tf.Tensor], Any] | None = None
    # It gives a permutation, unless the argument `returns` is given.
    gives_permutation: bool = False
    # It trains on noise by as much as it learns.
    noisy: bool = False
    # Arguments with which that is so.
    noisy_with: tuple[str, ...] = ()
    # The first options are also tried where one case of each class is enough, which is the last.
    first_too: bool = False

    @functools.cached_property
    def cases(self):
        return [LayerCase(self, arguments) for arguments in self.options]


@dataclass(frozen=True, eq=False)
class Metric(KerasObject):
    """A metric and what it takes."""

    # It takes soft permutations too.
    takes_matrices: bool = False
    # Its labels are [batch, n, topics].
    takes_topics: bool = False


@dataclass(frozen=True, eq=False)
class Loss(KerasObject):
    """A loss, the operator that it calls, what it compares, and its truth."""

    # The name of the operator in `keras_softsort.ops`.
    operator: str | None = None
    # "scores" [batch, n], a "permutation", "logits" [batch, n, 2], "embeddings", or a "set" of numbers.
    takes: str = "scores"
    # What it compares with, from labels [batch, n].
    target: Callable[[Any], Any] = lambda labels: labels
    # What labels say: the "order" of the items, their "relevance", which is not negative, or "numbers".
    labels: str = "order"
    # It trains on noise, or on queries or candidates that vary, by as much as it learns.
    noisy: bool = False
    # Arguments with which that is so.
    noisy_with: tuple[str, ...] = ()
    # The first options are also tried where one case of each class is enough, which is the last.
    first_too: bool = False
    # What it cannot be made without, and what makes it quick to trace.
    basic: dict[str, Any] = field(default_factory=dict)
    # The loss of the valid items of one list in float64: `oracle(labels, scores, weights, **arguments)`.
    oracle: Callable[..., float] | None = None
    # Arguments, by a name, with which values and gradients are those of the oracle. The first go through the modes.
    values: dict[str, dict[str, Any]] = field(default_factory=dict)
    # The modes that are tried each time.
    quick_modes: tuple[str, ...] = ("unknown_shape",)
    # The gradient holds a function of the scores, which the oracle takes from `frozen`.
    frozen: bool = False
    # It grows with the scores.
    unbounded: bool = False
    # Where scores over the temperature are as large as this, it computes no number.
    overflows_at: float = math.inf
    # Lists without a relevant item cost something.
    costs_without_relevance: bool = False
    # What the operator is called with.
    call: dict[str, Any] = field(default_factory=dict)
    # The operator as a function of scores, if it takes something else.
    of_scores: Callable[..., tf.Tensor] | None = None

    @functools.cached_property
    def cases(self):
        return [LossCase(self, arguments) for arguments in self.options]

    @property
    def takes_lists(self):
        """Whether it is a loss of lists of which items may be padding."""
        return self.takes in {"scores", "permutation", "logits"}

    def truth(self, labels, scores, weights=None, frozen=None, **arguments):
        """The oracle of each list. `frozen`: the scores that the gradient holds, `scores` by default."""
        frozen = (scores if frozen is None else frozen) if self.frozen else None
        return ranking.each_list(self.oracle, labels, scores, weights, frozen, **arguments)

    def of(self, scores, labels, **options):
        """The operator of scores [..., n], with few samples or iterations."""
        function = self.of_scores or getattr(ks.ops, self.operator)
        return function(scores, labels, **self.call, **options)


@dataclass(frozen=True, eq=False)
class KerasCase:
    """A class of the package and the arguments to make it with."""

    subject: KerasObject
    arguments: dict[str, Any] = field(default_factory=dict)

    def __str__(self):
        values = {key: getattr(value, "__name__", value) for key, value in self.arguments.items()}
        return "-".join([self.cls.__name__, *(f"{key}={value}" for key, value in values.items())])

    @property
    def cls(self):
        return self.subject.cls

    def make(self, **others):
        """The object with these arguments, or with `others` in place of some."""
        return self.cls(**{**self.arguments, **others})

    @property
    def is_hard(self):
        return self.arguments.get("hard", False)

    @property
    def is_noisy(self):
        return self.subject.noisy or bool(self.arguments.keys() & set(self.subject.noisy_with))


@dataclass(frozen=True, eq=False)
class LayerCase(KerasCase):
    """A layer in a model of scores."""

    subject: Layer

    @property
    def adapter(self):
        return self.subject.adapter

    @property
    def gives_permutation(self):
        return self.subject.gives_permutation and "returns" not in self.arguments

    def layers(self):
        """The layer, after what turns scores [batch, n] into its input."""
        return [self.adapter(), self.make()] if self.adapter else [self.make()]

    def inputs(self, scores):
        """What the layer takes, from scores [batch, n]."""
        if self.subject.inputs is not None:
            return self.subject.inputs(scores)
        return self.adapter().call(scores) if self.adapter else scores

    def mask(self, mask):
        """The mask of that, from the mask of scores."""
        return self.adapter().compute_mask(None, mask) if self.adapter else mask

    def set_tau(self, layer, tau):
        """Change the temperature in force, where it is kept."""
        if self.arguments.get("learn_tau"):
            layer.log_tau.assign(np.log(tau))
        else:
            layer.tau.assign(tau)


@dataclass(frozen=True, eq=False)
class LossCase(KerasCase):
    """A loss of a model of scores."""

    subject: Loss

    def predictors(self):
        """Layers that make of scores [batch, n] what the loss takes."""
        made_by = {"scores": [], "permutation": [ks.NeuralSortLayer], "logits": [models.ItemLogits]}
        return [make() for make in made_by.get(self.subject.takes, [models.Unmasked])]

    def labels(self, y):
        """What the loss compares with, from labels [batch, n]."""
        return self.subject.target(y)
