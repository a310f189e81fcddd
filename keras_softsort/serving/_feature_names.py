"""The names of features in an export: written by `export_ranker`, compared with those of lists by `Scorer`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort.serving._model_inputs import ModelInputs
from keras_softsort.serving._saved_model import SINGLE

FILE = "assets.extra/feature_names.json"


def checked_names(names: Sequence[str], inputs: ModelInputs) -> list[str]:
    """Check that `names` are different strings, one for each feature of a model of one tensor `[batch, n, f]`."""
    found = list(arguments.elements("feature_names", names, "strings"))
    if not all(isinstance(name, str) for name in found) or len(set(found)) != len(found):
        raise ValueError(f"feature_names must be different strings, got {found}")
    shapes = {name: inputs.specs[name].shape for name in inputs.request_inputs}
    if list(shapes) != [SINGLE] or not shapes[SINGLE].is_compatible_with([None, None, len(found)]):
        raise ValueError(
            f"feature_names must name each feature of a model of one tensor [batch, n, f], got {len(found)} names for "
            f"inputs {shapes}"
        )
    return found


def write_names(folder: Path, names: list[str]) -> None:
    """Write `names` to the folder of a SavedModel."""
    (folder / FILE).parent.mkdir(exist_ok=True)
    (folder / FILE).write_text(json.dumps(names))


def read_names(folder: str) -> tuple[str, ...] | None:
    """Read the names that an export has, if any."""
    path = f"{folder}/{FILE}"
    if not tf.io.gfile.exists(path):
        return None
    with tf.io.gfile.GFile(path) as file:
        return tuple(json.loads(file.read()))


def check_same(expected: tuple[str, ...] | None, received: Any) -> None:
    """Check that lists have the features of the model, in its order, if the names of both are known."""
    if expected is None or received is None or received == expected:
        return
    missing = [name for name in expected if name not in received]
    others = [name for name in received if name not in expected]
    problem = f"{missing} missing" if missing else f"{others} in addition" if others else "another order"
    raise ValueError(
        f"lists must have the features of the model in its order, {list(expected)}, got {list(received)}: {problem}"
    )
