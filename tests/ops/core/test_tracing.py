"""Whether operations are traced for XLA, and how often an operator is traced that several threads call first."""

import threading
import time
from concurrent import futures

import pytest
import tensorflow as tf

import keras_softsort as ks
from keras_softsort.ops.core.tracing import is_compiled, number_of_traces, traced_if_eager

THREADS = 8


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


class Squares:
    """An operator that counts the runs of its Python code and of its gradient's."""

    def __init__(self):
        self.traces, self.gradients = 0, 0
        self.operator = traced_if_eager(self.square)

    def square(self, x, slow):
        self.traces += 1
        if slow:
            time.sleep(0.1)  # the other threads call meanwhile

        @tf.custom_gradient
        def squared(x):
            def gradient(dy):
                self.gradients += 1
                return 2 * x * dy

            return x * x, gradient

        return squared(x)

    def differentiated(self, x, persistent=False):
        with tf.GradientTape(persistent=persistent) as tape:
            tape.watch(x)
            y = self.operator(x, True)
        return float(tape.gradient(y, x)[0])


def in_threads(function):
    """The results of as many calls, which begin together."""
    barrier = threading.Barrier(THREADS)

    def call(i):
        barrier.wait()
        return function(tf.constant([float(i)]))

    with futures.ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(call, range(THREADS)))


@pytest.mark.traced_eagerly
def test_first_calls_from_several_threads_make_one_trace():
    squares = Squares()
    assert in_threads(lambda x: float(squares.operator(x, True)[0])) == [i**2 for i in range(THREADS)]
    assert squares.traces == 1


@pytest.mark.traced_eagerly
@pytest.mark.parametrize("persistent", [False, True], ids=["one tape", "persistent tape"])
def test_first_gradients_from_several_threads_make_one_trace(persistent):
    alone, together = Squares(), Squares()
    assert alone.differentiated(tf.constant([3.0]), persistent) == 6
    found = in_threads(lambda x: together.differentiated(x, persistent))
    assert found == [2 * i for i in range(THREADS)]
    assert (together.traces, together.gradients) == (alone.traces, alone.gradients)


@pytest.mark.traced_eagerly
def test_a_traced_operator_does_not_wait_for_the_trace_of_another():
    first, second = Squares(), Squares()
    first.operator(tf.constant([2.0]), False)
    began, release = threading.Event(), threading.Event()

    def held(x):
        began.set()
        assert release.wait(60)
        return second.square(x, False)

    with futures.ThreadPoolExecutor(2) as pool:
        waiting = pool.submit(traced_if_eager(held), tf.constant([3.0]))
        assert began.wait(60)
        try:
            assert float(pool.submit(first.operator, tf.constant([5.0]), False).result(60)[0]) == 25
        finally:
            release.set()
        assert float(waiting.result(60)[0]) == 9


@pytest.mark.traced_eagerly
def test_a_trace_may_call_an_operator_eagerly():
    """For example to make a constant for its graph."""
    squares = Squares()

    def outer(x):
        with tf.init_scope():
            constant = squares.operator(tf.constant([3.0]), False).numpy()
        return x + constant

    assert float(traced_if_eager(outer)(tf.constant([1.0]))[0]) == 10


@pytest.mark.slow
@pytest.mark.traced_eagerly
def test_variables_and_tensors_have_one_trace():
    x = tf.Variable([[3.0, 1.0, 2.0]])
    ks.ops.soft_rank(tf.constant([[3.0, 1.0, 2.0]]), 0.125)
    before = number_of_traces()
    with tf.GradientTape() as tape:
        ranks = ks.ops.soft_rank(x, 0.125)
    assert tape.gradient(ranks, x) is not None
    assert number_of_traces() == before
