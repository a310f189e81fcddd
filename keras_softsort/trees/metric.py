"""Ranking metrics as evaluation functions of LightGBM and XGBoost."""

from __future__ import annotations

from typing import Any

from keras_softsort import metrics
from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort._internal.unknown_names import unknown_argument
from keras_softsort._keras.options import own_arguments
from keras_softsort.trees._rows import is_xgboost, read_rows

METRICS: dict[str, Any] = {
    "arp": metrics.AverageRelevancePosition,
    "dcg": metrics.DCG,
    "err": metrics.ExpectedReciprocalRank,
    "hits": metrics.Hits,
    "kendall": metrics.KendallTau,
    "map": metrics.MeanAveragePrecision,
    "mrr": metrics.MRR,
    "ndcg": metrics.NDCG,
    "ordered_pairs": metrics.OrderedPairAccuracy,
    "precision": metrics.Precision,
    "recall": metrics.Recall,
    "spearman": metrics.SpearmanCorrelation,
}
# Metrics whose value is lower for a better order.
LOWER_IS_BETTER = ("arp",)
# LightGBM and scikit-learn also count one half for pairs with equal predictions.
DEFAULT_TIES = {"ordered_pairs": "mean"}


@export
def metric(name: str, k: int | None = None, **options: Any) -> Metric:
    """Make a ranking metric an evaluation function of LightGBM or XGBoost, as for early stopping.

    The result serves `lightgbm.train` and `lightgbm.cv` as `feval`, `LGBMRanker.fit` as `eval_metric`, and
    `xgboost.train` as `custom_metric`. LightGBM is told whether higher is better; tell XGBoost by
    `EarlyStopping(..., maximize=True)`. `params["metric"] = "none"` silences LightGBM's own metrics.

    Args:
      name: `"ndcg"` (`NDCG`), `"dcg"` (`DCG`), `"err"` (`ExpectedReciprocalRank`), `"map"` (`MeanAveragePrecision`),
        `"mrr"` (`MRR`), `"precision"`, `"recall"`, `"hits"`, `"arp"` (`AverageRelevancePosition`, the lower the
        better), `"ordered_pairs"` (`OrderedPairAccuracy`), `"spearman"` or `"kendall"`.
      k: number of ranks that count; None for all.
      **options: other arguments of the metric, such as `gain`, `no_relevant` or `divisor`. Items with equal scores keep
        the order of the rows, as in LightGBM and XGBoost; `ties="mean"` takes the mean over their orders.

    Returns:
      A function of (scores, data set) or (labels, scores, weights, sizes of lists). It returns the pair (name, value)
      for XGBoost, and (name, value, whether higher is better) for LightGBM. The value is the mean over lists, weighted
      as in the metric.

    Raises:
      ValueError: `name` is unknown, `k` or an option is out of range, or the metric has no `k`. In a call: the data set
        has no groups, their sizes do not add up to the number of rows, a label is NaN, or a weight is negative.
      TypeError: the metric has no such option, or it has another type.

    Cost: O(n log n) time per list.

    Example:
      >>> ks.trees.metric("ndcg", k=2)([2, 0, 1, 1, 0], [0.3, 0.9, 0.4, 2.0, 1.0], None, [3, 2])[0]
      'ndcg@2'
    """
    return Metric(name, k, options)


class Metric:
    """The result of `metric`: a function of the arguments of LightGBM's and XGBoost's evaluation functions."""

    def __init__(self, name: str, k: int | None, options: dict[str, Any]) -> None:
        known, _, rank = name.partition("@") if isinstance(name, str) else (name, "", "")
        if rank and known in METRICS:
            raise ValueError(f"name must be one of {sorted(METRICS)}, got {name!r}: pass metric({known!r}, k={rank})")
        self.name = arguments.one_of("name", name, METRICS)
        self.k, self.options = arguments.optional_positive_integer("k", k), {**options}
        takes = own_arguments(METRICS[name])
        if k is not None and "k" not in takes:
            raise ValueError(f"k must be None with name={name!r}, got {k!r}")
        for unknown in options.keys() - {*takes}:
            raise unknown_argument("metric", unknown, ["name", "k", *takes])
        if "ties" in takes:
            self.options.setdefault("ties", DEFAULT_TIES.get(name, "position"))
        if "k" in takes:
            self.options["k"] = k
        self._new_metric()  # which checks the options

    def __repr__(self) -> str:
        return f"metric({self.name!r}{'' if self.k is None else f', k={self.k}'})"

    def _new_metric(self) -> Any:
        return METRICS[self.name](**self.options, lists="groups", padding=None)

    # LightGBM counts these arguments to tell what an estimator's evaluation function takes.
    def __call__(self, first: Any, second: Any, weight: Any = None, group: Any = None) -> tuple:
        """`(name, value)` for XGBoost, `(name, value, whether higher is better)` for LightGBM."""
        rows = read_rows(first, second, weight, group)
        metric = self._new_metric()
        metric.update_state((rows.list_numbers(), rows.labels), rows.scores, rows.weights)
        title = self.name if self.k is None else f"{self.name}@{self.k}"
        found = (title, float(metric.result()))
        return found if is_xgboost(second) else (*found, self.name not in LOWER_IS_BETTER)
