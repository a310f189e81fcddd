"""`retrieval_loss` at a tiny tau beside the metrics of the package, scikit-learn and NumPy, with every option."""

import itertools

import numpy as np
import pytest
from sklearn import metrics as sklearn_metrics
from support.oracles import neighbors as neighbor_oracles
from support.oracles import retrieval as oracles

import keras_softsort as ks

RNG = np.random.default_rng(3)
SIZE = 9
EMBEDDINGS, LABELS = RNG.normal(size=(SIZE, 3)), np.array([0, 1, 0, 1, 0, 2, 0, 1, 0])
# All candidates are valid, or fewer than k are.
MASKS = (None, np.ones(SIZE, bool), np.arange(SIZE) != 4, np.isin(np.arange(SIZE), [0, 1, 2, 6]))
METRICS = {
    "average_precision": ks.ops.mean_average_precision,
    "ndcg": ks.ops.ndcg,
    "mrr": ks.ops.mrr,
    "precision": ks.ops.precision,
    "recall": ks.ops.recall,
}
OPTIONS = [
    {"metric": metric, **({} if k is None else {"k": k}), **more}
    for metric, k in itertools.product(METRICS, (None, 1, 3, 5, SIZE))
    for more in ([{}, {"divisor": "at_most_k"}] if metric == "average_precision" else [{}])
    if k is not None or metric not in ("precision", "recall")
]


def judged(mask, exclude_self, embeddings=EMBEDDINGS):
    """The similarities, valid candidates and relevant candidates of each query: [SIZE, SIZE] each."""
    similarities = [[-neighbor_oracles.distance(a, b, "cosine") for b in embeddings] for a in embeddings]
    valid = np.ones(SIZE, bool) if mask is None else mask
    is_candidate = valid[:, None] & valid & ~(np.eye(SIZE, dtype=bool) & exclude_self)
    return np.round(similarities, 12), is_candidate, is_candidate & (LABELS[:, None] == LABELS)


def found_metric(mask, exclude_self, options, embeddings=EMBEDDINGS):
    losses = ks.ops.retrieval_loss(
        embeddings, labels=LABELS, mask=mask, exclude_self=exclude_self, tau=1e-10, **options
    )
    return -losses.numpy()


@pytest.mark.parametrize("exclude_self", [True, False])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_metrics_of_the_package(options, exclude_self):
    for mask in MASKS if exclude_self else MASKS[2:]:
        similarities, is_candidate, is_relevant = judged(mask, exclude_self)
        more = {name: value for name, value in options.items() if name != "metric"}
        wanted = METRICS[options["metric"]](similarities, is_relevant.astype(float), mask=is_candidate, **more)
        found = found_metric(mask, exclude_self, options)
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-9, err_msg=str(mask))
        by_hand = [
            oracles.hard_metric(each[is_own], relevant[is_own], **options)
            for each, is_own, relevant in zip(similarities, is_candidate, is_relevant, strict=True)
        ]
        np.testing.assert_allclose(found, by_hand, rtol=1e-6, atol=1e-9, err_msg=str(mask))


# scikit-learn has no average precision at k.
AT_ALL_RANKS = [each for each in OPTIONS if each["metric"] == "average_precision" and "k" not in each]
OF_SCIKIT_LEARN = [*AT_ALL_RANKS, *(each for each in OPTIONS if each["metric"] == "ndcg")]


@pytest.mark.parametrize("options", OF_SCIKIT_LEARN, ids=str)
def test_scikit_learn(options):
    k, is_average_precision = options.get("k"), options["metric"] == "average_precision"
    for mask in MASKS:
        found = found_metric(mask, True, options)
        for value, similarities, is_own, relevant in zip(found, *judged(mask, True), strict=True):
            if not relevant.any():
                assert value == 0
                continue
            truth, scores = relevant[is_own].astype(float), similarities[is_own]
            wanted = (
                sklearn_metrics.average_precision_score(truth, scores)
                if is_average_precision
                else sklearn_metrics.ndcg_score([truth], [scores], k=k)
                if len(truth) > 1
                else 1.0
            )
            assert value == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_each_of_two_tied_candidates_counts_half_as_above_the_other(options):
    """Candidates 2 and 3 are equal; 2 shares its class with the queries 0, 4, 6 and 8, and 3 with 1 and 7."""
    embeddings = EMBEDDINGS.copy()
    embeddings[3] = embeddings[2]
    similarities, is_candidate, is_relevant = judged(None, True, embeddings)
    found, metric, k = found_metric(None, True, options, embeddings), options["metric"], options.get("k") or SIZE
    if metric in ("precision", "recall"):  # the mean over both orders
        wanted = METRICS[metric](similarities, is_relevant.astype(float), mask=is_candidate, k=k, ties="mean")
        np.testing.assert_allclose(np.delete(found, [2, 3]), np.delete(wanted, [2, 3]), rtol=1e-6, atol=1e-9)
        return
    for i in (0, 1, 4, 6, 7, 8):
        others = np.flatnonzero(is_candidate[i])
        own, relevant = similarities[i][others], is_relevant[i][others]
        above = (own > own[:, None]) + (own == own[:, None]) / 2
        ranks, relevant_ranks = above.sum(axis=1) + 0.5, above[:, relevant].sum(axis=1) + 0.5
        members = np.clip(k + 1 - ranks, 0, 1)  # 1/2 for both if the k-th rank is between them
        count = relevant.sum()
        if metric == "average_precision":
            values = members * relevant_ranks / ranks
            wanted = values[relevant].sum() / (min(k, count) if "divisor" in options else count)
        elif metric == "ndcg":
            values = members / np.log2(1 + ranks)
            wanted = values[relevant].sum() / np.sum(1 / np.log2(1 + np.arange(1, min(k, count) + 1)))
        else:
            best = np.flatnonzero(relevant)[np.argmax(own[relevant])]
            wanted = members[best] / (1 + above[best, ~relevant].sum())
        assert found[i] == pytest.approx(wanted, rel=1e-6, abs=1e-9), i


def test_divisor_belongs_to_average_precision():
    for options in ({"metric": "ndcg"}, {"metric": "recall", "k": 2}):
        for call in (lambda **more: ks.ops.retrieval_loss(EMBEDDINGS, labels=LABELS, **more), ks.RetrievalLoss):
            with pytest.raises(ValueError, match=r"divisor must be 'relevant' with metric='\w+', got 'at_most_k'"):
                call(divisor="at_most_k", **options)


def test_ten_relevant_items_in_perfect_order():
    """trec_eval's map_cut_5 is 1/2, and the mean over min(k, relevant) is 1, for metric and loss."""
    embeddings = np.stack([np.cos(np.arange(21) / 20), np.sin(np.arange(21) / 20)], axis=1)
    labels = np.array([0] * 11 + [1] * 10)
    for divisor, wanted in (("relevant", 0.5), ("at_most_k", 1.0)):
        options = {"k": 5, "divisor": divisor}
        loss = ks.ops.retrieval_loss(embeddings, labels=labels, tau=1e-9, **options)
        assert -float(loss[0]) == pytest.approx(wanted)
        metric = ks.MeanAveragePrecision(**options)
        metric.update_state([[1] * 10 + [0] * 10], -np.arange(20.0)[None])
        assert float(metric.result()) == pytest.approx(wanted)
