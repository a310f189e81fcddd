"""Options in configs, among them functions of one's own, such as a gain, a discount or a pair's cost.

Keras finds a function by its bare name, first among its own ones: Keras 2 always, Keras 3 if the function is not
registered. A gain called `exponential` would come back as the activation. So the name that is written here is read
only as the name of a registered function, or of one in `custom_objects`.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from keras_softsort._internal.keras_compat import keras
from keras_softsort.ops.ranking._lambda_weights import LambdaWeight

# What `locals()` of a constructor holds besides its options.
NOT_OPTIONS = ("self", "kwargs", "__class__")


def written_option(value: Any) -> Any:
    """An option as plain JSON values: the config of a function, a callable Keras object, or a lambda weight."""
    if isinstance(value, LambdaWeight):
        config = {name: written_option(each) for name, each in value.get_config().items()}
        return {"class_name": "LambdaWeight", "config": config}
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
    if value.get("class_name") == "LambdaWeight":
        return LambdaWeight(**{name: read_option(each) for name, each in value["config"].items()})
    # Keras writes "builtins" as the module of a function.
    if value.get("class_name") != "function" or value.get("module") == "builtins":
        return keras.utils.deserialize_keras_object(value)
    function = keras.utils.get_registered_object(value["config"])
    if function is None and value["module"].split(".")[0] == "keras":
        function = _function_of_keras(value["config"])
    if function is None:
        raise TypeError(
            f"function {value['config']!r} of module {value['module']!r} is unknown: register it with "
            "keras.saving.register_keras_serializable, or pass it in custom_objects"
        )
    return function


def read_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Read the options among `given`, which may be the `locals()` of a constructor, also from a config."""
    return {name: read_option(value) for name, value in given.items() if name not in NOT_OPTIONS}


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

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        options = {name: written_option(getattr(self, name)) for name in self._option_names}
        return {**super().get_config(), **options}  # type: ignore[misc]  # of Keras
