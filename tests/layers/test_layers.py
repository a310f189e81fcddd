"""Every argument of every layer, mask propagation, and errors."""

import inspect

import numpy as np
import pytest
import tensorflow as tf
from support import models
from support.cases import objects
from support.cases.op_case import METHODS
from support.oracles import sorting as oracles

import keras_softsort as ks

keras = tf.keras
SORTERS = [ks.NeuralSortLayer, ks.SoftSortLayer]
every_layer = pytest.mark.parametrize("case", objects.needed(objects.SORTING_LAYERS), ids=str)
sorters = pytest.mark.parametrize("cls", SORTERS, ids=lambda cls: cls.__name__)
X = np.float32([[0.1, -0.7, 1.2, 0.4], [0.3, 0.9, -1.1, 0.2]])


def matrix(cls, tau=0.5, *, ascending=False, power=1.0, method=None):
    """P in float64, by the papers' formulas."""
    method = method or {ks.NeuralSortLayer: "neural_sort", ks.SoftSortLayer: "soft_sort"}[cls]
    direction = "ASCENDING" if ascending else "DESCENDING"
    return oracles.permutation(X, tau, method=method, direction=direction, power=power)


def values(p, x=X):
    return np.einsum("bij,bj->bi", p, x)


def ranks(p):
    return np.einsum("bij,i->bj", p, np.arange(1, p.shape[1] + 1))


OUTPUTS = {"permutation": lambda p: p, "values": values, "ranks": ranks}


def close(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("ascending", [False, True])
@pytest.mark.parametrize("returns", OUTPUTS)
@sorters
def test_output_and_direction(cls, returns, ascending):
    direction = "ASCENDING" if ascending else "DESCENDING"
    layer = cls(tau=0.5, returns=returns, direction=direction)
    close(layer(X), OUTPUTS[returns](matrix(cls, ascending=ascending)))


@pytest.mark.parametrize("returns", ["permutation", "values"])
@sorters
def test_top_k(cls, returns):
    close(cls(tau=0.5, returns=returns, top_k=2)(X), OUTPUTS[returns](matrix(cls)[:, :2]))


@pytest.mark.parametrize("returns", OUTPUTS)
@sorters
def test_hard(cls, returns):
    tied = np.float32([[1.0, 3.0, 1.0, 2.0]])
    exact = np.eye(4)[[1, 3, 0, 2]][None]
    wanted = OUTPUTS[returns](exact) if returns != "values" else values(exact, tied)
    np.testing.assert_array_equal(cls(tau=0.5, returns=returns, hard=True)(tied), wanted)


@sorters
def test_hard_has_the_soft_gradient(cls):
    weights, slopes = tf.constant(np.random.default_rng(1).normal(size=(2, 4, 4)), tf.float32), []
    for hard in (False, True):
        x = tf.Variable(X)
        with tf.GradientTape() as tape:
            total = tf.reduce_sum(weights * cls(tau=0.5, hard=hard)(x))
        slopes.append(tape.gradient(total, x))
    assert np.abs(slopes[0]).max() > 0.01
    close(slopes[1], slopes[0])


def test_power():
    close(ks.SoftSortLayer(tau=0.5, power=2.0)(X), matrix(ks.SoftSortLayer, power=2.0))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("ascending", [False, True])
def test_soft_rank(method, ascending):
    layer = ks.SoftRankLayer(tau=0.4, method=method, direction="ASCENDING" if ascending else "DESCENDING")
    close(layer(X), ranks(matrix(None, 0.4, ascending=ascending, method=method)))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("returns", ["values", "weights", "membership"])
def test_soft_top_k(method, k, returns):
    rows = matrix(None, 0.4, method=method)[:, :k]
    wanted = {"values": values(rows), "weights": rows, "membership": rows.sum(1)}[returns]
    close(ks.SoftTopKLayer(k, tau=0.4, method=method, returns=returns)(X), wanted)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("q", [0.4, [0.0, 0.4, 1.0]])
def test_soft_quantile(method, q):
    ordered = values(matrix(None, 0.3, ascending=True, method=method))
    wanted = np.stack([np.quantile(row, np.atleast_1d(q)) for row in np.sort(ordered)])
    assert np.all(np.diff(ordered) > 0)
    close(ks.SoftQuantileLayer(q, tau=0.3, method=method)(X), wanted)


@every_layer
def test_works_in_sequential_add(case):
    model = keras.Sequential()
    model.add(keras.Input((4,)))
    model.add(case.make())
    close(model(X), case.make()(X))


MASK = np.array([[True, False, True, True], [False, False, True, False]])
LEADING = np.array([[True, True, True, False], [True, False, False, False]])
MASKS = [
    (ks.NeuralSortLayer(), MASK),
    (ks.NeuralSortLayer(top_k=2), None),
    (ks.SoftSortLayer(returns="ranks"), MASK),
    (ks.SoftSortLayer(returns="values"), LEADING),
    (ks.SoftSortLayer(returns="values", top_k=2), LEADING[:, :2]),
    (ks.SoftRankLayer(), MASK),
    (ks.SoftTopKLayer(2), LEADING[:, :2]),
    (ks.SoftTopKLayer(2, returns="weights"), None),
    (ks.SoftTopKLayer(2, returns="membership"), MASK),
    (ks.SoftQuantileLayer(0.5), None),
]


@pytest.mark.parametrize(("layer", "wanted"), MASKS, ids=lambda value: getattr(value, "name", ""))
def test_mask_handed_on(layer, wanted):
    found = layer.compute_mask(tf.constant(X), tf.constant(MASK))
    assert layer.compute_mask(tf.constant(X), None) is None
    assert (found is None) == (wanted is None)
    if wanted is not None:
        np.testing.assert_array_equal(found, wanted)


ATTENTION = {"num_heads": 2, "head_size": 4, "dropout": 0.0}
MASKED = {
    **{case.cls.__name__: case.layers for case in objects.first_of_class(objects.LAYERS)},
    "DocumentInteractionAttention": lambda: [models.Pairs(), ks.layers.DocumentInteractionAttention(**ATTENTION)],
}


def padded_features():
    x = np.random.default_rng(1).normal(size=(3, 5, 3)).astype("float32")
    x[:, 3:] = models.PAD
    return x


@pytest.mark.parametrize("name", MASKED)
def test_another_tensor_in_the_call_keeps_the_mask_of_keras(name):
    """Keras 3 hands a mask to a layer only beside a single tensor."""
    *before, layer = [*models.head(), *MASKED[name]()]
    takes_training = models.IS_KERAS_3 or "training" in inspect.signature(layer.call).parameters
    is_false = {"training": tf.constant(False)} if takes_training else {}
    x = inputs = padded_features()
    symbolic = keras_input = keras.Input((5, 3))
    for part in before:
        inputs, symbolic = part(inputs), part(symbolic)
    wanted = layer(inputs)
    np.testing.assert_array_equal(layer(inputs, **is_false), wanted)
    model = keras.Model(keras_input, layer(symbolic, **is_false))
    np.testing.assert_allclose(model(tf.constant(x)), wanted, rtol=1e-5, atol=1e-6)
    without = layer(tf.nest.map_structure(tf.identity, inputs))
    assert not np.array_equal(without, wanted)


@pytest.mark.parametrize("cls", [ks.SinkhornLayer, ks.GumbelSinkhornLayer], ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("with_tau", [False, True])
def test_a_column_mask_keeps_the_mask_of_keras(cls, with_tau):
    x, columns = padded_features(), tf.constant([[True, False, True, True]] * 3)
    parts = [keras.layers.Masking(models.PAD), keras.layers.Dense(4), cls()]
    rows = tf.constant([[True] * 3 + [False] * 2] * 3)
    logits = parts[1](parts[0](x))
    tau = [tf.fill([3], 0.5)] if with_tau else []

    def arguments(logits):
        return [logits, *tau] if tau else logits

    wanted = parts[2](arguments(tf.identity(logits)), mask=[rows, None] if tau else rows, column_mask=columns)
    np.testing.assert_array_equal(parts[2](arguments(logits), column_mask=columns), wanted)
    np.testing.assert_array_equal(wanted[..., 3:, :], 0)
    inputs, column_mask = keras.Input((5, 3)), keras.Input((4,), dtype="bool")
    symbolic = parts[1](parts[0](inputs))
    model = keras.Model([inputs, column_mask], parts[2](symbolic, column_mask=column_mask))
    wanted = parts[2](tf.identity(logits), mask=rows, column_mask=columns)
    np.testing.assert_allclose(model([tf.constant(x), columns]), wanted, rtol=1e-5, atol=1e-6)


@sorters
def test_ranks_are_those_of_all_items(cls):
    with pytest.raises(ValueError, match=r"top_k must be None .*, got 2"):
        cls(returns="ranks", top_k=2)


@pytest.mark.parametrize("layer", [ks.NeuralSortLayer(top_k=5), ks.SoftSortLayer(top_k=5), ks.SoftTopKLayer(5)])
def test_more_ranks_than_items(layer):
    with pytest.raises(ValueError, match=r"k must be at most the list size, 4, got 5"):
        layer(keras.Input((4,)))


@pytest.mark.parametrize("case", objects.needed(objects.SORTING_LAYERS_OF_LAST_AXIS), ids=str)
def test_input_that_is_no_batch_of_lists(case):
    with pytest.raises(ValueError, match=r"scores must have shape \[batch, n\] or \[batch, n, 1\], got \(.*, 3, 2\)"):
        case.make()(keras.Input((3, 2)))


@every_layer
def test_integer_scores(case):
    with pytest.raises(TypeError, match=r"(scores|logits) must be floating-point, got dtype int32"):
        case.make()(np.int32([[1, 2, 3]]))
