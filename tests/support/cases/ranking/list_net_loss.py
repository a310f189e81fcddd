"""Cases of `list_net_loss` and `ListNetLoss`."""

import keras_softsort as ks
from support.cases.keras_case import Loss
from support.oracles import ranking as truth

ORACLE = truth.list_net
LOSSES = [
    Loss(
        ks.ListNetLoss,
        [{"tau": 2.0, "label_tau": 0.5, "reduction": "sum", "name": "mine"}],
        "list_net_loss",
        oracle=ORACLE,
        values={"list net": {"tau": 2.0, "label_tau": 0.7}},
    )
]
