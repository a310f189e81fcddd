"""Cases of `list_mle` and `PlackettLuceLoss`."""

import keras_softsort as ks
from support.cases.keras_case import Loss, by_name
from support.oracles import list_mle as truth

ORACLE = truth.likelihood_loss
LOSSES = [
    Loss(
        ks.PlackettLuceLoss,
        [
            {"k": 2, "reduction": "sum", "name": "mine"},
            {"ties": "first", "temperature": 2.0, "discount": "log2", "name": "other"},
        ],
        "list_mle",
        oracle=ORACLE,
        unbounded=True,
        overflows_at=1e38,
        costs_without_relevance=True,
        values=by_name("list mle", *({"ties": ties, "k": k} for ties in ("breslow", "first") for k in (None, 1, 3, 9))),
    )
]
