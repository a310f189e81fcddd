"""Errors for arguments and values with unknown names: they say the name here, or the closest one."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Collection
from typing import Any

# The arguments that a function needs for a hint, and the hint: the argument to use here.
Hint = tuple[str, str]


def _same(argument: str) -> list[Hint]:
    return [(argument, argument)]


_FIRST = [*_same("k"), *_same("top_k")]
_SCORES = [("scores labels", "scores"), ("logits labels", "logits")]
_DIRECTION = [("direction", "direction='DESCENDING', the default, or direction='ASCENDING'")]
_STRENGTH = [
    ("tau distance tolerance", "tau"),
    ("tau num_iterations tolerance", "tau, and minus the costs as logits"),
]
# Argument of another library -> its hints. The first one whose arguments a function has counts.
OTHER_NAMES: dict[str, list[Hint]] = {
    **dict.fromkeys(["temperature", "temp"], _same("tau")),
    "gumbel_temperature": [("tau noise_scale normalization", "tau, which is temperature * gumbel_temperature")],
    "sigma": [("tau lambda_weight", "tau, which is 1 / sigma")],
    "steepness": [("tau", "tau, which is 1 / steepness")],
    "gamma": [("tau margin", "tau, which is 1 / gamma")],
    "regularization_strength": [
        ("tau k", "tau"),
        ("tau method direction", "tau, with method='projection' and direction='ASCENDING'"),
        ("tau power direction", "soft_values, with tau, method='projection' and direction='ASCENDING'"),
    ],
    "regularization": [
        ("tau method direction", "method='projection' for 'l2', or method='projection_kl' for 'kl'"),
        ("tau power direction", "soft_values, with method='projection' for 'l2' or 'projection_kl' for 'kl'"),
    ],
    "epsilon": [*_same("poly_epsilon"), *_STRENGTH],
    **dict.fromkeys(["eps", "reg"], _STRENGTH),
    "reg_m": _same("marginal_penalty"),
    "pow": _same("power"),
    **dict.fromkeys(["k", "top_k", "topk", "topn", "top_n"], _FIRST),
    **dict.fromkeys(["num_iters", "n_iters", "n_iter", "iterations", "iters"], _same("num_iterations")),
    **dict.fromkeys(["max_iter", "max_iters", "max_iterations", "numItermax"], _same("num_iterations")),
    **dict.fromkeys(["tol", "stopThr"], _same("tolerance")),
    **dict.fromkeys(["n_samples", "sample_size"], _same("num_samples")),
    "noise_factor": _same("noise_scale"),
    "dim": _same("axis"),
    **dict.fromkeys(["descending", "ascending"], _DIRECTION),
    "gain_fn": _same("gain"),
    **dict.fromkeys(["discount_fn", "rank_discount_fn"], _same("discount")),
    "y_true": _same("labels"),
    **dict.fromkeys(["y_pred", "y_score"], _SCORES),
    "sample_weight": _same("weights"),
    "where": _same("mask"),
    **dict.fromkeys(["random_state", "rng", "key"], _same("seed")),
}


def other_name(name: str, known: Collection[str]) -> str | None:
    """Return the hint for the argument `name` of another library if `known` are the arguments here, or None."""
    return next((hint for needed, hint in OTHER_NAMES.get(name, ()) if {*needed.split()} <= {*known}), None)


def closest(name: Any, known: Collection[str]) -> str | None:
    """Return the name in `known` that is nearest to `name` in upper or lower case, or None."""
    lowered = {each.lower(): each for each in known}
    close = difflib.get_close_matches(name.lower(), lowered, 1) if isinstance(name, str) else []
    return lowered[close[0]] if close else None


def instead_of(value: Any, choices: Collection[str]) -> str:
    """Return the end of an error for a `value` that is none of `choices`: the nearest one, or nothing."""
    close = closest(value, choices)
    return f"; use {close!r}" if close else ""


def unknown_argument(owner: str, name: str, known: Collection[str]) -> TypeError:
    """Return the error for the argument `name` of `owner`, whose arguments are `known`."""
    hint = other_name(name, known) or closest(name, known)
    return TypeError(f"{owner} has no argument {name!r}; {f'use {hint}' if hint else f'it has {[*known]}'}")


def with_named_errors(function: Callable[..., Any], owner: str) -> Callable[..., Any]:
    """Let calls of `function` with an unknown argument raise `unknown_argument`."""
    parameters = inspect.signature(function).parameters
    if any(each.kind is each.VAR_KEYWORD for each in parameters.values()):
        return function
    known = frozenset(parameters)

    @functools.wraps(function)
    def run(*args: Any, **options: Any) -> Any:
        if not known.issuperset(options):
            unknown = next(name for name in options if name not in known)
            raise unknown_argument(owner, unknown, [name for name in parameters if name != "self"])
        return function(*args, **options)

    return run
