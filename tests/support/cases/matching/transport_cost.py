"""Cases of `transport_cost`."""

import numpy as np

import keras_softsort as ks
from support.cases.operation import Operation, normal
from support.oracles import matching as oracles

ORACLE = oracles.transport_cost
CLOUDS = [normal(2, 4, 3), normal(2, 5, 3)]
OPERATIONS = [Operation("transport_cost", lambda x, y: ks.ops.transport_cost(x, y, num_iterations=5), CLOUDS)]
VALID = {"transport_cost": {"x": np.eye(3), "y": np.eye(3) + 1}}
