"""The bilinear interaction of two vectors: its formula, its shapes, and TF-Ranking's layer with the same weights."""

import numpy as np
import pytest
import tensorflow as tf

import keras_softsort as ks


def inputs(*leading, sizes=(3, 5)):
    random = np.random.default_rng(0)
    return tuple(random.normal(size=(*leading, size)).astype("float32") for size in sizes)


def with_random_weights(layer):
    random = np.random.default_rng(1)
    layer.set_weights([random.normal(size=weight.shape) for weight in layer.get_weights()])
    return layer


@pytest.mark.parametrize("leading", [(4,), (2, 4)])
def test_formula(leading):
    layer, (u, v) = ks.Bilinear(2), inputs(*leading)
    layer((u, v))
    w, a, b, c = map(np.asarray, with_random_weights(layer).get_weights())
    wanted = np.einsum("...i,ijk,...j->...k", u, w, v) + u @ a + v @ b + c
    np.testing.assert_allclose(layer((u, v)), wanted, rtol=1e-4, atol=1e-4)
    assert tuple(layer.compute_output_shape((u.shape, v.shape))) == wanted.shape


def test_tf_ranking():
    tfr = pytest.importorskip("tensorflow_ranking")
    pair = inputs(4, sizes=(3, 3))
    theirs, ours = tfr.keras.layers.Bilinear(3, 2), ks.Bilinear(2)
    expected = with_random_weights_of(theirs, pair)(pair)
    ours(pair)
    ours.set_weights(theirs.get_weights())
    np.testing.assert_allclose(ours(pair), expected, rtol=1e-4, atol=1e-5)


def with_random_weights_of(layer, pair):
    layer(pair)
    return with_random_weights(layer)


@pytest.mark.slow
def test_in_a_model():
    """The layer trains, and is saved, with lists of unknown sizes."""
    first, second = tf.keras.Input((None, 3)), tf.keras.Input((None, 5))
    model = tf.keras.Model([first, second], ks.Bilinear(1)((first, second)))
    assert model.output_shape == (None, None, 1)
    model.compile("sgd", loss=ks.SoftmaxLoss())
    x = inputs(8, 4)
    before = model.get_weights()
    model.fit(list(x), np.eye(8, 4, dtype="float32"), verbose=0)
    assert all(np.abs(now - then).max() > 0 for now, then in zip(model.get_weights()[:3], before[:3], strict=True))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: ks.Bilinear(2)(tf.ones([2, 3])), ValueError, "inputs must be a pair of tensors"),
        (
            lambda: ks.Bilinear(2)((tf.keras.Input((3,)), tf.keras.Input((None,)))),
            ValueError,
            "inputs must have known last axes",
        ),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
