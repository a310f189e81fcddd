"""Walks the folders beside this file: each of their modules holds the cases of one operator, layer, loss or metric.

What a file may hold, all of it read by the checks that operators and Keras objects share:

- `ORACLE`: the truth, of `support.oracles` or of a library. Operators and losses must have one.
- `LAYERS`, `LOSSES`, `METRICS`, `LAMBDA_WEIGHTS`: Keras objects with arguments (`keras_case.py`).
- `OF_SCORES`: the operator as a function of scores, for relations that need no truth (`of_scores.py`). Losses and
  metrics have theirs from `LOSSES` and `METRICS`.
- `OPERATIONS`: the operator at work, to be lowered for a GPU (`operation.py`).
- `GRID`, `FEW`: choices of options of an operator that sorts, all of them and one of each (`op_case.py`).
- `IN_EVERY_WAY`: by name, a function of scores and temperature, and the ways to differentiate it that are tried each
  time (`support.autodiff`).
- `ALONG_AXIS`: by name, a function of scores, temperature, `axis` and `mask`.
- `WITH_METHOD`: by public name, a call with each way to sort.
- `VALID`: by public name, what makes a call with a wrong value of another argument valid otherwise.

Further tables of inputs are read by the tests of that operator alone.
"""

import importlib
import pkgutil
from types import ModuleType

from support import cases


def modules() -> list[ModuleType]:
    """The files of cases, in alphabetical order."""
    found = pkgutil.walk_packages(cases.__path__, f"{cases.__name__}.")
    in_folders = (
        each.name for each in found if not each.ispkg and each.name.count(".") > cases.__name__.count(".") + 1
    )
    return [importlib.import_module(name) for name in in_folders]


def collected(name):
    """The entries of the lists `name` of all files, one after another."""
    return [each for module in modules() for each in getattr(module, name, [])]


def by_name(name, folder=""):
    """The entries of the dicts `name` of all files, or of those of a folder."""
    within = f"{cases.__name__}.{folder}"
    found = [getattr(module, name, {}) for module in modules() if module.__name__.startswith(within)]
    return {key: value for each in found for key, value in each.items()}
