"""Cases of `approx_mrr_loss` and `ApproxMRRLoss`."""

import keras_softsort as ks
from support.cases.keras_case import Loss
from support.oracles import ranking as truth

ORACLE = truth.approx_mrr
LOSSES = [
    Loss(
        ks.ApproxMRRLoss,
        [{"tau": 0.5, "reduction": "sum", "name": "mine"}],
        "approx_mrr_loss",
        oracle=ORACLE,
        labels="relevance",
        values={"approx mrr": {"tau": 0.7}},
    )
]
