"""A ranking loss as the objective of LightGBM or XGBoost: its gradient, and the diagonal of its hessian."""

from __future__ import annotations

import functools
import inspect
import math
from typing import Any

import numpy as np
import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort._targets.lists import Lists
from keras_softsort.losses import ScoreLoss
from keras_softsort.trees._rows import Rows, padded_rows, read_rows

HESSIANS = ("absolute", "auto")
# The value of a leaf is a sum of gradients over a sum of hessians: no hessian is below this, and none that is an
# absolute gradient below this share of the mean.
SMALLEST_HESSIAN, SHARE_OF_MEAN = 1e-16, 0.05


class Objective:
    """The result of `objective`: a function of the arguments of LightGBM's and XGBoost's custom objectives."""

    def __init__(self, loss: ScoreLoss, hessian: str, unit_scale: bool, normalize_lists: bool) -> None:
        if not isinstance(loss, ScoreLoss) or loss.predicts != "scores":
            raise TypeError(f"loss must be a ranking loss of scores, such as ks.RankNetLoss(), got {loss!r}")
        self.loss = loss
        self.hessian = arguments.one_of("hessian", hessian, HESSIANS)
        self.unit_scale = arguments.boolean("unit_scale", unit_scale)
        self.normalize_lists = arguments.boolean("normalize_lists", normalize_lists)
        self._dtype = arguments.compute_dtype(loss.given_dtype or tf.float32)
        self._trace = functools.cache(self._traced)

    def __repr__(self) -> str:
        options = {name: getattr(self, name) for name in ("hessian", "unit_scale", "normalize_lists")}
        defaults = inspect.signature(objective).parameters
        given = [f"{name}={value!r}" for name, value in options.items() if value != defaults[name].default]
        return f"objective({', '.join([repr(self.loss), *given])})"

    # LightGBM counts these arguments to tell what an estimator's objective takes.
    def __call__(self, first: Any, second: Any, weight: Any = None, group: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """The gradient and the diagonal of the hessian: `[rows]` each, in float32."""
        if (getattr(second, "params", None) or {}).get("bagging_by_query"):
            raise ValueError(
                "bagging_by_query must be False: with it LightGBM learns nothing from a function, got True"
            )
        rows = read_rows(first, second, weight, group)
        gradient, *closed = self._derivatives(rows)
        hessian = closed[0] if closed else np.maximum(abs(gradient), SHARE_OF_MEAN * abs(gradient).mean())
        hessian = np.maximum(hessian, SMALLEST_HESSIAN)
        factor: Any = 1.0
        if self.normalize_lists:
            lists = rows.list_numbers()
            totals = np.maximum(np.bincount(lists, abs(gradient)), SMALLEST_HESSIAN)
            factor = (np.log1p(totals) / math.log(2) / totals)[lists]
        if self.unit_scale:
            factor = factor / (factor * hessian).mean()
        return (factor * gradient).astype(np.float32), np.maximum(factor * hessian, SMALLEST_HESSIAN).astype(np.float32)

    def _derivatives(self, rows: Rows) -> np.ndarray:
        """The gradient, and the hessian if it has a closed form: `[1 or 2, rows]`."""
        dtype = self._dtype.as_numpy_dtype
        parts = [rows.labels, rows.scores] if rows.weights is None else [rows.labels, rows.scores, rows.weights]
        padding = [[np.nan], [0.0], [0.0]][: len(parts)]
        padded = np.concatenate([np.stack(parts), padding], axis=1, dtype=dtype)
        # The last column takes what the padding gives.
        found = np.zeros([2, padded.shape[1]], dtype)
        for block in padded_rows(rows.sizes.tobytes()):
            derivatives = self._trace(len(parts), block.shape[1])(tf.constant(padded[:, block])).numpy()
            found[: len(derivatives), block] = derivatives
        return found[: len(derivatives), :-1]

    def _traced(self, parts: int, size: int) -> Any:
        """The function of lists [parts, lists, size]."""
        spec = tf.TensorSpec([parts, None, size], self._dtype)
        return tf.function(self._of_block, autograph=False).get_concrete_function(spec)

    def _of_block(self, padded: tf.Tensor) -> tf.Tensor:
        """The derivatives [1 or 2, lists, n] of lists with these labels, NaN in the padding, scores and weights."""
        labels, scores, *given = tf.unstack(padded)
        mask = tf.logical_not(tf.math.is_nan(labels))
        labels = tf.where(mask, labels, tf.zeros_like(labels))
        lists = Lists(labels, mask, weights=given[0] if given else None)
        closed = self.loss.list_derivatives(lists, scores) if self.hessian == "auto" else None
        if closed is not None:
            return tf.stack(closed)
        with tf.GradientTape() as tape:
            tape.watch(scores)
            total = tf.reduce_sum(self.loss.losses_of_lists(lists, scores))
        return tf.stack([tape.gradient(total, scores)])

    def __deepcopy__(self, memo: Any) -> Objective:
        # LightGBM copies its parameters, and a traced function cannot be copied.
        return self

    def __reduce__(self) -> Any:
        options = (self.hessian, self.unit_scale, self.normalize_lists)
        return _restored, (type(self.loss), self.loss.get_config(), options)


def _restored(loss: type[ScoreLoss], config: dict[str, Any], options: tuple) -> Objective:
    return Objective(loss.from_config(config), *options)


@export
def objective(
    loss: ScoreLoss, *, hessian: str = "auto", unit_scale: bool = False, normalize_lists: bool = False
) -> Objective:
    """Make a ranking loss the objective of LightGBM's or XGBoost's trees.

    Use it if trees should learn by a loss that LightGBM or XGBoost lacks. Pass the result to `lightgbm.train` and
    `lightgbm.cv` as `params["objective"]`, to `LGBMRanker(objective=...)`, or to `xgboost.train(..., obj=...)`.
    XGBoost's `XGBRanker` refuses functions.

    Args:
      loss: a loss of scores, such as `RankNetLoss()`, or your own `losses.ScoreLoss`. Each call uses its present `tau`
        and its `dtype`. Every row is a valid item. `padding`, `lists` and `reduction` do not matter.
      hessian: `"auto"`: the exact diagonal for `RankNetLoss`, `PairwiseMSELoss`, `SoftmaxLoss` (without
        `poly_epsilon`), `ListNetLoss` and `PlackettLuceLoss`, lambda weights as constants, and `"absolute"` for other
        losses and for `scale="std"`. `"absolute"`: the absolute gradient, at least a twentieth of its mean.
      unit_scale: whether gradient and hessian are divided by the mean of the hessian, in whose units XGBoost's
        `reg_lambda` and `min_child_weight` count.
      normalize_lists: whether gradient and hessian of each list are multiplied by `log2(1 + S) / S`, where S is the sum
        of the list's absolute gradients, a part of LightGBM's `lambdarank_norm`.

    Returns:
      A function of (scores, data set) or (labels, scores, weights, sizes of lists). It returns the gradient of the sum
      of the losses of all lists with respect to the scores, and the diagonal of its hessian, at least 1e-16: `[rows]`
      each in float32. It can be pickled. LightGBM has a weight per row, XGBoost one per list. A list of one row, or of
      equal labels, has the gradient of the loss, mostly 0.

    Raises:
      TypeError: `loss` is not a loss of scores, or an argument has another type.
      ValueError: `hessian` is unknown. In a call: the data set has no groups, their sizes do not add up to the number
        of rows, a size or a weight is negative, a label is NaN, or `bagging_by_query` is True in `lightgbm.train`,
        which then learns nothing.

    Cost: that of the loss and its gradient. Lists are padded to 8, 12, 16, 24, 32, ... items, and the loss is traced
    once for each of these sizes, in 0.3 to 2 seconds.

    Example:
      >>> import lightgbm
      >>> objective = ks.trees.objective(ks.RankNetLoss(lambda_weight="ndcg"))
      >>> data = lightgbm.Dataset(np.arange(300.0)[:, None], np.arange(300) % 10, group=[10] * 30)
      >>> lightgbm.train({"objective": objective, "verbose": -1}, data, num_boost_round=5).num_trees()
      5

    Source: C. Burges, "From RankNet to LambdaRank to LambdaMART: An Overview", MSR-TR-2010-82, 2010.
    """
    return Objective(loss, hessian, unit_scale, normalize_lists)
