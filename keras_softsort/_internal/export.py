"""The registry of public names: `@export` makes a function or class public, and `__all__` is read from here."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeVar, overload

import tensorflow as tf

from keras_softsort._internal.unknown_names import with_named_errors

PACKAGE = "keras_softsort"
# All public names of these folders also stand at the top level. Those of other folders do on request.
TOP_LEVEL_FOLDERS = {"callbacks", "distributions", "layers", "linalg", "losses", "metrics"}

Item = TypeVar("Item", bound=Callable[..., Any])
# Module of a folder, or of the whole package -> its public names.
_names: dict[str, set[str]] = defaultdict(set)


@overload
def export(item: Item) -> Item: ...
@overload
def export(*, top_level: bool = False, calls_back: bool = False) -> Callable[[Item], Item]: ...
def export(item: Any = None, *, top_level: bool = False, calls_back: bool = False) -> Any:
    """Make a function or class public: `@export`, or `@export(top_level=True)` for an operator that is `ks.NAME`.

    The name becomes part of `__all__` of its folder. A class with a `get_config` is also registered with Keras. The
    `__init__.py` of the folder still has to import the name, for type checkers. Calls with an unknown argument raise an
    error that says what it is called here. AutoGraph does not convert exported functions, because that would take
    longer than tracing them. `calls_back=True` allows it, for a function that calls functions of the user.
    """

    def exported(item: Any) -> Any:
        home = item.__module__.split(".")[1]
        _names[f"{PACKAGE}.{home}"].add(item.__name__)
        if top_level or home in TOP_LEVEL_FOLDERS:
            _names[PACKAGE].add(item.__name__)
        if hasattr(item, "get_config"):
            tf.keras.utils.register_keras_serializable(package=PACKAGE)(item)
        if isinstance(item, type):
            constructor = with_named_errors(item.__init__, item.__name__)  # type: ignore[misc]
            if constructor is not item.__init__:  # type: ignore[misc]
                item.__init__ = constructor  # type: ignore[misc]
            return item
        # An operator with rules looks at the names itself.
        function = item if hasattr(item, "check") else with_named_errors(item, item.__name__)
        return function if calls_back else tf.autograph.experimental.do_not_convert(function)

    return exported if item is None else exported(item)


def set_all(module: str, *others: str) -> None:
    """Set `__all__` of a package: its exported names, the public modules that it has imported, and `others`."""
    package = sys.modules[module]
    modules = [name for name, value in vars(package).items() if isinstance(value, ModuleType) and module == PACKAGE]
    public = {name for name in modules if not name.startswith("_")}
    package.__all__ = sorted({*_names[module], *public, *others})  # type: ignore[attr-defined]
