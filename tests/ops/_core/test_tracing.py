"""Whether operations are traced for XLA."""

import pytest
import tensorflow as tf

from keras_softsort.ops._core.tracing import is_compiled


@pytest.mark.parametrize("jit", [True, None], ids=["XLA", "plain"])
def test_is_compiled(jit):
    seen = []

    def note(x):
        seen.append(is_compiled())
        return x

    def branch(x):
        return tf.cond(x > 0, lambda: note(x), lambda: x)

    tf.function(lambda x: tf.function(branch)(note(x)), jit_compile=jit, autograph=False)(tf.constant(1.0))
    assert seen == [jit is True] * 2
    note(tf.constant(1.0))
    assert seen[-1] is False
