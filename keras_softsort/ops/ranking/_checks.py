"""Rules of options, in calls of an operator and in the Keras object that holds them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from keras_softsort._internal import arguments
from keras_softsort.ops.core.gumbel_noise import seed_tensor

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
