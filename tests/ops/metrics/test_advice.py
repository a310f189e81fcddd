"""The warning of scores and labels that may be swapped."""

import warnings

import numpy as np
import pytest
import tensorflow as tf

import keras_softsort as ks
from keras_softsort._internal import advice

GRADES, SCORES = np.float32([[3, 1, 0, 0], [1, 0, 2, 1]]), np.float32([[0.9, 0.31, 0.2, -0.1], [0.41, 0.1, 0.7, 0.3]])
SWAPPED = (
    "scores and labels may be swapped: scores hold only integers .* labels .* such as 0.9.* take \\(scores, labels\\)"
)


@pytest.fixture(autouse=True)
def nothing_given(monkeypatch):
    monkeypatch.setattr(advice, "_given", set())


@pytest.mark.parametrize("call", [ks.ops.ndcg, ks.ops.mrr, lambda *given: ks.NDCG()(given[1], given[0])])
def test_swapped_scores_and_labels_are_seen_once(call):
    with pytest.warns(UserWarning, match=SWAPPED):
        call(GRADES, SCORES)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        call(GRADES, SCORES)


@pytest.mark.parametrize(
    ("scores", "labels"),
    [
        (SCORES, GRADES),
        (GRADES, GRADES),
        (np.zeros([2, 4]), np.abs(SCORES)),  # a model that is not trained
        ([[4.0, 3.0, 2.0, 1.0]], SCORES[:1] + 1),  # the position as the score
        ([[120.0, 3.0, 3.0, 1.0]], SCORES[:1] + 1),  # popularity as the score
        (GRADES, [[3.5, 4.0, 0.5, 2.75], [1.25, 5.0, 3.5, 2.0]]),  # ratings in quarters
        (GRADES, [[0.1, 0.3, 0.3, 0.2], [0.1, 0.2, 0.3, 0.4]]),  # shares that tie
        (SCORES, np.abs(SCORES)),
        (np.zeros([2, 0]), np.zeros([2, 0])),
        ([[np.nan, 1.0, 1.0, 2.0]], SCORES[:1] + 1),
    ],
)
def test_what_real_calls_hold_gives_no_warning(scores, labels):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ks.ops.mrr(np.float32(scores), np.float32(labels))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_dtypes(dtype):
    with pytest.warns(UserWarning, match="may be swapped"):
        ks.ops.recall(tf.cast(GRADES, dtype), SCORES, k=2)


def test_graphs_and_large_lists_are_not_looked_at():
    many = np.tile(GRADES, [2000, 1]), np.tile(SCORES, [2000, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tf.function(ks.ops.ndcg, autograph=False)(tf.constant(GRADES), tf.constant(SCORES))
        ks.ops.mrr(*many)
