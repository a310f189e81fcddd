"""Decorators that make a public operator of a formula for lists `[B, n]`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol

import tensorflow as tf

from keras_softsort._internal.unknown_names import unknown_argument
from keras_softsort.ops.ranking._checks import TAU, Held, Rule
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
# A function of all arguments by name, which raises an error for values that do not fit each other.
Together = Callable[[Mapping[str, Any]], Any]

if TYPE_CHECKING:

    class Operator(Protocol[Options]):
        """A public operator, and what other operators and Keras objects use of it."""

        __name__: str
        formula: Callable[..., tf.Tensor]  # of `RankingLists` and the options
        seeds: dict[str, Held]

        def check(self, **options: Any) -> dict[str, Any]: ...
        def derivatives(self, formula: Callable[..., Any]) -> Callable[..., Derivatives | None]: ...

    class ScoreOperator(Operator[Options], Protocol):
        def __call__(self, scores: Any, labels: Any, *args: Options.args, **options: Options.kwargs) -> tf.Tensor: ...

    class LogitOperator(Operator[Options], Protocol):
        def __call__(self, logits: Any, labels: Any, *args: Options.args, **options: Options.kwargs) -> tf.Tensor: ...

    Formula = Callable[Concatenate[RankingLists, Options], tf.Tensor]


def list_operator(
    has_meaning: Meaning,
    *together: Together,
    tau: float | None = None,
    takes_weights: bool = True,
    non_negative_weights: bool = False,
    **rules: Rule | Held,
) -> Callable[[Formula[Options]], ScoreOperator[Options]]:
    """Decorate a formula `f(lists, *, options, **shared)`, which returns [B] or [B, n], as an operator of scores.

    The operator takes `scores` and `labels` `[..., n]`, the options of the formula, and the shared arguments: `mask`,
    `weights` if `takes_weights`, and a temperature if it has the default `tau`. `**shared` of the formula tells their
    names to type checkers, and is always empty.

    `rules` check options, and `together` all arguments by name. The formula gets what the rules return, and only items
    for which `has_meaning(scores, labels, **options)` holds; lists with other items give NaN. `operator.derivatives`
    decorates a formula of derivatives, which then takes the same arguments.
    """
    read = functools.partial(ranking_arguments, non_negative_weights=non_negative_weights)
    shared = [name for name in SHARED if name != "weights" or takes_weights]

    def decorate(formula: Callable[..., tf.Tensor]) -> Any:
        interface = _Interface(
            formula, "scores", shared, has_meaning=has_meaning, read=read, rules=rules, together=together, tau=tau
        )
        return interface.operator(formula)

    return decorate


def logit_operator(
    has_meaning: Meaning, *, count: int | None, **rules: Rule | Held
) -> Callable[[Formula[Options]], LogitOperator[Options]]:
    """Decorate a formula of lists with `count` logits per item, None for any number, as `list_operator` does.

    The operator takes `logits` `[..., n, count]`, which are the scores of the lists.
    """
    read = functools.partial(item_logit_arguments, count=count)

    def decorate(formula: Callable[..., tf.Tensor]) -> Any:
        interface = _Interface(formula, "logits", [*SHARED], has_meaning=has_meaning, read=read, rules=rules)
        return interface.operator(formula)

    return decorate


class _Interface:
    """The arguments of an operator and of its derivatives: their names, defaults and checks."""

    def __init__(
        self,
        formula: Callable[..., tf.Tensor],
        first: str,
        shared: list[str],
        *,
        has_meaning: Meaning,
        read: Callable[..., RankingArguments],
        rules: Mapping[str, Rule | Held],
        together: tuple[Together, ...] = (),
        tau: float | None = None,
    ) -> None:
        self._name, self._has_meaning, self._read, self._together = formula.__name__, has_meaning, read, together
        self._tensors = [first, "labels", *([] if tau is None else ["tau"]), *shared]
        self._signature = _signature(formula, self._tensors, tau)
        rules = rules if tau is None else {**rules, "tau": TAU}
        self._rules = {name: rule if isinstance(rule, Held) else Held(rule, rule) for name, rule in rules.items()}
        unknown = rules.keys() - self._signature.parameters.keys()
        if unknown:
            raise TypeError(f"rules must be of arguments of {self._name}, got {sorted(unknown)}")

    def operator(self, formula: Callable[..., Any]) -> Any:
        """Return the operator of this formula."""
        call = per_list(self._has_meaning, self.arguments)(formula)
        attributes = {
            "__signature__": self._signature,
            "__annotations__": {name: each.annotation for name, each in self._signature.parameters.items()},
            "check": self.check,
            "derivatives": self.operator,
            "formula": formula,
            "seeds": {name: rule for name, rule in self._rules.items() if rule.is_seed},
        }
        for name, value in attributes.items():
            setattr(call, name, value)
        return call

    def check(self, **options: Any) -> dict[str, Any]:
        """Return checked options as the plain values that a Keras object holds."""
        checked = {name: rule.held(name, options[name]) for name, rule in self._rules.items() if name in options}
        for each in self._together:
            each(options)
        return {**options, **checked}

    def arguments(self, *given: Any, **named: Any) -> tuple[tuple[RankingArguments], dict[str, Any]]:
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
        return (self._read(**{name: values[name] for name in self._tensors}),), options


def _signature(formula: Callable[..., Any], tensors: list[str], tau: float | None) -> inspect.Signature:
    """The signature of the operator: required options first, then `tau`, other options, and shared arguments."""
    own = inspect.signature(formula)
    _, *options = (each for each in own.parameters.values() if each.kind is not each.VAR_KEYWORD)
    defaults = {**SHARED, "tau": tau}
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=defaults[name], annotation="Any")
        if name in defaults
        else inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation="Any")
        for name in tensors
    ]
    required = [each for each in options if each.default is each.empty]
    others = [each for each in options if each.default is not each.empty]
    count = 2 if tau is None else 3
    return own.replace(parameters=[*added[:2], *required, *added[2:count], *others, *added[count:]])
