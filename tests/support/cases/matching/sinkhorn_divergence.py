"""Cases of `sinkhorn_divergence`."""

import numpy as np

import keras_softsort as ks
from support.cases.matching.transport_cost import CLOUDS, OF_COST, in_units
from support.cases.of_scores import OfScores
from support.cases.operation import Operation
from support.oracles import matching as oracles

ORACLE = oracles.sinkhorn_divergence
OPERATIONS = [Operation("sinkhorn_divergence", lambda x, y: ks.ops.sinkhorn_divergence(x, y, num_iterations=5), CLOUDS)]
VALID = {"sinkhorn_divergence": {"x": np.eye(3), "y": np.eye(3) + 1}}
OF_SCORES = [OfScores("sinkhorn_divergence", in_units(ks.ops.sinkhorn_divergence), **OF_COST)]
