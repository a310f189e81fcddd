"""Arguments of every loss: the form of lists, the mark of padding, reductions and dtypes."""

import json
import re

import numpy as np
import pytest
import tensorflow as tf
from support import models, modes
from support.cases import objects
from support.data import graded_lists

import keras_softsort as ks

keras = tf.keras
NONE = models.NO_REDUCTION
# Made so that no two are equal, whatever the loss.
LABELS = np.float32([[3, 1, 2, 0, 4], [1, 3, 2, 0, 1], [2, 0, 2, 1, 0]])
SCORES = graded_lists.SCORES[:3].astype("float32")
SCORE_LOSSES = [cls for cls, loss in objects.SUBJECTS.items() if loss.takes == "scores"]
LIST_LOSSES = [cls for cls, loss in objects.SUBJECTS.items() if loss.takes in {"scores", "permutation"}]
METRICS = [ks.KendallTau, ks.ElementwiseAccuracy, ks.PermutationAccuracy]
# Each run traces only these losses, with code that all losses share; `nightly` runs trace the others too.
ALWAYS = [ks.SpearmanLoss, ks.RankNetLoss]
OTHERS = [cls for cls in LIST_LOSSES if cls not in ALWAYS]


def of_each_kind(classes):
    """One loss of each kind; with everything, all."""
    return [cls if cls in objects.KINDS else pytest.param(cls, marks=pytest.mark.nightly) for cls in classes]


each_loss = pytest.mark.parametrize("cls", of_each_kind(LIST_LOSSES))
each_traced_loss = pytest.mark.parametrize(
    "cls", [pytest.param(cls, marks=[] if cls in ALWAYS else [pytest.mark.nightly]) for cls in SCORE_LOSSES]
)
each_score_loss = pytest.mark.parametrize("cls", of_each_kind(SCORE_LOSSES))


def basic(cls):
    return objects.SUBJECTS[cls].basic


def draws_noise(cls):
    return objects.SUBJECTS[cls].draws_noise


def prediction(cls, scores):
    """The input of the loss, from scores [..., n]."""
    takes_scores = objects.SUBJECTS[cls].takes == "scores"
    return tf.convert_to_tensor(scores) if takes_scores else ks.ops.neural_sort(scores, 1.0)


def repeat_noise(cls):
    """Draw the same numbers after each call, for a loss that draws any."""
    if draws_noise(cls):
        tf.random.set_seed(5)


def value_and_gradient(cls, y_true, y_pred, sample_weight=None, *, mask=None, mode="op_by_op", **options):
    loss = cls(**{"reduction": NONE, **basic(cls), **options})

    def compute(prediction, _):
        prediction = tf.identity(prediction)
        if mask is not None:
            prediction._keras_mask = tf.constant(mask)
        return loss(y_true, prediction, sample_weight)

    repeat_noise(cls)
    count = 1 if options.get("lists") == "batch" else len(y_pred)
    value, (gradient,) = modes.run(mode, compute, [tf.convert_to_tensor(y_pred)], np.ones(count, "float32"))
    return value.numpy(), gradient.numpy()


@pytest.mark.slow
@each_score_loss
def test_scores_of_a_dense_layer_of_one_unit(cls):
    weights = np.ones((3, 5), "float32")
    value, gradient = value_and_gradient(cls, LABELS, SCORES, weights)
    for labels in (LABELS, LABELS[..., None]):
        column, slopes = value_and_gradient(cls, labels, SCORES[..., None], weights)
        np.testing.assert_allclose(column, value, rtol=1e-6)
        np.testing.assert_allclose(slopes, gradient[..., None], rtol=1e-5, atol=1e-7)


@each_loss
def test_the_batch_is_one_list(cls):
    weights, mask = np.float32([1, 0.5, 2, 1, 3]), np.array([True, True, False, True, True])
    one = value_and_gradient(cls, LABELS[:1], prediction(cls, SCORES[:1]), weights[None], mask=mask[None])
    vector = prediction(cls, SCORES[0])
    shapes = [(LABELS[0], vector, weights, mask)]
    if cls in SCORE_LOSSES:
        shapes += [(LABELS[0][:, None], vector[:, None], weights[:, None], mask[:, None])]
    for *arguments, own_mask in shapes:
        value, gradient = value_and_gradient(cls, *arguments, mask=own_mask, lists="batch")
        np.testing.assert_allclose(value, one[0], rtol=1e-6)
        np.testing.assert_allclose(gradient.reshape(one[1][0].shape), one[1][0], rtol=1e-5, atol=1e-7)
    assert value.shape == (1,)


@pytest.mark.slow
@pytest.mark.default_stack_only
@pytest.mark.parametrize(
    ("cls", "mode"),
    [
        pytest.param(cls, mode, marks=[] if cls in ALWAYS else [pytest.mark.nightly])
        for cls in SCORE_LOSSES
        for mode in ("xla", "unknown_shape")
        # XLA draws other noise.
        if mode != "xla" or not draws_noise(cls)
    ],
)
def test_one_list_in_every_mode(cls, mode):
    # With a seed of its own, a loss draws the same noise in a graph.
    options = {"seed": 3} if draws_noise(cls) else {}
    eager = value_and_gradient(cls, LABELS[0], SCORES[0][:, None], lists="batch", **options)
    value, gradient = value_and_gradient(cls, LABELS[0], SCORES[0][:, None], lists="batch", mode=mode, **options)
    np.testing.assert_allclose(value, eager[0], rtol=1e-5)
    np.testing.assert_allclose(gradient, eager[1], rtol=1e-4, atol=1e-6)


@each_score_loss
@pytest.mark.parametrize("shape", [(6, 1), (6, 1, 1), (6,), (None, 1), (None,)])
def test_lists_of_one_item_are_an_error_that_names_the_ways_out(cls, shape):
    loss = cls()

    @tf.function(input_signature=[tf.TensorSpec(shape, tf.float32)] * 2)
    def traced(labels, scores):
        return loss(labels, scores)

    with pytest.raises(ValueError, match=r"got (y_pred of )?shape .*lists='batch'.*\[batch, n, 1\].*ks\.data"):
        traced.get_concrete_function()


def test_matrices_of_one_item_are_an_error():
    with pytest.raises(ValueError, match=r"lists of one item have no order, got y_pred of shape \(6, 1, 1\)"):
        ks.PermutationCrossEntropyLoss()(np.ones((6, 1)), np.ones((6, 1, 1)))


@pytest.mark.parametrize(
    ("cls", "y_true", "y_pred", "weights", "message"),
    [
        (ks.SpearmanLoss, (6,), (2, 3), None, r"y_pred must be scores \[batch\] or \[batch, 1\] with lists='batch'"),
        (ks.SpearmanLoss, (6,), (6, 1, 1), None, r"y_pred must be scores .*, got shape \(6, 1, 1\)"),
        (ks.SpearmanLoss, (1, 6), (6, 1), None, r"y_true must have shape \[batch\] or \[batch, 1\] .* got \(1, 6\)"),
        (ks.SpearmanLoss, (5,), (6,), None, r"y_true must have shape .* got \(1, 5\)"),
        (ks.SpearmanLoss, (6,), (6,), (2, 3), r"sample_weight must have shape \[batch\] .* got \(2, 3\)"),
        (ks.PermutationCrossEntropyLoss, (6,), (6,), None, r"y_pred must be a permutation matrix \[rank, item\] with"),
    ],
)
def test_shapes_that_are_no_one_list(cls, y_true, y_pred, weights, message):
    with pytest.raises(ValueError, match=message):
        cls(lists="batch")(np.ones(y_true), np.ones(y_pred), None if weights is None else np.ones(weights))


def test_ragged_scores_with_a_last_axis():
    lengths = [5, 2, 3]
    labels, scores = (tf.RaggedTensor.from_tensor(each, lengths) for each in (LABELS, SCORES))
    loss = ks.SpearmanLoss(reduction=NONE)
    columns = tf.RaggedTensor.from_tensor(SCORES[..., None], lengths)
    np.testing.assert_allclose(loss(labels, columns), loss(labels, scores), rtol=1e-6)
    with pytest.raises(TypeError, match=r"y_pred must be dense, .* lists='batch'"):
        ks.SpearmanLoss(lists="batch")(labels, scores)


@pytest.mark.slow
@each_loss
def test_what_marks_padding(cls):
    """Two items in the middle of each list are padding, in every way to say so."""
    keep = [0, 2, 4]
    narrow, _ = value_and_gradient(cls, LABELS[:, keep], prediction(cls, SCORES[:, keep]))
    mask = np.isin(np.arange(5), keep)
    wide = SCORES
    if cls is ks.PermutationCrossEntropyLoss:
        wide = ks.ops.neural_sort(SCORES, 1.0, mask=np.broadcast_to(mask, SCORES.shape))
    for padding, mark in [("negative_labels", -1), ("nan_labels", np.nan), (None, None)]:
        labels = LABELS if mark is None else np.where(mask, LABELS, np.float32(mark))
        keras_mask = np.broadcast_to(mask, labels.shape) if mark is None else None
        for mode in ("op_by_op", "unknown_shape") if padding == "nan_labels" and cls in ALWAYS else ("op_by_op",):
            value, gradient = value_and_gradient(cls, labels, wide, mask=keras_mask, padding=padding, mode=mode)
            np.testing.assert_array_equal(gradient[..., ~mask], 0)
            # The noise depends on the size of the lists.
            if not draws_noise(cls):
                np.testing.assert_allclose(value, narrow, rtol=1e-5)


@pytest.mark.parametrize("padding", ["nan_labels", None])
@each_loss
def test_negative_labels_that_are_labels(cls, padding):
    centred = LABELS - 2
    value, gradient = value_and_gradient(cls, centred, prediction(cls, SCORES), padding=padding)
    meaning = objects.SUBJECTS[cls].labels
    if meaning == "relevance":
        assert np.isnan(value).all()
    elif meaning == "numbers":
        assert np.isfinite(value).all()
    else:
        shifted, slopes = value_and_gradient(cls, LABELS, prediction(cls, SCORES), padding=padding)
        np.testing.assert_allclose(value, shifted, rtol=1e-6)
        np.testing.assert_allclose(gradient, slopes, rtol=1e-5, atol=1e-6)


def test_lambda_weights_of_ndcg_have_no_gain_for_a_negative_label():
    centred = np.where(np.arange(3)[:, None] == 1, LABELS - 2, LABELS)
    for kind, failed in [("ndcg", True), ("mrr", True), ("map", False), ("dcg", False)]:
        value, _ = value_and_gradient(ks.RankNetLoss, centred, SCORES, padding=None, lambda_weight=kind)
        np.testing.assert_array_equal(np.isnan(value), [False, failed, False])


@pytest.mark.parametrize(
    ("cls", "padding", "mode"),
    [
        *((cls, padding, "op_by_op") for cls in LIST_LOSSES for padding in ("negative_labels", None)),
        *((cls, "negative_labels", "traced") for cls in ALWAYS),
        *(pytest.param(cls, "negative_labels", "traced", marks=pytest.mark.nightly) for cls in OTHERS),
    ],
)
def test_a_nan_label_is_no_padding(cls, padding, mode):
    # TensorFlow's graph optimizer makes labels >= 0 of logical_not(labels < 0).
    labels = LABELS.copy()
    labels[1, 2] = np.nan
    value, gradient = value_and_gradient(cls, tf.constant(labels), prediction(cls, SCORES), padding=padding, mode=mode)
    # PL-Rank draws other noise in another mode.
    clean, slopes = value_and_gradient(cls, LABELS, prediction(cls, SCORES), padding=padding, mode=mode)
    np.testing.assert_array_equal(np.isnan(value), [False, True, False])
    np.testing.assert_allclose(value[[0, 2]], clean[[0, 2]], rtol=1e-6)
    np.testing.assert_allclose(gradient[[0, 2]], slopes[[0, 2]], rtol=1e-5, atol=1e-7)


@pytest.mark.slow
def test_a_nan_label_is_no_padding_of_the_metrics_and_of_dknn():
    labels = LABELS.copy()
    labels[1, 2] = np.nan
    for metric in [cls() for cls in METRICS]:
        tf.function(lambda y, p, metric=metric: metric.update_state(y, p) and None)(labels, LABELS)
        assert float(metric.result()) == pytest.approx(2 / 3), metric
    classes, embeddings = np.float32([0, 1, np.nan, 1, 0]), SCORES[:2].T
    for run in (lambda f: f, tf.function):
        loss = run(ks.DkNNLoss(k=1, reduction=NONE))(tf.constant(classes), tf.constant(embeddings))
        assert np.isnan(loss).all()


@pytest.mark.slow
@each_traced_loss
def test_a_nan_label_with_fit(cls):
    labels = LABELS.copy()
    labels[1, 2] = np.nan
    scores = keras.Input((5,))
    model = keras.Model(scores, keras.layers.Activation("linear")(scores))
    if cls is ks.PermutationCrossEntropyLoss:
        model = keras.Model(scores, ks.NeuralSortLayer()(scores))
    model.compile("sgd", loss=cls(**basic(cls)))
    assert np.isnan(model.evaluate(SCORES, labels, verbose=0))


@pytest.mark.slow
def test_rows_of_a_regressor_as_one_list():
    x, _ = models.features(1, 64)
    x = x[0]
    y = x @ np.float32([0.2, 1.0, -0.7])  # around 0, and not padding
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    loss = ks.SpearmanLoss(method="soft_sort", tau=0.1, lists="batch", padding=None)
    model.compile(keras.optimizers.Adam(0.05), loss=loss, jit_compile=False)
    losses = model.fit(x, y, batch_size=64, epochs=60, shuffle=False, verbose=0).history["loss"]
    assert losses[-1] < 0.3 * losses[0]


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["[batch]", "[batch, 1]"])
def test_weights_and_masks_of_one_list_in_fit(shape):
    x, y = models.features(1, 6)
    x, y, weights = x[0], y[0], np.arange(6, dtype="float32")
    x[2] = models.PAD
    model = keras.Sequential([keras.Input((3,)), keras.layers.Masking(models.PAD), keras.layers.Dense(1)])
    model.compile("sgd", loss=ks.RankNetLoss(lists="batch"))
    keep = np.arange(6) != 2
    expected = ks.RankNetLoss()(y[None, keep], model.predict(x, verbose=0)[None, keep, 0], weights[None, keep])
    if shape == "[batch, 1]":
        y, weights = y[:, None], weights[:, None]
    found = model.fit(x, y, sample_weight=weights, batch_size=6, shuffle=False, verbose=0).history["loss"][0]
    assert found == pytest.approx(float(expected), rel=1e-5)


@pytest.mark.slow
@each_traced_loss
def test_masking_and_dense_without_a_reshape(cls):
    x, y = models.features(4, 5)
    wide, labels = models.pad(x, y)
    labels[labels < 0] = 9  # the mask alone says that these are padding
    outcomes = []
    for inputs, y_true in [(x, y), (wide, labels)]:
        start = keras.initializers.Constant([[1.0], [-0.5], [0.3]])
        model = keras.Sequential(
            [keras.Input((None, 3)), keras.layers.Masking(models.PAD), keras.layers.Dense(1, kernel_initializer=start)]
        )
        model.compile(keras.optimizers.SGD(1.0), loss=cls(**basic(cls)))
        repeat_noise(cls)
        outcomes.append([model.train_on_batch(inputs, y_true), *model.get_weights()[0].ravel()])
    np.testing.assert_allclose(outcomes[1], outcomes[0], rtol=1e-4, atol=1e-5)


ALL_LOSSES = [cls for cls, loss in objects.SUBJECTS.items() if loss.takes != "logits"]


def arguments_for(cls):
    takes = objects.SUBJECTS[cls].takes
    if takes == "embeddings":
        return np.float32([0, 1, 0, 1, 1]), SCORES.T, np.float32([1, 2, 0, 0.5, 3]), basic(cls)
    return LABELS, SCORES if takes == "set" else prediction(cls, SCORES), np.float32([1, 2, 0.5]), basic(cls)


@pytest.mark.slow
@pytest.mark.parametrize("cls", of_each_kind(ALL_LOSSES))
def test_reductions_of_keras(cls):
    labels, scores, weights, options = arguments_for(cls)

    def reduced(reduction):
        repeat_noise(cls)
        loss = cls(reduction=reduction, **options)
        again = cls.from_config(json.loads(json.dumps(loss.get_config())))
        assert again.get_config() == loss.get_config()
        return np.asarray(again(labels, scores, weights))

    values = reduced("none")
    np.testing.assert_array_equal(reduced(None), values)
    for name in ("auto", "mean", "sum_over_batch_size"):
        assert reduced(name) == pytest.approx(values.mean(), rel=1e-6)
    assert reduced("sum") == pytest.approx(values.sum(), rel=1e-6)
    assert reduced("mean_with_sample_weight") == pytest.approx(values.sum() / weights.sum(), rel=1e-6)


def test_the_weight_of_a_list_is_the_mean_of_its_items():
    weights = np.float32([[1, 2, 3, 4, 5], [0, 0, 0, 0, 0], [1, 1, 1, 1, 2]])
    labels = LABELS.copy()
    labels[0, 3:] = -1
    values = ks.RankNetLoss(reduction=NONE)(labels, SCORES, weights).numpy()
    found = ks.RankNetLoss(reduction="mean_with_sample_weight")(labels, SCORES, weights)
    assert float(found) == pytest.approx(values.sum() / (2 + 0 + 1.2), rel=1e-6)


def test_the_weighted_mean_is_differentiable_in_the_weights():
    """Eagerly too, where the sum of the weights is a known number."""
    values = ks.PlackettLuceLoss(reduction=NONE)(LABELS, SCORES).numpy()
    weights = tf.constant([1.0, 3.0, 0.5])
    with tf.GradientTape() as tape:
        tape.watch(weights)
        mean = ks.PlackettLuceLoss(reduction="mean_with_sample_weight")(LABELS, SCORES, weights)
    np.testing.assert_allclose(tape.gradient(mean, weights), (values - mean) / 4.5, rtol=1e-5)


def test_the_weights_of_pairs_have_no_gradient():
    """Op by op neither."""
    weights = tf.constant([1.0, 3.0, 0.5])
    with tf.GradientTape() as tape:
        tape.watch(weights)
        total = ks.RankNetLoss(reduction="sum")(LABELS, SCORES, weights)
    assert tape.gradient(total, weights) is None


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16"])
@pytest.mark.parametrize("cls", of_each_kind(ALL_LOSSES))
def test_dtype(cls, dtype):
    labels, scores, _, options = arguments_for(cls)
    repeat_noise(cls)
    loss = cls(dtype=dtype, **options)
    assert loss.get_config()["dtype"] == dtype
    assert cls.from_config(json.loads(json.dumps(loss.get_config()))).get_config() == loss.get_config()
    value = loss(labels, scores)
    assert value.dtype == dtype
    repeat_noise(cls)
    expected = cls(**options)(labels, tf.cast(scores, tf.float64 if dtype == "float64" else tf.float32))
    np.testing.assert_allclose(tf.cast(value, tf.float64), tf.cast(expected, tf.float64), rtol=1e-2)
    if dtype == "float64":
        np.testing.assert_allclose(value, expected, rtol=1e-12)


def test_dtype_policy():
    """By name or as an object: a policy stands for its compute dtype, as in the losses of Keras 3."""
    named = [("mixed_float16", "float16"), ("mixed_bfloat16", "bfloat16"), ("float64", "float64")]
    for given, dtype in [*named, *((keras.mixed_precision.Policy(name), dtype) for name, dtype in named)]:
        loss = ks.RankNetLoss(dtype=given)
        assert loss.get_config()["dtype"] == dtype
        assert ks.RankNetLoss.from_config(loss.get_config()).get_config() == loss.get_config()
        assert loss(LABELS, SCORES).dtype == dtype
        if models.IS_KERAS_3:
            assert keras.losses.MeanSquaredError(dtype=given)(LABELS, SCORES).dtype == dtype


@pytest.mark.parametrize("dtype", ["mixed_int32", "mixed", 3.5, [], "", "string", "complex64"])
def test_no_dtype(dtype):
    with pytest.raises(ValueError, match=f"dtype must be floating-point, got {re.escape(repr(dtype))}"):
        ks.RankNetLoss(dtype=dtype)


@pytest.mark.parametrize("fill", [np.nan, np.inf, -np.inf, 3e38])
def test_padding_of_any_number_reaches_no_gradient_of_scores_in_deviations(fill):
    labels = tf.constant([[2.0, 0.0, 1.0, -1.0], [1.0, 0.0, 2.0, 0.0]])
    padded = tf.constant([[0.5, 0.2, 0.9, fill], [0.1, 0.2, 0.3, 0.4]])
    plain = tf.where([[True, True, True, False], [True] * 4], padded, 0.0)
    for loss in (ks.RankNetLoss(scale="std"), ks.SoftmaxLoss(scale="std")):
        found, wanted = (gradient_of(lambda y_pred, loss=loss: loss(labels, y_pred), each) for each in (padded, plain))
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


def gradient_of(function, scores):
    with tf.GradientTape() as tape:
        tape.watch(scores)
        value = function(scores)
    return tape.gradient(value, scores)


@pytest.mark.parametrize("shape", [[1], [1, 1], [1, 3], [2], [2, 3], [3, 2]])
def test_weights_that_do_not_fit_lists_of_an_unknown_number_are_told(shape):
    spec = tf.TensorSpec([None, None])

    @tf.function(input_signature=[spec, spec, tf.TensorSpec([None] * len(shape))])
    def loss(labels, scores, weights):
        return ks.SoftmaxLoss()(labels, scores, weights)

    with pytest.raises(tf.errors.InvalidArgumentError, match="sample_weight must have shape"):
        loss(tf.ones([3, 3]), tf.ones([3, 3]), tf.ones(shape))
    assert np.isfinite(loss(tf.ones([3, 3]), tf.ones([3, 3]), tf.ones([3, 3][: len(shape)])))


def test_one_weight_is_not_that_of_all_items_of_one_list():
    with pytest.raises(ValueError, match=r"a weight for each label of y_true, \(3,\), got \(1,\)"):
        ks.SoftmaxLoss(lists="batch")(tf.ones([3]), tf.ones([3]), tf.ones([1]))


@pytest.mark.parametrize("shape", [[1, 3], [3, 1]])
def test_a_keras_mask_that_does_not_fit_is_told(shape):
    @tf.function(input_signature=[tf.TensorSpec([None, None])] * 2 + [tf.TensorSpec([None, None], tf.bool)])
    def loss(labels, scores, mask):
        scores = tf.identity(scores)
        scores._keras_mask = mask
        return ks.SoftmaxLoss()(labels, scores)

    assert np.isfinite(loss(tf.ones([3, 3]), tf.ones([3, 3]), tf.ones([3, 3], tf.bool)))
    with pytest.raises(tf.errors.InvalidArgumentError, match="the Keras mask of y_pred"):
        loss(tf.ones([3, 3]), tf.ones([3, 3]), tf.ones(shape, tf.bool))


@pytest.mark.parametrize("lists", [None, "batch", "groups"])
def test_weights_of_unknown_rank(lists):
    """Keras traces them where the weights of an earlier training had another rank."""
    loss = ks.SoftmaxLoss() if lists is None else ks.SoftmaxLoss(lists=lists)
    scores, labels = tf.constant([[0.5, 1.0], [0.1, 0.2], [2.0, 3.0]]), tf.constant([[1.0, 0], [0, 1], [1, 1]])
    shapes = [(3,), (3, 1), (3, 2)]
    if lists is not None:
        scores, labels, shapes = scores[:, 0], labels[:, 0], shapes[:2]
    y_true = (tf.constant([1, 2, 1]), labels) if lists == "groups" else labels
    traced = tf.function(
        lambda weights: loss(y_true, scores, weights), input_signature=[tf.TensorSpec(None)], autograph=False
    )
    for shape in shapes:
        weights = tf.reshape(tf.range(1.0, 1 + np.prod(shape)), shape)
        np.testing.assert_allclose(traced(weights), loss(y_true, scores, weights), rtol=1e-6)
    with pytest.raises(tf.errors.InvalidArgumentError, match="sample_weight must have"):
        traced(tf.ones([4]))


@pytest.mark.slow
def test_weights_of_lists_and_then_of_items_in_fit():
    model = tf.keras.Sequential([tf.keras.Input((None, 3)), tf.keras.layers.Dense(1)])
    model.compile("sgd", loss=ks.SoftmaxLoss())
    x, y = np.ones([4, 3, 3], "float32"), np.eye(4, 3, dtype="float32")
    for weights in (np.ones(4), np.ones([4, 3]), np.ones(4)):
        history = model.fit(x, y, sample_weight=weights, verbose=0).history
        np.testing.assert_allclose(history["loss"], [0.75 * np.log(3)], rtol=1e-5)
