"""Cases of `PlackettLuceSampler`."""

import keras_softsort as ks
from support.cases.keras_case import Layer

LAYERS = [
    Layer(
        ks.PlackettLuceSampler,
        [
            {"tau": 0.7, "num_samples": 2, "method": "soft_sort", "power": 2.0, "seed": 3},
            {"tau": 0.5, "top_k": 2, "hard": True, "learn_tau": True},
        ],
        draws_noise=True,
    )
]
# With each method, on scores [3, 5].
WITH_METHOD = {"PlackettLuceSampler": lambda s, method: ks.PlackettLuceSampler(seed=3, method=method)(s)}
