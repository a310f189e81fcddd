"""Cases of `spearman_loss` and `SpearmanLoss`."""

import keras_softsort as ks
from support.cases.keras_case import Loss
from support.cases.operation import GRADES
from support.oracles import ranking as truth

ORACLE = truth.spearman
LOSSES = [
    Loss(
        ks.SpearmanLoss,
        [
            {"tau": 0.5, "method": "soft_sort", "power": 1.5, "reduction": "sum", "name": "mine"},
            {"tau": 2.0, "method": "projection", "name": "other"},
        ],
        "spearman_loss",
        oracle=ORACLE,
        values={
            "spearman": {"tau": 2.0},
            "spearman soft sort": {"method": "soft_sort"},
            "spearman power": {"method": "soft_sort", "power": 1.5},
        },
    )
]
# With each method, on scores [3, 5].
WITH_METHOD = {
    "spearman_loss": lambda s, method: ks.ops.spearman_loss(s, GRADES, method=method),
    "SpearmanLoss": lambda s, method: ks.SpearmanLoss(method=method)(GRADES, s),
}
