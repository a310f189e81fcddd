"""Cases of `plackett_luce_loss` and `PlackettLuceLoss`."""

import numpy as np

import keras_softsort as ks
from support.cases.keras_case import Loss, by_name
from support.oracles import list_mle as truth

ORACLE = truth.likelihood_loss
LOSSES = [
    Loss(
        ks.PlackettLuceLoss,
        [
            {"k": 2, "reduction": "sum", "name": "mine"},
            {"ties": "first", "tau": 2.0, "discount": "log2", "name": "other"},
        ],
        "plackett_luce_loss",
        oracle=ORACLE,
        quick_modes=("unknown_shape",),
        values=by_name("list mle", *({"ties": ties, "k": k} for ties in ("breslow", "first") for k in (None, 1, 3, 9))),
    )
]
# Labels of four items, arguments, and the loss if the first item cannot be chosen; None if that does not matter.
IMPOSSIBLE = {
    "first": ([3, 1, 2, 0], {}, np.inf),
    "last": ([0, 1, 2, 3], {}, None),
    "tied": ([1, 1, 2, 3], {}, np.inf),
    "tied, but later in the list's order": ([1, 1, 2, 3], {"ties": "first"}, np.inf),
    "beyond the first k": ([1, 0, 2, 3], {"k": 2}, None),
}
