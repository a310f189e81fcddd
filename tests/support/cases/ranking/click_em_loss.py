"""Cases of `click_em_loss` and `ClickEMLoss`."""

import numpy as np

import keras_softsort as ks
from support.cases.keras_case import Loss
from support.oracles import items as truth

ORACLE = truth.click_em
LOSSES = [
    Loss(
        ks.ClickEMLoss,
        [
            {
                "exam_loss_weight": 0.5,
                "rel_loss_weight": 2.0,
                "normalization": "none",
                "reduction": "sum",
                "name": "mine",
            }
        ],
        "click_em_loss",
        takes="logits",
        oracle=ORACLE,
        has_frozen_scores=True,
        values={"clicks": {"exam_loss_weight": 0.5, "rel_loss_weight": 2.0}},
    )
]
# Arguments with which a call is valid but for the one wrong argument that a test passes.
VALID = {"click_em_loss": {"logits": np.ones([2, 3, 2])}}
