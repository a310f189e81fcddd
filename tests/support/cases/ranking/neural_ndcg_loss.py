"""Cases of `neural_ndcg_loss` and `NeuralNDCGLoss`."""

import numpy as np

import keras_softsort as ks
from support.cases.keras_case import Loss
from support.cases.operation import GRADES, SEED
from support.oracles import ranking as truth

ORACLE = truth.neural_ndcg
LOSSES = [
    Loss(
        ks.NeuralNDCGLoss,
        [
            {"tau": 2.0, "k": 3, "gain": "linear", "num_iterations": 4, "reduction": "sum", "name": "mine"},
            # Noise too small to show: a loss has no weight by which another loss could draw the same noise.
            {
                "method": "soft_sort",
                "power": 2.0,
                "discount": [1.0, 0.5, 0.25],
                "normalization": "none",
                "num_iterations": 0,
                "hard": True,
                "stochastic": True,
                "num_samples": 2,
                "noise_scale": 1e-8,
                "seed": 3,
            },
        ],
        "neural_ndcg_loss",
        oracle=ORACLE,
        labels="relevance",
        draws_noise_with=("stochastic",),
        basic={"num_iterations": 0},  # Sinkhorn's iterations take seconds to trace
        call={"num_iterations": 3},
        values={
            "neural": {"tau": 2.0},
            "neural soft sort": {"tau": 0.5, "method": "soft_sort", "k": 2, "num_iterations": 3},
            "pirank": {"k": 3, "gain": "linear", "num_iterations": 0},
            "dcg": {
                "method": "soft_sort",
                "power": 2.0,
                "discount": [2.0, 0.5],
                "normalization": "none",
                "num_iterations": 2,
            },
            "reciprocal": {"k": 4, "discount": "reciprocal", "num_iterations": 0},
        },
    )
]
# Arguments with which a call is valid but for the one wrong argument that a test passes.
VALID = {"neural_ndcg_loss": {"stochastic": True, "seed": SEED}}
# Lists whose columns sum to anything from 1 / n to n before they are normalized.
UNEVEN = {
    "ties beside one": np.repeat([0.0, 4.0], [39, 1]),
    "clusters": np.random.default_rng(0).normal(size=40) + np.repeat([0, 30, 1000], [20, 15, 5]),
    "steps": np.cumsum(2.0 ** np.random.default_rng(1).integers(-9, 9, size=40)),
}
# With each method, on scores [3, 5].
WITH_METHOD = {
    "neural_ndcg_loss": lambda s, method: ks.ops.neural_ndcg_loss(s, GRADES, method=method, num_iterations=3),
    "NeuralNDCGLoss": lambda s, method: ks.NeuralNDCGLoss(method=method)(GRADES, s),
}
