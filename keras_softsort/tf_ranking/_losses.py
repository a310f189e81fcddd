"""Losses by name: ours beside those of TF-Ranking."""

from __future__ import annotations

from typing import Any

from keras_softsort import losses
from keras_softsort._internal import arguments
from keras_softsort.tf_ranking._stack import tfr

# TF-Ranking has losses under the names without "keras_softsort_".
LOSSES: dict[str, type] = {
    "keras_softsort_approx_ndcg_loss": losses.ApproxNDCGLoss,
    "keras_softsort_pairwise_hinge_loss": losses.PairwiseHingeLoss,
    "keras_softsort_pairwise_mse_loss": losses.PairwiseMSELoss,
    "keras_softsort_pairwise_soft_zero_one_loss": losses.PairwiseSoftZeroOneLoss,
    "keras_softsort_softmax_loss": losses.SoftmaxLoss,
    "neural_ndcg_loss": losses.NeuralNDCGLoss,
    "neural_sort_cross_entropy_loss": losses.NeuralSortCrossEntropyLoss,
    "pl_rank_loss": losses.PLRankLoss,
    "plackett_luce_loss": losses.PlackettLuceLoss,
    "ranknet_loss": losses.RankNetLoss,
    "spearman_loss": losses.SpearmanLoss,
}


def get_loss(
    loss: str,
    reduction: str | None = "auto",
    lambda_weight: Any = None,
    name: str | None = None,
    *,
    ragged: bool = False,
    **kwargs: Any,
) -> Any:
    """The loss of that name, as `tfr.keras.losses.get`, which it calls for the keys of TF-Ranking.

    | name | loss |
    |---|---|
    | `"keras_softsort_approx_ndcg_loss"` | `ApproxNDCGLoss` (`"approx_ndcg_loss"` is TF-Ranking's, of the same value) |
    | `"keras_softsort_pairwise_hinge_loss"` | `PairwiseHingeLoss` |
    | `"keras_softsort_pairwise_mse_loss"` | `PairwiseMSELoss` |
    | `"keras_softsort_pairwise_soft_zero_one_loss"` | `PairwiseSoftZeroOneLoss` |
    | `"keras_softsort_softmax_loss"` | `SoftmaxLoss` |
    | `"neural_ndcg_loss"` | `NeuralNDCGLoss` |
    | `"neural_sort_cross_entropy_loss"` | `NeuralSortCrossEntropyLoss` |
    | `"pl_rank_loss"` | `PLRankLoss` |
    | `"plackett_luce_loss"` | `PlackettLuceLoss` |
    | `"ranknet_loss"` | `RankNetLoss` |
    | `"spearman_loss"` | `SpearmanLoss` |
    | one of `tfr.keras.losses.RankingLossKey` | that of TF-Ranking |

    Args:
      loss: one of those names. `LOSSES` holds those that are ours.
      reduction: a `tf.keras.losses.Reduction`. `"auto"` is for our losses the mean over lists; TF-Ranking's are then
        means over lists or, where they have a value an item, over items, those of the padding included.
      lambda_weight: for `"ranknet_loss"` the name of one, as `"ndcg"`; for those of TF-Ranking an object of theirs.
      name: of the loss, `None` for the one that it has by itself.
      ragged: whether TF-Ranking's losses are to be given ragged labels and scores. Ours take both kinds at any time.
      **kwargs: the further arguments of the loss.

    Raises:
      ValueError: an unknown name; the message lists all.
      TypeError: `ragged` is no bool, an argument that the loss does not have (as `ragged` where it is TF-Ranking's
        `"calibrated_softmax_loss"`).

    Example:

    >>> from keras_softsort import tf_ranking
    >>> tf_ranking.get_loss("ranknet_loss", lambda_weight="ndcg", k=10).k
    10
    >>> type(tf_ranking.get_loss("softmax_loss", ragged=True)).__module__
    'tensorflow_ranking.python.keras.losses'
    """
    arguments.one_of("loss", loss, [*LOSSES, *tfr.keras.losses.RankingLossKey.all_keys()])
    if arguments.boolean("ragged", ragged) and loss not in LOSSES:
        kwargs["ragged"] = True  # or not at all, for the one that does not have it
    if loss not in LOSSES:
        return tfr.keras.losses.get(loss, reduction, lambda_weight, name, **kwargs)
    options = {"lambda_weight": lambda_weight, "name": name}
    kwargs.update({key: value for key, value in options.items() if value is not None})
    return LOSSES[loss](reduction=reduction, **kwargs)
