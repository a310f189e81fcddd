"""PL-Rank: each order's estimate against the paper's sums, the mean against enumeration, and what losses must do."""

import itertools

import numpy as np
import pytest
import tensorflow as tf
from support import models, modes
from support.cases import objects
from support.oracles import pl_rank as truth
from support.oracles import plackett_luce

import keras_softsort as ks
from keras_softsort.ops.core.choices import choices_in
from keras_softsort.ops.core.tracing import lowering_for
from keras_softsort.ops.ranking.pl_rank import reward_gradients

pytestmark = pytest.mark.default_stack_only
NONE = models.NO_REDUCTION
SCORES = np.array([0.3, -1.0, 2.0, 0.5, -0.2])
REWARDS = np.array([3.0, 0.0, 1.0, 7.0, 1.0])
LOG2 = 1 / np.log2(np.arange(5) + 2)


def estimates(scores, orders, rewards, rank_weights):
    """The estimate of the gradient by each order: [orders, n]."""
    choices = choices_in(tf.constant(orders[:, : len(rank_weights)], tf.int32), orders.shape[1])
    scores, rewards = (choices.arranged(tf.constant(np.tile(each, [len(orders), 1]))) for each in (scores, rewards))
    weights = choices.at_ranks(tf.constant(np.pad(rank_weights, [0, orders.shape[1] - len(rank_weights)])))
    return choices.restored(reward_gradients(choices, scores, rewards, weights)).numpy()


@pytest.mark.parametrize("count", [1, 3, 5])
@pytest.mark.parametrize("spread", [0.0, 1.0, 400.0])
def test_each_order_says_what_the_paper_says(count, spread):
    orders = np.array(list(itertools.permutations(range(5))))
    found = estimates(spread * SCORES, orders, REWARDS, LOG2[:count])
    wanted = [truth.estimate(spread * SCORES, order, REWARDS, LOG2[:count]) for order in orders]
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("spread", [1.0, 30.0, 1000.0, 1e9])
@pytest.mark.parametrize("count", [5, 300])
def test_float32_agrees_with_float64(count, spread):
    generator = np.random.default_rng(count)
    scores, rewards = spread * generator.uniform(-1, 0, 300), generator.integers(0, 16, 300).astype(float)
    orders = np.argsort(-scores - generator.gumbel(size=(4, 300)))
    rank_weights = 1 / np.log2(np.arange(count) + 2)
    found = estimates(np.float32(scores), orders, np.float32(rewards), np.float32(rank_weights))
    wide = estimates(np.float64(np.float32(scores)), orders, rewards, rank_weights)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, wide, rtol=1e-5, atol=2e-6 * max(np.max(np.abs(wide)), np.max(rewards)))


@pytest.mark.parametrize("count", [1, 3, 5])
def test_the_mean_over_all_orders_is_the_gradient(count):
    """Exactly unbiased: the sum over every order of probability times estimate, no sampling."""
    chances = plackett_luce.probabilities(SCORES)
    found = estimates(SCORES, np.array(list(chances)), REWARDS, LOG2[:count])
    mean = np.array(list(chances.values())) @ found
    _, wanted = plackett_luce.expected(SCORES, lambda order: truth.reward(order, REWARDS, LOG2[:count]))
    np.testing.assert_allclose(mean, wanted, rtol=1e-10)


ARGUMENTS = list(objects.SUBJECTS[ks.PLRankLoss].values.values())
LABELS = np.array([[2.0, 0, 1, 3, 1], [1, -1, 0, 2, -1], [0, 0, 0, 0, 0], [-1, -1, -1, -1, -1]])
BATCH = np.array([SCORES, SCORES[::-1], SCORES, SCORES])
WEIGHTS = np.array([[1.0, 2, 0.5, 1, 1], [0.5, 3, 1, 2, 1], [1] * 5, [1] * 5])


@pytest.mark.slow
@pytest.mark.parametrize(("arguments", "mode"), modes.of_first([ARGUMENTS[1], *ARGUMENTS[:1], *ARGUMENTS[2:]]), ids=str)
def test_value_and_gradient_within_four_standard_errors_of_enumeration(arguments, mode):
    repeats = 400
    loss = ks.PLRankLoss(num_samples=25, reduction=NONE, seed=1, **arguments)
    labels, scores, weights = (np.repeat(each, repeats, axis=0) for each in (LABELS, BATCH, WEIGHTS))
    tf.random.set_seed(1)
    value, (gradient,) = modes.run(
        mode, lambda s, y: loss(y, s, weights), [tf.constant(scores)], np.ones(len(labels)), labels
    )
    exact = [truth.expected_loss(*each, **arguments) for each in zip(LABELS, BATCH, WEIGHTS, strict=True)]
    for estimate, wanted in zip((value, gradient), zip(*exact, strict=True), strict=True):
        drawn = np.reshape(estimate, [4, repeats, *np.shape(estimate)[1:]])
        error = drawn.std(axis=1) / np.sqrt(repeats)
        np.testing.assert_array_less(np.abs(drawn.mean(axis=1) - wanted), 4 * error + 1e-6)
        assert np.max(error) < 0.06


def value_and_gradient(labels, scores, weights=None, **arguments):
    tf.random.set_seed(2)
    return models.value_and_gradient(ks.PLRankLoss(reduction=NONE, seed=4, **arguments), labels, scores, weights)


@pytest.mark.slow
def test_padding_gets_nothing_and_gives_nothing():
    """Scores so far apart that noise changes no order: padding of any content, anywhere, must not either."""
    labels, scores = np.float32([[1, 3, 2]]), np.float32([[100, 0, -100]])
    value, _ = value_and_gradient(labels, scores)
    wide, gradient = value_and_gradient([[-1, 1, -1, 3, 2, -1]], np.float32([[np.nan, 100, 1e30, 0, -100, np.inf]]))
    np.testing.assert_allclose(wide, value, rtol=1e-6)
    np.testing.assert_array_equal(gradient[0, [0, 2, 5]], 0)


@pytest.mark.parametrize("scale", [1e-6, 1e4, 1e30])
def test_finite_whatever_the_range(scale):
    value, gradient = value_and_gradient(np.float32(LABELS), np.float32(scale * BATCH), k=4)
    assert np.isfinite(value).all()
    assert np.isfinite(gradient).all()


@pytest.mark.slow
def test_nothing_relevant_and_nothing_at_all():
    for labels in ([[0.0, 0, 0], [-1, 0, -1], [-1, -1, -1]], np.zeros((2, 0)), np.zeros((0, 3))):
        value, gradient = value_and_gradient(labels, np.ones(np.shape(labels)))
        np.testing.assert_array_equal(value, np.zeros(len(labels)))
        np.testing.assert_array_equal(gradient, np.zeros(np.shape(labels)))


@pytest.mark.parametrize(("where", "what"), [("label", np.nan), ("score", np.inf)])
def test_what_is_no_number_spoils_its_own_list_alone(where, what):
    labels, scores = LABELS.copy(), BATCH.copy()
    (labels if where == "label" else scores)[1, 2] = what
    value, gradient = value_and_gradient(labels, scores)
    np.testing.assert_array_equal(np.isnan(value), np.arange(4) == 1)
    np.testing.assert_array_equal(np.isnan(gradient).any(axis=1), np.arange(4) == 1)


@pytest.mark.slow
@pytest.mark.parametrize("k", [None, 3])
def test_compared_pairs_give_the_values_of_orders(k):
    generator = np.random.default_rng(0)
    scores = np.float32(generator.normal(size=(6, 9)))
    labels = np.float32(generator.integers(-1, 4, (6, 9)))
    labels[1] = -1
    weights = np.float32(generator.random((6, 9)))

    def found(given):
        with tf.GradientTape() as tape:
            tape.watch(given)
            loss = ks.ops.pl_rank_loss(given, labels, seed=[1, 2], k=k, mask=labels >= 0, weights=weights)
        return loss, tape.gradient(loss, given)

    traced = {}
    for name in ("cpu", "tpu"):
        with lowering_for(name):
            traced[name] = tf.function(found).get_concrete_function(tf.TensorSpec(scores.shape))
    for spread in (0.0, 1.0, 30.0, 1e9):
        given = tf.constant(np.float32(spread) * scores)
        for by_order, by_pairs in zip(traced["cpu"](given), traced["tpu"](given), strict=True):
            np.testing.assert_allclose(by_pairs, by_order, rtol=1e-5, atol=1e-6, err_msg=f"spread {spread}")


@pytest.mark.slow
def test_short_lists_of_a_tpu_hold_no_float64():
    def step(scores):
        with tf.GradientTape() as tape:
            tape.watch(scores)
            loss = ks.ops.pl_rank_loss(scores, LABELS, seed=[1, 2])
        return tape.gradient(loss, scores)

    with lowering_for("tpu"):
        run = tf.function(step, jit_compile=True)
        program = run.experimental_get_compiler_ir(tf.constant(BATCH, tf.float32))(stage="hlo")
    assert "f64[" not in program


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"discount": [1.0, 2.0]}, ValueError, r"discount must not rise from one rank to the next, got \[1.0, 2.0\]"),
        ({"discount": [1.0, -2.0]}, ValueError, "discount must be .* got -2.0"),
        ({"discount": []}, TypeError, r"discount must be a name or a sequence of numbers, got \[\]"),
    ],
    ids=str,
)
def test_bad_arguments(arguments, error, message):
    with pytest.raises(error, match=message):
        ks.PLRankLoss(**arguments)


def test_bad_calls():
    with pytest.raises(ValueError, match=r"y_pred must be scores \[batch, n\] or .*, got shape \(3, 4, 4\)"):
        ks.PLRankLoss()(np.ones((3, 4)), np.ones((3, 4, 4)))
    with pytest.raises(ValueError, match="weights must not be negative"):
        ks.PLRankLoss()(LABELS, BATCH, -np.ones(4))


def test_padding_at_the_end_changes_no_noise():
    arguments = {"num_samples": 3, "k": 2}
    value, gradient = value_and_gradient(LABELS, BATCH, **arguments)
    wide = [np.pad(each, [(0, 0), (0, 4)], constant_values=-1) for each in (LABELS, BATCH)]
    found, slopes = value_and_gradient(*wide, **arguments)
    np.testing.assert_array_equal(found, value)
    np.testing.assert_allclose(slopes, np.pad(gradient, [(0, 0), (0, 4)]), rtol=1e-12)
