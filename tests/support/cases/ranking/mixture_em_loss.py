"""Cases of `mixture_em_loss` and `MixtureEMLoss`."""

import numpy as np

import keras_softsort as ks
from support.cases.keras_case import Loss
from support.oracles import items as truth

ORACLE = truth.mixture_em
LOSSES = [
    Loss(
        ks.MixtureEMLoss,
        [{"alpha": 0.5, "reduction": "sum", "name": "mine"}],
        "mixture_em_loss",
        takes="logits",
        oracle=ORACLE,
        has_frozen_scores=True,
        values={"mixture": {"alpha": 0.5}},
    )
]
# Arguments with which a call is valid but for the one wrong argument that a test passes.
VALID = {"mixture_em_loss": {"logits": np.ones([2, 3, 2])}}
