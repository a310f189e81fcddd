"""Rankers whose scores hang on the other items of a list, so that leaking padding shows, and what they should give."""

import numpy as np
import tensorflow as tf

import keras_softsort as ks
from support import models
from support.oracles import sorting as oracles

keras = tf.keras
TAU = 0.7
WEIGHTS = np.float32([1.0, -0.5, 0.3])


def of_names():
    """Documents [b, n, 3], a query [b, 2] and a mask [b, n] to the soft ranks of the documents plus the query's sum."""
    documents = keras.Input((None, 3), name="documents")
    query = keras.Input((2,), name="query")
    mask = keras.Input((None,), dtype="bool", name="mask")
    constant = keras.initializers.Constant
    scores = keras.layers.Dense(1, kernel_initializer=constant(WEIGHTS[:, np.newaxis]))(documents)
    ranks = ks.SoftRankLayer(TAU, direction="ASCENDING")(keras.layers.Reshape((-1,))(scores), mask=mask)
    bias = keras.layers.Dense(1, kernel_initializer=constant(1.0))(query)
    return keras.Model({"documents": documents, "query": query, "mask": mask}, keras.layers.Add()([ranks, bias]))


def of_one_tensor():
    """Features [b, n, 3] to soft ranks; items whose features are all `models.PAD` are masked."""
    return models.features_model("functional", ks.SoftRankLayer(TAU, direction="ASCENDING"))


def identity(shape=(None,)):
    """The scores are the features."""
    inputs = keras.Input(shape)
    return keras.Model(inputs, keras.layers.Activation("linear")(inputs))


def request(sizes=(2, 5, 0, 4), n=5, seed=0):
    """The inputs of `of_names`."""
    rng = np.random.default_rng(seed)
    documents = rng.normal(size=(len(sizes), n, 3)).astype("float32")
    query = rng.normal(size=(len(sizes), 2)).astype("float32")
    ids = np.array([[f"{i}/{j}".encode() for j in range(n)] for i in range(len(sizes))], object)
    return {"documents": documents, "query": query, "sizes": np.int32(sizes), "item_ids": ids}


def expected(documents, sizes, query=None, item_ids=None, top_k=None):
    """Every output, list by list, from the items of that list only."""
    b, n = documents.shape[:2]
    lowest = np.finfo(np.float32).min
    found = {"scores": np.full([b, n], lowest, np.float32), "order": np.full([b, n], -1)}
    if item_ids is not None:
        found["sorted_ids"] = np.full([b, n], b"", object)
    for i, size in enumerate(sizes):
        ranks = oracles.soft_rank(documents[i, :size] @ WEIGHTS, TAU, direction="ASCENDING")
        found["scores"][i, :size] = ranks + (0 if query is None else query[i].sum())
        found["order"][i, :size] = np.argsort(-ranks, kind="stable")
        if item_ids is not None:
            found["sorted_ids"][i, :size] = item_ids[i][found["order"][i, :size]]
    if top_k is not None:
        found["top_k"] = found["order"][:, :top_k]
        found["top_k_scores"] = -np.sort(-found["scores"], axis=1)[:, :top_k]
        if item_ids is not None:
            found["top_k_ids"] = found["sorted_ids"][:, :top_k]
    return found


def assert_same(outputs, wanted):
    assert set(outputs) == set(wanted)
    for name, value in wanted.items():
        if value.dtype.kind == "f":
            np.testing.assert_allclose(outputs[name], value, rtol=2e-5, atol=2e-5)
        else:
            np.testing.assert_array_equal(outputs[name], value)
