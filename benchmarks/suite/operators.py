"""Operators and the main losses with their peers, what each costs, and the lists that it is run on."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import NamedTuple

import formulas
import numpy as np
import peers
import tensorflow as tf
from frameworks import Arrays

import keras_softsort as ks

# Bytes, and rough operations, of `batch` lists of n: what does not fit is not started.
COSTS: dict[str, Callable[[int, int], tuple[float, float]]] = {
    "list": lambda batch, n: (500 * batch * n, batch * n),
    "matrix": lambda batch, n: (24 * batch * n**2, 4 * batch * n**2),
    "pairs": lambda batch, n: (500 * batch * n, 4 * batch * n**2),  # by blocks: all in time, not in memory
    "iterated": lambda batch, n: (200 * batch * n**2, 200 * batch * n**2),
    "kept iterations": lambda batch, n: (900 * batch * n**2, 200 * batch * n**2),
    "cubes": lambda batch, n: (24 * batch * n**2, batch * n**3),
}


class Operator(NamedTuple):
    """`function(scores, ...)` of ours, of scores alone, of `pairs` [batch, n, n], or with labels, orders or a seed."""

    function: Callable
    cost: str = "list"
    inputs: str = "lists"
    peers: Iterable[peers.Peer] = ()
    repeatable: bool = True  # a loss draws other noise in each function that it is traced in


def _ours(loss: type, cost: str, more: Iterable[peers.Peer] = (), **options) -> Operator:
    return Operator(lambda s, y: loss(**options)(y, s), cost, "labels", tuple(more))


def _permutation_cross_entropy(pairs: tf.Tensor) -> tf.Tensor:
    labels = tf.range(pairs.shape[-1], dtype=pairs.dtype)
    return ks.PermutationCrossEntropyLoss()(tf.broadcast_to(labels, pairs.shape[:-1]), tf.nn.softmax(pairs))


def _both(what: str, method: str) -> tuple[peers.Peer, ...]:
    return (*peers.of_method(method, what), *peers.of_ott(what))


def _mean(losses: Callable) -> Callable:
    return lambda scores, labels: tf.reduce_mean(losses(scores, labels))


SEED = [1, 2]
OPERATORS = {
    "neural_sort": Operator(ks.neural_sort, "matrix", peers=tuple(peers.of_method("neural_sort", "matrix"))),
    "soft_sort": Operator(ks.soft_sort, "matrix", peers=tuple(peers.of_method("soft_sort", "matrix"))),
    "neural_sort_values": Operator(ks.soft_values, peers=_both("values", "neural_sort")),
    "soft_sort_values": Operator(
        lambda s: ks.soft_values(s, method="soft_sort"), peers=tuple(peers.of_method("soft_sort", "values"))
    ),
    "neural_sort_ranks": Operator(ks.soft_rank, peers=_both("ranks", "neural_sort")),
    "soft_sort_ranks": Operator(
        lambda s: ks.soft_rank(s, method="soft_sort"), peers=tuple(peers.of_method("soft_sort", "ranks"))
    ),
    "projection_values": Operator(
        lambda s: ks.soft_values(s, method="projection"), peers=tuple(peers.of_torchsort("values"))
    ),
    "projection_ranks": Operator(
        lambda s: ks.soft_rank(s, method="projection"), peers=tuple(peers.of_torchsort("ranks"))
    ),
    "lapsum_ranks": Operator(lambda s: ks.soft_rank(s, method="lapsum")),
    "lapsum_membership": Operator(lambda s: ks.ops.soft_top_k_membership(s, 10, method="lapsum")),
    "soft_top_k": Operator(
        lambda s: ks.soft_top_k(s, min(10, s.shape[-1])).values, peers=tuple(peers.of_top_k("neural_sort", 10))
    ),
    "soft_sort_top_k": Operator(
        lambda s: ks.soft_top_k(s, min(10, s.shape[-1]), method="soft_sort").values,
        peers=tuple(peers.of_top_k("soft_sort", 10)),
    ),
    "soft_quantile": Operator(lambda s: ks.ops.soft_quantile(s, 0.5)),
    # The seed is an input: TensorFlow would draw the noise of a constant one before the first step.
    "gumbel_softmax": Operator(
        lambda s, seed: ks.gumbel_softmax(s, seed=seed), inputs="seed", peers=tuple(peers.of_gumbel_softmax())
    ),
    "plackett_luce_log_prob": Operator(
        lambda s, orders: ks.distributions.PlackettLuce(s).log_prob(orders),
        inputs="orders",
        peers=tuple(peers.of_plackett_luce_log_prob()),
    ),
    "plackett_luce_sample": Operator(
        lambda s, seed: ks.distributions.PlackettLuce(s).sample(seed=seed),
        inputs="seed",
        peers=tuple(peers.of_plackett_luce_sample()),
    ),
    "harden": Operator(lambda p: ks.ops.harden(tf.nn.softmax(p)), "matrix", "pairs"),
    "sinkhorn": Operator(ks.sinkhorn, "iterated", "pairs", tuple(peers.of_sinkhorn())),
    "gumbel_sinkhorn": Operator(lambda p: ks.ops.gumbel_sinkhorn(p, seed=SEED), "iterated", "pairs"),
    "linear_assignment": Operator(ks.linear_assignment, "cubes", "pairs", tuple(peers.of_assignment())),
    "ranknet_lambdas": Operator(ks.ops.ranknet_lambdas, "pairs", "labels"),
    "RankNetLoss": _ours(
        ks.RankNetLoss,
        "pairs",
        [
            *peers.of_loss("PairwiseLogisticLoss", "pairwise_logistic_loss", "PairwiseLogisticLoss"),
            *peers.of_formula(lambda s, y: formulas.pair_costs(s, y) / s.shape[0], same=True),
        ],
        normalization="none",
    ),
    "RankNetLoss_ndcg": _ours(
        ks.RankNetLoss,
        "pairs",
        [
            *peers.of_formula(_mean(formulas.ranknet_ndcg), same=True),
            *peers.of_loss(in_tf_ranking="PairwiseLogisticLoss", lambda_weight={"smooth_fraction": 1.0}),
        ],
        normalization="none",
        lambda_weight="ndcg",
    ),
    "PlackettLuceLoss": _ours(
        ks.PlackettLuceLoss,
        "list",
        [
            *peers.of_loss("ListMLELoss", "listmle_loss", "ListMLELoss"),
            *peers.of_formula(_mean(functools.partial(formulas.list_mle, ties="breslow")), "list", same=True),
            *peers.of_formula(_mean(formulas.list_mle_by_pairs), same=True, name="formula of pairs"),
        ],
    ),
    # Keras-RS ranks tied items in the order of the list too.
    "PlackettLuceLoss_first": _ours(
        ks.PlackettLuceLoss,
        "list",
        [*peers.of_loss("ListMLELoss"), *peers.of_formula(_mean(formulas.list_mle), "list", same=True)],
        ties="first",
    ),
    "PLRankLoss": _ours(ks.PLRankLoss, "list", seed=3)._replace(repeatable=False),
    "ApproxNDCGLoss": _ours(
        ks.ApproxNDCGLoss,
        "matrix",
        [*peers.of_formula(_mean(formulas.approx_ndcg)), *peers.of_loss(in_tf_ranking="ApproxNDCGLoss")],
    ),
    # The rank sums take less time the fewer temperatures the scores span.
    "ApproxNDCGLoss_tau_1": _ours(
        ks.ApproxNDCGLoss, "matrix", peers.of_formula(_mean(functools.partial(formulas.approx_ndcg, tau=1.0))), tau=1.0
    ),
    "NeuralNDCGLoss": _ours(
        ks.NeuralNDCGLoss, "iterated", peers.of_formula(_mean(formulas.neural_ndcg), "kept iterations")
    ),
    "NeuralSortCrossEntropyLoss": _ours(ks.NeuralSortCrossEntropyLoss, "matrix"),
    "SpearmanLoss": _ours(ks.SpearmanLoss, "list"),
    "PermutationCrossEntropyLoss": Operator(_permutation_cross_entropy, "matrix", "pairs"),
}
OURS = "ours"
HARD_SORT = peers.Peer("hard sort", peers.TF_MODES, tf.sort, "list", same=False)


def candidates(name: str, with_peers: bool) -> list[peers.Peer]:
    """Ours first, then the hard sort of lists, then the peers."""
    operator = OPERATORS[name]
    found = [peers.Peer(OURS, peers.TF_MODES, operator.function, operator.cost, operator.repeatable)]
    if operator.inputs != "pairs":
        found.append(HARD_SORT._replace(function=lambda scores, *_: tf.sort(scores)))
    return [*found, *operator.peers] if with_peers else found


def has_peer(name: str, library: str) -> bool:
    """Whether an operator has a peer of `library` here."""
    return any(peer.name.startswith(library) for peer in OPERATORS[name].peers)


def data(name: str, batch: int, size: int) -> Arrays:
    """Standard normal scores in float32, labels 0 to 4 for losses, random orders for their probabilities, or a seed."""
    random, inputs = np.random.default_rng(0), OPERATORS[name].inputs
    scores = random.normal(size=(batch, size, size) if inputs == "pairs" else (batch, size)).astype(np.float32)
    if inputs == "orders":
        return scores, np.argsort(random.normal(size=scores.shape)).astype(np.int32)
    if inputs == "seed":
        return scores, np.int32(SEED)
    return (scores, random.integers(0, 5, size=(batch, size)).astype(np.float32)) if inputs == "labels" else (scores,)
