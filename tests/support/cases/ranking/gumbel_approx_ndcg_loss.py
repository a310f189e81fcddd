"""Cases of `gumbel_approx_ndcg_loss` and `GumbelApproxNDCGLoss`."""

import keras_softsort as ks
from support.cases.keras_case import Loss
from support.cases.tf_ranking import PARITY

ORACLE = PARITY["gumbel_approx_ndcg_loss"]  # with the same noise
LOSSES = [
    Loss(
        ks.GumbelApproxNDCGLoss,
        [
            {
                "tau": 0.5,
                "k": 3,
                "gain": "linear",
                "discount": "reciprocal",
                "normalization": "none",
                "num_samples": 2,
                "noise_scale": 0.5,
                "seed": 3,
                "reduction": "sum",
                "name": "mine",
            }
        ],
        "gumbel_approx_ndcg_loss",
        labels="relevance",
        draws_noise=True,
        call={"seed": [3, 4], "num_samples": 4},
    )
]
