"""Choices in both forms against a softmax of the alternatives of each choice, one by one in NumPy."""

import numpy as np
import pytest
import tensorflow as tf
from scipy.special import logsumexp

from keras_softsort.ops.core.choices import (
    MAX_FLOAT32_SIZE,
    Compared,
    Ordered,
    choice_costs,
    choice_derivatives,
    choices_in,
    choices_of,
)
from keras_softsort.ops.core.temperature import excluded
from keras_softsort.ops.core.tracing import lowering_for

RNG = np.random.default_rng(0)
KEYS = np.array([[2.0, 1.0, 1.0, 3.0, 2.0, 2.0, 0.0], [0.0, 5.0, 4.0, 4.0, 4.0, 1.0, 2.0]])
SCORES, WEIGHTS = RNG.normal(size=KEYS.shape), RNG.uniform(0.5, 2, size=KEYS.shape)
TIES = ["breslow", "first", "never"]
FORMS = {"ordered": "cpu", "compared": "tpu"}
# Factors of the scores: in range of exponentials, and beyond it.
SPREADS = [1.0, 500.0]

in_each_form = pytest.mark.parametrize("target", FORMS.values(), ids=FORMS)
each_rule = pytest.mark.parametrize("ties", TIES)
each_spread = pytest.mark.parametrize("spread", SPREADS)


def alternatives(keys, ties):
    """Whether item j is an alternative when item i is chosen: [i, j]."""
    item, chosen, places = keys[np.newaxis], keys[:, np.newaxis], np.arange(len(keys))
    lower = item < chosen
    if ties == "breslow":
        return item <= chosen
    if ties == "first":
        return lower | ((item == chosen) & (places >= places[:, np.newaxis]))
    return lower | np.eye(len(keys), dtype=bool)


def probabilities(scores, keys, ties):
    """The logarithms of the probabilities of each alternative j of each choice i: [i, j]."""
    logits = np.where(alternatives(keys, ties), scores, -np.inf)
    return logits - logsumexp(logits, axis=1, keepdims=True)


def expected(scores, weights, ties, keys=KEYS):
    """The cost of each list, its gradient and the diagonal of its hessian."""
    costs, slopes, curvatures = [], [], []
    for own, weight, key in zip(np.float64(scores), weights, keys, strict=True):
        logs = probabilities(own, key, ties)
        shares = np.exp(logs)
        costs.append(-np.sum(weight * np.diag(logs)))
        slopes.append(weight @ shares - weight)
        curvatures.append(weight @ (shares * (1 - shares)))
    return np.array(costs), np.array(slopes), np.array(curvatures)


def costs_of(scores, weights, ties, keys=KEYS):
    choices = choices_of(tf.constant(keys), ties)
    return choice_costs(choices, scores, choices.arranged(tf.constant(weights)))


def value_and_gradient(function, scores):
    with tf.GradientTape() as tape:
        tape.watch(scores)
        value = function(scores)
    return value, tape.gradient(value, scores)


@in_each_form
@each_rule
@each_spread
def test_costs_and_their_gradient(spread, ties, target):
    with lowering_for(target):
        found = value_and_gradient(lambda each: costs_of(each, WEIGHTS, ties), tf.constant(spread * SCORES))
    costs, slopes, _ = expected(spread * SCORES, WEIGHTS, ties)
    np.testing.assert_allclose(found[0], costs, rtol=1e-12)
    np.testing.assert_allclose(found[1], slopes, rtol=1e-10, atol=1e-12)


@in_each_form
@each_rule
@each_spread
def test_derivatives(spread, ties, target):
    with lowering_for(target):
        choices = choices_of(tf.constant(KEYS), ties)
        weights = choices.arranged(tf.constant(WEIGHTS))
        slopes, curvatures = choice_derivatives(choices, tf.constant(spread * SCORES), weights)
    _, *wanted = expected(spread * SCORES, WEIGHTS, ties)
    np.testing.assert_allclose(slopes, wanted[0], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(curvatures, wanted[1], rtol=1e-10, atol=1e-12)


@in_each_form
def test_an_impossible_item_has_finite_derivatives(target):
    scores = np.array([[0.5, 1.0, -np.inf]])
    with lowering_for(target):
        slopes, curvatures = choice_derivatives(choices_in(tf.constant([[2, 0, 1]]), 3), tf.constant(scores))
    assert np.isfinite(slopes).all()
    assert (curvatures.numpy() >= 0).all()


@pytest.mark.slow
@in_each_form
@pytest.mark.parametrize("ties", [TIES[0], *(pytest.param(rule, marks=pytest.mark.nightly) for rule in TIES[1:])])
def test_second_derivatives_compile(ties, target):
    """XLA compiles no gradient of a condition that gathers."""

    @tf.function(jit_compile=True)
    def slopes_of_slopes(scores):
        def slope(scores):
            return tf.reduce_sum(value_and_gradient(lambda each: costs_of(each, WEIGHTS, ties), scores)[1] * SCORES)

        return value_and_gradient(slope, scores)[1]

    step = 1e-6
    for spread in SPREADS:
        with lowering_for(target):
            found = slopes_of_slopes(tf.constant(spread * SCORES))
        plus, minus = (expected(spread * SCORES + sign * step * SCORES, WEIGHTS, ties)[1] for sign in (1, -1))
        np.testing.assert_allclose(found, (plus - minus) / (2 * step), atol=1e-7, err_msg=f"spread {spread}")


@each_rule
def test_sums_over_the_others(ties):
    choices = choices_of(tf.constant(KEYS), ties)
    found = choices.restored(choices.others(choices.arranged(tf.constant(WEIGHTS))))
    wanted = [alternatives(keys, ties) @ own - own for keys, own in zip(KEYS, WEIGHTS, strict=True)]
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-15)


@in_each_form
@each_rule
def test_weights_of_ranks(ties, target):
    rank_weights = 1 / np.arange(1.0, KEYS.shape[1] + 1)
    with lowering_for(target):
        choices = choices_of(tf.constant(KEYS), ties)
        at_ranks = choices.restored(choices.at_ranks(tf.constant(rank_weights)))
    for row, keys in enumerate(KEYS):
        if ties == "breslow":
            above = [(keys > key).sum() for key in keys]
            tied = [(keys == key).sum() for key in keys]
            means = [rank_weights[start : start + count].mean() for start, count in zip(above, tied, strict=True)]
            np.testing.assert_allclose(at_ranks[row], means, rtol=1e-12)
        if ties == "first":
            np.testing.assert_allclose(at_ranks.numpy()[row, np.argsort(-keys, kind="stable")], rank_weights)


@in_each_form
@pytest.mark.parametrize("count", [0, 2, 7])
def test_the_other_items_follow_a_partial_order(count, target):
    orders = np.argsort(-KEYS, axis=1, kind="stable")
    for row, order in enumerate(orders):
        order[count:].sort()
        keys = -1.0 * np.argsort(order)[np.newaxis]
        with lowering_for(target):
            choices = choices_in(tf.constant(order[np.newaxis, :count], tf.int32), 7)
            found = choice_costs(choices, tf.constant(SCORES[row : row + 1]))
        np.testing.assert_allclose(found, expected(SCORES[row : row + 1], np.ones([1, 7]), "first", keys)[0])


@pytest.mark.parametrize("size", [MAX_FLOAT32_SIZE, MAX_FLOAT32_SIZE + 1, None])
def test_long_lists_are_summed_in_float64(size):
    found = []

    @tf.function(input_signature=[tf.TensorSpec([2, size])])
    def run(scores):
        choices = choices_of(scores, "first")
        found.append(choices.arranged(scores).dtype)
        return choice_costs(choices, scores)

    assert run.get_concrete_function().structured_outputs.dtype == tf.float32
    assert found == [tf.float32 if size == MAX_FLOAT32_SIZE else tf.float64]


def test_the_digits_of_small_costs():
    """The first item is chosen almost surely: its cost is below the rounding of float32 numbers near 1."""
    found = choice_costs(choices_in(tf.constant([[0, 1]]), 2), tf.constant([[20.0, 0.0]]))
    np.testing.assert_allclose(found, np.log1p(np.exp([-20.0])), rtol=1e-6)


@in_each_form
def test_large_weights_over_small_exponentials_do_not_overflow(target):
    scores, weights = np.float32([[0, -60, -61]]), np.float32([[1, 1e30, 1e30]])
    keys = np.float32([[0, 2, 1]])
    with lowering_for(target):
        found = value_and_gradient(lambda each: costs_of(each, weights, "first", keys), tf.constant(scores))
    costs, slopes, _ = expected(scores, weights, "first", keys)
    np.testing.assert_allclose(found[0], costs, rtol=1e-6)
    np.testing.assert_allclose(found[1], slopes, rtol=1e-6)


@in_each_form
@each_spread
def test_excluded_items_cost_nothing_if_none_is_left(spread, target):
    scores = np.float32([[spread, 0, 0]])
    scores[0, 1:] = excluded(tf.float32)
    with lowering_for(target):
        found = value_and_gradient(
            lambda each: choice_costs(choices_in(tf.constant([[0, 1, 2]]), 3), each), tf.constant(scores)
        )
    np.testing.assert_array_equal(found[0], [0])
    np.testing.assert_array_equal(found[1], np.zeros([1, 3]))


@pytest.mark.parametrize(("target", "form"), [("cpu", Ordered), ("tpu", Compared), ("gpu", Compared)])
def test_the_target_chooses_the_form(target, form):
    with lowering_for(target):
        assert isinstance(choices_of(tf.constant(KEYS), "breslow"), form)
        assert isinstance(choices_in(tf.constant([[1, 0]]), 2), Ordered)


def test_the_gradient_of_weights():
    weights = tf.constant(WEIGHTS)
    with tf.GradientTape() as tape:
        tape.watch(weights)
        choices = choices_of(tf.constant(KEYS), "breslow")
        costs = choice_costs(choices, tf.constant(SCORES), choices.arranged(weights))
    found = tape.gradient(costs, weights)
    wanted = [-np.diag(probabilities(own, keys, "breslow")) for own, keys in zip(SCORES, KEYS, strict=True)]
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
