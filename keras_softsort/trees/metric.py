"""Ranking metrics as evaluation functions of LightGBM and XGBoost."""

from __future__ import annotations

from typing import Any

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.metrics import NDCG, KendallTau, SpearmanCorrelation
from keras_softsort.trees._rows import is_xgboost, read_rows

METRICS = {"kendall": KendallTau, "ndcg": NDCG, "spearman": SpearmanCorrelation}


@export
def metric(name: str, k: int | None = None) -> Metric:
    """Make a rank correlation or NDCG an evaluation function of LightGBM or XGBoost, as for early stopping.

    The result serves `lightgbm.train` and `lightgbm.cv` as `feval`, `LGBMRanker.fit` as `eval_metric`, and
    `xgboost.train` as `custom_metric`. Higher is better: tell XGBoost by `EarlyStopping(..., maximize=True)`, and
    silence LightGBM's own metrics by `params["metric"] = "none"`.

    Args:
      name: `"spearman"`, `SpearmanCorrelation`; `"kendall"`, `KendallTau`; or `"ndcg"`, `NDCG`, in which a list without
        a relevant item has the value 0 (1 in LightGBM's own). Ties and lists that do not count are as there.
      k: number of ranks that `"ndcg"` counts; None for all.

    Returns:
      A function of (scores, data set) or (labels, scores, weights, sizes of lists). It returns the pair (name, value)
      for XGBoost, and (name, value, True) for LightGBM. The value is the mean over lists, weighted as in the metric.

    Raises:
      ValueError: `name` is unknown, `k` is below 1, or it is given with another metric. In a call: the data set has no
        groups, their sizes do not add up to the number of rows, a label is NaN, or a weight is negative.
      TypeError: `k` is not an integer.

    Cost: O(n log n) time per list.

    Example:
      >>> ks.trees.metric("ndcg", k=2)([2, 0, 1, 1, 0], [0.3, 0.9, 0.4, 2.0, 1.0], None, [3, 2])[0]
      'ndcg@2'
    """
    return Metric(name, k)


class Metric:
    """The result of `metric`: a function of the arguments of LightGBM's and XGBoost's evaluation functions."""

    def __init__(self, name: str, k: int | None) -> None:
        if isinstance(name, str) and name.startswith("ndcg@"):
            raise ValueError(f"name must be one of {sorted(METRICS)}, got {name!r}: pass metric('ndcg', k={name[5:]})")
        self.name = arguments.one_of("name", name, METRICS)
        self.k = arguments.optional_positive_integer("k", k)
        if k is not None and name != "ndcg":
            raise ValueError(f"k must be None with name={name!r}, got {k!r}")

    def __repr__(self) -> str:
        return f"metric({self.name!r}{'' if self.k is None else f', k={self.k}'})"

    # LightGBM counts these arguments to tell what an estimator's evaluation function takes.
    def __call__(self, first: Any, second: Any, weight: Any = None, group: Any = None) -> tuple:
        """`(name, value)` for XGBoost, `(name, value, True)` for LightGBM: higher is better."""
        rows = read_rows(first, second, weight, group)
        options: dict[str, Any] = {} if self.k is None else {"k": self.k}
        metric = METRICS[self.name](**options, lists="groups", padding=None)
        metric.update_state((rows.list_numbers(), rows.labels), rows.scores, rows.weights)
        title = self.name if self.k is None else f"{self.name}@{self.k}"
        found = (title, float(metric.result()))
        return found if is_xgboost(second) else (*found, True)
