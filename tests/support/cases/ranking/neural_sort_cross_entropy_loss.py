"""Cases of `neural_sort_cross_entropy_loss` and `NeuralSortCrossEntropyLoss`."""

import keras_softsort as ks
from support.cases.keras_case import Loss
from support.oracles import ranking as truth

ORACLE = truth.neural_sort_cross_entropy
LOSSES = [
    Loss(
        ks.NeuralSortCrossEntropyLoss,
        [{"tau": 2.0, "label_tau": 0.7, "reduction": "sum", "name": "mine"}],
        "neural_sort_cross_entropy_loss",
        oracle=ORACLE,
        unbounded=True,
        values={
            "cross-entropy": {"tau": 0.6},
            "soft cross-entropy": {"label_tau": 2.0},
        },
    )
]
