"""Walks the folders beside this file: each of their modules holds the cases of one operator, layer, loss or metric."""

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
    """What the files list as `name`, one after another."""
    return [each for module in modules() for each in getattr(module, name, [])]


def by_name(name, folder=""):
    """What the files hold in the dict `name`, or those of a folder."""
    within = f"{cases.__name__}.{folder}"
    found = [getattr(module, name, {}) for module in modules() if module.__name__.startswith(within)]
    return {key: value for each in found for key, value in each.items()}
