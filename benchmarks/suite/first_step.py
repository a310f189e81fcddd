"""How long a model's first training step takes: trace, compilation and the step itself, each in a fresh process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import formulas
import numpy as np
import tensorflow as tf
from frameworks import attribute, is_here
from measure import in_child
from short_lists import FIRST_STEP, MODES

import keras_softsort as ks

BATCH, SIZE, FEATURES = 64, 50, 8


def _formula(function: Callable) -> Callable:
    return lambda: lambda y, s: tf.reduce_mean(function(s, y))


def _sorting(layer: Callable) -> Callable:
    """The cross-entropy of a soft permutation with the order of the labels."""

    def make() -> Callable:
        def loss(labels: tf.Tensor, scores: tf.Tensor) -> tf.Tensor:
            order = tf.argsort(labels, direction="DESCENDING")
            target = tf.one_hot(order, tf.shape(labels)[1])
            return -tf.reduce_mean(tf.reduce_sum(target * tf.math.log(layer(scores) + 1e-20), axis=[1, 2]))

        return loss

    return make


def losses() -> dict[str, dict[str, Callable]]:
    """For each model, what makes the loss of ours and of a peer."""
    found: dict[str, dict[str, Callable]] = {
        "RankNet": {"ours": ks.RankNetLoss, "formula": _formula(formulas.ranknet)},
        "ListMLE": {"ours": ks.PlackettLuceLoss, "formula": _formula(partial(formulas.list_mle, ties="breslow"))},
        "NeuralNDCG": {"ours": ks.NeuralNDCGLoss, "formula": _formula(formulas.neural_ndcg)},
        "NeuralSort": {"ours": _sorting(ks.neural_sort), "formula": _sorting(formulas.neural_sort)},
    }
    if is_here("keras_rs"):
        found["RankNet"]["keras_rs"] = attribute("keras_rs", "losses.PairwiseLogisticLoss")
        found["ListMLE"]["keras_rs"] = attribute("keras_rs", "losses.ListMLELoss")
    return found


def first_step(name: str, candidate: str, mode: str) -> list[dict[str, Any]]:
    """Seconds of the first `train_on_batch`, and the operations of the loss and its gradient."""
    random = np.random.default_rng(0)
    features = random.normal(size=(BATCH, SIZE, FEATURES)).astype(np.float32)
    labels = random.integers(0, 5, size=(BATCH, SIZE)).astype(np.float32)
    loss = losses()[name][candidate]()
    model = tf.keras.Sequential([tf.keras.layers.Dense(1), tf.keras.layers.Reshape([SIZE])])
    model.build([None, SIZE, FEATURES])
    model.compile("sgd", loss, jit_compile=mode == "XLA")
    start = time.perf_counter()
    model.train_on_batch(features, labels)
    seconds = time.perf_counter() - start

    @tf.function(autograph=False)
    def step(scores: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            tape.watch(scores)
            value = loss(labels, scores)
        return tape.gradient(value, scores)

    graph = step.get_concrete_function(tf.zeros_like(labels), tf.constant(labels)).graph.as_graph_def()
    operations = len(graph.node) + sum(len(function.node_def) for function in graph.library.function)
    return [{"first call": seconds, "operations": operations}]


def measured(timeout: float, found: set[tuple[str, str, str]]) -> Iterator[dict[str, Any]]:
    """A record for each model, candidate and mode that is not among `found`."""
    for name, candidates in losses().items():
        for candidate in candidates:
            for mode in MODES:
                operator = f"{FIRST_STEP} {name}"
                if (operator, candidate, mode) in found:
                    continue
                (record,) = in_child(first_step, name, candidate, mode, timeout=timeout)
                where = {"operator": operator, "batch": BATCH, "size": SIZE}
                yield {**where, "candidate": candidate, "mode": mode, **record}
