"""The peers: published formulas in TensorFlow and torch, and the operators of libraries that are installed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import formulas
import tensorflow as tf
import tensorflow_probability as tfp
from frameworks import attribute, is_here
from optimal_transport import ott_sinkhorn

# TF-Ranking takes part in an environment of its own, with a TensorFlow of which nothing else is compared.
ON_TF_RANKING = is_here("tensorflow_ranking")
TF_MODES = ("TF",) if ON_TF_RANKING else ("TF", "XLA")
TF_RANKING = "tf_ranking"


class Peer(NamedTuple):
    """`function(scores, ...)` of a library, in the `modes` of `frameworks.MODES`; `cost` names one of `COSTS`."""

    name: str
    modes: tuple[str, ...]
    function: Callable
    cost: str = "matrix"
    same: bool = True  # it computes what ours does, so that results can be compared


def torch_neural_sort(scores):
    import torch  # noqa: PLC0415

    size = scores.shape[-1]
    sums = (scores[..., None] - scores[..., None, :]).abs().sum(-1)
    slopes = (size - 1 - 2 * torch.arange(size)).to(scores.dtype)
    return torch.softmax(slopes[:, None] * scores[..., None, :] - sums[..., None, :], -1)


def torch_soft_sort(scores):
    import torch  # noqa: PLC0415

    ordered = scores.sort(-1, descending=True).values
    return torch.softmax(-(ordered[..., None] - scores[..., None, :]).abs(), -1)


FORMULAS = {
    "neural_sort": (formulas.neural_sort, torch_neural_sort),
    "soft_sort": (formulas.soft_sort, torch_soft_sort),
}


def _tf_values(matrix: Callable) -> Callable:
    return lambda s: tf.linalg.matvec(matrix(s), s)


def _tf_ranks(matrix: Callable) -> Callable:
    def ranks(scores: tf.Tensor) -> tf.Tensor:
        places = tf.range(1, scores.shape[-1] + 1, dtype=scores.dtype)
        return tf.reduce_sum(matrix(scores) * places[:, tf.newaxis], axis=-2)

    return ranks


def _torch_values(matrix: Callable) -> Callable:
    return lambda s: (matrix(s) @ s[..., None])[..., 0]


def _torch_ranks(matrix: Callable) -> Callable:
    def ranks(scores):
        import torch  # noqa: PLC0415

        places = torch.arange(1, scores.shape[-1] + 1, dtype=scores.dtype)
        return (matrix(scores) * places[:, None]).sum(-2)

    return ranks


def of_method(method: str, what: str) -> Iterator[Peer]:
    """The formulas of `method`; `what` is made of the matrix: itself, values, or ranks."""
    in_tf, in_torch = FORMULAS[method]
    make = {"matrix": (lambda f: f,) * 2, "values": (_tf_values, _torch_values), "ranks": (_tf_ranks, _torch_ranks)}[
        what
    ]
    yield Peer("formula", TF_MODES, make[0](in_tf))
    if is_here("torch"):
        yield Peer("torch formula", ("torch",), make[1](in_torch))
    if method == "neural_sort" and what == "matrix":
        yield Peer("tfp.soft_sorting_matrix", TF_MODES, lambda s: tfp.math.soft_sorting_matrix(s, 1.0))


def of_ott(what: str) -> Iterator[Peer]:
    """Optimal transport, which computes something else for the same end."""
    if is_here("ott"):
        yield Peer(f"ott {what}", ("jax",), lambda s: _ott(what, s), "iterated", same=False)


def of_torchsort(what: str) -> Iterator[Peer]:
    """The projections, which torchsort sorts ascending."""
    if is_here("torchsort"):
        function = attribute("torchsort", {"values": "soft_sort", "ranks": "soft_rank"}[what])
        yield Peer(f"torchsort {what}", ("torch",), function, "list", same=False)


def _ott(what: str, scores):
    """Through the iterations: ott-jax 0.6 has no gradient of its default start, nor one by implicit differentiation."""
    from ott.initializers.linear.initializers import DefaultInitializer  # noqa: PLC0415
    from ott.tools import soft_sort  # noqa: PLC0415

    function = {"values": soft_sort.sort, "ranks": soft_sort.ranks}[what]
    return function(scores, axis=-1, initializer=DefaultInitializer(), implicit_diff=None)


def torch_log_sinkhorn(logits):
    for _ in range(20):
        logits = logits - logits.logsumexp(-1, keepdim=True)
        logits = logits - logits.logsumexp(-2, keepdim=True)
    return logits.exp()


def of_top_k(method: str, k: int) -> Iterator[Peer]:
    """The first k sorted scores, by rows of the matrix where the formula has them one by one."""
    if method == "neural_sort":
        rows = lambda s: formulas.neural_sort(s, rows=min(k, s.shape[-1]))  # noqa: E731
    else:
        rows = lambda s: formulas.soft_sort(s)[:, :k]  # noqa: E731
    yield Peer("formula", TF_MODES, lambda s: tf.linalg.matvec(rows(s), s))


def of_formula(
    function: Callable, cost: str = "matrix", *, same: bool = False, name: str = "formula"
) -> Iterator[Peer]:
    """The published formula."""
    yield Peer(name, TF_MODES, function, cost, same=same)


def of_plackett_luce_log_prob() -> Iterator[Peer]:
    def function(scores: tf.Tensor, orders: tf.Tensor) -> tf.Tensor:
        return tfp.distributions.PlackettLuce(tf.exp(scores)).log_prob(orders)

    yield Peer("tfp.PlackettLuce.log_prob", TF_MODES, function, "list", same=True)


def of_plackett_luce_sample() -> Iterator[Peer]:
    def function(scores: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        return tfp.distributions.PlackettLuce(tf.exp(scores)).sample(seed=seed)

    yield Peer("tfp.PlackettLuce.sample", TF_MODES, function, "list", same=False)


def of_gumbel_softmax() -> Iterator[Peer]:
    yield Peer("formula", TF_MODES, formulas.gumbel_softmax, "list", same=False)
    sample = lambda s, seed: tfp.distributions.RelaxedOneHotCategorical(1.0, logits=s).sample(seed=seed)  # noqa: E731
    yield Peer("tfp.RelaxedOneHotCategorical", TF_MODES, sample, "list", same=False)


def of_sinkhorn() -> Iterator[Peer]:
    yield Peer("potentials", TF_MODES, formulas.sinkhorn_potentials, "iterated")
    if is_here("torch"):
        yield Peer("torch log domain", ("torch",), torch_log_sinkhorn, "iterated")
    if is_here("ott"):
        yield Peer("ott scaling", ("jax",), lambda s: ott_sinkhorn(s, 1.0, 20), "iterated")


def of_assignment() -> Iterator[Peer]:
    if is_here("scipy"):
        solve = attribute("scipy.optimize", "linear_sum_assignment")

        def columns(scores):
            import numpy as np  # noqa: PLC0415

            return np.stack([solve(each, maximize=True)[1] for each in scores])

        yield Peer("scipy", ("numpy",), columns, "cubes")


def of_loss(in_keras_rs: str = "", in_rax: str = "", in_tf_ranking: str = "", **options: Any) -> Iterator[Peer]:
    """Losses of the same kind, each library with its own normalization; `options` are TF-Ranking's."""
    if in_keras_rs and is_here("keras_rs"):
        make = attribute("keras_rs", f"losses.{in_keras_rs}")
        yield Peer(f"keras_rs.{in_keras_rs}", TF_MODES, lambda s, y: make()(y, s), same=False)
    if in_rax and is_here("rax"):
        function = attribute("rax", in_rax)
        yield Peer(f"rax.{in_rax}", ("jax",), function, same=False)
    if in_tf_ranking and ON_TF_RANKING:
        theirs = attribute("tensorflow_ranking", f"keras.losses.{in_tf_ranking}")
        weight = attribute("tensorflow_ranking", "keras.losses.NDCGLambdaWeight")
        made = lambda: {name: weight(**each) for name, each in options.items()}  # noqa: E731
        yield Peer(f"{TF_RANKING}.{in_tf_ranking}", TF_MODES, lambda s, y: theirs(**made())(y, s), same=False)
