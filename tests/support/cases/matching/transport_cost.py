"""Cases of `transport_cost`."""

import numpy as np

import keras_softsort as ks
from support.cases.of_scores import OfScores, first, sides
from support.cases.operation import Operation, normal
from support.oracles import matching as oracles

ORACLE = oracles.transport_cost
CLOUDS = [normal(2, 4, 3), normal(2, 5, 3)]
OPERATIONS = [Operation("transport_cost", lambda x, y: ks.ops.transport_cost(x, y, num_iterations=5), CLOUDS)]
VALID = {"transport_cost": {"x": np.eye(3), "y": np.eye(3) + 1}}


def in_units(operator):
    """The costs of moving one half of the items to the other, in units of the squared temperature."""
    return lambda s, tau, mask: operator(*sides(s), tau**2, x_mask=first(mask)) / tau**2


# The cost grows with the distance of a point, and so do the slopes of the points that share its mass.
OF_COST = {"is_loss": True, "depends_on_order_of_ties": True, "grows_with_scores": True, "grows_in_gradient": True}
OF_COST["takes_many_operations"] = True
OF_SCORES = [OfScores("transport_cost", in_units(ks.ops.transport_cost), **OF_COST)]
