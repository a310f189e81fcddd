"""The conventions of TensorFlow Probability for distributions: composite tensors, slices, batch shapes, few reads."""

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp
from support.gradients import check_gradients
from support.oracles import plackett_luce as oracles

import keras_softsort as ks

RNG = np.random.default_rng(21)
LOGITS = RNG.normal(size=(2, 4))
MASK = np.array([[True, False, True, True], [True, True, True, True]])
SEED = [3, 4]
RACES = {
    "order": lambda logits: ks.PlackettLuce(logits, top_k=3, mask=MASK),
    "soft": lambda logits: ks.RelaxedPlackettLuce(logits, [0.3, 2.0], method="soft_sort", power=2.0, mask=MASK),
}
EACH = pytest.mark.parametrize("make", RACES.values(), ids=RACES)


@pytest.mark.nightly
@pytest.mark.parametrize("top_k", [None, 2])
def test_log_prob_in_a_strict_map(top_k):
    """Every operation has a vectorized form, for orders and for logits."""
    orders = np.int32([[2, 0, 3, 1], [1, 3, 0, 2], [0, 0, 3, 2], [4, 0, 1, 2], [-1, 0, 1, 2]])[:, :top_k]
    race = ks.PlackettLuce(LOGITS[0], top_k=top_k)
    found = tf.vectorized_map(race.log_prob, tf.constant(orders), fallback_to_while_loop=False)
    np.testing.assert_allclose(found, race.log_prob(orders), rtol=1e-12)
    np.testing.assert_array_equal(np.isfinite(found), [True, True, False, False, False])

    def of_logits(logits):
        return ks.PlackettLuce(logits, top_k=top_k).log_prob(orders[0])

    found = tf.vectorized_map(of_logits, tf.constant(LOGITS), fallback_to_while_loop=False)
    np.testing.assert_allclose(found, [of_logits(each) for each in LOGITS], rtol=1e-12)


def divergence(p, q, top_k):
    """KL of two lists of logits by enumeration, item by item."""
    orders = oracles.outcomes(p, top_k, None)
    log_p, log_q = (np.array([oracles.log_prob(logits, order) for order in orders]) for logits in (p, q))
    return np.sum(np.exp(log_p) * (log_p - log_q))


def test_divergence_of_a_list_and_a_batch():
    one, two = ks.PlackettLuce([0.0, 1.0]), ks.PlackettLuce([[0.0, 1.0], [5.0, -5.0]])
    exact = [0, divergence([0.0, 1.0], [5.0, -5.0], None)]
    np.testing.assert_allclose(one.kl_divergence(two), exact, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(exact[1], 6.728428, rtol=1e-6)
    value, error = one.estimate_kl_divergence(two, 2000, seed=SEED)
    assert value.shape == error.shape == (2,)
    assert np.all(np.abs(value - exact) <= 4 * error + 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shapes", "top_k"),
    [
        (((3, 1, 4), (2, 4)), 2),
        *(
            pytest.param(*each, marks=pytest.mark.nightly)
            for each in ((((3, 1, 4), (2, 4)), None), (((4,), (3, 4)), 2), (((3, 4), (4,)), 2))
        ),
    ],
    ids=str,
)
def test_divergences_broadcast(shapes, top_k):
    first, second = (RNG.normal(size=shape) for shape in shapes)
    p, q = np.broadcast_arrays(first, second)
    expected = [divergence(p[i], q[i], top_k) for i in np.ndindex(p.shape[:-1])]

    def run(first, second):
        return ks.PlackettLuce(first, top_k=top_k).kl_divergence(ks.PlackettLuce(second, top_k=top_k))

    result = run(first, second)
    assert result.shape == p.shape[:-1]
    np.testing.assert_allclose(np.ravel(result), expected, rtol=1e-10)
    signature = [tf.TensorSpec([None] * (len(shape) - 1) + [4], tf.float64) for shape in shapes]
    np.testing.assert_allclose(tf.function(run, input_signature=signature)(first, second), result, rtol=1e-12)


@pytest.mark.slow
def test_divergence_of_masked_lists_and_of_two_dtypes():
    p, q = ks.PlackettLuce(LOGITS, mask=MASK), ks.PlackettLuce(np.float32(LOGITS[::-1].copy()), mask=MASK)
    narrow = [LOGITS[0][MASK[0]], np.float32(LOGITS[1])[MASK[0]]]
    np.testing.assert_allclose(p.kl_divergence(q)[0], divergence(*narrow, None), rtol=1e-6)
    check_gradients(lambda a, b: ks.PlackettLuce(a).kl_divergence(ks.PlackettLuce(b)), LOGITS[0], LOGITS)


def test_divergence_from_lists_of_another_size():
    with pytest.raises(ValueError, match="other must have lists of size 4, got 3"):
        ks.PlackettLuce(np.zeros(4), top_k=2).kl_divergence(ks.PlackettLuce(np.zeros(3), top_k=2))


def counted(values):
    """A parameter and the list of its reads."""
    reads = []

    def read(variable):
        reads.append(None)
        return tf.identity(variable)

    return tfp.util.DeferredTensor(tf.Variable(values), read), reads


ORDERS = [[2, 0, 3, 1], [0, 1, 2, 3]]
READERS = {
    "sample": lambda race, other: race.sample(2, seed=SEED),
    "mode": lambda race, other: race.mode(),
    "log_prob": lambda race, other: race.log_prob(ORDERS),
    "prob": lambda race, other: race.prob(ORDERS),
    "entropy": lambda race, other: race.entropy(),
    "kl_divergence": lambda race, other: race.kl_divergence(other),
    "kl_divergence_of_other": lambda race, other: other.kl_divergence(race),
    "possible": lambda race, other: race.possible(),
    "log_num_orders": lambda race, other: race.log_num_orders(),
    "marginal_top_k": lambda race, other: race.marginal_top_k(2),
    "sampled_marginal": lambda race, other: race.marginal_top_k(2, num_samples=3, seed=SEED),
    "sample_without_replacement": lambda race, other: race.sample_without_replacement(3, seed=SEED),
    "estimate_entropy": lambda race, other: race.estimate_entropy(3, seed=SEED),
    "estimate_kl_divergence": lambda race, other: race.estimate_kl_divergence(other, 3, seed=SEED),
}


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_methods_read_the_logits_at_most_twice(read):
    parameter, reads = counted(LOGITS)
    race, other = ks.PlackettLuce(parameter, validate_args=True), ks.PlackettLuce(LOGITS)
    reads.clear()
    read(race, other)
    assert 1 <= len(reads) <= 2


def test_relaxed_methods_read_each_parameter_once():
    (logits, reads), (tau, tau_reads) = counted(LOGITS), counted(np.float64([0.5, 1.0]))
    soft = ks.RelaxedPlackettLuce(logits, tau)
    for read in (lambda: soft.sample(2, seed=SEED), soft.relaxed_mode):
        reads.clear(), tau_reads.clear()
        read()
        assert len(reads) == len(tau_reads) == 1


@EACH
def test_function_takes_and_returns_a_distribution(make):
    traces = []

    @tf.function
    def first_list(race):
        traces.append(None)
        return race[0], race.sample(3, seed=SEED)

    for logits in (LOGITS, LOGITS + 1):
        race = make(logits)
        part, samples = first_list(race)
        assert type(part) is type(race)
        np.testing.assert_allclose(samples, race.sample(3, seed=SEED), rtol=1e-12)
        np.testing.assert_allclose(part.sample(3, seed=SEED), race[0].sample(3, seed=SEED), rtol=1e-12)
        assert (part.mask is None, part.top_k) == (False, race.top_k)
    assert len(traces) == 1


@EACH
def test_condition_chooses_a_distribution(make):
    @tf.function
    def choose(flag):
        return tf.cond(flag, lambda: make(tf.constant(LOGITS)), lambda: make(tf.constant(2 * LOGITS)))

    for flag, logits in ((True, LOGITS), (False, 2 * LOGITS)):
        np.testing.assert_array_equal(choose(tf.constant(flag)).logits, logits)


@EACH
def test_nests_see_the_tensors(make):
    race = make(LOGITS)
    flat = tf.nest.flatten(race, expand_composites=True)
    assert any(part is race.logits for part in flat)
    again = tf.nest.pack_sequence_as(race, flat, expand_composites=True)
    np.testing.assert_array_equal(again.sample(2, seed=SEED), race.sample(2, seed=SEED))
    variable = tf.Variable(LOGITS)
    assert any(part is variable for part in tf.nest.flatten(make(variable), expand_composites=True))


@EACH
def test_slices(make):
    race = make(LOGITS)
    whole = race.sample(4, seed=SEED)
    assert race[1].sample(4, seed=SEED).shape == (4, *whole.shape[2:])
    assert race[tf.newaxis].batch_shape == (1, 2)
    np.testing.assert_array_equal(race[..., :1].logits, LOGITS[:1])


def test_temperature_of_each_list():
    tau, options = np.array([0.3, 2.0]), {"method": "soft_sort", "power": 1.5}
    samples = ks.RelaxedPlackettLuce(LOGITS, tau, **options).sample(3, seed=SEED)
    modes = ks.RelaxedPlackettLuce(LOGITS, tau, **options).relaxed_mode()
    for row in range(2):
        alone = ks.RelaxedPlackettLuce(LOGITS, tau[row], **options)
        np.testing.assert_allclose(samples[:, row], alone.sample(3, seed=SEED)[:, row], rtol=1e-12)
        np.testing.assert_allclose(modes[row], alone.relaxed_mode()[row], rtol=1e-12)
    plain = ks.RelaxedPlackettLuce(LOGITS, tau, method="soft_sort").relaxed_mode()
    assert np.max(np.abs(plain - modes)) > 0.01
    check_gradients(lambda s, t: ks.RelaxedPlackettLuce(s, t).sample(3, seed=SEED), LOGITS, tau, rtol=1e-5)


@pytest.mark.slow
def test_one_list_at_several_temperatures():
    soft = ks.RelaxedPlackettLuce(LOGITS[0], [0.1, 1.0, 10.0], mask=MASK[0])
    assert soft.batch_shape == (3,)
    np.testing.assert_array_equal(soft.batch_shape_tensor(), [3])
    assert soft.sample(5, seed=SEED).shape == (5, 3, 4, 4)
    for row, tau in enumerate([0.1, 1.0, 10.0]):
        alone = ks.RelaxedPlackettLuce(LOGITS[0], tau, mask=MASK[0])
        np.testing.assert_allclose(soft.relaxed_mode()[row], alone.relaxed_mode(), atol=1e-7)
        np.testing.assert_allclose(soft[row].relaxed_mode(), alone.relaxed_mode(), atol=1e-7)

    @tf.function(input_signature=[tf.TensorSpec([None]), tf.TensorSpec([None])])
    def unknown(logits, tau):
        return ks.RelaxedPlackettLuce(logits, tau).sample(5, seed=SEED)

    assert unknown(LOGITS[0], [0.1, 1.0]).shape == (5, 2, 4, 4)


@pytest.mark.parametrize("dtype", [tf.float32, tf.float64, np.float64], ids=str)
def test_bijector_of_the_temperature(dtype):
    bijector = ks.RelaxedPlackettLuce.parameter_properties(dtype=dtype)["tau"].default_constraining_bijector_fn()
    value = bijector.forward(tf.constant([-1e4, 0.0], tf.as_dtype(dtype)))
    assert value.dtype == dtype
    assert np.all(value > 0)


@EACH
def test_no_bijector_of_the_event_space(make):
    assert make(LOGITS).experimental_default_event_space_bijector() is None


@pytest.mark.parametrize(("top_k", "mode"), [(None, "eager"), (3, "eager"), (3, "traced"), (3, "xla")])
def test_what_is_no_order_is_impossible(top_k, mode):
    orders = np.array([[0, 1, 1], [0, 1, 4], [-1, 1, 2], [3, 1, 0]])
    orders = orders if top_k else np.concatenate([orders, [[2], [2], [3], [2]]], axis=1)

    def run(logits):
        with tf.GradientTape() as tape:
            tape.watch(logits)
            value = ks.PlackettLuce(logits, top_k=top_k).log_prob(orders)
        return value, tape.gradient(value, logits)

    run = run if mode == "eager" else tf.function(run, jit_compile=mode == "xla")
    value, gradient = run(tf.constant(LOGITS[0]))
    np.testing.assert_array_equal(np.isfinite(value), [False, False, False, True])
    np.testing.assert_array_equal(value[:3], [-np.inf] * 3)
    np.testing.assert_allclose(value[3], oracles.log_prob(LOGITS[0], orders[3]), rtol=1e-12)
    np.testing.assert_allclose(gradient, oracles.log_prob_gradient(LOGITS[0], orders[3]), rtol=1e-9, atol=1e-12)


@pytest.mark.slow
def test_dtype_of_orders():
    """All orders have the dtype of the distribution, for logits of any dtype, as in `tfd.PlackettLuce`."""
    for logits in (LOGITS, np.float32(LOGITS)):
        race, plain = ks.PlackettLuce(logits, mask=MASK, dtype=tf.int64), ks.PlackettLuce(logits, mask=MASK)
        assert (race.dtype, plain.dtype) == (tf.int64, tf.int32)
        draws = [
            lambda race: race.sample(3, seed=SEED),
            lambda race: race.mode(),
            lambda race: race.sample_without_replacement(4, seed=SEED),
        ]
        for draw in draws:
            assert draw(race).dtype == tf.int64
            np.testing.assert_array_equal(draw(race), draw(plain))
        orders = race.sample(3, seed=SEED)
        assert race.log_prob(orders).dtype == logits.dtype
        np.testing.assert_allclose(race.log_prob(orders), plain.log_prob(orders), rtol=1e-12)
        np.testing.assert_allclose(race.entropy(), plain.entropy(), rtol=1e-12)
        np.testing.assert_allclose(race.kl_divergence(race), [0, 0], atol=1e-6)
        assert tf.function(lambda race: race[:1])(race).sample(seed=SEED).dtype == tf.int64
    for dtype in ("int8", tf.float32, "text"):
        with pytest.raises(ValueError, match="dtype must be int32 or int64, got"):
            ks.PlackettLuce(LOGITS, dtype=dtype)


@pytest.mark.parametrize("dtype", [np.int64, np.uint32, np.uint64, np.uint8, np.int16])
def test_numbers_beyond_int32_are_no_items(dtype):
    """2^32 would be item 0 in int32, and 2^64 - 1 none."""
    orders = np.array([[0, 1, 2, 3], [3, 1, 2, 0]], dtype)
    if np.iinfo(dtype).bits >= 32:
        beyond = np.array([[np.iinfo(dtype).max, 1, 2, 3]], dtype)
        orders = np.concatenate([orders, beyond])
    if np.iinfo(dtype).bits == 64:
        orders = np.concatenate([orders, np.array([[2**32, 1, 2, 3], [0, 2**32 + 1, 2, 3]], dtype)])
    race = ks.PlackettLuce(LOGITS[0])
    expected = [*race.log_prob([[0, 1, 2, 3], [3, 1, 2, 0]]), *[-np.inf] * (len(orders) - 2)]
    orders = tf.constant(orders)  # TFP itself turns values that are not tensors into int32
    np.testing.assert_allclose(race.log_prob(orders), expected, rtol=1e-12)
    checked = ks.PlackettLuce(LOGITS[0], validate_args=True)
    for row in orders[2:]:
        with pytest.raises(tf.errors.InvalidArgumentError, match="value must hold items from 0 to n - 1"):
            checked.log_prob(row)


def test_orders_are_integers():
    for value, received in (([0.0, 1.0, 2.5, 3.0], "float32"), (["a"] * 4, "string")):
        with pytest.raises(TypeError, match=f"value must hold integer orders, got dtype {received}"):
            ks.PlackettLuce(LOGITS).log_prob(value)
    with pytest.raises(TypeError, match="validate_args must be True or False, got 'x'"):
        ks.PlackettLuce(LOGITS, validate_args="x")
