"""Cases of `list_mle` and `PlackettLuceLoss`."""

import keras_softsort as ks
from support.cases.keras_case import Loss

LOSSES = [
    Loss(
        ks.PlackettLuceLoss,
        [
            {"k": 2, "reduction": "sum", "name": "mine"},
            {"ties": "first", "temperature": 2.0, "discount": "log2", "name": "other"},
        ],
        "list_mle",
    )
]
