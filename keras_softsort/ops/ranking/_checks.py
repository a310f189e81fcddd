"""A decorator that checks the options of an operator of lists, in its calls and in the Keras object that holds them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar, cast

from keras_softsort._internal import arguments
from keras_softsort._internal.unknown_names import unknown_argument
from keras_softsort.ops.core.gumbel_noise import seed_tensor

Operator = TypeVar("Operator", bound=Callable[..., Any])
# A function of the name and the value of an option, which returns a plain value or raises an error.
Rule = Callable[[str, Any], Any]


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


def checks(*together: Callable[[Mapping[str, Any]], Any], **rules: Rule | Held) -> Callable[[Operator], Operator]:
    """Decorate an operator: `rules` check its arguments of these names, also positional ones and defaults.

    Each function in `together` gets all arguments by name, and checks those that depend on each other. `check` of the
    result returns checked options as plain values, and `seeds` has the rules of the seeds, for a Keras object.
    """

    def decorate(operator: Operator) -> Operator:
        signature = inspect.signature(operator)
        unknown = set(rules) - set(signature.parameters)
        if unknown:
            raise TypeError(f"rules must be of arguments of {operator.__name__}, got {sorted(unknown)}")
        of_calls = {name: rule for name, rule in rules.items() if not isinstance(rule, Held)}
        of_objects = {name: rule.held if isinstance(rule, Held) else rule for name, rule in rules.items()}

        def checked(rules: Mapping[str, Rule], given: Mapping[str, Any]) -> dict[str, Any]:
            found = {name: rule(name, given[name]) for name, rule in rules.items() if name in given}
            for each in together:
                each(given)
            return found

        def check(**options: Any) -> dict[str, Any]:
            return {**options, **checked(of_objects, options)}

        @functools.wraps(operator)
        def run(*args: Any, **options: Any) -> Any:
            try:
                bound = signature.bind(*args, **options)
            except TypeError as error:
                for name in options.keys() - signature.parameters.keys():
                    raise unknown_argument(operator.__name__, name, signature.parameters) from None
                raise TypeError(f"{operator.__name__}: {error}") from None
            bound.apply_defaults()
            checked(of_calls, bound.arguments)
            return operator(*args, **options)

        run.check = check  # type: ignore[attr-defined]
        run.seeds = {  # type: ignore[attr-defined]
            name: rule for name, rule in rules.items() if isinstance(rule, Held) and rule.is_seed
        }
        return cast(Operator, run)

    return decorate
