"""Options in the configs of losses: lambda weights and functions."""

from __future__ import annotations

from typing import Any

from keras_softsort._internal.export import export
from keras_softsort._internal.saved_functions import read_function, written_function
from keras_softsort.ops.ranking._lambda_weights import LambdaWeight

# Plain Python in `ops`, which knows nothing of Keras; a Keras object here.
export(folder="losses")(LambdaWeight)


def written_option(value: Any) -> Any:
    """An option as plain JSON values."""
    if isinstance(value, LambdaWeight):
        config = {name: written_function(each) for name, each in value.get_config().items()}
        return {"class_name": "LambdaWeight", "config": config}
    return list(value) if isinstance(value, tuple) else written_function(value)


def read_option(value: Any) -> Any:
    """An option from a config; another value unchanged."""
    if isinstance(value, dict) and value.get("class_name") == "LambdaWeight":
        return LambdaWeight(**{name: read_function(each) for name, each in value["config"].items()})
    return read_function(value)
