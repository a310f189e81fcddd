"""Cases of `mixture_em` and `MixtureEMLoss`."""

import keras_softsort as ks
from support.cases.keras_case import Loss

LOSSES = [
    Loss(
        ks.MixtureEMLoss,
        [{"alpha": 0.5, "reduction": "sum", "name": "mine"}],
        "mixture_em",
        takes="logits",
    )
]
