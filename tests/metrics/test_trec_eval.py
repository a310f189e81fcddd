"""Ranking metrics of runs with unjudged and unretrieved documents, against trec_eval."""

import numpy as np
import pytest
from support.readme import README, fenced_blocks

import keras_softsort as ks

pytestmark = pytest.mark.default_stack_only

OURS = {
    "ndcg": lambda: ks.NDCG(gain="linear"),
    "ndcg_cut_5": lambda: ks.NDCG(5, gain="linear"),
    "map": ks.MeanAveragePrecision,
    "map_cut_5": lambda: ks.MeanAveragePrecision(5),
    "recall_5": lambda: ks.Recall(5),
    "recall_100": lambda: ks.Recall(100),
    "P_5": lambda: ks.Precision(5),
    "recip_rank": ks.MRR,
    "success_1": lambda: ks.Hits(1),
    "success_10": lambda: ks.Hits(10),
}


def judged_runs(queries=15, seed=0):
    """Judgments and runs of trec_eval. Each query has a relevant document, and most runs miss some of them.

    Queries have more than 5 documents: trec_eval divides P_5 by 5 if there are fewer, and `Precision` by their number.
    """
    rng = np.random.default_rng(seed)
    judgments, runs = {}, {}
    for query in range(queries):
        names = [f"d{number}" for number in range(rng.integers(12, 30))]
        grades = {name: int(rng.integers(0, 4)) for name in names if rng.random() < 0.5}
        judgments[f"q{query}"] = {**grades, names[0]: int(rng.integers(1, 4))}
        retrieved = [name for name in names if rng.random() < 0.6] or names[:1]
        scores = rng.permutation(len(retrieved)) / 7
        runs[f"q{query}"] = {name: float(score) for name, score in zip(retrieved, scores, strict=True)}
    return judgments, runs


def lists(judgments, runs):
    """Labels and scores: 0 for unjudged documents, -inf for those that were not retrieved, and padding."""
    rows = []
    for query, grades in judgments.items():
        names = sorted({*grades, *runs[query]})
        rows.append([(grades.get(name, 0), runs[query].get(name, -np.inf)) for name in names])
    padded = [row + [(-1, 0.0)] * (40 - len(row)) for row in rows]
    return np.moveaxis(np.float64(padded), -1, 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", OURS)
def test_numbers_of_trec_eval(name):
    trec_eval = pytest.importorskip("pytrec_eval")
    judgments, runs = judged_runs()
    theirs = trec_eval.RelevanceEvaluator(judgments, trec_eval.supported_measures).evaluate(runs)
    labels, scores = lists(judgments, runs)
    for row, measures in enumerate(theirs.values()):
        metric = OURS[name]()
        metric.update_state(labels[row : row + 1], scores[row : row + 1])
        assert float(metric.result()) == pytest.approx(measures[name], abs=1e-6), row
    every = OURS[name]()
    every.update_state(labels, scores)
    assert float(every.result()) == pytest.approx(np.mean([each[name] for each in theirs.values()]), abs=1e-6)


def test_numbers_of_the_page():
    """`docs/coming-from/trec_eval.md` has the means of trec_eval for its judgments and run."""
    trec_eval = pytest.importorskip("pytrec_eval")
    block, _ = fenced_blocks((README.parent / "docs" / "coming-from" / "trec_eval.md").read_text())
    page = {}
    exec(block, page)
    theirs = trec_eval.RelevanceEvaluator(page["qrels"], trec_eval.supported_measures).evaluate(page["run"])
    means = {name: np.mean([each[name] for each in theirs.values()]) for name in page["measured"]}
    assert page["measured"] == pytest.approx(means, abs=1e-6)
    assert page["trec_eval"] == pytest.approx(means, abs=5e-5)


def test_rows_that_are_filled_with_items_that_were_not_retrieved():
    """Precision divides by k, as there, and the order of equal scores is that of the names, the last one first."""
    trec_eval = pytest.importorskip("pytrec_eval")
    judgments, run = {"q": {"a": 1, "b": 0}}, {"q": {"a": 1.0, "b": 1.0}}
    theirs = trec_eval.RelevanceEvaluator(judgments, {"P_5", "recip_rank"}).evaluate(run)["q"]
    labels, scores = [[0, 1, 0, 0, 0]], [[1.0, 1.0, *[-np.inf] * 3]]
    assert float(ks.Precision(5)(labels, scores)) == pytest.approx(theirs["P_5"]) == 0.2
    assert float(ks.MRR(ties="position")(labels, scores)) == pytest.approx(theirs["recip_rank"]) == 0.5
    assert float(ks.Precision(5)([[0, 1, -1, -1, -1]], scores)) == 0.5
