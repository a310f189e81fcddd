"""Decorators that make a public operator of a formula for lists `[B, n]`, and the rules of its options."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Concatenate, NamedTuple, ParamSpec, Protocol

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.unknown_names import unknown_argument
from keras_softsort.ops.core.gumbel_noise import seed_tensor
from keras_softsort.ops.ranking.lists import (
    SHARED,
    Derivatives,
    Meaning,
    RankingArguments,
    RankingLists,
    item_logit_arguments,
    per_list,
    ranking_arguments,
)

Options = ParamSpec("Options")
# A function of the name and the value of an option, which returns a plain value or raises an error.
Rule = Callable[[str, Any], Any]
# A function of all arguments by name, which raises an error for values that do not fit each other.
Together = Callable[[Mapping[str, Any]], Any]


class Held(NamedTuple):
    """The two rules of an option that a Keras object holds in another form than the formula of an operator takes.

    If `is_seed`, each call of the object draws a seed. An option is read only if the one named `only_if` is True.
    """

    held: Rule  # returns what an object holds
    called: Rule | None = None  # returns what a formula takes; None if the operator checks the argument itself
    is_seed: bool = False
    only_if: str | None = None


TAU = Held(arguments.positive_number)
SEED = Held(arguments.optional_integer, lambda _, seed: seed_tensor(seed), is_seed=True)


if TYPE_CHECKING:

    class _Operator(Protocol[Options]):
        """A public operator, and what other operators and Keras objects use of it."""

        __name__: str
        formula: Callable[..., tf.Tensor]  # of `RankingLists` and the options
        interface: Interface
        seeds: dict[str, Held]

        def check(self, **options: Any) -> dict[str, Any]: ...
        def derivatives(self, formula: Callable[..., Any]) -> Callable[..., Derivatives | None]: ...

    class _ScoreOperator(_Operator[Options], Protocol):
        def __call__(self, scores: Any, labels: Any, *args: Options.args, **options: Options.kwargs) -> tf.Tensor: ...

    class _LogitOperator(_Operator[Options], Protocol):
        def __call__(self, logits: Any, labels: Any, *args: Options.args, **options: Options.kwargs) -> tf.Tensor: ...

    Formula = Callable[Concatenate[RankingLists, Options], tf.Tensor]


def list_operator(
    has_meaning: Meaning,
    *together: Together,
    tau: float | None = None,
    takes_weights: bool = True,
    non_negative_weights: bool = False,
    **rules: Rule | Held,
) -> Callable[[Formula[Options]], _ScoreOperator[Options]]:
    """Decorate a formula `f(lists, *, options, **shared)`, which returns [B] or [B, n], as an operator of scores.

    The operator takes `scores` and `labels` `[..., n]`, the options of the formula, and the shared arguments: `mask`,
    `weights` if `takes_weights`, and a temperature if it has the default `tau`. `**shared` of the formula tells their
    names to type checkers, and is always empty.

    `rules` check options, and `together` all arguments by name. The formula gets what the rules return, and only items
    for which `has_meaning(scores, labels, **options)` holds; lists with other items give NaN. `operator.derivatives`
    decorates a formula of derivatives. They then take the arguments of the operator.
    """
    shared = {name: default for name, default in SHARED.items() if name != "weights" or takes_weights}

    def read(**tensors: Any) -> tuple[RankingArguments]:
        return (ranking_arguments(**tensors, non_negative_weights=non_negative_weights),)

    def decorate(formula: Callable[..., tf.Tensor]) -> Any:
        return Interface(formula, read, rules, shared, together=together, tau=tau).operator(has_meaning, formula)

    return decorate


def logit_operator(
    has_meaning: Meaning, *, count: int | None, **rules: Rule | Held
) -> Callable[[Formula[Options]], _LogitOperator[Options]]:
    """Decorate a formula of lists with `count` logits per item, None for any number, as `list_operator` does.

    The operator takes `logits` `[..., n, count]`, which are the scores of the lists.
    """

    def read(**tensors: Any) -> tuple[RankingArguments]:
        return (item_logit_arguments(**tensors, count=count),)

    def decorate(formula: Callable[..., tf.Tensor]) -> Any:
        return Interface(formula, read, rules, first="logits").operator(has_meaning, formula)

    return decorate


class Interface:
    """The arguments of an operator: their names, defaults and checks."""

    def __init__(
        self,
        formula: Callable[..., Any],
        read: Callable[..., tuple[Any, ...]],
        rules: Mapping[str, Rule | Held],
        shared: Mapping[str, Any] = SHARED,
        *,
        first: str = "scores",
        together: tuple[Together, ...] = (),
        tau: float | None = None,
    ) -> None:
        """The options are those of the `formula`. `read` makes what it gets beside them from the other arguments."""
        self._name, self._read, self._together = formula.__name__, read, together
        self._tensors = [first, "labels", *([] if tau is None else ["tau"]), *shared]
        self.closed_derivatives: Callable[..., Derivatives | None] | None = None
        self._signature = _signature(formula, self._tensors, {**shared, "tau": tau})
        rules = rules if tau is None else {**rules, "tau": TAU}
        self._rules = {name: rule if isinstance(rule, Held) else Held(rule, rule) for name, rule in rules.items()}
        unknown = rules.keys() - self._signature.parameters.keys()
        if unknown:
            raise TypeError(f"rules must be of arguments of {self._name}, got {sorted(unknown)}")

    def operator(self, has_meaning: Meaning, formula: Callable[..., Any]) -> Any:
        """Return the operator of this formula."""

        def derivatives(formula: Callable[..., Any]) -> Any:
            self.closed_derivatives = self.operator(has_meaning, formula)
            return self.closed_derivatives

        return self.described(
            per_list(has_meaning, self.arguments)(formula),
            derivatives=derivatives,
            formula=formula,
            interface=self,
            seeds={name: rule for name, rule in self._rules.items() if rule.is_seed},
        )

    def described(self, call: Callable[..., Any], **attributes: Any) -> Any:
        """Return the function `call` of these arguments, with their signature, their checks and other attributes."""
        annotations = {name: each.annotation for name, each in self._signature.parameters.items()}
        own = {"__signature__": self._signature, "__annotations__": annotations, "check": self.check}
        for name, value in {**own, **attributes}.items():
            setattr(call, name, value)
        return call

    def check(self, **options: Any) -> dict[str, Any]:
        """Return checked options as the plain values that a Keras object holds."""
        checked = {name: rule.held(name, options[name]) for name, rule in self._rules.items() if name in options}
        for each in self._together:
            each(options)
        return {**options, **checked}

    def arguments(self, *given: Any, **named: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Check the arguments of a call, and return the tensors, and the options as the formula takes them."""
        try:
            bound = self._signature.bind(*given, **named)
        except TypeError as error:
            for name in named.keys() - self._signature.parameters.keys():
                raise unknown_argument(self._name, name, self._signature.parameters) from None
            raise TypeError(f"{self._name}: {error}") from None
        bound.apply_defaults()
        values = bound.arguments
        options = {name: value for name, value in values.items() if name not in self._tensors}
        for name, rule in self._rules.items():
            if rule.called is not None:
                is_read = rule.only_if is None or values[rule.only_if]
                options[name] = rule.called(name, values[name]) if is_read else None
        for each in self._together:
            each(values)
        return self._read(**{name: values[name] for name in self._tensors}), options


def _signature(formula: Callable[..., Any], tensors: list[str], defaults: dict[str, Any]) -> inspect.Signature:
    """The signature of the operator: required options first, then `tau`, other options, and shared arguments."""
    own = inspect.signature(formula)
    options = [each for each in own.parameters.values() if each.kind is each.KEYWORD_ONLY]
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=defaults[name], annotation="Any")
        if name in defaults
        else inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation="Any")
        for name in tensors
    ]
    required = [each for each in options if each.default is each.empty]
    others = [each for each in options if each.default is not each.empty]
    count = 3 if "tau" in tensors else 2
    parameters = [*added[:2], *required, *added[2:count], *others, *added[count:]]
    return own.replace(parameters=parameters, return_annotation="tf.Tensor")
