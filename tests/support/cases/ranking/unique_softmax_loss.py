"""Cases of `unique_softmax_loss` and `UniqueSoftmaxLoss`."""

import keras_softsort as ks
from support.cases.keras_case import Loss
from support.oracles import ranking as truth

ORACLE = truth.unique_softmax
LOSSES = [
    Loss(
        ks.UniqueSoftmaxLoss,
        [{"tau": 2.0, "gain": "linear", "reduction": "sum", "name": "mine"}],
        "unique_softmax_loss",
        oracle=ORACLE,
        labels="relevance",
        values={"unique softmax": {"tau": 2.0}, "unique softmax linear": {"gain": "linear"}},
    )
]
