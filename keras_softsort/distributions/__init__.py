"""Random orders: TensorFlow Probability distributions, and gradients of expected costs."""

from keras_softsort.distributions.expected_cost import expected_cost
from keras_softsort.distributions.plackett_luce import PlackettLuce
from keras_softsort.distributions.relaxed_plackett_luce import RelaxedPlackettLuce

__all__ = ["PlackettLuce", "RelaxedPlackettLuce", "expected_cost"]
