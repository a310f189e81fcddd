"""Options in configs, among them functions of one's own, such as a gain, a discount or a pair's cost.

Keras finds a function by its bare name, first among its own ones: a gain called `exponential` would come back as the
activation. So a name that is written here is read only as that of a registered function, or of `custom_objects`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterable, Mapping
from typing import Any

from keras_softsort._internal.unknown_names import unknown_argument
from keras_softsort._keras.compat import keras


def written_option(value: Any) -> Any:
    """An option as plain JSON values: the config of a function, a Keras object or a lambda weight."""
    if hasattr(value, "get_config") and not callable(value):
        # Keras' own form is another one in HDF5 files.
        return {"registered": keras.utils.get_registered_name(type(value)), "config": value.get_config()}
    if not callable(value):
        return list(value) if isinstance(value, tuple) else value
    name = keras.utils.get_registered_name(value) if hasattr(value, "__name__") else "<lambda>"
    if name == "<lambda>":
        return keras.utils.serialize_keras_object(value)
    module = value.__module__
    if _function_of_keras(value.__name__) is value:
        module, name = "keras", value.__name__
    return {"module": module, "class_name": "function", "config": name, "registered_name": name}


def read_option(value: Any) -> Any:
    """The function, Keras object or lambda weight of a config; another value unchanged."""
    if not isinstance(value, dict):
        return value
    if "registered" in value:
        known = keras.utils.get_registered_object(value["registered"])
        return _known(known, f"class {value['registered']!r}").from_config(value["config"])
    # Keras writes "builtins" as the module of a function.
    if value.get("class_name") != "function" or value.get("module") == "builtins":
        return keras.utils.deserialize_keras_object(value)
    function, is_of_keras = value["config"], value["module"].split(".")[0] == "keras"
    known = keras.utils.get_registered_object(function) or (_function_of_keras(function) if is_of_keras else None)
    return _known(known, f"function {function!r} of module {value['module']!r}")


def _known(named: Any, title: str) -> Any:
    """Check that a config names something: `named` is the class or function, or None."""
    if named is None:
        raise TypeError(
            f"{title} is unknown: register it with keras.utils.register_keras_serializable, or pass it in "
            "custom_objects"
        )
    return named


def read_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Read options, also from a config. `given` may be the `locals()` of a constructor, which also hold other names."""
    # A method that calls `super()` without arguments has its class among its `locals()`, as `__class__`.
    names = own_arguments(given["__class__"]) if "__class__" in given else given
    return {name: read_option(given[name]) for name in names}


@functools.cache
def own_arguments(cls: Any) -> dict[str, Any]:
    """The arguments of the constructor of this class, without `**kwargs`, and their defaults."""
    parameters = [*inspect.signature(cls.__init__).parameters.values()][1:]
    return {each.name: each.default for each in parameters if each.kind is not each.VAR_KEYWORD}


def _function_of_keras(name: str) -> Any:
    """Keras' own function of this name, or None. Versions of Keras write different modules for one function."""
    parts = (keras.activations, keras.losses, keras.metrics)
    functions = (each for part in parts for each in vars(part).values() if inspect.isfunction(each))
    return next((each for each in functions if each.__name__ == name), None)


class KeepsOptions:
    """A Keras object whose options are attributes, and are written to its config."""

    _option_names: tuple[str, ...] = ()

    def _keep_options(self, **options: Any) -> None:
        """Make each option an attribute, which `get_config` writes."""
        self._option_names = (*self._option_names, *options)
        for name, value in options.items():
            setattr(self, name, value)

    def _option(self, name: str) -> Any:
        """The value of an option that the config has, also within a trace."""
        return getattr(self, name)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        options = {name: written_option(self._option(name)) for name in self._option_names}
        return {**super().get_config(), **options}  # type: ignore[misc]  # of Keras

    @classmethod
    def _all_arguments(cls) -> dict[str, Any]:
        """The arguments of the constructor with their defaults, also those of base classes."""
        defaults: dict[str, Any] = {}
        bases: tuple[Any, ...] = cls.__mro__
        for base in bases:
            if issubclass(base, KeepsOptions) and "__init__" in vars(base):
                defaults |= {name: each for name, each in own_arguments(base).items() if name not in defaults}
        defaults.pop("options", None)  # a base class gets the arguments of its subclasses by it
        return defaults

    def _refuse(self, unknown: Iterable[str]) -> None:
        """Raise an error if there are arguments that the constructor does not have."""
        for name in unknown:
            raise unknown_argument(type(self).__name__, name, self._all_arguments())


class FixedOptions(KeepsOptions):
    """A Keras object that shows its options, and whose options cannot be assigned, because traces of it hold them."""

    # Further attributes that hold arguments. What the caller gave is in `_given_NAME` if Keras holds something else.
    _fixed_names: tuple[str, ...] = ()

    def _holds(self, name: str, otherwise: Any) -> Any:
        """The value that the caller gave for the argument `name`, if it cannot be assigned; else `otherwise`."""
        if name not in (*self._option_names, *self._fixed_names):
            return otherwise
        return vars(self).get(f"_given_{name}", vars(self).get(name, otherwise))

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute; an option only once."""
        if self._holds(name, value) is not value:
            cls = type(self).__name__
            raise AttributeError(f"{cls}.{name} cannot be assigned; make a new {cls} with {name}={value!r}")
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        """The class, and the options that are not the defaults."""
        options = []
        for name, default in self._all_arguments().items():
            shown = _shown(self._option(name) if name in self._option_names else self._holds(name, default))
            if shown != _shown(default):
                options.append(f"{name}={shown}")
        return f"{type(self).__name__}({', '.join(options)})"

    def __str__(self) -> str:
        return repr(self)  # Keras 2's metrics have another


def _shown(value: Any) -> str:
    return getattr(value, "__name__", repr(value))
