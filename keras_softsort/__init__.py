"""Differentiable sorting, ranking and matching as Keras layers, losses and metrics and as TensorFlow functions."""

from importlib.metadata import version as _version

from keras_softsort._internal import probability_version as _probability_version  # noqa: F401  before TFP is imported

# isort: split

from keras_softsort import callbacks as callbacks
from keras_softsort import data as data
from keras_softsort import distributions as distributions
from keras_softsort import layers as layers
from keras_softsort import linalg as linalg
from keras_softsort import losses as losses
from keras_softsort import metrics as metrics
from keras_softsort import models as models
from keras_softsort import ops as ops
from keras_softsort import trees as trees
from keras_softsort._internal import keras_compat as _keras_compat  # noqa: F401  first: it checks the backend
from keras_softsort._internal.export import set_all as _set_all
from keras_softsort.callbacks import *
from keras_softsort.distributions import *
from keras_softsort.layers import *
from keras_softsort.linalg import *
from keras_softsort.losses import *
from keras_softsort.metrics import *
from keras_softsort.ops import gumbel_softmax as gumbel_softmax
from keras_softsort.ops import linear_assignment as linear_assignment
from keras_softsort.ops import neural_sort as neural_sort
from keras_softsort.ops import sinkhorn as sinkhorn
from keras_softsort.ops import soft_rank as soft_rank
from keras_softsort.ops import soft_sort as soft_sort
from keras_softsort.ops import soft_top_k as soft_top_k
from keras_softsort.ops import soft_values as soft_values

__version__ = _version("keras-softsort")

_set_all(__name__)
