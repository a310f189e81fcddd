"""The ranking losses as pure functions: their values without Keras, leading axes, masks, temperatures, traces."""

import inspect

import numpy as np
import pytest
import tensorflow as tf
from support import modes, rules
from support.cases import objects
from support.data import graded_lists
from support.gradients import check_gradients

from keras_softsort import ops
from keras_softsort.ops.core import tracing

MASK = graded_lists.LABELS[:4] >= 0
LABELS = np.where(MASK, graded_lists.LABELS[:4], 5.0)
SCORES, WEIGHTS = graded_lists.SCORES[:4], graded_lists.WEIGHTS[:4]
SEED = [3, 4]


# Losses of permutations as functions of scores.
SUBJECTS = {loss.operator: loss for loss in objects.SUBJECTS.values() if loss.takes in {"scores", "permutation"}}
ORACLES = [name for name, loss in SUBJECTS.items() if loss.oracle]
NOISY = [name for name, loss in SUBJECTS.items() if loss.draws_noise]
LOSSES = {name: loss.of for name, loss in SUBJECTS.items()}
each_loss = pytest.mark.parametrize("name", LOSSES)
# Each run traces one loss of pairs, one of orders and one of matrices.
TRACED = {"ranknet_loss", "plackett_luce_loss", "neural_ndcg_loss"}


def expected(name, labels, scores, weights, mask):
    # For the cross-entropy of a matrix, a list without relevant items is a list of tied items.
    kept = np.where(mask, labels, -1)
    arguments = {name: value for name, value in SUBJECTS[name].call.items() if name != "seed"}
    return SUBJECTS[name].truth(kept, scores, weights, **arguments)


@pytest.mark.parametrize("name", ORACLES)
def test_value(name):
    rows = [0, 1, 3] if name == "permutation_cross_entropy_loss" else [0, 1, 2, 3]
    arguments = (LABELS[rows], SCORES[rows], WEIGHTS[rows], MASK[rows])
    found = LOSSES[name](arguments[1], arguments[0], mask=arguments[3], weights=arguments[2])
    np.testing.assert_allclose(found, expected(name, *arguments), rtol=1e-9, atol=1e-12, err_msg=rules.ORACLE)


@each_loss
def test_leading_axes(name):
    """Two batches of two lists are four lists, and one list is a batch of one."""
    whole = LOSSES[name](SCORES, LABELS, mask=MASK, weights=WEIGHTS).numpy()
    folded = [array.reshape(2, 2, 5) for array in (SCORES, LABELS, MASK, WEIGHTS)]
    found = LOSSES[name](folded[0], folded[1], mask=folded[2], weights=folded[3])
    assert found.shape == (2, 2), rules.AXES
    if name not in NOISY:  # their noise is drawn for the whole batch
        np.testing.assert_allclose(found, whole.reshape(2, 2), rtol=1e-9, atol=1e-12, err_msg=rules.AXES)
        one = LOSSES[name](SCORES[3], LABELS[3], mask=MASK[3], weights=WEIGHTS[3])
        assert one.shape == (), rules.AXES
        np.testing.assert_allclose(one, whole[3], rtol=1e-9, err_msg=rules.AXES)


@each_loss
def test_weights_of_lists_broadcast(name):
    weights = np.float64([[1.0], [2.0], [0.5], [3.0]])
    found = LOSSES[name](SCORES, LABELS, mask=MASK, weights=weights)
    every = LOSSES[name](SCORES, LABELS, mask=MASK, weights=np.broadcast_to(weights, LABELS.shape))
    np.testing.assert_allclose(found, every, rtol=1e-12, err_msg=rules.WEIGHTS)
    wanted = weights[:, 0] * LOSSES[name](SCORES, LABELS, mask=MASK)
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12, err_msg=rules.WEIGHTS)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name for name in LOSSES if name not in NOISY and "tau" in inspect.signature(getattr(ops, name)).parameters]
)
def test_a_temperature_per_list(name):
    tau = np.float64([0.5, 1.0, 2.0, 0.7])
    for shape in ([4], [4, 1]):
        found = LOSSES[name](SCORES, LABELS, tau=tf.reshape(tau, shape), mask=MASK)
        alone = [
            float(LOSSES[name](SCORES[i], LABELS[i], tau=tf.constant(tau[i]), mask=MASK[i])) for i in range(len(tau))
        ]
        np.testing.assert_allclose(found, alone, rtol=1e-9, atol=1e-12, err_msg=rules.TEMPERATURE)
    check_gradients(lambda t: LOSSES[name](SCORES, LABELS, tau=t, mask=MASK), tau, rtol=1e-5, atol=1e-6)
    # A division by 1 may be left out, but not its gradient.
    check_gradients(lambda t: LOSSES[name](SCORES, LABELS, tau=t, mask=MASK), np.float64(1), rtol=1e-5, atol=1e-6)


@each_loss
def test_masked_junk_changes_nothing(name):
    value, (gradient,) = run(name, SCORES, LABELS, WEIGHTS)
    scores = np.where(MASK, SCORES, [np.nan, np.inf, 0.0, -np.inf, 1e30])
    labels = np.where(MASK, LABELS, [np.nan, np.inf, -3.0, 7.0, -np.inf])
    weights = np.where(MASK, WEIGHTS, 5.0)
    for mode in ("op_by_op", "unknown_shape"):
        if mode == "unknown_shape" and name in NOISY:
            continue  # its noise differs here; the gradient is checked eagerly
        found, (slopes,) = run(name, scores, labels, weights, mode=mode)
        np.testing.assert_allclose(found, value, rtol=1e-9, err_msg=rules.PADDING)
        np.testing.assert_allclose(slopes, gradient, rtol=1e-7, atol=1e-12, err_msg=rules.PADDING)
        np.testing.assert_array_equal(slopes.numpy()[~MASK], 0, err_msg=rules.PADDING)


def run(name, scores, labels, weights, mode="op_by_op"):
    def loss(scores, _):
        return LOSSES[name](scores, labels, mask=MASK, weights=weights)

    return modes.run(mode, loss, [tf.constant(scores)], np.ones(len(labels)))


@pytest.mark.parametrize("what", ["matrix", "samples"])
def test_nan_in_the_padding_of_a_permutation(what):
    matrix = ops.neural_sort(SCORES, 1.0, mask=MASK).numpy()
    counts = np.arange(5) < MASK.sum(-1, keepdims=True)
    junk = np.where(counts[:, :, None] & MASK[:, None, :], matrix, np.float64([np.nan, np.inf, -1.0, 2.0, np.nan]))
    if what == "samples":
        matrix, junk = (np.stack([each, each], axis=1) for each in (matrix, junk))
    results = []
    for permutation in (matrix, junk):
        tensor = tf.constant(permutation)
        with tf.GradientTape() as tape:
            tape.watch(tensor)
            value = ops.permutation_cross_entropy_loss(tensor, LABELS, mask=MASK)
        results.append((value, tape.gradient(value, tensor)))
    np.testing.assert_allclose(results[1][0], results[0][0], rtol=1e-12)
    np.testing.assert_allclose(results[1][1], results[0][1], rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@each_loss
def test_dtypes(name, dtype):
    scores = tf.cast(SCORES, dtype)
    found = LOSSES[name](scores, LABELS, mask=MASK)
    assert found.dtype == dtype
    if name not in NOISY:
        exact = LOSSES[name](tf.cast(scores, tf.float64), LABELS, mask=MASK)
        tolerance = {"float16": 5e-3, "bfloat16": 4e-2, "float32": 1e-5}[dtype]
        np.testing.assert_allclose(tf.cast(found, tf.float64), exact, rtol=tolerance, atol=tolerance)


@pytest.mark.slow
@pytest.mark.traced_eagerly
@pytest.mark.parametrize(
    "name", [name if name in TRACED else pytest.param(name, marks=pytest.mark.nightly) for name in LOSSES]
)
def test_a_new_list_size_needs_no_new_trace(name):
    def call(size):
        LOSSES[name](np.random.normal(size=(2, size)), np.random.randint(3, size=(2, size)))

    call(3)
    before = tracing.number_of_traces()
    for size in range(4, 12):
        call(size)
    assert tracing.number_of_traces() == before


@each_loss
def test_shapes_that_do_not_fit(name):
    with pytest.raises(ValueError, match=r"labels must have (the )?shape"):
        LOSSES[name](SCORES, LABELS[:, :4])
    like = "labels" if name == "permutation_cross_entropy_loss" else "scores"  # it has no argument `scores`
    with pytest.raises(ValueError, match=rf"weights must have the shape of {like}, \(4, 5\), or broadcast to it, got"):
        LOSSES[name](SCORES, LABELS, weights=np.ones((4, 2)))
    with pytest.raises(ValueError, match="mask must have the shape of"):
        LOSSES[name](SCORES, LABELS, mask=np.ones((4, 1), bool))


@pytest.mark.parametrize(
    ("function", "options", "error", "message"),
    [
        (ops.approx_ndcg_loss, {"discount": [1.0, 0.5]}, ValueError, r"discount must be one of .* got \[1\.0, 0\.5\]"),
        (ops.pl_rank_loss, {"seed": SEED, "discount": [0.5, 1.0]}, ValueError, "discount must not rise"),
        (ops.pl_rank_loss, {"seed": SEED, "weights": [-1.0]}, ValueError, "weights must not be negative, got -1"),
        (ops.pl_rank_loss, {"seed": [1, 2, 3]}, ValueError, "seed must hold two integers"),
        (
            ops.neural_ndcg_loss,
            {"stochastic": True},
            ValueError,
            "seed must be two integers with stochastic=True, got None",
        ),
        (ops.neural_sort_cross_entropy_loss, {"stochastic": True}, ValueError, "stochastic=True, got None"),
        *(
            (function, {"seed": None}, TypeError, "^seed must .* got None")
            for function in (ops.gumbel_approx_ndcg_loss, ops.yeti_logistic_loss, ops.pl_rank_loss)
        ),
        (ops.coupled_rank_distil_loss, {"seed": None}, TypeError, "^seed must .* got None"),
        (ops.neural_ndcg_loss, {"power": 2.0}, ValueError, "power must be 1 with method 'neural_sort'"),
    ],
)
def test_bad_arguments(function, options, error, message):
    with pytest.raises(error, match=message):
        function(SCORES, LABELS, **options)


def test_permutations_and_labels_that_do_not_fit():
    with pytest.raises(ValueError, match=r"permutation must have shape .* got \(4, 5\)"):
        ops.permutation_cross_entropy_loss(SCORES, LABELS)
    with pytest.raises(ValueError, match=r"labels must have shape \(4, 5\) with this permutation, got \(3, 5\)"):
        ops.permutation_cross_entropy_loss(ops.neural_sort(SCORES), LABELS[:3])
    # Matrices [item, place] of more items than places, and of fewer.
    for items, places in ((5, 3), (3, 5)):
        with pytest.raises(ValueError, match=r"a matrix of sinkhorn, .*transposed"):
            ops.permutation_cross_entropy_loss(ops.sinkhorn(tf.zeros([4, items, places])), LABELS[:, :items])
    with pytest.raises(
        ValueError, match=r"permutation must have at most as many ranks as items, got shape \(4, 5, 3\)"
    ):
        ops.permutation_cross_entropy_loss(tf.ones([4, 5, 3]), LABELS[:, :3])


@pytest.mark.slow
def test_a_permutation_of_unknown_size_with_weights():
    matrix = ops.neural_sort(SCORES, mask=MASK)
    spec = [tf.TensorSpec([None] * rank, tf.float64) for rank in (3, 2, 2)]
    traced = tf.function(lambda p, y, w: ops.permutation_cross_entropy_loss(p, y, mask=MASK, weights=w), spec)
    expected = ops.permutation_cross_entropy_loss(matrix, LABELS, mask=MASK, weights=WEIGHTS)
    np.testing.assert_allclose(traced(matrix, LABELS, WEIGHTS), expected)


def test_lambdas_of_padding_are_0_also_in_a_list_that_is_not_a_number():
    lambdas = ops.ranknet_lambdas(
        np.float32([[1, np.nan, 2, 5]]), np.float32([[2, 1, 0, 3]]), mask=[[True] * 3 + [False]]
    )
    np.testing.assert_array_equal(np.isnan(lambdas), [[True, True, True, False]])
    assert lambdas[0, 3] == 0


@pytest.mark.parametrize(
    "name", ["softmax_loss", "list_net_loss", "mean_squared_loss", "approx_ndcg_loss", "pairwise_hinge_loss"]
)
def test_no_operation_for_a_mask_or_weights_that_are_not_given(name):
    """Scores and labels that cannot be computed are replaced."""
    lists = tf.TensorSpec([2, 6])
    trace = tf.function(getattr(ops, name), autograph=False).get_concrete_function(lists, lists)
    kinds = [operation.type for operation in trace.graph.get_operations()]
    assert kinds.count("SelectV2") == 2
    assert not {"OnesLike", "Fill", "LogicalOr"} & set(kinds)


@pytest.mark.parametrize("label_tau", [1e-30, 1e-50])
def test_a_label_temperature_below_the_range_of_float32(label_tau):
    """The shares of the labels become one-hot, and not 0 / 0."""
    found = ops.list_net_loss(tf.constant([0.5, -0.5]), [1.0, 0.0], label_tau=label_tau)
    np.testing.assert_allclose(found, np.log1p(np.exp(-1)), rtol=1e-6)
