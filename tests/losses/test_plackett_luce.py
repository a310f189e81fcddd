"""PlackettLuceLoss against loops in NumPy, TFP, and the conditional logit of statsmodels."""

import functools
import itertools
import math

import numpy as np
import pytest
import tensorflow as tf
from support import models, modes
from support.cases import objects
from support.cases.ranking.plackett_luce_loss import IMPOSSIBLE
from support.data.graded_lists import LABELS, SCORES
from support.gradients import central_differences, fixed_weights, second_differences, slope
from support.oracles.list_mle import likelihood_loss, log_sum_exp

import keras_softsort as ks
from keras_softsort.ops.core import tracing

pytestmark = pytest.mark.default_stack_only

keras = tf.keras
NONE = models.NO_REDUCTION
SUBJECT = objects.SUBJECTS[ks.PlackettLuceLoss]
OPTIONS = list(SUBJECT.values.values())
each_option = pytest.mark.parametrize("options", OPTIONS, ids=str)


expected_losses = SUBJECT.truth


def each_list(labels, scores, weights=None, **options):
    return ks.PlackettLuceLoss(reduction=NONE, **options)(labels, scores, sample_weight=weights).numpy()


def value_and_gradient(labels, scores, mask=None, **options):
    return models.value_and_gradient(ks.PlackettLuceLoss(reduction=NONE, **options), labels, scores, mask=mask)


def check_against_oracle(mode, scores, options):
    weights = fixed_weights(len(scores))
    loss = ks.PlackettLuceLoss(reduction=NONE, **options)
    value, (gradient,) = modes.run(mode, lambda a, y: loss(y, a), [tf.constant(scores)], weights, LABELS)
    np.testing.assert_allclose(value, expected_losses(LABELS, scores, **options), rtol=1e-11, atol=1e-12)
    (slopes,) = central_differences(lambda a: expected_losses(LABELS, a, **options), [scores], weights)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-6, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("ties", "mode"), modes.of_first(["breslow", "first"]))
def test_scores_beyond_the_range_of_exponentials(ties, mode):
    check_against_oracle(mode, 700 * SCORES, {"ties": ties, "k": 3})


@pytest.mark.parametrize("scale", [1e4, 1e30])
@each_option
def test_wide_scores(options, scale):
    scores = np.float32(scale * SCORES)
    value, gradient = value_and_gradient(np.float32(LABELS), scores, **options)
    # A difference of scores carries the rounding of both.
    wanted = expected_losses(LABELS, np.float64(scores), **options)
    np.testing.assert_allclose(value, wanted, rtol=1e-5, atol=1e-6 * scale)
    assert np.isfinite(gradient).all()
    assert np.abs(gradient).max() >= 0.5


@pytest.mark.parametrize("k", [None, 1, 2, 3])
def test_probabilities_of_all_orders_sum_to_one(k):
    n = 4
    orders = np.array(list(itertools.permutations(range(n))), "float64")
    scores = np.broadcast_to(SCORES[0, :n], orders.shape)
    probabilities = np.exp(-each_list(orders, scores, k=k))
    # Orders that differ after the k-th place are one event each.
    same = 1 if k is None else np.prod(np.arange(1, n - k + 1))
    assert probabilities.sum() / same == pytest.approx(1, rel=1e-12)


def test_several_first_items_share_the_one_place():
    chosen = [0, 2, 4]
    labels = np.isin(np.arange(5), chosen)[np.newaxis].astype("float64")
    log_shares = SCORES[0] - log_sum_exp(SCORES[0])
    found = each_list(labels, SCORES[:1], k=1)
    np.testing.assert_allclose(found, -np.mean(log_shares[chosen]), rtol=1e-12)


def test_ties_in_the_order_of_the_list():
    labels = np.float32([[1.0, 2.0, 1.0, 0.0, 2.0]])
    order = [1, 4, 0, 2, 3]
    rising = np.float32([[4.0, 6.0, 3.0, 1.0, 5.0]])
    scores = np.float32(SCORES[:1])
    np.testing.assert_allclose(each_list(labels, scores, ties="first"), each_list(rising, scores), rtol=1e-6)
    tfp = pytest.importorskip("tensorflow_probability")
    log_prob = tfp.distributions.PlackettLuce(tf.exp(scores)).log_prob([order])
    np.testing.assert_allclose(each_list(labels, scores, ties="first"), -log_prob, rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("ties", ["breslow", "first"])
def test_a_zero_of_either_sign(ties):
    signed, plain = np.float64([[0.0, -0.0, 1.0, 0.0]]), np.float64([[0.0, 0.0, 1.0, 0.0]])
    plain_loss = ks.PlackettLuceLoss(ties=ties)
    for loss in (plain_loss, tf.function(plain_loss.__call__, jit_compile=True)):
        assert float(loss(signed, SCORES[:1, :4])) == float(loss(plain, SCORES[:1, :4]))


WEIGHTS = {
    "[B]": np.float64([1.0, 0.0, 3.0, 0.5, 2.0]),
    "[B, 1]": np.float64([[1.0], [0.0], [3.0], [0.5], [2.0]]),
    "[B, n]": np.random.default_rng(2).uniform(size=(5, 5)),
}


def weights_per_item(weights):
    return np.broadcast_to(weights[:, np.newaxis] if weights.ndim == 1 else weights, (5, 5))


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["[B]", "[B, 1]", "[B, n]"])
def test_sample_weight_in_fit(shape):
    x, y = models.features(5, 5)
    x[0, -1] = models.PAD
    weights = np.float32(WEIGHTS[shape])
    model = models.features_model("functional")
    scores = model(x).numpy()
    labels = y.copy()
    labels[0, -1] = -1
    wanted = np.mean(expected_losses(labels, scores, weights_per_item(weights), k=3))
    model.compile("sgd", loss=ks.PlackettLuceLoss(k=3))
    history = model.fit(x, y, sample_weight=weights, batch_size=5, verbose=0).history
    assert history["loss"][0] == pytest.approx(wanted, rel=1e-4)


def test_a_label_that_is_no_number_outweighs_a_weight_of_zero():
    assert np.isnan(each_list([[1.0, np.nan]], np.float32([[1.0, 2.0]]), np.float32([[0.0, 0.0]])))


@pytest.mark.slow
@pytest.mark.parametrize(("case", "mode"), modes.of_first(list(IMPOSSIBLE)))
def test_an_item_that_cannot_be_chosen(case, mode):
    labels, options, wanted = IMPOSSIBLE[case]
    labels = np.float64([labels, [3, 1, 2, 0]])
    scores = np.array([[-np.inf, 0.3, -0.2, 1.0], SCORES[0, :4]])
    loss = ks.PlackettLuceLoss(reduction=NONE, **options)
    run = modes.run(mode, lambda a, y: loss(y, a), [tf.constant(scores)], np.ones(2), labels)
    value, (gradient,) = run
    if wanted is None:
        # Very unlikely and impossible are one where nothing is asked of the item.
        wanted = likelihood_loss(labels[0], np.where(np.isinf(scores[0]), -900, scores[0]), **options)
    np.testing.assert_allclose(value[0], wanted, rtol=1e-12)
    np.testing.assert_allclose(value[1], likelihood_loss(labels[1], scores[1], **options), rtol=1e-12)
    assert np.isfinite(gradient.numpy()).all()


def test_an_impossible_item_without_weight_costs_nothing():
    scores = np.array([[-np.inf, 0.3, -0.2]])
    wanted = likelihood_loss([3, 2, 1], np.array([-900, 0.3, -0.2]), [0, 1, 1])
    np.testing.assert_allclose(each_list([[3.0, 2.0, 1.0]], scores, [[0.0, 1.0, 1.0]]), wanted)


def test_a_list_of_impossible_items_costs_nothing():
    value, gradient = value_and_gradient([[3.0, 2.0, 2.0]], np.full((1, 3), -np.inf))
    np.testing.assert_array_equal(value, 0)
    np.testing.assert_array_equal(gradient, 0)


@pytest.mark.slow
def test_the_first_choice_is_the_conditional_logit():
    """210 travellers choose between air, train, bus and car."""
    pytest.importorskip("statsmodels")
    from scipy.optimize import minimize
    from statsmodels.datasets import modechoice
    from statsmodels.discrete.conditional_models import ConditionalLogit

    data = modechoice.load_pandas().data
    columns = {"gc": data["gc"], "ttme": data["ttme"], "income if by air": data["hinc"] * (data["mode"] == 1)}
    columns |= {name: 1.0 * (data["mode"] == mode) for mode, name in enumerate(["air", "train", "bus"], start=1)}
    features = np.stack(list(columns.values()), axis=-1)
    theirs = ConditionalLogit(data["choice"].to_numpy(), features, groups=data["individual"].to_numpy()).fit(disp=0)

    # Columns of like size, which the optimizer asks for.
    scale = features.std(axis=0)
    inputs, choices = tf.constant((features / scale).reshape(210, 4, -1)), data["choice"].to_numpy().reshape(210, 4)
    loss = ks.PlackettLuceLoss(k=1, reduction="sum")

    @tf.function
    def objective(coefficients):
        with tf.GradientTape() as tape:
            tape.watch(coefficients)
            value = loss(choices, tf.linalg.matvec(inputs, coefficients))
        return value, tape.gradient(value, coefficients)

    fit = minimize(
        lambda c: [part.numpy() for part in objective(tf.constant(c))], np.zeros(6), jac=True, options={"gtol": 1e-6}
    )
    assert -fit.fun == pytest.approx(theirs.llf, abs=1e-3)
    # In units of their own standard errors.
    np.testing.assert_allclose((fit.x / scale - theirs.params) / theirs.bse, 0, atol=0.01)


@pytest.mark.slow
def test_far_scores_of_unknown_size():
    """Costs by logarithms, of scores far from 0 and from each other; a tied group of -inf alone costs nothing."""

    @tf.function(input_signature=[tf.TensorSpec([None, None])] * 2)
    def run(scores, labels):
        with tf.GradientTape() as tape:
            tape.watch(scores)
            losses = ks.ops.plackett_luce_loss(scores, labels)
        return losses, tape.gradient(losses, scores)

    labels = [3.0, 1.0, 1.0, 2.0, 0.0, 0.0]
    near = np.float32([0.0, -1.0, 2.0, 0.5, -300.0, 1.25])
    for scores in (near + np.float32(1e6), np.float32([1e7, 1.0, 0.5, 0.25, 2.0, 1.25])):
        value, gradient = run(scores[np.newaxis], np.float32([labels]))
        np.testing.assert_allclose(value, [likelihood_loss(labels, np.float64(scores))], rtol=1e-6)
        (wanted,) = central_differences(lambda s: likelihood_loss(labels, s), [scores], 1.0, step=1e-3)
        np.testing.assert_allclose(gradient[0], wanted, atol=1e-5)
    value, gradient = run(np.float32([[200, 0, -np.inf, -np.inf]]), np.float32([[2, 1, 0, 0]]))
    np.testing.assert_array_equal(value, [0.0])
    np.testing.assert_array_equal(gradient, np.zeros([1, 4]))


@pytest.mark.parametrize("gap", [69.0, 79.0])
def test_one_far_score_among_many(gap):
    """The sum of the others over it is more than float32 holds, unless it goes by logarithms."""
    scores, labels = np.zeros([1, 20_000], np.float32), np.arange(20_000, 0, -1, dtype=np.float32)[np.newaxis]
    scores[0, 0] = -gap
    np.testing.assert_allclose(
        ks.ops.plackett_luce_loss(scores, labels), [gap + math.lgamma(20_000) + math.log(19_999)], rtol=1e-6
    )


@pytest.mark.parametrize("ties", ["breslow", "first"])
def test_a_label_of_minus_infinity_stays_before_masked_items(ties):
    size = 6
    scores, labels = (np.random.default_rng(size).normal(size=(2, size)) for _ in range(2))
    labels[:, 2] = -math.inf
    valid = np.arange(size) % 3 > 0
    valid[2] = True
    found = ks.ops.plackett_luce_loss(scores, labels, mask=np.broadcast_to(valid, scores.shape), ties=ties)
    alone = ks.ops.plackett_luce_loss(scores[:, valid], labels[:, valid], ties=ties)
    np.testing.assert_allclose(found, alone, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"k": 2}, {"discount": "log2"}], ids=str)
@pytest.mark.parametrize("ties", ["breslow", "first"])
def test_the_gradient_of_a_function_of_known_sizes_is_taken_outside(ties, options):
    scores, labels = (tf.constant(np.random.default_rng(3).normal(size=(3, 30))) for _ in range(2))
    losses = functools.partial(ks.ops.plackett_luce_loss, labels=labels, ties=ties, **options)
    found = []
    for each in (losses, tf.function(losses, autograph=False)):
        with tf.GradientTape() as tape:
            tape.watch(scores)
            total = tf.reduce_sum(each(scores))
        found.append(tape.gradient(total, scores))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-12)


@pytest.mark.parametrize("tied", [1, 3])
def test_discounts_of_long_lists_keep_their_digits(tied):
    size, rng = 9999, np.random.default_rng(0)
    scores, groups = np.float32(rng.normal(size=size)), np.arange(size) // tied
    loss = functools.partial(ks.ops.plackett_luce_loss, labels=-groups, discount="reciprocal")
    with tf.GradientTape() as tape:
        inputs = tf.constant(scores)
        tape.watch(inputs)
        value = loss(inputs)
    found = tape.gradient(value, inputs)
    weights = np.repeat(np.mean(np.reshape(1 / np.arange(1.0, size + 1), [-1, tied]), axis=1), tied)
    terms = np.exp(np.float64(scores))
    chosen_from = np.cumsum(terms[::-1])[::-1][groups * tied]
    of_groups = np.cumsum(weights / chosen_from)[groups * tied + tied - 1]
    wanted = terms * of_groups - weights
    assert np.median(np.abs(found - wanted) / weights) < 3e-5
    np.testing.assert_allclose(value, np.sum(weights * (np.log(chosen_from) - scores)), rtol=1e-5)


def test_position_aware_list_mle():
    """Rank r of a list of m items weighs 2^(m - r) - 1, relative to the first rank; tied items share a mean."""
    rng = np.random.default_rng(0)
    scores, mask = rng.normal(size=(3, 6)), np.arange(6) < np.array([[6], [4], [1]])
    labels = np.argsort(rng.normal(size=(3, 6)), axis=1).astype(float)
    labels[0, :2] = 9.0
    wanted = []
    for valid, *row in zip(mask, scores, labels, strict=True):
        own, label = (each[valid] for each in row)
        weights = 2.0 ** np.arange(len(own) - 1, -1, -1) - 1
        weights /= max(weights[0], 1)
        total = 0.0
        for i in range(len(own)):
            tied, ahead = label == label[i], np.sum(label > label[i])
            mean = np.mean(weights[ahead : ahead + np.sum(tied)])
            total -= mean * (own[i] - np.log(np.sum(np.exp(own[label <= label[i]]))))
        wanted.append(total)
    found = ks.ops.plackett_luce_loss(tf.constant(scores), labels, discount="exponential", mask=mask)
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-15)
    first = ks.ops.plackett_luce_loss(tf.constant(scores[1:2, :4]), labels[1:2, :4], k=1)
    cut = ks.ops.plackett_luce_loss(tf.constant(scores), labels, discount="exponential", mask=mask, k=1)
    np.testing.assert_allclose(cut[1], first[0], rtol=1e-12)
    long = tf.random.stateless_normal([1, 300], [1, 2])
    assert np.isfinite(ks.ops.plackett_luce_loss(long, long, discount="exponential"))


@pytest.mark.nightly
@pytest.mark.parametrize("loss", [ks.ops.plackett_luce_loss, ks.ops.unique_softmax_loss])
def test_second_derivatives_of_masked_lists(loss):
    size = 6
    scores, labels, weights = np.random.default_rng(size).normal(size=(3, 1, size))
    labels = np.abs(labels)
    valid = np.arange(size) % 3 > 0

    @tf.function(autograph=False)
    def of_slopes(scores, labels, weights, mask):
        """The gradient of the weighted sum of the slopes."""
        with tf.GradientTape() as outer:
            outer.watch(scores)
            with tf.GradientTape() as inner:
                inner.watch(scores)
                losses = loss(scores, labels, mask=mask)
            total = tf.reduce_sum(weights * inner.gradient(losses, scores))
        return outer.gradient(total, scores)[0]

    alone = of_slopes(*(tf.constant(each[:, valid]) for each in (scores, labels, weights)), None)
    found = of_slopes(*map(tf.constant, (scores, labels, weights, valid[np.newaxis]))).numpy()
    np.testing.assert_allclose(found[valid], alone, rtol=1e-9, atol=1e-14)
    assert np.all(found[~valid] == 0)
    assert np.max(np.abs(alone)) > 0.01


# Options, and how far below the others the fourth items are.
SECOND = {"breslow": ({}, 0), "first": ({"ties": "first"}, 0), "k": ({"k": 2}, 0), "wide": ({}, 700)}


@pytest.mark.slow
@pytest.mark.parametrize(("case", "mode"), modes.of_first(list(SECOND), quick=("eager", "xla")))
def test_second_derivatives_are_differences_of_the_oracle(case, mode):
    options, far = SECOND[case]
    weights, direction = fixed_weights(len(SCORES)), fixed_weights(SCORES.shape)
    scores = SCORES - far * (np.arange(5) == 3)
    loss = ks.PlackettLuceLoss(reduction=NONE, **options)
    wanted = second_differences(lambda each: expected_losses(LABELS, each, **options), scores, weights, direction)
    derivative = slope(lambda each: loss(tf.constant(LABELS), each), weights, direction)
    _, (found,) = modes.run(mode, derivative, [tf.constant(scores)], 1.0)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=5e-6)
    assert np.max(np.abs(wanted)) > 0.01


RANKS = {"all": {}, "k": {"k": 2}, "log2": {"discount": "log2"}, "exponential": {"discount": "exponential", "k": 3}}
BY_PAIRS = {
    **{f"{ties}, {name}": {"ties": ties, **rest} for ties in ("breslow", "first") for name, rest in RANKS.items()},
    "weights": {"weights": np.random.default_rng(3).uniform(size=LABELS.shape)},
    "tau": {"tau": 0.3},
}


@pytest.mark.nightly
@pytest.mark.parametrize("scores", [SCORES, 700 * SCORES, 1e30 * SCORES], ids=["scores", "wide", "far"])
@pytest.mark.parametrize("options", BY_PAIRS.values(), ids=BY_PAIRS)
def test_the_form_for_an_accelerator_gives_what_an_order_does(options, scores):
    weights, direction = fixed_weights(len(SCORES)), fixed_weights(SCORES.shape)
    mask = LABELS >= 0

    def loss(scores):
        return ks.ops.plackett_luce_loss(scores, LABELS, mask=mask, **options)

    def computed():
        derivative = slope(loss, weights, direction)
        with tf.GradientTape() as tape:
            tensor = tf.constant(scores)
            tape.watch(tensor)
            value = derivative(tensor)
        return loss(tensor), value, tape.gradient(value, tensor)

    expected = computed()
    with tracing.lowering_for("tpu"):
        found = computed()
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("offset", [0, -31.9, -32, 32, 96.5, -1e4])
@pytest.mark.parametrize("spread", [0.01, 1, 30, 1000])
@pytest.mark.parametrize("ties", ["breslow", "first"])
def test_float32_of_any_range_on_an_accelerator(ties, spread, offset, rng):
    """The exponentials of scores are relative to multiples of 64, which scores may be near."""
    scores = (offset + spread * rng.normal(size=[3, 20])).astype("f")
    labels = rng.integers(0, 15, size=[3, 20])

    def run(scores):
        tensor = tf.constant(scores)
        with tf.GradientTape() as tape:
            tape.watch(tensor)
            losses = ks.ops.plackett_luce_loss(tensor, labels, ties=ties)
        return losses, tape.gradient(losses, tensor)

    expected = run(scores.astype("d"))
    with tracing.lowering_for("gpu"):
        found = run(scores)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=5e-6)


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_an_item_that_cannot_be_chosen_by_an_accelerator(case):
    labels, options, _ = IMPOSSIBLE[case]
    scores = np.array([[-np.inf, 0.3, -0.2, 1.0], np.full(4, -np.inf)])
    expected = ks.ops.plackett_luce_loss(scores, [labels, labels], **options)
    with tracing.lowering_for("tpu"):
        found = ks.ops.plackett_luce_loss(scores, [labels, labels], **options)
        short = ks.ops.plackett_luce_loss(np.zeros([2, 0]), np.zeros([2, 0]))
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_array_equal(short, [0.0, 0.0])
