"""Cases of `dual_learning_loss` and `DualLearningLoss`."""

import numpy as np

import keras_softsort as ks
from support.cases.keras_case import Loss
from support.oracles import items as truth

ORACLE = truth.dual_learning
LOSSES = [
    Loss(
        ks.DualLearningLoss,
        [{"max_weight": 1.5, "reduction": "sum", "name": "mine"}],
        "dual_learning_loss",
        takes="logits",
        oracle=ORACLE,
        has_frozen_scores=True,
        values={"dual learning": {}, "dual learning, clipped": {"max_weight": 1.5}},
    )
]
# Arguments with which a call is valid but for the one wrong argument that a test passes.
VALID = {"dual_learning_loss": {"logits": np.ones([2, 3, 2])}}
