"""Random orders: TensorFlow Probability distributions, and gradients of expected costs."""

from keras_softsort._internal import probability_version as _probability_version  # noqa: F401  before TFP is imported

# isort: split

from keras_softsort._internal.export import set_all as _set_all
from keras_softsort.distributions.expected_cost import expected_cost as expected_cost
from keras_softsort.distributions.plackett_luce import PlackettLuce as PlackettLuce
from keras_softsort.distributions.relaxed_plackett_luce import RelaxedPlackettLuce as RelaxedPlackettLuce

_set_all(__name__)
