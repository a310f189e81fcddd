"""Cases of `neural_sort_cross_entropy_loss` and `NeuralSortCrossEntropyLoss`."""

import keras_softsort as ks
from support.cases.keras_case import Loss
from support.cases.operation import SEED
from support.oracles import ranking as truth

ORACLE = truth.neural_sort_cross_entropy
LOSSES = [
    Loss(
        ks.NeuralSortCrossEntropyLoss,
        [
            {"tau": 2.0, "label_tau": 0.7, "reduction": "sum", "name": "mine"},
            {"stochastic": True, "num_samples": 2, "noise_scale": 1e-8, "seed": 3},
        ],
        "neural_sort_cross_entropy_loss",
        oracle=ORACLE,
        draws_noise_with=("stochastic",),
        values={"cross-entropy": {"tau": 0.6}, "soft cross-entropy": {"label_tau": 2.0}},
    )
]
# Arguments with which a call is valid but for the one wrong argument that a test passes.
VALID = {"neural_sort_cross_entropy_loss": {"stochastic": True, "seed": SEED}}
