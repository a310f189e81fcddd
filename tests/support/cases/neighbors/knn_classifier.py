"""Cases of `KNNClassifier`, which takes embeddings and gives a dict."""

import keras_softsort as ks
from support.cases.keras_case import Layer

KNN_CLASSIFIER = Layer(
    ks.KNNClassifier,
    [
        {
            "k": 3,
            "num_classes": 4,
            "votes": "distance",
            "distance": "cosine",
            "block_size": 8,
            "approximate": True,
            "num_references": 20,
            "dimension": 2,
        }
    ],
    inputs=lambda scores: scores[:, :2],
)
LAYERS = [KNN_CLASSIFIER]
# Arguments with which a call is valid but for the one wrong argument that a test passes.
VALID = {"KNNClassifier": {"num_classes": 4, "num_references": 20, "dimension": 2}}
