"""Cases of `coupled_rank_distil_loss` and `CoupledRankDistilLoss`."""

import keras_softsort as ks
from support.cases.keras_case import Loss
from support.cases.tf_ranking import PARITY

ORACLE = PARITY["coupled_rankdistil_loss"]  # with the same noise
LOSSES = [
    Loss(
        ks.CoupledRankDistilLoss,
        [{"tau": 2.0, "k": 3, "num_samples": 2, "seed": 3, "reduction": "sum", "name": "mine"}],
        "coupled_rank_distil_loss",
        draws_noise=True,
        call={"seed": [3, 4], "num_samples": 4},
    )
]
