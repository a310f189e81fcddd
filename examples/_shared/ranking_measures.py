"""NDCG and MRR of rankings, and LightGBM's LambdaMART as a baseline."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
from tensorflow import keras

import keras_softsort as ks
from keras_softsort.data import RankingDataset

CUTOFFS = (1, 3, 5, 10)
BASELINE = "LightGBM LambdaMART"


def new_metrics() -> list[keras.metrics.Metric]:
    """NDCG at several cutoffs, and MRR. Queries without a relevant document are left out."""
    gains = [ks.NDCG(k, no_relevant="skip", name=f"NDCG@{k}") for k in CUTOFFS]
    return [*gains, ks.MRR(no_relevant="skip", name="MRR")]


def measures(queries: RankingDataset, scores: np.ndarray) -> dict[str, float]:
    """The metrics of the scores of all documents, in the order of the file."""
    labels, scores = (
        tf.RaggedTensor.from_row_lengths(np.asarray(each, np.float32), queries.sizes)
        for each in (queries.labels, scores)
    )
    found = new_metrics()
    for metric in found:
        metric.update_state(labels, scores)
    return {metric.name: float(metric.result()) for metric in found}


def lambda_mart(seed: int, data: list[RankingDataset]) -> dict[str, float]:
    """The measures of LightGBM's LambdaMART with its default settings, stopped by the validation queries if given."""
    import lightgbm  # noqa: PLC0415  (an optional peer)

    *known, test = data
    sets = [lightgbm.Dataset(part.features, part.labels, group=part.sizes) for part in known]
    options = {"objective": "lambdarank", "bagging_fraction": 0.9, "bagging_freq": 1, "eval_at": [5], "verbose": -1}
    stop = [lightgbm.early_stopping(100, verbose=False)] if sets[1:] else []
    booster = lightgbm.train({**options, "seed": seed}, sets[0], 100, valid_sets=sets[1:], callbacks=stop)
    return measures(test, booster.predict(test.features))
