"""Keras objects of the package: what the shared checks must know of a class, and arguments to try it with."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tensorflow as tf

import keras_softsort as ks
from support import models
from support.cases.facts import Facts
from support.oracles import ranking


def by_name(name, *options):
    """Arguments by a name that tells them."""
    return {", ".join([name, *(f"{key}={value}" for key, value in each.items())]): each for each in options}


def constructor_arguments(cls):
    """The arguments of our own classes and their defaults, through `**kwargs`, without those of Keras."""
    found = {}
    for base in reversed(cls.__mro__):
        if base.__module__.startswith("keras_softsort") and "__init__" in vars(base):
            parameters = list(inspect.signature(base.__init__).parameters.values())[1:]
            found.update({p.name: p.default for p in parameters if p.kind is not p.VAR_KEYWORD})
    found.pop("options", None)  # the base class of losses gets its subclasses' arguments by it
    return found


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

    # The class of a layer that turns scores [batch, n] into what this layer takes, or None if it takes scores.
    adapter: type | None = None
    # For a layer that no model of scores can hold: the function from scores [batch, n] to its inputs.
    inputs: Callable[[tf.Tensor], Any] | None = None
    # Its result is a permutation, unless `returns` is given.
    gives_permutation: bool = False
    # It draws noise in training, so that in a few steps its loss need not fall.
    draws_noise: bool = False
    # It draws noise with these arguments only.
    draws_noise_with: tuple[str, ...] = ()
    # Some checks try one case per class, the last one. They also try the first case of this class.
    also_try_first_options: bool = False

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
    # The target that it compares with, from labels [batch, n].
    target: Callable[[Any], Any] = lambda labels: labels
    # The meaning of labels: the "order" of the items, their "relevance", which is not negative, or "numbers".
    labels: str = "order"
    # It draws noise, queries or candidates, so that in a few steps it need not fall.
    draws_noise: bool = False
    # It draws them with these arguments only.
    draws_noise_with: tuple[str, ...] = ()
    # Some checks try one case per class, the last one. They also try the first case of this class.
    also_try_first_options: bool = False
    # The arguments that it needs, and those that make its traces small.
    basic: dict[str, Any] = field(default_factory=dict)
    # The loss of the valid items of one list in float64: `oracle(labels, scores, weights, **arguments)`.
    oracle: Callable[..., float] | None = None
    # By a name, arguments with which values and gradients are compared with the oracle, the first ones in each mode.
    values: dict[str, dict[str, Any]] = field(default_factory=dict)
    # The modes of `values` that each run tries. The others are tried nightly.
    quick_modes: tuple[str, ...] = ()
    # Its gradient treats a function of the scores, such as a lambda weight, as a constant. The oracle computes that
    # function from its argument `frozen`, which holds scores.
    has_frozen_scores: bool = False
    # The arguments of the operator that need few samples or iterations.
    call: dict[str, Any] = field(default_factory=dict)
    # The operator as a function of scores and labels, if it takes no scores.
    of_scores: Callable[..., tf.Tensor] | None = None

    @functools.cached_property
    def cases(self):
        return [LossCase(self, arguments) for arguments in self.options]

    @functools.cached_property
    def facts(self):
        return Facts(self)

    def given(self, scores):
        """The input of the operator, made from scores [..., n]."""
        return np.stack([scores, 0.5 * scores + 0.3], axis=-1) if self.takes == "logits" else scores

    @property
    def takes_lists(self):
        """Whether it is a loss of lists whose items may be padding."""
        return self.takes in {"scores", "permutation", "logits"}

    def truth(self, labels, scores, weights=None, frozen=None, **arguments):
        """The oracle of each list. `frozen`: the scores that the gradient holds, `scores` by default."""
        frozen = (scores if frozen is None else frozen) if self.has_frozen_scores else None
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
    def draws_noise(self):
        """Whether it draws anything, so that two calls differ."""
        return self.subject.draws_noise or bool(self.arguments.keys() & set(self.subject.draws_noise_with))

    @property
    def may_not_improve(self):
        """Whether the loss need not fall in a few steps: it draws noise, or moves in steps, if at all."""
        return self.is_hard or self.draws_noise


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
        """The inputs of the layer, from scores [batch, n]."""
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
        """The target of the loss, from labels [batch, n]."""
        return self.subject.target(y)
