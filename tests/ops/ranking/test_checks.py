"""The decorator that checks the options of an operator of lists."""

import inspect
from fractions import Fraction

import numpy as np
import pytest
import tensorflow as tf
from support.cases import objects

import keras_softsort as ks
from keras_softsort._internal import arguments
from keras_softsort._keras.options import own_arguments
from keras_softsort.losses._list_loss import OperatorLoss
from keras_softsort.ops.core.tracing import number_of_traces
from keras_softsort.ops.ranking._checks import SEED, TAU, checks

SCORES, LABELS = tf.constant([[0.3, 0.9, 0.4]]), tf.constant([[0.0, 2.0, 1.0]])


def in_order(options):
    if options["low"] > options["high"]:
        raise ValueError(f"low must be at most high, {options['high']}, got {options['low']}")


@checks(in_order, low=arguments.positive_number, high=arguments.positive_number, tau=TAU, seed=SEED)
def operator(scores, low=1.0, high=2.0, *, tau=1.0, seed=None, power=1.0):
    """Return what it gets."""
    return low, high, tau, seed, power


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        ((0.0, -1), {}, "low must be positive and finite, got -1"),
        ((0.0,), {"low": -1}, "low must be positive and finite, got -1"),
        ((0.0, 1.0, -1), {}, "high must be positive and finite, got -1"),
        ((0.0, 3), {}, r"low must be at most high, 2\.0, got 3"),
        ((0.0,), {"high": 0.5}, r"low must be at most high, 0\.5, got 1\.0"),
    ],
    ids=["positional", "keyword", "second positional", "default of another", "own default"],
)
def test_values_are_checked_however_they_are_given(given, options, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        operator(*given, **options)


def test_defaults_are_checked():
    @checks(margin=arguments.positive_number)
    def loss(scores, margin=-1.0):
        return scores

    with pytest.raises(ValueError, match=r"margin must be positive and finite, got -1\.0"):
        loss(0.0)


def test_the_operator_gets_the_values_of_the_caller():
    low, seed = Fraction(1, 2), [1, 2]
    found = operator(0.0, low, tau=SCORES, seed=seed)
    assert found[0] is low
    assert found[2] is SCORES  # a tensor, which the operator checks itself
    assert found[3] is seed


def test_the_object_gets_plain_values():
    assert operator.check(low=Fraction(1, 2), high=1, tau=np.float32(2), seed=3, power="any") == {
        **{"low": 0.5, "high": 1.0, "tau": 2.0, "seed": 3},
        "power": "any",  # has no rule here
    }
    for options, message in [
        ({"tau": SCORES}, "tau must be a number"),
        ({"seed": 1.5}, "seed must be an integer or None"),
        ({"low": 3}, "low must be at most high"),
    ]:
        with pytest.raises((TypeError, ValueError), match=message):
            operator.check(**{"low": 1.0, "high": 2.0, **options})
    assert operator.seeds == {"seed": SEED}


def test_arguments_that_there_are_not():
    with pytest.raises(TypeError, match=r"^operator: missing a required argument: 'scores'$"):
        operator()
    with pytest.raises(TypeError, match=r"^operator has no argument 'temperature'; use tau$"):
        operator(0.0, temperature=1.0)
    with pytest.raises(TypeError, match=r"rules must be of arguments of operator, got \['margin'\]"):
        checks(margin=TAU)(inspect.unwrap(operator))


def test_the_signature_stays():
    assert inspect.signature(operator) == inspect.signature(inspect.unwrap(operator))
    assert operator.__doc__ == "Return what it gets."


@pytest.mark.parametrize(
    "case", objects.first_of_class([case for case in objects.LOSSES if issubclass(case.cls, OperatorLoss)]), ids=str
)
def test_every_option_of_a_loss_has_a_rule(case):
    options = own_arguments(case.cls)
    case.cls._operator.check(**options)
    for name in options:
        with pytest.raises((TypeError, ValueError), match=f"^{name}.* must .*got "):
            case.cls._operator.check(**{**options, name: object()})


def test_a_loss_has_no_rules_for_names_that_its_operator_does_not_declare():
    @checks()
    def plain(scores, labels, *, power, method, seed, stochastic, lambda_weight, mask, weights):
        assert (power, method, seed, stochastic, lambda_weight) == (-2, "mine", "beans", "always", 7)
        return tf.reduce_sum(scores, axis=-1)

    class Plain(OperatorLoss, operator=plain):
        def __init__(self, power=-2, method="mine", seed="beans", stochastic="always", lambda_weight=7, **kwargs):
            super().__init__(locals(), **kwargs)

    np.testing.assert_allclose(Plain()(LABELS, SCORES), tf.reduce_sum(SCORES))


@pytest.mark.parametrize(
    ("rule", "stochastic", "is_drawn"),
    [
        (SEED, False, True),
        (SEED._replace(only_if="stochastic"), False, False),
        (SEED._replace(only_if="stochastic"), True, True),
        (arguments.optional_integer, True, False),
    ],
)
def test_a_loss_draws_the_seeds_that_its_operator_declares(rule, stochastic, is_drawn):
    seen = []

    @checks(seed=rule)
    def noisy(scores, labels, *, seed, stochastic, mask, weights):
        seen.append(seed)
        return tf.reduce_sum(scores, axis=-1)

    class Noisy(OperatorLoss, operator=noisy):
        def __init__(self, seed=None, stochastic=False, **kwargs):
            super().__init__(locals(), **kwargs)

    Noisy(stochastic=stochastic)(LABELS, SCORES)
    assert [tf.is_tensor(seed) and seed.shape == [2] for seed in seen] == [is_drawn]


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
