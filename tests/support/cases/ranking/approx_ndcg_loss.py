"""Cases of `approx_ndcg_loss` and `ApproxNDCGLoss`."""

import keras_softsort as ks
from support.cases.keras_case import Loss
from support.oracles import ranking as truth

ORACLE = truth.approx_ndcg
LOSSES = [
    Loss(
        ks.ApproxNDCGLoss,
        [
            {"tau": 0.5, "gain": "linear", "reduction": "sum", "name": "mine"},
            {"k": 3, "discount": "reciprocal", "normalization": "none"},
        ],
        "approx_ndcg_loss",
        oracle=ORACLE,
        labels="relevance",
        values={
            "approx": {},
            "approx linear": {"tau": 0.7, "gain": "linear"},
            "approx cut": {"tau": 0.7, "k": 2, "discount": "reciprocal"},
            "approx dcg": {"tau": 0.7, "k": 2, "normalization": "none"},
        },
    )
]
