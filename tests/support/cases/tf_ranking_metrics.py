"""Each metric of TF-Ranking 0.5.5 and ours, on the inputs of its tests and on padded lists, with what TF-Ranking gives.

Where items have equal scores TF-Ranking orders them at random, so no two scores are equal here. Lists without relevant
items are compared without weights: TF-Ranking gives them the mean weight of the lists beside them.

To record the values again, where TF-Ranking is installed, from the folder `tests`:

    python -m support.cases.tf_ranking_metrics
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import tensorflow as tf

import keras_softsort as ks

VALUES = Path(__file__).with_suffix(".json")
TOP = (None, 1, 2, 3, 6)
RNG = np.random.default_rng(7)
# The lists of TF-Ranking's tests.
THREE = {
    "scores": np.float32([[1, 3, 2], [1, 2, 3], [3, 1, 2]]),
    "labels": np.float32([[0, 0, 1], [0, 1, 2], [0, 1, 0]]),
    "weights": np.float32([[1, 2, 3], [4, 5, 6], [7, 8, 9]]),
    "topics": np.float32([[[0, 0], [0, 1], [0, 1]], [[0, 0], [1, 0], [1, 1]], [[0, 0], [1, 0], [0, 0]]]),
}
PADDED = {
    "scores": RNG.permuted(np.tile(np.float32([0.1, 0.4, -0.3, 0.9, 1.7, -2.0]), (4, 1)), axis=1),
    "labels": np.float32([[3, 1, 2, 0, 1, 0], [1, 0, 2, -1, -1, -1], [0, 0, 4, 1, 1, -1], [0, 2, -1, 1, 0, 0]]),
    "weights": RNG.uniform(0.5, 2, (4, 6)).round(2).astype("float32"),
    "topics": RNG.integers(0, 2, (4, 6, 3)).astype("float32"),
}
PADDED["topics"][PADDED["labels"] < 0] = -1
EMPTY = {**PADDED, "labels": np.where(np.arange(4)[:, None] == 1, np.minimum(PADDED["labels"], 0), PADDED["labels"])}
ZERO = {**PADDED, "weights": np.where(PADDED["labels"] == 1, np.float32(0), PADDED["weights"])}


def linear(labels):
    return labels


def inverse(ranks):
    return 1 / ranks


# Ours, and the name and the arguments of theirs.
PAIRS = {
    "mrr": (ks.MRR, "MRRMetric", {}),
    "hits": (ks.Hits, "HitsMetric", {}),
    "precision": (ks.Precision, "PrecisionMetric", {}),
    "recall": (ks.Recall, "RecallMetric", {}),
    "mean_average_precision": (ks.MeanAveragePrecision, "MeanAveragePrecisionMetric", {}),
    "ndcg": (ks.NDCG, "NDCGMetric", {}),
    "dcg": (ks.DCG, "DCGMetric", {}),
    "other ndcg": (
        lambda k: ks.NDCG(k, gain="linear", discount="reciprocal"),
        "NDCGMetric",
        {"gain_fn": linear, "rank_discount_fn": inverse},
    ),
    "other dcg": (
        lambda k: ks.DCG(k, gain="linear", discount="reciprocal"),
        "DCGMetric",
        {"gain_fn": linear, "rank_discount_fn": inverse},
    ),
    "average_relevance_position": (lambda _: ks.AverageRelevancePosition(), "ARPMetric", None),
    "ordered_pair_accuracy": (lambda _: ks.OrderedPairAccuracy(), "OPAMetric", None),
    "alpha_dcg": (ks.AlphaDCG, "AlphaDCGMetric", {}),
    "other alpha_dcg": (
        lambda k: ks.AlphaDCG(k, alpha=0.2, discount="reciprocal"),
        "AlphaDCGMetric",
        {"alpha": 0.2, "rank_discount_fn": inverse},
    ),
    "precision_ia": (ks.PrecisionIA, "PrecisionIAMetric", {}),
}


def inputs():
    """Labels, scores and weights by a name that tells them."""
    for name, data in {"three": THREE, "padded": PADDED}.items():
        weights = {"none": None, "items": data["weights"], "lists": data["weights"][:, :1]}
        for kind, each in weights.items():
            yield f"{name}, {kind}", data, each
    yield "without relevant items", EMPTY, None
    yield "weights of 0", ZERO, ZERO["weights"]


def cases():
    """The name of each case, our metric, theirs, and what both are called with."""
    for name, (ours, theirs, options) in PAIRS.items():
        for k in TOP if options is not None else (None,):
            for of, data, weights in inputs():
                of_topics = "alpha" in name or name == "precision_ia"
                if of_topics and of == "weights of 0":
                    continue  # TF-Ranking keeps such items in metrics of topics only
                labels = data["topics" if of_topics else "labels"]
                given = {**(options or {}), **({} if options is None else {"topn": k})}
                yield f"{name}, k={k}, {of}", ours(k), (theirs, given), (labels, data["scores"], weights)


def recorded(tfr, theirs, given):
    """The numbers that TF-Ranking gives."""
    name, options = theirs
    metric = getattr(tfr.keras.metrics, name)(**options)
    labels, scores, weights = given
    metric.update_state(tf.constant(labels), tf.constant(scores), None if weights is None else tf.constant(weights))
    return float(metric.result())


def main():
    import tensorflow_ranking as tfr

    values = {name: round(recorded(tfr, theirs, given), 7) for name, _, theirs, given in cases()}
    VALUES.write_text(json.dumps(values, indent=1) + "\n")


if __name__ == "__main__":
    main()
