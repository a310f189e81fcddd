"""The state of the noise: one seed per call, also from many threads at once."""

from concurrent import futures

import numpy as np
import pytest
import tensorflow as tf

import keras_softsort as ks


@pytest.mark.parametrize("jit_compile", [None, False, True], ids=["eager", "traced", "xla"])
def test_threads_that_share_a_layer_draw_different_noise(jit_compile):
    layer, logits = ks.GumbelSoftmaxLayer(hard=False, seed=1), tf.zeros([1, 8])
    call = layer if jit_compile is None else tf.function(layer, jit_compile=jit_compile)
    call(logits, training=True)
    with futures.ThreadPoolExecutor(32) as pool:
        samples = [future.result() for future in [pool.submit(call, logits, training=True) for _ in range(64)]]
    assert len(np.unique(np.concatenate(samples), axis=0)) == 64


def test_calls_go_on_where_the_saved_state_stopped():
    first, second = (ks.GumbelSoftmaxLayer(hard=False, seed=1) for _ in range(2))
    logits = tf.zeros([1, 8])
    drawn = [first(logits, training=True) for _ in range(3)]
    np.testing.assert_array_equal(second(logits, training=True), drawn[0])
    second.set_weights([tf.convert_to_tensor(weight).numpy() for weight in first.weights])
    following = second(logits, training=True)
    np.testing.assert_array_equal(following, first(logits, training=True))
    assert all(np.any(following != each) for each in drawn)
