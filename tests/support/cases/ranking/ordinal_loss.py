"""Cases of `ordinal_loss` and `OrdinalLoss`."""

import numpy as np

import keras_softsort as ks
from support.cases.keras_case import Loss
from support.oracles import items as truth

ORACLE = truth.ordinal
LOSSES = [
    Loss(
        ks.OrdinalLoss,
        [{"use_fraction_label": True, "normalization": "none", "reduction": "sum", "name": "mine"}],
        "ordinal_loss",
        takes="logits",
        oracle=ORACLE,
        values={"ordinal": {}, "ordinal fractions": {"use_fraction_label": True, "normalization": "none"}},
    )
]
# Arguments with which a call is valid but for the one wrong argument that a test passes.
VALID = {"ordinal_loss": {"logits": np.ones([2, 3, 2])}}
