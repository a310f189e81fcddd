"""The programs that compilers are asked about: each operator, loss and metric, and the formula one would write.

A formula is the published one in plain float32 TensorFlow, for lists without padding, and gives the same numbers.
Labels and seeds are inputs of a program, because compilers compute beforehand what depends on constants only.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

import keras_softsort as ks

sys.path.append(str(Path(__file__).parents[1] / "tools"))

import formulas

SHAPES = ("64x16", "64x128", "256x200", "8x1000")
PAIRS = (*SHAPES, "8x2000")
LONG = (*SHAPES, "1x100000")
SMALL = ("64x16", "64x128")
SMALLEST = ("64x16",)


class Program(NamedTuple):
    """`function` of the arrays that `inputs` names, of `formula` likewise, and the shapes that are measured."""

    function: Callable[..., Any]
    inputs: tuple[str, ...] = ("scores",)
    formula: Callable[..., Any] | None = None
    shapes: tuple[str, ...] = SHAPES


def arrays(program: Program, batch: int, size: int) -> list[np.ndarray]:
    """The inputs of a program for `batch` lists of `size` items."""
    random = np.random.default_rng(0)
    made: dict[str, Callable[[], np.ndarray]] = {
        "scores": lambda: random.normal(size=[batch, size]),
        "two scores": lambda: random.normal(size=[batch, size, 2]),
        "matrix": lambda: random.normal(size=[batch, size, size]),
        "points": lambda: random.normal(size=[batch, size, 3]),
        "queries": lambda: random.normal(size=[batch, 16]),
        "candidates": lambda: random.normal(size=[size, 16]),
        "labels": lambda: random.integers(0, 5, [batch, size]),
        "clicks": lambda: random.integers(0, 2, [batch, size]),
        "topics": lambda: random.integers(0, 2, [batch, size, 3]),
    }
    whole: dict[str, Callable[[], np.ndarray]] = {
        "seed": lambda: np.array([1, 2]),
        "classes": lambda: random.integers(0, 4, [batch]),
        "candidate classes": lambda: random.integers(0, 4, [size]),
        "neighbors": lambda: random.integers(0, size, [batch, min(size, 10)]),
        "segments": lambda: np.repeat(np.arange(batch), size),
    }
    return [
        (made[name]().astype("float32") if name in made else whole[name]().astype("int32")) for name in program.inputs
    ]


def _top(scores: tf.Tensor) -> int:
    return min(10, scores.shape[-1])


def _rows(lists: tf.Tensor) -> tf.Tensor:
    return tf.reshape(lists, [-1])


def _set_loss(predictions: tf.Tensor, targets: tf.Tensor) -> tf.Tensor:
    return ks.ops.set_loss(
        targets,
        predictions,
        lambda y, x: tf.math.squared_difference(y[:, :, tf.newaxis], x[:, tf.newaxis, :]),
        tf.math.squared_difference,
    )


def _in_methods(operator: Callable, *methods: str, **choices: Any) -> dict[str, Program]:
    """An operator with other methods than its own."""
    name = operator.__name__
    return {
        f"{name}-{method}": Program(functools.partial(operator, method=method), **choices.get(method, {}))
        for method in methods
    }


_SORTING = {
    "neural_sort": Program(ks.neural_sort, formula=formulas.neural_sort),
    "soft_sort": Program(ks.soft_sort, formula=formulas.soft_sort),
    "soft_values": Program(ks.soft_values, formula=formulas.soft_values, shapes=LONG),
    **_in_methods(
        ks.soft_values,
        "soft_sort",
        "projection",
        soft_sort={"formula": functools.partial(formulas.soft_values, rows=formulas.soft_sort), "shapes": LONG},
    ),
    "soft_rank": Program(ks.soft_rank, formula=formulas.soft_rank, shapes=LONG),
    **_in_methods(
        ks.soft_rank,
        "soft_sort",
        "projection",
        "projection_kl",
        "lapsum",
        soft_sort={"formula": functools.partial(formulas.soft_rank, rows=formulas.soft_sort), "shapes": LONG},
    ),
    "soft_top_k": Program(lambda s: ks.soft_top_k(s, _top(s)), formula=lambda s: formulas.soft_top_k(s, _top(s))),
    "soft_top_k_membership": Program(lambda s: ks.ops.soft_top_k_membership(s, _top(s))),
    "soft_quantile": Program(lambda s: ks.ops.soft_quantile(s, 0.5)),
    "harden": Program(lambda p: ks.ops.harden(tf.nn.softmax(p)), ("matrix",)),
}
_MATCHING = {
    "sinkhorn": Program(ks.sinkhorn, ("matrix",), formulas.sinkhorn),
    "gumbel_sinkhorn": Program(lambda x, seed: ks.ops.gumbel_sinkhorn(x, seed=seed), ("matrix", "seed"), shapes=SMALL),
    "linear_assignment": Program(ks.linear_assignment, ("matrix",), shapes=SMALLEST),
    "match": Program(ks.ops.match, ("matrix",), shapes=SMALLEST),
    "set_loss": Program(_set_loss, ("scores", "scores"), shapes=SMALLEST),
    "transport_cost": Program(ks.ops.transport_cost, ("points", "points"), shapes=SMALL),
    "sinkhorn_divergence": Program(ks.ops.sinkhorn_divergence, ("points", "points"), shapes=SMALL),
}
_SAMPLING = {
    "gumbel_softmax": Program(
        lambda s, seed: ks.gumbel_softmax(s, seed=seed), ("scores", "seed"), formulas.gumbel_softmax
    ),
    "gumbel_softmax-k": Program(lambda s, seed: ks.gumbel_softmax(s, seed=seed, k=_top(s)), ("scores", "seed")),
    "gumbel_softmax-no-noise": Program(lambda s: ks.gumbel_softmax(s, k=_top(s), noise_scale=0)),
}
_NEIGHBORS = {
    "nearest_neighbors": Program(
        lambda q, c: ks.ops.nearest_neighbors(q, c, min(10, c.shape[0])),
        ("queries", "candidates"),
        lambda q, c: formulas.nearest_neighbors(q, c, min(10, c.shape[0])),
    ),
    "neighbor_votes": Program(
        lambda d, classes, neighbors: ks.ops.neighbor_votes(
            classes, neighbors, d[:, : neighbors.shape[-1]], 4, votes="distance"
        ),
        ("scores", "candidate classes", "neighbors"),
    ),
    "soft_neighbor_membership": Program(
        lambda q, c: ks.ops.soft_neighbor_membership(q, c, min(10, c.shape[0])), ("queries", "candidates")
    ),
    "dknn_loss": Program(
        lambda q, classes: ks.ops.dknn_loss(q, classes, min(10, q.shape[0] // 4), num_queries=q.shape[0] // 2),
        ("candidates", "candidate classes"),
    ),
    "retrieval_loss": Program(
        lambda q, c, y, z: ks.ops.retrieval_loss(q, c, labels=y, candidate_labels=z),
        ("queries", "candidates", "classes", "candidate classes"),
    ),
}
_LISTS = ("scores", "labels")
# Losses and metrics of scores and labels, each with its formula.
_RANKING = {
    **{
        operator.__name__: Program(operator, _LISTS, formula)
        for operator, formula in [
            (ks.ops.approx_ndcg_loss, formulas.approx_ndcg),
            (ks.ops.list_net_loss, formulas.list_net),
            (ks.ops.mean_squared_loss, formulas.mean_squared),
            (ks.ops.neural_ndcg_loss, formulas.neural_ndcg),
            (ks.ops.sigmoid_cross_entropy_loss, formulas.sigmoid_cross_entropy),
            (ks.ops.softmax_loss, formulas.softmax),
            (ks.ops.unique_softmax_loss, formulas.unique_softmax),
        ]
    },
    **{
        operator.__name__: Program(operator, _LISTS, formula, PAIRS)
        for operator, formula in [
            (ks.ops.pairwise_hinge_loss, formulas.pairwise_hinge),
            (ks.ops.pairwise_mse_loss, formulas.pairwise_mse),
            (ks.ops.pairwise_soft_zero_one_loss, formulas.pairwise_soft_zero_one),
            (ks.ops.plackett_luce_loss, formulas.list_mle_by_pairs),
            (ks.ops.ranknet_lambdas, None),
            (ks.ops.ranknet_loss, formulas.ranknet),
        ]
    },
    "ranknet_loss-ndcg": Program(
        functools.partial(ks.ops.ranknet_loss, lambda_weight="ndcg"), _LISTS, formulas.ranknet_ndcg, PAIRS
    ),
    "plackett_luce_loss-first": Program(
        functools.partial(ks.ops.plackett_luce_loss, ties="first"), _LISTS, formulas.list_mle, PAIRS
    ),
    **{
        operator.__name__: Program(
            lambda s, y, seed, operator=operator: operator(s, y, seed=seed), (*_LISTS, "seed"), shapes=SMALL
        )
        for operator in (
            ks.ops.coupled_rank_distil_loss,
            ks.ops.gumbel_approx_ndcg_loss,
            ks.ops.pl_rank_loss,
            ks.ops.yeti_logistic_loss,
        )
    },
    "ordinal_loss": Program(ks.ops.ordinal_loss, ("two scores", "labels")),
    "click_em_loss": Program(ks.ops.click_em_loss, ("two scores", "clicks")),
    "dual_learning_loss": Program(ks.ops.dual_learning_loss, ("two scores", "clicks")),
    "mixture_em_loss": Program(ks.ops.mixture_em_loss, ("two scores", "clicks")),
    "permutation_cross_entropy_loss": Program(
        lambda p, y: ks.ops.permutation_cross_entropy_loss(tf.nn.softmax(p), y), ("matrix", "labels")
    ),
    "per_segment": Program(
        lambda s, y, segments: ks.ops.per_segment(ks.ops.softmax_loss, _rows(s), _rows(y), segments),
        (*_LISTS, "segments"),
        shapes=SMALL,
    ),
}
_METRICS = {
    "ndcg": Program(functools.partial(ks.ops.ndcg, ties="position"), _LISTS, formulas.ndcg),
    "dcg": Program(functools.partial(ks.ops.dcg, ties="position"), _LISTS, formulas.dcg),
    "mrr": Program(functools.partial(ks.ops.mrr, ties="position"), _LISTS, formulas.mrr),
    **{
        operator.__name__: Program(operator, _LISTS)
        for operator in (
            ks.ops.average_relevance_position,
            ks.ops.expected_reciprocal_rank,
            ks.ops.hits,
            ks.ops.mean_average_precision,
            ks.ops.ordered_pair_accuracy,
            ks.ops.precision,
            ks.ops.recall,
        )
    },
    "alpha_dcg": Program(ks.ops.alpha_dcg, ("scores", "topics")),
    "precision_ia": Program(ks.ops.precision_ia, ("scores", "topics")),
    "kendall_tau": Program(ks.ops.kendall_tau, ("scores", "scores")),
    "spearman_correlation": Program(ks.ops.spearman_correlation, ("scores", "scores")),
}
PROGRAMS: dict[str, Program] = {**_SORTING, **_MATCHING, **_SAMPLING, **_NEIGHBORS, **_RANKING, **_METRICS}
# A loss of scores and labels without a formula needs no line here.
PROGRAMS |= {
    name: Program(getattr(ks.ops, name), _LISTS)
    for name in ks.ops.__all__
    if name.endswith("_loss") and name not in PROGRAMS and ".ranking." in getattr(ks.ops, name).__module__
}
# Names of `keras_softsort.ops` that have no program -> the reason.
EXCEPTIONS = {
    "MatchResult": "a tuple of results",
    "NearestNeighbors": "a tuple of results",
    "SinkhornResult": "a tuple of results",
    "SoftTopK": "a tuple of results",
}
