"""Graded lists with ties, with padding anywhere, with one item that counts, and with none."""

import numpy as np

LABELS = np.float64(
    [
        [3, 1, 2, 0, 4],
        [1, 1, 2, 0, 1],
        [0, 0, 0, 0, 0],
        [2, -1, 2, 1, -1],
        [-1, 1, 0, -1, -1],
        [-1, -1, 4, -1, -1],
        [-1, -1, -1, -1, -1],
    ]
)
SCORES = np.random.default_rng(4).normal(size=LABELS.shape)
WEIGHTS = np.random.default_rng(2).uniform(size=LABELS.shape)
# Several logits per item.
LOGITS = np.random.default_rng(5).normal(size=[*LABELS.shape, 2])
# With a tie in the second list, between labels that differ.
TIED = SCORES.copy()
TIED[1, 1] = TIED[1, 2]
