"""`SetLoss` of boxes and classes: value and gradient by hand, masks, edges, normalization, and training with it."""

import itertools

import numpy as np
import pytest
import tensorflow as tf
from scipy.optimize import linear_sum_assignment
from scipy.special import log_softmax
from support import models, modes
from support.cases.matching import set_loss as cases
from support.gradients import central_differences

import keras_softsort as ks

pytestmark = pytest.mark.default_stack_only

keras = tf.keras
CLASSES = 4  # the last is "no object"
register = keras.utils.register_keras_serializable(package="set_loss")


@register
def pair_cost(t, p):
    """The distance of boxes minus the probability of the class: [batch, m, n]."""
    distances = tf.reduce_sum(tf.abs(t["boxes"][:, :, None] - p["boxes"][:, None]), axis=-1)
    one_hot = tf.one_hot(t["classes"], CLASSES, dtype=p["classes"].dtype)
    return distances - tf.matmul(one_hot, tf.nn.softmax(p["classes"]), transpose_b=True)


@register
def matched_loss(t, p):
    """[batch, m]. NaN, value and gradient, for a class of -1."""
    entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(t["classes"], p["classes"])
    return entropy + tf.reduce_sum(tf.square(t["boxes"] - p["boxes"]), axis=-1)


@register
def unmatched_loss(p):
    return -0.1 * tf.nn.log_softmax(p["classes"])[..., -1]


def boxes_loss(**options):
    return ks.SetLoss(pair_cost, matched_loss, unmatched_loss, **{"target_mask": "classes", **options})


def sets(batch=4, m=3, n=5, seed=0):
    """Boxes and classes of targets, some of them padding, and boxes and logits that predict them."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, CLASSES - 1, (batch, m))
    classes[:, -1:] = -1
    classes[1] = -1
    return rng.normal(size=(batch, m, 2)), classes, rng.normal(size=(batch, n, 2)), rng.normal(size=(batch, n, CLASSES))


def by_hand(boxes, classes, predicted, logits, prediction_mask=None):
    """The sums [batch], one set and one pair at a time."""
    result = np.zeros(len(boxes))
    each = zip(boxes, classes, predicted, log_softmax(logits, axis=-1), strict=True)
    for b, (box, cls, found, log) in enumerate(each):
        real = np.flatnonzero(cls >= 0)
        slots = np.arange(len(found)) if prediction_mask is None else np.flatnonzero(prediction_mask[b])
        cost = [[abs(box[i] - found[j]).sum() - np.exp(log[j, cls[i]]) for j in slots] for i in real]
        rows, columns = linear_sum_assignment(np.reshape(cost, [len(real), len(slots)]))
        pairs = list(zip(real[rows], slots[columns], strict=True))
        result[b] = sum(((box[i] - found[j]) ** 2).sum() - log[j, cls[i]] for i, j in pairs)
        result[b] -= sum(0.1 * log[j, -1] for j in set(slots) - {j for _, j in pairs})
    return result


def call(loss, boxes, classes, predicted, logits, *sample_weight):
    return loss({"boxes": boxes, "classes": classes}, {"boxes": predicted, "classes": logits}, *sample_weight)


# Graph and XLA also run in what trains below and in tests/test_battery.py.
nightly_modes = (pytest.param(mode, marks=pytest.mark.nightly) for mode in ("traced", "xla", "unknown_shape"))


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["eager", *nightly_modes])
def test_value_and_gradient(mode):
    boxes, classes, *predictions = sets()
    weights = np.array([1.0, 2.0, -0.5, 3.0])

    def function(predicted, logits, _):
        return call(boxes_loss(reduction=models.NO_REDUCTION), boxes, tf.constant(classes), predicted, logits)

    value, gradients = modes.run(mode, function, [tf.constant(each) for each in predictions], weights)
    np.testing.assert_allclose(value, by_hand(boxes, classes, *predictions), rtol=1e-9)
    expected = central_differences(lambda *found: by_hand(boxes, classes, *found), predictions, weights)
    for gradient, each in zip(gradients, expected, strict=True):
        np.testing.assert_allclose(gradient, each, rtol=1e-6, atol=1e-7)


@pytest.mark.slow
def test_unknown_sizes_of_targets_and_predictions():
    float_spec = tf.TensorSpec([None, None, None], tf.float64)
    run = tf.function(
        lambda *inputs: call(boxes_loss(reduction=models.NO_REDUCTION), *inputs),
        input_signature=[float_spec, tf.TensorSpec([None, None], tf.int64), float_spec, float_spec],
    )
    for m, n in [(3, 5), (6, 4), (0, 2), (2, 1)]:  # more targets than predictions, none, more
        inputs = sets(m=m, n=n)
        np.testing.assert_allclose(run(*inputs), by_hand(*inputs), rtol=1e-9, err_msg=str((m, n)))


def value_and_gradients(loss, boxes, classes, predicted, logits):
    tensors = [tf.constant(predicted), tf.constant(logits)]
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        value = call(loss, boxes, classes, *tensors)
    return value.numpy(), *(gradient.numpy() for gradient in tape.gradient(value, tensors))


@pytest.mark.slow
@pytest.mark.parametrize("n", [0, None])
@pytest.mark.parametrize("compiled", [None, True])
def test_without_predictions_a_set_has_no_loss(n, compiled):
    @tf.function(input_signature=[tf.TensorSpec([None, n, 1])], jit_compile=compiled)
    def loss(predictions):
        return ks.ops.set_loss(
            tf.constant([[[1.0], [2.0]]]),
            predictions,
            pair_cost=lambda t, p: tf.abs(t - tf.transpose(p, [0, 2, 1])),
            matched_loss=lambda t, p: tf.abs(t - p)[..., 0],
            unmatched_loss=lambda p: p[..., 0],
        )

    np.testing.assert_array_equal(loss(tf.zeros([1, 0, 1])), [0])


def test_padding_of_targets_has_no_effect():
    inputs = sets()
    wide = [np.pad(inputs[0], [(0, 0), (0, 2), (0, 0)], constant_values=np.nan), *inputs[1:]]
    wide[1] = np.pad(inputs[1], [(0, 0), (0, 2)], constant_values=-7)
    wide[0][wide[1] < 0] = np.nan
    pairs = zip(*(value_and_gradients(boxes_loss(), *each) for each in (wide, inputs)), strict=True)
    for result, expected in pairs:
        np.testing.assert_allclose(result, expected, rtol=1e-9)


def test_masked_predictions_have_no_effect():
    boxes, classes, predicted, logits = inputs = sets()
    mask = np.ones([4, 7], bool)
    mask[:, [1, 4]] = False
    place = np.flatnonzero(mask[0])
    wide = [np.full((4, 7, each.shape[-1]), np.nan) for each in (predicted, logits)]
    wide[0][:, place], wide[1][:, place] = predicted, logits
    expected = value_and_gradients(boxes_loss(), *inputs)
    loss = boxes_loss(prediction_mask=lambda _: mask)
    value, *gradients = value_and_gradients(loss, boxes, classes, *wide)
    np.testing.assert_allclose(value, expected[0], rtol=1e-9)
    for gradient, each in zip(gradients, expected[1:], strict=True):
        np.testing.assert_allclose(gradient[:, place], each, rtol=1e-9, atol=1e-12)
        assert not gradient[:, [1, 4]].any()
    np.testing.assert_allclose(by_hand(boxes, classes, *wide, mask), by_hand(*inputs))


def test_gradients_of_masked_pairs_are_zero_where_a_function_has_none():
    loss = ks.SetLoss(
        lambda t, p: tf.abs(t[:, :, None] - p[:, None, :]),
        lambda t, p: tf.sqrt(tf.abs(t)) * tf.math.log(tf.abs(t)) + tf.sqrt(t * 0 + p - p),
        tf.square,
        target_mask=lambda t: t >= 100,
    )
    predictions = tf.constant([[1.0, 2.0]])
    with tf.GradientTape() as tape:
        tape.watch(predictions)
        value = loss(tf.constant([[0.0, 0.0, -1.0]]), predictions)
    assert float(value) == 5
    np.testing.assert_allclose(tape.gradient(value, predictions), [[2.0, 4.0]])


def test_a_set_that_cannot_be_matched_is_nan():
    boxes, classes, predicted, logits = sets()
    expected = value_and_gradients(boxes_loss(reduction="none"), boxes, classes, predicted, logits)
    predicted = predicted.copy()
    predicted[2, 1] = np.nan
    value, *gradients = value_and_gradients(boxes_loss(reduction="none"), boxes, classes, predicted, logits)
    others = [0, 1, 3]
    assert np.isnan(value[2])
    np.testing.assert_allclose(value[others], expected[0][others])
    for gradient, each in zip(gradients, expected[1:], strict=True):
        assert np.isnan(gradient[2]).all()
        np.testing.assert_allclose(gradient[others], each[others])


def test_a_target_without_a_finite_cost_has_no_prediction():
    """The others are matched, and its losses and gradients are those of a target that is not there."""
    loss = ks.SetLoss(
        lambda t, p: tf.where(t[:, :, None] > 0, tf.abs(t[:, :, None] - p[:, None]), np.inf),
        lambda t, p: tf.square(t - p),
        lambda p: 0.1 * p,
        normalization="none",
    )
    predictions = tf.constant([[1.0, 4.0, 7.0]])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(predictions)
        found, wanted = (loss(tf.constant([each]), predictions) for each in ([-5.0, 3.0, 6.5], [3.0, 6.5]))
    assert float(found) == pytest.approx(1 + 0.25 + 0.1)
    assert float(found) == pytest.approx(float(wanted))
    np.testing.assert_allclose(tape.gradient(found, predictions), tape.gradient(wanted, predictions))


@pytest.mark.slow
def test_what_normalization_and_reduction_divide_by():
    inputs = sets()
    inputs[1][0] = [0, 1, 2]
    sums, sizes, weights = by_hand(*inputs), np.array([3, 0, 2, 2]), np.array([1.0, 2.0, 0.5, 0.0])
    each = {
        ("batch", "mean"): (weights * sums).sum() / 7,
        ("batch", "sum"): (weights * sums).sum(),
        ("batch", "none"): weights * sums,
        ("batch", "mean_with_sample_weight"): (weights * sums).sum() / (3 + 0 + 1 + 0),
        ("set", "mean"): (weights * sums / np.maximum(sizes, 1)).mean(),
        ("set", "none"): weights * sums / np.maximum(sizes, 1),
        ("none", "sum_over_batch_size"): (weights * sums).mean(),
        ("none", "mean_with_sample_weight"): (weights * sums).sum() / 3.5,
    }
    for (normalization, reduction), expected in each.items():
        loss = boxes_loss(normalization=normalization, reduction=reduction)
        for given in (weights, weights[:, None], {"boxes": weights, "classes": weights}):
            np.testing.assert_allclose(call(loss, *inputs, given), expected, rtol=1e-6, err_msg=str(each))


def in_layers(layer_axis, seeds=(0, 1, 2)):
    """Targets, predictions of three layers, and the same predictions stacked along an axis."""
    boxes, classes, *_ = sets()
    layers = [sets(seed=seed)[2:] for seed in seeds]
    stacked = [tf.constant(np.stack(each, axis=layer_axis)) for each in zip(*layers, strict=True)]
    return {"boxes": boxes, "classes": classes}, layers, dict(zip(("boxes", "classes"), stacked, strict=True))


WEIGHTS = np.float32([0.0, 1.0, 2.0])


def rows(keras_mask=False):
    """Sets of one item, whose losses differ, and their loss."""
    y, p = np.zeros([3, 1], np.float32), tf.constant([[1.0], [2.0], [3.0]])
    if keras_mask:
        p._keras_mask = tf.constant([[True]] * 3)
    return ks.SetLoss(cases.squared_distances, cases.squared_errors, reduction="sum"), y, p


@pytest.mark.parametrize("keras_mask", [False, True])
@pytest.mark.parametrize(
    "weights",
    [
        WEIGHTS,
        WEIGHTS.tolist(),
        tuple(WEIGHTS.tolist()),
        [tf.constant(each) for each in WEIGHTS],
        WEIGHTS[:, None].tolist(),
        {"a": WEIGHTS.tolist(), "b": WEIGHTS.tolist()},
        {"a": {"b": WEIGHTS, "c": WEIGHTS}},
        [WEIGHTS, WEIGHTS],
    ],
    ids=["array", "list", "tuple", "list of tensors", "column", "dictionary", "nested", "list of arrays"],
)
def test_weights_of_each_set_however_they_are_given(weights, keras_mask):
    loss, y, p = rows(keras_mask)
    np.testing.assert_allclose(loss(y, p, weights), 0 * 1 + 1 * 4 + 2 * 9)


@pytest.mark.parametrize("keras_mask", [False, True])
@pytest.mark.parametrize(("weight", "total"), [(2.0, 28), (np.float32(2), 28), (tf.constant(2.0), 28), (None, 14)])
def test_one_weight_of_all_sets(weight, total, keras_mask):
    loss, y, p = rows(keras_mask)
    np.testing.assert_allclose(loss(y, p, weight), total)


def test_weights_of_layers_in_a_list():
    loss, y, p = rows()
    loss = ks.SetLoss(cases.squared_distances, cases.squared_errors, reduction="sum", layer_axis=0)
    np.testing.assert_allclose(loss(y, tf.stack([p, p]), WEIGHTS.tolist()), 2 * (4 + 18))


@pytest.mark.skipif(not models.IS_KERAS_3, reason="Keras 2 multiplies weights by the mask")
def test_a_mask_of_keras_does_not_allow_weights_of_items():
    p = tf.zeros([2, 3])
    p._keras_mask = tf.ones([2, 3], tf.bool)
    with pytest.raises(ValueError, match=r"sample_weight must have shape \[batch\] or \[batch, 1\], got \(2, 3\)"):
        ks.SetLoss(cases.squared_distances, cases.squared_errors)(np.zeros([2, 3]), p, np.ones([2, 3]))


REDUCTIONS = ["sum_over_batch_size", "sum", models.NO_REDUCTION, "mean_with_sample_weight"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("layer_axis", "normalization", "reduction"),
    [(1, "batch", "sum"), *itertools.product([0], ["batch", "set", "none"], REDUCTIONS)],
)
def test_layers_are_added_up(layer_axis, normalization, reduction):
    targets, layers, stacked = in_layers(layer_axis)
    weights = np.array([1.0, 0.5, 2.0, 1.5])
    options = {"normalization": normalization, "reduction": reduction}
    single, of_layers = boxes_loss(**options), boxes_loss(layer_axis=layer_axis, **options)
    wanted = sum(single(targets, dict(zip(("boxes", "classes"), each, strict=True)), weights) for each in layers)
    np.testing.assert_allclose(of_layers(targets, stacked, weights), wanted, rtol=1e-12)


@register
def class_loss(t, p):
    return tf.nn.sparse_softmax_cross_entropy_with_logits(t["classes"], p["classes"])


@pytest.mark.slow
@pytest.mark.parametrize("normalization", ["batch", "set", "none"])
@pytest.mark.parametrize("without_targets", [False, True])
def test_classes_of_layers_are_added_up(without_targets, normalization):
    """Without targets, too, the classes of a layer are divided by the weights of this layer."""
    targets, layers, stacked = in_layers(0)
    if without_targets:
        targets["classes"] = np.full_like(targets["classes"], -1)
    options = {"class_loss": class_loss, "unmatched_weight": 0.1, "normalization": normalization}
    single, of_layers = boxes_loss(**options), boxes_loss(layer_axis=0, **options)
    wanted = sum(single(targets, dict(zip(("boxes", "classes"), each, strict=True))) for each in layers)
    np.testing.assert_allclose(of_layers(targets, stacked), wanted, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("layer_axis", [0, pytest.param(1, marks=pytest.mark.nightly)])
def test_layers_under_xla(layer_axis):
    targets, _, stacked = in_layers(layer_axis)
    loss = boxes_loss(layer_axis=layer_axis)
    compiled = tf.function(loss.__call__, jit_compile=True, autograph=False)
    np.testing.assert_allclose(compiled(targets, stacked), loss(targets, stacked), rtol=1e-12)


@pytest.mark.slow
def test_gradients_of_layers_of_unknown_number():
    targets, layers, stacked = in_layers(0)
    loss, single = boxes_loss(layer_axis=0), boxes_loss()

    @tf.function(input_signature=[tf.TensorSpec([None, None, None, 2], tf.float64)], autograph=False)
    def gradient(boxes):
        with tf.GradientTape() as tape:
            tape.watch(boxes)
            total = loss(targets, {"boxes": boxes, "classes": stacked["classes"]})
        return tape.gradient(total, boxes)

    def gradient_of_one(boxes, logits):
        boxes = tf.constant(boxes)
        with tf.GradientTape() as tape:
            tape.watch(boxes)
            total = single(targets, {"boxes": boxes, "classes": logits})
        return tape.gradient(total, boxes)

    found = gradient(stacked["boxes"])
    np.testing.assert_allclose(found, [gradient_of_one(*each) for each in layers], rtol=1e-12)


def of_classes(t, p):
    """Minus the logit of each target's class, gathered as in DETR: [batch, m, n]."""
    return -tf.transpose(tf.gather(p["classes"], t["classes"], axis=2, batch_dims=1), [0, 2, 1])


@pytest.mark.skipif(bool(tf.config.list_physical_devices("GPU")), reason="GPUs raise no error for a class of -1")
@pytest.mark.parametrize(("name", "cost"), [("pair_cost", of_classes), ("matched_loss", pair_cost)])
def test_classes_of_padding_without_a_mask(name, cost):
    """The error names the mask, and not the layers of a decoder."""
    boxes, classes, predicted, logits = sets()
    given = {"boxes": boxes, "classes": classes}, {"boxes": predicted, "classes": logits}
    with pytest.raises(ValueError, match=rf"^{name} failed .* pass target_mask") as error:
        ks.SetLoss(cost, class_loss)(*given)
    assert "layer" not in str(error.value)
    ks.SetLoss(cost, class_loss, target_mask="classes")(*given)


def test_layers_without_an_axis_of_negative_targets():
    boxes, classes, predicted, logits = sets()
    layers = {"boxes": np.stack([predicted] * 3, axis=1), "classes": np.stack([logits] * 3, axis=1)}
    with pytest.raises(ValueError, match=r"^pair_cost failed .* with layer_axis=1"):
        ks.SetLoss(pair_cost, class_loss)({"boxes": boxes, "classes": classes}, layers)


@pytest.mark.slow
def test_fit_with_layers():
    rng = np.random.default_rng(0)
    targets = rng.normal(size=(16, 3)).astype("float32")
    loss = ks.SetLoss(cases.squared_distances, cases.squared_errors, layer_axis=1)
    assert ks.SetLoss.from_config(loss.get_config()).layer_axis == 1
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(10), keras.layers.Reshape((2, 5))])
    model.compile("adam", loss=loss)
    history = model.fit(rng.normal(size=(16, 4)), targets, batch_size=8, epochs=3, verbose=0).history["loss"]
    assert history[-1] < history[0]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: boxes_loss(layer_axis=2), ValueError, "layer_axis must be None, 0 or 1, got 2"),
        (
            lambda: ks.SetLoss(cases.squared_distances, cases.squared_errors, layer_axis=0)(
                np.ones([2, 3]), np.ones([2, 3])
            ),
            ValueError,
            r"y_pred must hold tensors \[layers, batch, n, \.\.\.\] with layer_axis=0",
        ),
        (
            lambda: boxes_loss(layer_axis=0)(
                in_layers(0)[0], {"boxes": np.ones([3, 4, 5, 2]), "classes": np.ones([2, 4, 5, CLASSES])}
            ),
            ValueError,
            r"y_pred must hold tensors \[layers, batch, n",
        ),
    ],
)
def test_errors_of_layers(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("normalization", ["batch", "set", "none"])
def test_a_batch_without_targets(normalization):
    inputs = sets()
    inputs[1][:] = -1
    expected = by_hand(*inputs)
    loss = boxes_loss(normalization=normalization)
    divisor = 1 if normalization == "batch" else 4
    assert float(call(loss, *inputs)) == pytest.approx(expected.sum() / divisor)
    assert np.isfinite(value_and_gradients(loss, *inputs)[1]).all()
    assert float(call(boxes_loss(normalization=normalization), *(each[:, :0] for each in inputs[:2]), *inputs[2:])) == (
        pytest.approx(expected.sum() / divisor)
    )
    assert float(call(loss, *(each[:0] for each in inputs))) == 0


def test_the_matching_has_no_gradient():
    loss = ks.SetLoss(cases.squared_distances, lambda t, p: tf.stop_gradient(p) + 0 * t)
    predictions = tf.Variable([[1.0, 2.0, 3.0]])
    with tf.GradientTape() as tape:
        value = loss(tf.constant([[3.0, 1.0]]), predictions)
    assert not np.any(tape.gradient(value, predictions, unconnected_gradients="zero"))


def test_half_precision_and_integer_targets():
    boxes, classes, predicted, logits = sets()
    half = [tf.cast(each, "float16") for each in (predicted, logits)]
    value = call(boxes_loss(), boxes.astype("float32"), classes, *half)
    expected = call(boxes_loss(), boxes.astype("float32"), classes, *(tf.cast(each, "float32") for each in half))
    assert value.dtype == tf.float32
    np.testing.assert_allclose(value, expected, rtol=1e-6)
    assert call(boxes_loss(dtype="float64"), boxes, classes, *half).dtype == tf.float64


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (
            {"target_mask": "labels"},
            ValueError,
            r"target_mask must name an entry .*'labels' for \['boxes', 'classes'\]",
        ),
        (
            {"pair_cost": lambda t, p: tf.ones([4, 5, 3])},
            ValueError,
            r"pair_cost must return shape \[batch, m, n\], which is \(4,",
        ),
        (
            {"matched_loss": lambda t, p: tf.ones([4])},
            ValueError,
            r"matched_loss must .*\[batch, m\].*\(4, 3\) .*\(4,\)",
        ),
        ({"unmatched_loss": lambda p: p["boxes"]}, ValueError, r"unmatched_loss must .*\[batch, n\]"),
        ({"prediction_mask": lambda p: tf.ones([4, 3])}, ValueError, r"prediction_mask must have shape \(4, 5\)"),
    ],
)
def test_errors_of_arguments(change, error, message):
    functions = {"pair_cost": pair_cost, "matched_loss": matched_loss, "target_mask": "classes"}
    with pytest.raises(error, match=message):
        call(ks.SetLoss(**{**functions, **change}), *sets())


@pytest.mark.parametrize(
    ("y_true", "y_pred", "weight", "error", "message"),
    [
        (np.ones(4), np.ones([4, 5]), None, ValueError, r"y_true must hold tensors \[batch, m, ...\], got \(4,\)"),
        ({"a": np.ones([4, 3]), "b": np.ones([4, 2])}, np.ones([4, 5]), None, ValueError, "y_true .*equal batch and m"),
        (np.ones([4, 3]), np.ones([4, 5], int), None, TypeError, "y_pred must hold a floating-point tensor"),
        (np.ones([4, 3]), np.ones([4, 5]), np.ones([4, 3]), ValueError, r"sample_weight must have shape \[batch\]"),
    ],
)
def test_errors_of_inputs(y_true, y_pred, weight, error, message):
    with pytest.raises(error, match=message):
        ks.SetLoss(cases.squared_distances, cases.squared_errors)(y_true, y_pred, weight)


def data():
    boxes, classes, *_ = sets(batch=16)
    inputs = np.concatenate([boxes.reshape(16, -1), classes], axis=1).astype("float32")
    return inputs, boxes.astype("float32"), classes.astype("int32")


def outputs(inputs, slots=5):
    hidden = keras.layers.Dense(32, "tanh")(inputs)
    boxes = keras.layers.Reshape([slots, 2], dtype="float32")(keras.layers.Dense(slots * 2)(hidden))
    logits = keras.layers.Reshape([slots, CLASSES], dtype="float32")(keras.layers.Dense(slots * CLASSES)(hidden))
    return {"boxes": boxes, "classes": logits}


def check_training(model, x, y, loss, direct, **options):
    """The first loss is what the loss gives by itself, and the others fall."""
    jit_compile = options.pop("jit_compile", False)
    # Traced training of losses is in tests/test_battery.py.
    model.compile(keras.optimizers.Adam(0.03), loss=loss, jit_compile=jit_compile, run_eagerly=not jit_compile)
    expected = float(direct(model(x)))
    losses = model.fit(x, y, epochs=12, batch_size=16, verbose=0, **options).history["loss"]
    assert losses[0] == pytest.approx(expected, rel=1e-3)
    assert losses[-1] < 0.5 * losses[0]


@pytest.mark.slow
@pytest.mark.skipif(not models.IS_KERAS_3, reason="Keras 2 hands each tensor of a nest to the loss by itself")
def test_fit_with_a_dictionary_under_one_name():
    x, boxes, classes = data()
    inputs = keras.Input((x.shape[1],))
    model = keras.Model(inputs, {"objects": outputs(inputs)})
    y = {"objects": {"boxes": boxes, "classes": classes}}
    weights = np.linspace(0, 1, 16).astype("float32")

    def direct(found):
        return boxes_loss()(y["objects"], found["objects"], weights)

    check_training(model, x, y, {"objects": boxes_loss()}, direct, sample_weight=weights)


@pytest.mark.slow
def test_int64_is_no_part_of_a_compiled_set_loss():
    def losses(targets, predictions):
        def square(y, x):
            return tf.math.squared_difference(y[:, :, tf.newaxis], x[:, tf.newaxis])

        return ks.ops.set_loss(targets, predictions, square, tf.math.squared_difference)

    run = tf.function(losses, jit_compile=True)
    program = run.experimental_get_compiler_ir(tf.zeros([3, 8]), tf.zeros([3, 12]))(stage="hlo")
    assert "s64[3" not in program
