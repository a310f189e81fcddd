"""XLA's programs for short float32 lists hold no float64, which most GPUs compute at a small part of their speed."""

import functools

import numpy as np
import pytest
import tensorflow as tf

import keras_softsort as ks
from keras_softsort.ops.core.tracing import lowering_for

SCORES = np.random.default_rng(0).normal(size=(8, 32)).astype("float32")
LABELS = np.random.default_rng(1).integers(0, 4, size=(8, 32)).astype("float32")
OPERATORS = {
    "soft_sort": ks.soft_sort,
    "soft_values": lambda s: ks.soft_values(s, method="soft_sort"),
    "soft_rank": lambda s: ks.soft_rank(s, method="soft_sort"),
    "soft_top_k": lambda s: ks.soft_top_k(s, 5, method="soft_sort").values,
    "gumbel_softmax": lambda s: ks.gumbel_softmax(s, seed=[1, 2]),
    "PlackettLuce.log_prob": lambda s: ks.PlackettLuce(s).log_prob(np.argsort(LABELS)),
    "PlackettLuce.log_prob of three items": lambda s: ks.PlackettLuce(s, top_k=3).log_prob(np.argsort(LABELS)[:, :3]),
    "plackett_luce_loss": lambda s: ks.ops.plackett_luce_loss(s, LABELS),
    "approx_ndcg_loss": lambda s: ks.ops.approx_ndcg_loss(s, LABELS),
    "neural_ndcg_loss": lambda s: ks.ops.neural_ndcg_loss(s, LABELS, method="soft_sort"),
    "unique_softmax_loss": lambda s: ks.ops.unique_softmax_loss(s, LABELS),
    "ranknet_loss": lambda s: ks.ops.ranknet_loss(s, LABELS, lambda_weight="ndcg"),
}


LONG = np.random.default_rng(0).normal(size=(1, 1000)).astype("float32")
OF_LONG = {
    "PlackettLuce.log_prob": lambda s: ks.PlackettLuce(s).log_prob(np.argsort(LONG)),
    "plackett_luce_loss": lambda s: ks.ops.plackett_luce_loss(s, LONG),
    "soft_sort": ks.soft_sort,
    "approx_ndcg_loss": lambda s: ks.ops.approx_ndcg_loss(s, np.abs(LONG)),
    "unique_softmax_loss": lambda s: ks.ops.unique_softmax_loss(s, np.abs(LONG)),
    "ranknet_loss": lambda s: ks.ops.ranknet_loss(s, np.abs(LONG), lambda_weight="ndcg"),
}

# More items together than the longest list that is compared by pairs.
MANY = np.random.default_rng(0).normal(size=(300, 8)).astype("float32")
OF_MANY = {
    f"{operator.__name__} by {method}": functools.partial(operator, method=method)
    for operator, methods in {
        ks.soft_values: ("neural_sort", "soft_sort", "projection", "projection_kl"),
        ks.soft_rank: ("neural_sort", "soft_sort", "projection", "projection_kl", "lapsum"),
    }.items()
    for method in methods
}


def program(function, scores=SCORES):
    """The HLO of the values and the gradient of `function` of the scores."""

    @tf.function(jit_compile=True, autograph=False)
    def step(scores):
        with tf.GradientTape() as tape:
            tape.watch(scores)
            values = function(scores)
        return values, tape.gradient(values, scores)

    return step.experimental_get_compiler_ir(tf.constant(scores))(stage="hlo")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "scores"),
    [(each, SCORES) for each in OPERATORS.values()] + [(each, LONG) for each in OF_LONG.values()],
    ids=[*OPERATORS, *(f"{name} of a thousand items" for name in OF_LONG)],
)
def test_no_float64(function, scores):
    assert program(function, scores).count("f64[") == 0


@pytest.mark.slow
@pytest.mark.parametrize("target", ["gpu", pytest.param("tpu", marks=pytest.mark.nightly)])
@pytest.mark.parametrize("function", OF_MANY.values(), ids=OF_MANY)
def test_no_float64_for_many_lists_on_accelerators(function, target):
    with lowering_for(target):
        assert program(function, MANY).count("f64[") == 0


def test_float64_is_found():
    assert program(lambda scores: tf.cast(scores, tf.float64)).count("f64[") > 0
