"""Cases of `neural_ndcg` and `NeuralNDCGLoss`."""

import keras_softsort as ks
from support.cases.keras_case import Loss
from support.cases.operation import SEED
from support.oracles import ranking as truth

ORACLE = truth.neural_ndcg
LOSSES = [
    Loss(
        ks.NeuralNDCGLoss,
        [
            {"tau": 2.0, "k": 3, "gain": "linear", "num_iterations": 4, "reduction": "sum", "name": "mine"},
            # Noise so small that what is drawn does not show: a loss has no weight that could repeat it elsewhere.
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
        "neural_ndcg",
        oracle=ORACLE,
        labels="relevance",
        noisy_with=("stochastic",),
        basic={"num_iterations": 0},  # Sinkhorn's iterations take seconds to trace
        # XLA takes 6 seconds for its loops, and `test_gpu_lowering` lowers them.
        quick_modes=("unknown_shape",),
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
# What makes a call with wrong values of single arguments valid otherwise.
VALID = {"neural_ndcg": {"stochastic": True, "seed": SEED}}
