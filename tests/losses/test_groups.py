"""Rows with a group id: every list loss and metric gives the numbers of padded lists, in any order of the rows."""

import time

import numpy as np
import pytest
import tensorflow as tf
from support import models, modes
from support.cases.collect import collected
from support.cases.ranking import per_segment as case

import keras_softsort as ks
from keras_softsort.ops.core import segments

pytestmark = pytest.mark.default_stack_only

keras = tf.keras
NONE = models.NO_REDUCTION
RANDOM = np.random.default_rng(4)
# Lists of one row, of two of the sizes to which lists are padded, and ids of any sign. The order of rows is mixed.
SIZES = {7: 5, -3: 1, 40: 11, 2: 3, 16_777_215: 10}
IDS = RANDOM.permutation(np.repeat(list(SIZES), list(SIZES.values())))
LABELS = RANDOM.integers(0, 4, len(IDS)).astype("float32")
SCORES = RANDOM.normal(size=len(IDS)).astype("float32")
WEIGHTS = RANDOM.uniform(0.5, 2, len(IDS)).astype("float32")
TOPICS = RANDOM.integers(0, 2, (len(IDS), 3)).astype("float32")
LISTS = [np.flatnonzero(i == IDS) for i in sorted(SIZES)]
FIRST = np.array([rows[0] for rows in LISTS])
GROUPED = np.stack([IDS, LABELS], axis=1).astype("float32")
LOSSES = [loss for loss in collected("LOSSES") if loss.takes in {"scores", "logits"}]


def padded(rows, filler=0):
    """Rows as lists, in the order of their ids."""
    lists = np.full((len(LISTS), max(SIZES.values()), *rows.shape[1:]), filler, rows.dtype)
    for one, own in zip(lists, LISTS, strict=True):
        one[: len(own)] = rows[own]
    return lists


def flat(lists):
    """Padded lists as rows."""
    rows = np.zeros((len(IDS), *lists.shape[2:]), lists.dtype)
    for one, own in zip(lists, LISTS, strict=True):
        rows[own] = one[: len(own)]
    return rows


def prediction(loss):
    return np.stack([SCORES, -SCORES[::-1]], axis=1) if loss.takes == "logits" else SCORES


# Modes that run each time: all of one loss, and one of a loss of logits.
QUICK = {ks.RankNetLoss: ("eager", "xla"), ks.OrdinalLoss: ("unknown_shape",)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loss", "mode"),
    [
        pytest.param(loss, mode, marks=[] if mode in QUICK.get(loss.cls, ()) else [pytest.mark.nightly])
        for loss in LOSSES
        if not loss.draws_noise
        for mode in ("eager", "traced", "xla", "unknown_shape")
    ],
    ids=lambda each: each if isinstance(each, str) else each.cls.__name__,
)
def test_losses_are_those_of_padded_lists(loss, mode):
    upstream = np.arange(1, len(LISTS) + 1, dtype="float32")
    scores, of_lists = prediction(loss), loss.cls(**loss.basic, reduction=NONE)
    wanted, (slopes,) = modes.run(
        "op_by_op",
        lambda s, _: of_lists(padded(LABELS, -1), s, padded(WEIGHTS)),
        [tf.constant(padded(scores))],
        upstream,
    )
    of_rows, weights = loss.cls(**loss.basic, reduction=NONE, lists="groups"), np.zeros(len(IDS), "float32")
    weights[FIRST] = upstream
    values, (gradient,) = modes.run(
        mode, lambda s, y: of_rows(y, s, WEIGHTS), [tf.constant(scores)], weights, tf.constant(GROUPED)
    )
    np.testing.assert_allclose(np.array(values)[FIRST], wanted, rtol=1e-6, atol=1e-6)
    assert np.count_nonzero(values) <= len(LISTS)
    np.testing.assert_allclose(gradient, flat(slopes.numpy()), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    "loss",
    [
        pytest.param(loss, marks=[] if loss.cls in QUICK or loss.draws_noise else [pytest.mark.nightly])
        for loss in LOSSES
    ],
    ids=lambda loss: loss.cls.__name__,
)
def test_operators_are_those_of_padded_lists(loss):
    """Losses with noise agree too: lists that are padded to the same size get the same noise."""
    one_size = np.isin(IDS, [i for i, size in SIZES.items() if size < 9])
    rows = [own for own in LISTS if one_size[own[0]]]
    shape = len(rows), max(map(len, rows))
    places = np.concatenate([i * shape[1] + np.arange(len(own)) for i, own in enumerate(rows)])

    def lists(values):
        found = np.zeros((shape[0] * shape[1], *values.shape[1:]), values.dtype)
        found[places] = values[np.concatenate(rows)]
        return found.reshape(shape + values.shape[1:])

    function, options, scores = getattr(ks.ops, loss.operator), dict(loss.call), prediction(loss)
    mask = lists(np.ones(len(IDS), bool))
    wanted = function(lists(scores), lists(LABELS), mask=mask, weights=lists(WEIGHTS), **options)
    kept = np.flatnonzero(one_size)
    values = ks.ops.per_segment(
        function, scores[kept], LABELS[kept], IDS[kept], weights=WEIGHTS[kept], mask=np.ones(len(kept), bool), **options
    )
    first = np.searchsorted(kept, [own[0] for own in rows])
    np.testing.assert_allclose(np.array(values)[first], wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("jit_compile", [False, pytest.param(True, marks=pytest.mark.nightly)])
@pytest.mark.parametrize(
    "metric",
    [
        pytest.param(metric, marks=[] if metric.cls is ks.NDCG else [pytest.mark.nightly])
        for metric in collected("METRICS")
    ],
    ids=lambda metric: metric.cls.__name__,
)
def test_metrics_are_those_of_padded_lists(metric, jit_compile):
    labels = TOPICS if metric.takes_topics else LABELS
    rows, lists = metric.cls(lists="groups"), metric.cls()
    lists.update_state(padded(labels, -1), padded(SCORES), padded(WEIGHTS))
    update = models.traced_update(rows, jit_compile=jit_compile)
    update(tf.constant(np.column_stack([IDS, labels]).astype("float32")), SCORES[:, None], WEIGHTS)
    assert float(rows.result()) == pytest.approx(float(lists.result()), rel=1e-6)
    assert rows.get_config()["lists"] == "groups"


def test_a_mean_counts_groups_with_valid_rows():
    labels = np.where(IDS == 40, -1, LABELS)
    loss = ks.SoftmaxLoss(lists="groups")
    mean = loss(np.stack([IDS, labels], axis=1).astype("float32"), SCORES)
    each = [ks.SoftmaxLoss(lists="batch")(labels[own], SCORES[own]) for own in LISTS if labels[own[0]] >= 0]
    assert len(each) == len(LISTS) - 1  # a list of one row counts
    np.testing.assert_allclose(mean, np.mean(each), rtol=1e-6)


def test_a_nan_label_spoils_its_own_group():
    labels = np.where(np.arange(len(IDS)) == FIRST[2], np.float32(np.nan), LABELS)
    found = ks.RankNetLoss(lists="groups", reduction=NONE)(np.stack([IDS, labels], 1).astype("float32"), SCORES)
    assert np.flatnonzero(np.isnan(found)).tolist() == [FIRST[2]]


def test_ids_of_64_bits():
    wanted = ks.RankNetLoss(lists="groups")(GROUPED, SCORES)
    large = np.int64(IDS) + 2**60
    for y_true in (np.stack([large, np.int64(LABELS)], axis=1), (large, LABELS), (large[:, None], LABELS[:, None])):
        np.testing.assert_array_equal(ks.RankNetLoss(lists="groups")(y_true, SCORES), wanted)


@pytest.mark.slow
@pytest.mark.parametrize(
    "mode",
    [
        "eager",
        *(pytest.param(each, marks=pytest.mark.nightly) for each in ("traced", "xla", "unknown_shape", "unknown_xla")),
    ],
)
@pytest.mark.parametrize("rows", [0, 1])
def test_no_row_and_one_row(rows, mode):
    def step(y_true, scores):
        with tf.GradientTape() as tape:
            tape.watch(scores)
            loss = ks.RankNetLoss(lists="groups")(y_true, scores)
        return loss, tape.gradient(loss, scores)

    if mode != "eager":
        signature = [tf.TensorSpec([None, 2]), tf.TensorSpec([None, 1])] if mode.startswith("unknown") else None
        step = tf.function(step, jit_compile=mode.endswith("xla") or None, input_signature=signature, autograph=False)
    loss, gradient = step(tf.zeros([rows, 2]), tf.zeros([rows, 1]))
    assert float(loss) == 0
    np.testing.assert_array_equal(gradient, np.zeros([rows, 1]))


@pytest.mark.slow
def test_trainable_variables_of_the_function_are_an_error_in_traced_calls():
    factor = tf.Variable(2.0)

    def scaled(scores, labels, *, mask, weights):
        return factor * tf.reduce_sum(scores, axis=-1)

    @tf.function
    def gradient(scores):
        with tf.GradientTape() as tape:
            found = ks.ops.per_segment(scaled, scores, scores, tf.constant([1, 0, 1]))
        return tape.gradient(found, factor)

    with pytest.raises(ValueError, match="function must not have trainable variables in a traced call"):
        gradient(tf.ones(3))
    with tf.GradientTape() as tape:
        found = ks.ops.per_segment(scaled, tf.ones(3), tf.ones(3), tf.constant([1, 0, 1]))
    assert float(tape.gradient(found, factor)) == 3


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["eager", "traced"])
def test_padding_is_bounded_by_the_rows(mode):
    """One list of 4000 rows does not pad a thousand short ones to its size."""
    sizes = np.r_[4000, RANDOM.integers(1, 9, 1000)]
    ids, cells = np.repeat(np.arange(len(sizes)), sizes), tf.Variable(0)

    def count(part):
        cells.assign_add(tf.size(part))
        return tf.reduce_sum(part, axis=-1)

    def run():
        return segments.by_segment(count, tf.constant(ids), [tf.ones(len(ids))])

    totals = (run if mode == "eager" else tf.function(run, autograph=False))()
    np.testing.assert_array_equal(np.array(totals)[np.cumsum(sizes) - sizes], sizes)
    assert len(ids) <= int(cells) < 2 * len(ids)


@pytest.mark.slow
def test_a_regressor_of_rows_learns_by_fit():
    x = RANDOM.normal(size=(400, 3)).astype("float32")
    ids = RANDOM.integers(0, 40, 400)
    y_true = np.stack([ids, np.digitize(x[:, 0], [-0.5, 0.5])], axis=1)
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    metric = ks.NDCG(k=3, lists="groups")
    model.compile(keras.optimizers.Adam(0.1), loss=ks.SoftmaxLoss(lists="groups"), metrics=[metric])
    history = model.fit(x, y_true, batch_size=200, epochs=30, verbose=0, shuffle=False).history
    assert history["ndcg"][-1] > 0.95 > history["ndcg"][0]
    loaded = ks.SoftmaxLoss.from_config(ks.SoftmaxLoss(lists="groups").get_config())
    assert loaded.lists == "groups"


@pytest.mark.parametrize(
    ("y_true", "y_pred", "weights", "message"),
    [
        (LABELS, SCORES, None, r"y_true must be \[batch, 2\], group ids and labels, .* got shape \(30,\)"),
        (GROUPED[:, :1], SCORES, None, r"y_true must be \[batch, 2\], group ids and labels, .* got shape \(30, 1\)"),
        (np.c_[GROUPED, LABELS], SCORES, None, r"the labels of y_true must have shape \[batch\].* got \(30, 2\)"),
        (np.add(GROUPED, [[0.5, 0]]), SCORES, None, "group ids of y_true must be integers below 16777216 in float32"),
        (np.add(GROUPED, [[2.0, 0]]), SCORES, None, "group ids of y_true must be integers below 16777216 in float32"),
        ((IDS[1:], LABELS), SCORES, None, "y_true must have a group id for each row of y_pred, got 29 ids"),
        (GROUPED, SCORES.reshape(5, 6), None, r"y_pred must be scores \[batch\] or \[batch, 1\] with lists='groups'"),
        (GROUPED, SCORES, WEIGHTS.reshape(5, 6), r"sample_weight must have shape \[batch\] or .* lists='groups'"),
    ],
)
def test_wrong_rows(y_true, y_pred, weights, message):
    y_true = y_true.astype("float32") if isinstance(y_true, np.ndarray) else y_true
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match=message):
        ks.SoftmaxLoss(lists="groups")(y_true, y_pred, weights)


@pytest.mark.parametrize(
    ("dtype", "first"), [("float16", 2**11), ("bfloat16", 2**8), ("float32", 2**24), ("float64", 2**53)]
)
def test_ids_that_their_dtype_may_have_rounded_are_refused(dtype, first):
    labels = tf.cast([1.0, 0.0, 1.0, 0.0], dtype)
    accepted = ks.SoftmaxLoss(lists="groups")((tf.cast([first - 1, first - 1, 1, 1], dtype), labels), SCORES[:4])
    assert np.isfinite(accepted)
    with pytest.raises(ValueError, match=f"must be integers below {first} in {dtype}"):
        ks.SoftmaxLoss(lists="groups")((tf.cast([first, first, 1, 1], dtype), labels), SCORES[:4])


UNKNOWN = [tf.TensorSpec([None]), tf.TensorSpec([None]), tf.TensorSpec([None], tf.int64), tf.TensorSpec([None])]


@pytest.mark.slow
def test_sizes_that_do_not_match_are_told_where_they_were_unknown():
    @tf.function(input_signature=UNKNOWN)
    def segments(scores, labels, ids, weights):
        return ks.ops.per_segment(ks.ops.softmax_loss, scores, labels, ids, weights=weights)

    @tf.function(input_signature=UNKNOWN)
    def loss(scores, labels, ids, weights):
        return ks.SoftmaxLoss(lists="groups")((ids, labels), scores, weights)

    for wrong in (1, 2, 3):
        for length in (1, 3, 7):
            given = [SCORES[:5], LABELS[:5], IDS[:5], WEIGHTS[:5]]
            given[wrong] = np.resize(given[wrong], length)
            given = [tf.cast(each, spec.dtype) for each, spec in zip(given, UNKNOWN, strict=True)]
            for function in (segments, loss):
                with pytest.raises(tf.errors.InvalidArgumentError, match="expected and received"):
                    function(*given)


@pytest.mark.parametrize(
    ("name", "value", "error", "message"),
    [
        ("segments", IDS[1:], ValueError, r"segments must have one entry for each of the 30 rows, got shape \(29,\)"),
        ("segments", np.float32(IDS), TypeError, "segments must be integers, got dtype float32"),
        ("labels", LABELS[1:], ValueError, "labels must have one entry for each of the 30 rows"),
        ("mask", LABELS, TypeError, "mask must be bool"),
        ("mask", LABELS[1:] >= 0, ValueError, "mask must have one entry for each of the 30 rows"),
        ("weights", WEIGHTS[:, None], ValueError, r"weights must have one entry for each .* got shape \(30, 1\)"),
        ("scores", IDS, TypeError, "scores must be floating-point, got dtype int64"),
    ],
)
def test_wrong_arguments_of_per_segment(name, value, error, message):
    arguments = {"scores": SCORES, "labels": LABELS, "segments": IDS}
    with pytest.raises(error, match=message):
        ks.ops.per_segment(ks.ops.softmax_loss, **{**arguments, name: value})


def test_per_segment_is_a_loop_over_lists():
    scores = RANDOM.normal(size=(4, 5))
    np.testing.assert_allclose(case.of_lists(tf.constant(scores)), case.truth(scores), rtol=1e-12)


def test_matrices_have_no_groups():
    with pytest.raises(ValueError, match="lists must be 'batch' or 'rows' where y_pred is a permutation matrix"):
        ks.PermutationCrossEntropyLoss(lists="groups")


@pytest.mark.slow
@pytest.mark.parametrize("traced", [False, True])
def test_noise_differs_from_call_to_call(traced):
    loss = ks.PLRankLoss(lists="groups", num_samples=4, seed=3)
    run = tf.function(loss, autograph=False) if traced else loss
    values = [float(run(tf.constant(GROUPED), tf.constant(SCORES))) for _ in range(2)]
    assert np.all(np.isfinite(values))
    assert values[0] != values[1]


@pytest.mark.slow
def test_other_groups_need_no_new_compilation():
    """XLA compiles anew, for seconds, if a shape depends on the ids."""
    loss = ks.SoftmaxLoss(lists="groups")

    @tf.function(jit_compile=True, autograph=False)
    def step(y_true, scores):
        with tf.GradientTape() as tape:
            tape.watch(scores)
            total = loss(y_true, scores)
        return tape.gradient(total, scores)

    seconds = []
    for divisor in (3, 5, 20):
        start = time.perf_counter()
        step(tf.constant(np.stack([np.arange(100) // divisor, np.arange(100) % 3], 1), tf.float32), tf.zeros([100]))
        seconds.append(time.perf_counter() - start)
    assert max(seconds[1:]) < seconds[0] / 10
