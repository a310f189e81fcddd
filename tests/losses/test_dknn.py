"""DkNNLoss beside its formula in every option; what padding, weights and bad input do."""

import numpy as np
import pytest
import tensorflow as tf
from support import models, modes
from support.cases import objects
from support.gradients import check_gradients, fixed_weights
from support.oracles import neighbors as neighbor_oracles

import keras_softsort as ks

pytestmark = pytest.mark.default_stack_only

NONE = models.NO_REDUCTION
LABELS = np.array([0, 1, 2, 0, 1, 2, 0, 1])
EMBEDDINGS = np.random.default_rng(4).normal(size=(8, 3)) * 0.7
SUBJECT = objects.SUBJECTS[ks.DkNNLoss]
every_option = pytest.mark.parametrize("options", list(SUBJECT.values.values()), ids=str)
objectives = pytest.mark.parametrize("objective", ["linear", "log"])


def loss_of(labels=LABELS, k=3, tau=2.0, **options):
    """A function of embeddings alone."""
    loss = ks.DkNNLoss(k, tau, reduction=NONE, **options)
    return lambda embeddings, weights=None: loss(labels, embeddings, weights)


def each_query(labels=LABELS, embeddings=EMBEDDINGS, weights=None, **options):
    return loss_of(labels, **options)(tf.constant(embeddings), weights).numpy()


def gradient(labels=LABELS, embeddings=EMBEDDINGS, **options):
    embeddings = tf.constant(embeddings)
    with tf.GradientTape() as tape:
        tape.watch(embeddings)
        value = loss_of(labels, **options)(embeddings)
    return tape.gradient(value, embeddings).numpy()


def truth(labels=LABELS, embeddings=EMBEDDINGS, *, k=3, tau=2.0, distance="squared_euclidean", **options):
    return neighbor_oracles.dknn(labels, embeddings, k, tau, kind=distance, **options)


@pytest.mark.parametrize(("k", "tau"), [(1, 0.5), (3, 2.0)])
@every_option
def test_value(options, k, tau):
    wanted = truth(k=k, tau=tau, **options)
    np.testing.assert_allclose(each_query(k=k, tau=tau, **options), wanted, rtol=1e-10)


@pytest.mark.slow
@every_option
def test_gradient(options):
    check_gradients(loss_of(**options), EMBEDDINGS)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "mode"),
    [
        ({"distance": "euclidean"}, "unknown_shape"),
        pytest.param({"objective": "log", "num_queries": 3}, "xla", marks=pytest.mark.nightly),
        pytest.param({"distance": "euclidean"}, "xla", marks=pytest.mark.nightly),
        pytest.param({"objective": "log", "num_queries": 3}, "unknown_shape", marks=pytest.mark.nightly),
    ],
    ids=str,
)
def test_modes(options, mode):
    labels = LABELS.copy()
    labels[[1, 5]] = -1
    wanted = truth(labels, k=2, **options)
    function, embeddings = loss_of(labels, k=2, **options), tf.constant(EMBEDDINGS)
    value, found = modes.run(mode, function, [embeddings], fixed_weights(wanted.shape))
    np.testing.assert_allclose(value, wanted, rtol=1e-10)
    _, eager = modes.run("op_by_op", function, [embeddings], fixed_weights(wanted.shape))
    np.testing.assert_allclose(found[0], eager[0], rtol=1e-9, atol=1e-12)
    assert np.abs(found[0]).max() > 1e-4


def test_far_from_0_no_digits_are_lost():
    near = EMBEDDINGS.astype("float32").round(3)
    far = near + np.float32(1000)
    np.testing.assert_allclose(each_query(embeddings=far), truth(embeddings=np.float64(far)), rtol=1e-4)


def test_labels_as_columns_and_as_one_hot():
    wanted = each_query()
    for labels in (LABELS[:, None], np.eye(3)[LABELS], LABELS.astype("float32"), LABELS.astype("uint8")):
        np.testing.assert_allclose(each_query(labels), wanted, rtol=1e-12)


def test_rows_may_be_shares_of_classes():
    shares = np.random.default_rng(1).dirichlet([1.0, 1.0, 1.0], size=8)
    np.testing.assert_allclose(each_query(shares), truth(shares), rtol=1e-10)
    np.testing.assert_allclose(each_query(shares, objective="log"), truth(shares, objective="log"), rtol=1e-10)


@objectives
@pytest.mark.parametrize("queries_first", [False, True])
def test_padding(objective, queries_first):
    plain = {"objective": objective, "num_queries": 3 if queries_first else None}
    padded = {**plain, "num_queries": 4 if queries_first else None}
    order = [0, 8, 1, 2, 3, 4, 9, 5, 6, 7]
    labels = np.concatenate([LABELS, [-1, -2]])[order]
    embeddings = np.concatenate([EMBEDDINGS, [[np.nan] * 3, [9.0] * 3]])[order]
    kept = labels >= 0
    found, wanted = each_query(labels, embeddings, **padded), each_query(**plain)
    np.testing.assert_allclose(found[kept[: len(found)]], wanted, rtol=1e-12)
    assert np.all(found[~kept[: len(found)]] == 0)
    slopes = gradient(labels, embeddings, **padded)
    assert np.all(slopes[~kept] == 0)
    np.testing.assert_allclose(slopes[kept], gradient(**plain), rtol=1e-9, atol=1e-12)
    one_hot = np.where(kept[:, None], np.eye(3)[labels], -1.0)
    np.testing.assert_allclose(each_query(one_hot, embeddings, **padded), found, rtol=1e-12)
    # Padding is not counted in the mean.
    assert float(ks.DkNNLoss(3, 2.0, **padded)(labels, embeddings)) == pytest.approx(wanted.mean(), rel=1e-12)


def test_ranks_that_padding_leaves_empty_have_no_candidate():
    labels = np.array([0, 0, 0, -1, -1, -1, -1, -1])
    np.testing.assert_allclose(each_query(labels, k=5)[:3], -2 / 5, rtol=1e-12)
    np.testing.assert_allclose(each_query(labels, k=5, objective="log")[:3], np.log(5 / 2), rtol=1e-12)


def test_log_learns_where_a_share_underflows():
    labels, embeddings = np.array([0, 1, 1, 0]), np.float32([[0.0], [0.1], [0.2], [30.0]])
    found = each_query(labels, embeddings, k=1, tau=0.1, objective="log")
    # NeuralSort's logits of the first row fall by 1, then 3 times the gaps of the sorted distances.
    drops = np.array([0, 0.04 - 0.01, 0.04 - 0.01 + 3 * (900 - 0.04)]) / 0.1
    assert found[0] == pytest.approx(drops[2] + np.log(np.exp(-drops).sum()), rel=1e-6)
    assert np.abs(gradient(labels, embeddings, k=1, tau=0.1, num_queries=1, objective="log")[3]) > 10
    assert np.abs(gradient(labels, embeddings, k=1, tau=0.1, num_queries=1)).max() == 0


@objectives
def test_a_query_without_a_right_candidate_costs_nothing(objective):
    labels = np.where(np.arange(8) == 0, 3, LABELS)
    assert each_query(labels, objective=objective)[0] == 0
    only = gradient(labels, objective=objective, num_queries=1)
    np.testing.assert_array_equal(only, np.zeros_like(only))


@pytest.mark.parametrize("distance", ["euclidean", "cosine", "squared_euclidean"])
def test_equal_and_zero_embeddings_have_finite_gradients(distance):
    embeddings = np.float32([[1, 2], [1, 2], [0, 0], [0, 0], [3, 1]])
    labels = np.array([0, 0, 1, 1, 0])
    found = gradient(labels, embeddings, k=2, distance=distance)
    assert np.all(np.isfinite(found))
    assert np.abs(found).max() > 0
    value = each_query(labels, embeddings, k=2, distance=distance)
    np.testing.assert_allclose(value, truth(labels, embeddings, k=2, distance=distance), rtol=1e-3)


def test_reductions_and_weights():
    values, weights = each_query(), np.float64([1, 0, 2, 0.5, 1, 3, 1, 1])
    for given in (weights, weights[:, None], np.float64(2.0)):
        np.testing.assert_allclose(each_query(weights=given), values * given.reshape(-1), rtol=1e-12)
    np.testing.assert_allclose(each_query(weights=weights, num_queries=2), each_query(num_queries=2) * weights[:2])
    assert float(ks.DkNNLoss(3, 2.0)(LABELS, EMBEDDINGS, weights)) == pytest.approx(np.mean(values * weights))
    assert float(ks.DkNNLoss(3, 2.0, reduction="sum")(LABELS, EMBEDDINGS)) == pytest.approx(values.sum())
    np.testing.assert_allclose(ks.DkNNLoss(3, 2.0).call(LABELS, EMBEDDINGS), values)


def noisy(k=1, tau=1e-4, **options):
    return each_query(k=k, tau=tau, stochastic=True, **options)


@pytest.mark.slow
def test_cold_samples_choose_the_first_as_plackett_luce_does():
    chances = np.exp([[-neighbor_oracles.distance(a, b) for b in EMBEDDINGS] for a in EMBEDDINGS])
    np.fill_diagonal(chances, 0)
    right = LABELS[:, None] == LABELS
    wanted = np.sum(chances * right, axis=1) / chances.sum(axis=1)
    # A share has a standard deviation of at most 0.5, the mean of 20,000 one of 0.0036.
    np.testing.assert_allclose(-noisy(num_samples=20_000), wanted, atol=0.015)
    np.testing.assert_allclose(-noisy(num_samples=20_000, method="soft_sort"), wanted, atol=0.015)


def seeded(seed=3, start=1, **options):
    tf.random.set_seed(start)
    loss = loss_of(stochastic=True, seed=seed, **options)
    return np.stack([loss(tf.constant(EMBEDDINGS)) for _ in range(2)])


@pytest.mark.slow
def test_samples_have_the_temperature_and_the_objective_that_were_given():
    shares = -seeded(tau=2.0)
    assert np.all(shares > 0)
    np.testing.assert_allclose(seeded(tau=2.0, objective="log"), -np.log(shares), rtol=1e-9)
    assert np.abs(seeded(tau=20.0) + shares).max() > 0.1
    hot = seeded(tau=1e6)
    np.testing.assert_allclose(hot[0], truth(tau=1e6), atol=1e-4)  # where all are alike, noise is nothing


def test_what_is_not_finite_shows():
    broken = EMBEDDINGS.copy()
    broken[1, 1] = np.nan
    assert np.all(np.isnan(each_query(embeddings=broken)))
    assert np.all(np.isnan(each_query(embeddings=broken, objective="log")))
    np.testing.assert_array_equal(np.isnan(each_query(embeddings=broken, num_queries=3)), [False, True, False])
    slopes = gradient(embeddings=broken, num_queries=3)
    assert np.any(np.isnan(slopes[1]))
    assert np.all(np.isfinite(slopes[[0, 2]]))
    labels = LABELS.astype("float64")
    labels[2] = np.nan
    for objective in ("linear", "log"):
        assert np.all(np.isnan(each_query(labels, objective=objective)))


def test_neural_sort_has_no_power():
    with pytest.raises(ValueError, match="power must be 1 with method 'neural_sort'"):
        ks.DkNNLoss(3, power=2)


@pytest.mark.parametrize(
    ("labels", "embeddings", "weights", "error", "message"),
    [
        (LABELS, EMBEDDINGS[0], None, ValueError, r"y_pred must be embeddings \[batch, d\], got shape \(3,\)"),
        (LABELS, LABELS[:, None], None, TypeError, "y_pred must be floating-point, got dtype int64"),
        (LABELS[:6], EMBEDDINGS, None, ValueError, r"y_true must have shape .* with batch 8 .*, got \(6,\)"),
        (np.zeros((8, 2, 2)), EMBEDDINGS, None, ValueError, r"y_true must have shape .*, got \(8, 2, 2\)"),
        (np.array(list("abcabcab")), EMBEDDINGS, None, TypeError, "y_true must hold numbers, got dtype string"),
        (LABELS, EMBEDDINGS, np.ones(6), ValueError, r"sample_weight must have shape .*, got \(6,\)"),
        (LABELS, EMBEDDINGS, np.ones((8, 2)), ValueError, r"sample_weight must have shape .*, got \(8, 2\)"),
    ],
)
def test_bad_calls(labels, embeddings, weights, error, message):
    with pytest.raises(error, match=message):
        each_query(labels, embeddings, weights)


@pytest.mark.parametrize(
    ("arguments", "message"), [({"k": 7}, r"1 \+ k = 8"), ({"k": 3, "num_queries": 5}, r"num_queries \+ k = 8")]
)
def test_a_batch_that_is_too_small(arguments, message):
    assert np.all(each_query(**{**arguments, "k": arguments["k"] - 1}) < 0)
    with pytest.raises(ValueError, match=rf"embeddings must hold more than {message} items, got 8"):
        each_query(**arguments)
    signature = [tf.TensorSpec([None], tf.int64), tf.TensorSpec([None, 3], tf.float64)]
    traced = tf.function(ks.DkNNLoss(**arguments).__call__, input_signature=signature)
    with pytest.raises(tf.errors.InvalidArgumentError, match=rf"more than {message} items, got\W+8"):
        traced(LABELS, EMBEDDINGS)


@pytest.mark.slow
def test_training_by_fit():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, size=120)
    x = np.concatenate([rng.normal(size=(120, 4)), rng.normal(size=(120, 1)) * 0.2 + labels[:, None]], axis=1)
    start = tf.keras.initializers.GlorotUniform(seed=0)
    model = tf.keras.Sequential([tf.keras.Input((5,)), tf.keras.layers.Dense(2, kernel_initializer=start)])
    model.compile(tf.keras.optimizers.Adam(0.1), loss=ks.DkNNLoss(3, 4.0, num_queries=20))
    data = tf.data.Dataset.from_tensor_slices((x.astype("float32"), labels, np.ones(120, "float32")))
    losses = model.fit(data.batch(40, drop_remainder=True), epochs=30, verbose=0, shuffle=False).history["loss"]
    assert losses[0] > -0.6
    assert losses[-1] < -0.8
