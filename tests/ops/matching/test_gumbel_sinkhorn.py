"""Gumbel-Sinkhorn: its noise, its samples, their gradients; and the two layers' masks, modes and randomness."""

import numpy as np
import pytest
import tensorflow as tf
from scipy import stats
from support import modes
from support.gradients import fixed_weights

import keras_softsort as ks
from keras_softsort import ops
from keras_softsort.ops.core import gumbel_noise

keras = tf.keras
SCORES = np.random.default_rng(4).normal(size=(2, 3, 3))
SEED = tf.constant([3, 5])


def noise(shape, dtype=tf.float64, seed=SEED):
    return gumbel_noise.gumbel(shape, seed, dtype).numpy()


@pytest.mark.parametrize("dtype", [tf.float32, tf.float64], ids=lambda dtype: dtype.name)
def test_noise_is_gumbel_and_finite(dtype):
    sample = noise([200_000], dtype)
    assert np.all(np.isfinite(sample))
    assert stats.kstest(sample.astype(np.float64), stats.gumbel_r.cdf).pvalue > 0.01


@pytest.mark.slow
@pytest.mark.parametrize("mode", modes.OP_MODES)
def test_samples_are_sinkhorn_of_disturbed_scores_in_every_mode(mode):
    options = {"num_samples": 4, "noise_scale": 0.7, "num_iterations": 6}
    weights = fixed_weights([2, 4, 3, 3])

    def run(scores, tau, _):
        return ops.gumbel_sinkhorn(scores, tau, seed=SEED, **options)

    value, (of_scores, of_tau) = modes.run(mode, run, [tf.constant(SCORES), tf.constant(0.5, tf.float64)], weights)
    disturbed = SCORES[:, np.newaxis] + 0.7 * noise([2, 4, 3, 3])

    def plain(scores, tau, _):
        return ops.sinkhorn(scores, tau, num_iterations=6)

    wanted, (of_disturbed, wanted_tau) = modes.run(
        "op_by_op", plain, [tf.constant(disturbed), tf.constant(0.5, tf.float64)], weights
    )
    np.testing.assert_allclose(value, wanted, rtol=1e-11)
    np.testing.assert_allclose(of_scores, np.sum(of_disturbed, axis=1), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(of_tau, wanted_tau, rtol=1e-9)


def test_a_temperature_per_matrix():
    tau = tf.constant([0.3, 0.9], tf.float64)
    found = ops.gumbel_sinkhorn(SCORES, tau, seed=SEED, num_samples=4)
    disturbed = SCORES[:, np.newaxis] + noise([2, 4, 3, 3])
    for matrix, sample, each in zip(disturbed, found, tau, strict=True):
        np.testing.assert_allclose(sample, ops.sinkhorn(matrix, each), rtol=1e-10)


def test_without_noise_every_sample_is_sinkhorn():
    mask = np.array([[True, True, False], [True, True, True]])
    options = {"tau": 0.3, "row_mask": mask, "column_mask": mask[:, ::-1], "tolerance": 1e-3, "hard": False}
    found = ops.gumbel_sinkhorn(SCORES, seed=SEED, noise_scale=0.0, num_samples=2, **options)
    wanted = ops.sinkhorn(SCORES, **options)
    for sample in range(2):
        np.testing.assert_allclose(found[:, sample], wanted, rtol=1e-10)


@pytest.mark.parametrize("options", [{}, {"hard": True}, {"scale": "std"}, {"tau": tf.constant([0.3, 0.9])}], ids=str)
def test_only_a_number_of_samples_adds_an_axis(options):
    mask, x = np.array([[True, True, False], [True, True, True]]), tf.constant(SCORES, tf.float32)
    options = {"seed": SEED, "row_mask": mask, "column_mask": mask, **options}
    found, one = ops.gumbel_sinkhorn(x, **options), ops.gumbel_sinkhorn(x, num_samples=1, **options)
    assert (found.shape, one.shape) == ((2, 3, 3), (2, 1, 3, 3))
    np.testing.assert_allclose(found, one[:, 0], rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("mode", modes.OP_MODES)
def test_a_sample_without_an_axis_in_every_mode(mode):
    run = modes.run(
        mode,
        lambda scores, tau, _: ops.gumbel_sinkhorn(scores, tau, seed=SEED, num_iterations=6),
        [tf.constant(SCORES), tf.constant(0.5, tf.float64)],
        fixed_weights([2, 3, 3]),
    )
    np.testing.assert_allclose(run[0], ops.sinkhorn(SCORES + noise([2, 3, 3]), 0.5, num_iterations=6), rtol=1e-11)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("num_samples", [None, 1, 2])
def test_the_layer_has_a_sample_axis_only_with_a_number(num_samples, training):
    samples = [] if num_samples is None else [num_samples]
    layer = ks.GumbelSinkhornLayer(num_samples=num_samples, seed=1)
    inputs = keras.Input([None, 4])
    assert tuple(layer(inputs).shape) == (None, *samples, None, 4)
    assert tuple(layer.compute_output_shape((None, 3, 4))) == (None, *samples, 3, 4)
    assert layer(tf.zeros([2, 3, 4]), training=training).shape == (2, *samples, 3, 4)
    assert layer.get_config()["num_samples"] == num_samples


def test_another_seed_gives_other_noise():
    first, again, other = (ops.gumbel_sinkhorn(SCORES, seed=seed).numpy() for seed in ([1, 2], [1, 2], [2, 2]))
    np.testing.assert_array_equal(first, again)
    assert np.max(np.abs(first - other)) > 0.1


@pytest.mark.slow
def test_hard_samples_have_the_probabilities_of_their_noise():
    """Two items keep their order if g11 + g22 + s > g12 + g21: a difference of sums of two Gumbel variables."""
    level = 0.8
    scores = tf.constant([[level, 0.0], [0.0, 0.0]], tf.float64)
    samples = ops.gumbel_sinkhorn(scores, seed=[7, 7], num_samples=20_000, hard=True, num_iterations=1).numpy()
    np.testing.assert_array_equal(samples.sum(axis=1), 1)
    g = np.random.default_rng(0).gumbel(size=(4, 2_000_000))
    wanted = np.mean(level + g[0] + g[1] > g[2] + g[3])
    assert abs(samples[:, 0, 0].mean() - wanted) < 4 * np.sqrt(wanted * (1 - wanted) / 20_000)


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16, tf.float32], ids=lambda dtype: dtype.name)
def test_dtypes(dtype):
    found = ops.gumbel_sinkhorn(tf.cast(SCORES, dtype), 0.5, seed=SEED)
    assert found.dtype == dtype
    np.testing.assert_allclose(np.sum(tf.cast(found, tf.float64), axis=-2), 1, atol=2e-2)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"seed": [1, 2, 3]}, ValueError, r"seed must hold two integers, shape \[2\], got shape \(3,\)"),
        ({"seed": [1.0, 2.0]}, TypeError, "seed must hold two integers, got dtype float32"),
        ({"num_samples": 0}, ValueError, "num_samples must be at least 1, got 0"),
        ({"noise_scale": -1.0}, ValueError, r"noise_scale must be at least 0 and finite, got -1\.0"),
        ({"noise_scale": tf.ones([2])}, ValueError, r"noise_scale must be a scalar, got shape \(2,\)"),
    ],
    ids=str,
)
def test_errors(arguments, error, message):
    with pytest.raises(error, match=message):
        ops.gumbel_sinkhorn(**{"logits": SCORES, "seed": [1, 2], **arguments})


@pytest.mark.slow
def test_layer_draws_in_training_only_and_anew_each_time():
    layer, x = ks.GumbelSinkhornLayer(tau=0.5, num_samples=3, seed=1), tf.constant(SCORES, tf.float32)
    still = layer(x)
    np.testing.assert_array_equal(still, layer(x, training=False))
    for sample in range(3):
        np.testing.assert_allclose(still[:, sample], ks.SinkhornLayer(tau=0.5)(x), rtol=1e-6)
    first, second = layer(x, training=True).numpy(), layer(x, training=True).numpy()
    assert np.max(np.abs(first - second)) > 0.1
    assert np.max(np.abs(first[:, 0] - first[:, 1])) > 0.1
    again = ks.GumbelSinkhornLayer(tau=0.5, num_samples=3, seed=1)
    np.testing.assert_array_equal(again(x, training=True), first)
    other = ks.GumbelSinkhornLayer(tau=0.5, num_samples=3, seed=2)
    assert np.max(np.abs(other(x, training=True).numpy() - first)) > 0.1


@pytest.mark.slow
def test_seedless_layers_differ_and_follow_set_random_seed():
    x = tf.constant(SCORES, tf.float32)

    def sample():
        return ks.GumbelSinkhornLayer()(x, training=True).numpy()

    keras.utils.set_random_seed(3)
    first, second = sample(), sample()
    assert np.max(np.abs(first - second)) > 0.1
    keras.utils.set_random_seed(3)
    np.testing.assert_array_equal(sample(), first)


def noisy_model(layer):
    inputs = keras.Input((3, 3))
    return keras.Model(inputs, layer(inputs))


def test_a_loaded_layer_goes_on_with_its_noise(tmp_path):
    x = tf.constant(SCORES, tf.float32)
    model = noisy_model(ks.GumbelSinkhornLayer(seed=1))
    model(x, training=True)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded(x, training=True), model(x, training=True))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cls", "options"),
    [(ks.SinkhornLayer, {}), (ks.GumbelSinkhornLayer, {}), (ks.GumbelSinkhornLayer, {"num_samples": 1})],
    ids=str,
)
def test_layer_masks(cls, options):
    layer, x = cls(tau=0.5, **options), tf.constant(SCORES, tf.float32)
    mask = np.array([[True, False, True], [True, True, True]])

    def op(**masks):
        return ops.sinkhorn(x, 0.5, **masks)

    def run(matrix=x, **masks):
        result = layer(matrix, **masks)
        return result[:, 0] if options else result

    leading = np.array([[True, True, False], [True, True, True]])
    np.testing.assert_allclose(run(mask=mask), op(row_mask=mask, column_mask=leading), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(run(column_mask=mask), op(column_mask=mask), rtol=1e-6, atol=1e-7)
    both = run(mask=mask, column_mask=mask)
    np.testing.assert_allclose(both, op(row_mask=mask, column_mask=mask), rtol=1e-6, atol=1e-7)
    wide = np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float32)
    np.testing.assert_allclose(run(wide, mask=mask), ops.sinkhorn(wide, 0.5, row_mask=mask), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("cls", [ks.SinkhornLayer, ks.GumbelSinkhornLayer])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_iterations": 0}, "num_iterations must be at least 1, got 0"),
        ({"tolerance": -1.0}, "tolerance must be at least 0"),
        ({"tau": -1.0}, r"tau must be positive and finite, got -1\.0"),
    ],
    ids=str,
)
def test_layer_errors(cls, arguments, message):
    with pytest.raises(ValueError, match=message):
        cls(**arguments)


@pytest.mark.parametrize("cls", [ks.SinkhornLayer, ks.GumbelSinkhornLayer])
def test_layer_wants_matrices(cls):
    with pytest.raises(ValueError, match=r"logits must have shape \[batch, n, m\], got \(2, 3\)"):
        cls()(tf.zeros([2, 3]))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"num_samples": 0}, ValueError, "num_samples must be at least 1, got 0"),
        ({"noise_scale": -0.5}, ValueError, "noise_scale must be at least 0"),
        ({"seed": 1.5}, TypeError, r"seed must be an integer or None, got 1\.5"),
    ],
    ids=str,
)
def test_gumbel_layer_errors(arguments, error, message):
    with pytest.raises(error, match=message):
        ks.GumbelSinkhornLayer(**arguments)


@pytest.mark.slow
def test_every_argument_of_the_layers_is_used():
    x = tf.constant(3 * SCORES, tf.float32)
    plain = ks.SinkhornLayer(tau=0.3)(x).numpy()
    for arguments in ({"tau": 1.0}, {"num_iterations": 2}, {"tolerance": 0.1}, {"hard": True}):
        found = ks.SinkhornLayer(**{"tau": 0.3, **arguments})(x)
        assert np.max(np.abs(found.numpy() - plain)) > 1e-4
        noisy = ks.GumbelSinkhornLayer(**{"tau": 0.3, "noise_scale": 0.0, **arguments})
        np.testing.assert_allclose(noisy(x, training=True), found, atol=1e-5)


@pytest.mark.parametrize("cls", [ks.SinkhornLayer, ks.GumbelSinkhornLayer])
@pytest.mark.parametrize("column", [False, True])
def test_a_temperature_per_example_follows_the_logits(cls, column):
    x, tau = tf.constant(SCORES, tf.float32), tf.constant([0.3, 2.0])
    found = cls()([x, tau[:, tf.newaxis] if column else tau])
    for matrix, each, result in zip(x, tau, found, strict=True):
        np.testing.assert_allclose(result, ops.sinkhorn(matrix, each), atol=1e-5)


def test_the_second_positional_argument_of_a_call_is_the_mask():
    x, mask = tf.constant(SCORES, tf.float32), tf.constant([[True, True, False]] * 2)
    np.testing.assert_array_equal(ks.SinkhornLayer()(x, mask), ks.SinkhornLayer()(x, mask=mask))
