"""The rules of options of ranking losses."""

import numpy as np
import pytest
import tensorflow as tf

import keras_softsort as ks
from keras_softsort.losses._list_loss import OperatorLoss
from keras_softsort.ops.core.tracing import number_of_traces
from keras_softsort.ops.ranking.lists import finite
from keras_softsort.ops.ranking.operators import list_operator

SCORES, LABELS = tf.constant([[0.3, 0.9, 0.4]]), tf.constant([[0.0, 2.0, 1.0]])


def test_a_loss_has_no_rules_for_names_that_its_operator_does_not_declare():
    @list_operator(finite)
    def plain(lists, *, power, method, seed, stochastic, lambda_weight, **shared):
        assert (power, method, seed, stochastic, lambda_weight) == (-2, "mine", "beans", "always", 7)
        return tf.reduce_sum(lists.scores, axis=-1)

    class Plain(OperatorLoss, operator=plain):
        def __init__(self, power=-2, method="mine", seed="beans", stochastic="always", lambda_weight=7, **kwargs):
            super().__init__(locals(), **kwargs)

    np.testing.assert_allclose(Plain()(LABELS, SCORES), tf.reduce_sum(SCORES))


@pytest.mark.parametrize(
    "call",
    [
        lambda number, values: ks.ops.list_net_loss(SCORES, LABELS, label_tau=number(2.0)),
        lambda number, values: ks.ops.plackett_luce_loss(SCORES, LABELS, k=number(2)),
        lambda number, values: ks.ops.pl_rank_loss(SCORES, LABELS, seed=[1, 2], num_samples=number(3), k=number(2)),
        lambda number, values: ks.ops.neural_ndcg_loss(SCORES, LABELS, discount=values(1.0, 0.5), power=number(1.0)),
        lambda number, values: ks.ops.softmax_loss(SCORES, LABELS, poly_epsilon=number(1.0)),
        lambda number, values: ks.ops.spearman_loss(SCORES, LABELS, method="soft_sort", power=number(2.0)),
        lambda number, values: ks.ops.yeti_logistic_loss(
            SCORES, LABELS, seed=[1, 2], num_samples=number(3), noise_scale=number(1.0)
        ),
    ],
    ids=range(7),
)
@pytest.mark.parametrize("float_type", [np.float32, np.float64])
@pytest.mark.traced_eagerly
def test_numbers_of_other_types_are_options(call, float_type):
    """NumPy numbers and the like need no other trace than Python's numbers. `np.float64` is a subclass of float."""

    def of_numpy(value):
        return np.int64(value) if isinstance(value, int) else float_type(value)

    plain = call(lambda value: value, lambda *values: values)
    before = number_of_traces()
    np.testing.assert_array_equal(call(of_numpy, lambda *values: list(values)), plain)
    assert number_of_traces() == before
