"""Differentiable sorting, ranking and matching as Keras layers, losses and metrics and as TensorFlow functions."""

import importlib as _importlib
from importlib.metadata import version as _version
from importlib.util import find_spec as _find_spec
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from keras_softsort import data as data
from keras_softsort import ops as ops
from keras_softsort._internal.export import set_all as _set_all
from keras_softsort._keras.backend import KerasBackendError as _KerasBackendError
from keras_softsort.ops import gumbel_softmax as gumbel_softmax
from keras_softsort.ops import linear_assignment as linear_assignment
from keras_softsort.ops import neural_sort as neural_sort
from keras_softsort.ops import sinkhorn as sinkhorn
from keras_softsort.ops import soft_rank as soft_rank
from keras_softsort.ops import soft_sort as soft_sort
from keras_softsort.ops import soft_top_k as soft_top_k
from keras_softsort.ops import soft_values as soft_values

try:
    from keras_softsort import callbacks as callbacks
    from keras_softsort import layers as layers
    from keras_softsort import losses as losses
    from keras_softsort import metrics as metrics
    from keras_softsort import models as models
    from keras_softsort import trees as trees
    from keras_softsort.callbacks import *
    from keras_softsort.layers import *
    from keras_softsort.losses import *
    from keras_softsort.metrics import *
except _KerasBackendError:  # which the first use of a Keras object raises again
    pass

if _TYPE_CHECKING:
    from keras_softsort.distributions import *
    from keras_softsort.linalg import *

__version__ = _version("keras-softsort")

# Imported when first used, because they import TensorFlow Probability.
_OF_PROBABILITY = {
    "distributions": {"PlackettLuce", "RelaxedPlackettLuce", "expected_cost"},
    "linalg": {"LinearOperatorNeuralSort", "LinearOperatorSoftSort"},
}

# Adapter -> the library that it needs. Imported when first used, and not in `__all__`.
_ADAPTERS = {"beam": "apache_beam", "serving": "tensorflow", "spark": "pyspark", "tf_ranking": "tensorflow_ranking"}

_set_all(__name__, *_OF_PROBABILITY, *(name for names in _OF_PROBABILITY.values() for name in names))


def __getattr__(name: str) -> _Any:
    if name in _ADAPTERS:
        return _importlib.import_module(f"{__name__}.{name}")
    for folder, names in _OF_PROBABILITY.items():
        if name == folder or name in names:
            module = _importlib.import_module(f"{__name__}.{folder}")
            return module if name == folder else getattr(module, name)
    if not name.startswith("_"):
        _importlib.import_module(f"{__name__}._keras.compat")  # raises an error on another backend
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    # Tools read every name that stands here, so an adapter does only where its library is installed.
    adapters = {name for name, library in _ADAPTERS.items() if _find_spec(library)}
    return sorted({*globals(), *globals()["__all__"], *adapters})
