"""Cases of `click_em` and `ClickEMLoss`."""

import keras_softsort as ks
from support.cases.keras_case import Loss

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
            },
        ],
        "click_em",
        takes="logits",
    )
]
