"""TauSchedule: what it sets, when, on which layers and losses, and that a compiled model sees it."""

import re

import numpy as np
import pytest
import tensorflow as tf
from support import models

import keras_softsort as ks

keras = tf.keras


class Recorder(keras.callbacks.Callback):
    """The temperatures of a layer as each batch found them."""

    def __init__(self, layer):
        super().__init__()
        self.layer, self.taus = layer, []

    def on_train_batch_end(self, batch, logs=None):
        self.taus.append(float(self.layer.tau))


def fit(model, schedule, epochs=3, rate=0.1, more=(), **options):
    x, y = models.features(batch=4)
    model.compile(keras.optimizers.SGD(rate), loss=ks.PermutationCrossEntropyLoss(), **options)
    return model.fit(x, y, epochs=epochs, batch_size=2, verbose=0, callbacks=[schedule, *more], shuffle=False)


def begin(model, schedule):
    """Call what `fit` calls before its first batch."""
    schedule.set_model(model)
    schedule.on_train_begin()
    schedule.on_epoch_begin(0)
    schedule.on_train_batch_begin(0)


def sorter(**arguments):
    layer = ks.NeuralSortLayer(tau=3.0, **arguments)
    return models.features_model("functional", layer), layer


SCHEDULES = {
    "function": lambda step: 0.5**step,
    "LearningRateSchedule": keras.optimizers.schedules.ExponentialDecay(1.0, decay_steps=1, decay_rate=0.5),
}


EPOCHS = ("epoch", [1, 1, 0.5, 0.5, 0.25, 0.25], [1, 0.5, 0.25])
BATCHES = ("batch", [1, 0.5, 0.25, 0.125, 0.0625, 0.03125], [0.5, 0.125, 0.03125])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("schedule", "expected"), [("function", EPOCHS), ("LearningRateSchedule", BATCHES)], ids=["epoch", "batch"]
)
def test_sets_and_logs_tau(schedule, expected):
    frequency, taus, logged = expected
    model, layer = sorter()
    recorder = Recorder(layer)
    history = fit(model, ks.TauSchedule(SCHEDULES[schedule], frequency=frequency), more=[recorder])
    assert recorder.taus == taus
    assert history.history["tau"] == logged


@pytest.mark.default_stack_only
@pytest.mark.slow
def test_batches_are_counted_from_the_start_of_each_training():
    model, layer = sorter()
    recorder, schedule = Recorder(layer), ks.TauSchedule(lambda step: step + 1.0, frequency="batch")
    fit(model, schedule, epochs=1, more=[recorder])
    fit(model, schedule, epochs=1, more=[recorder])
    assert recorder.taus == [1, 2, 1, 2]


@pytest.mark.default_stack_only
@pytest.mark.slow
@pytest.mark.parametrize(
    ("batches", "known", "at_once", "expected"),
    [
        (16, True, 4, [0, 4, 8, 12, 16, 20, 24, 28]),
        (10, True, 4, [0, 4, 8, 10, 14, 18]),  # the last execution of an epoch has two batches
        (3, False, 1, [0, 1, 2, 3, 4, 5]),
    ],
    ids=["whole", "part", "unknown size"],
)
@pytest.mark.filterwarnings("ignore:Your input ran out of data")  # Keras 3, where the size is unknown
def test_steps_are_batches_also_if_several_run_at_once(batches, known, at_once, expected):
    steps = {}
    model, layer = sorter()
    schedule = ks.TauSchedule(lambda step: steps.setdefault(step, step + 1.0), frequency="batch")
    data = tf.data.Dataset.from_tensor_slices(models.features(batch=batches)).batch(1)
    if not known:
        data = data.filter(lambda x, y: True)
    recorder = Recorder(layer)
    model.compile("sgd", loss=ks.PermutationCrossEntropyLoss(), steps_per_execution=at_once)
    # From the third epoch on: the batches of an earlier training are not counted.
    fit = model.fit(data, initial_epoch=2, epochs=4, shuffle=False, verbose=0, callbacks=[schedule, recorder])
    assert [tau - 1 for tau in recorder.taus] == expected
    # Keras also begins the batch that data of unknown size do not have. Its temperature does not stay.
    assert set(steps) - set(expected) <= {2 * batches}
    assert layer.tau == recorder.taus[-1]
    assert fit.history["tau"] == [recorder.taus[len(expected) // 2 - 1], recorder.taus[-1]]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Your input ran out of data")
def test_epochs_of_unknown_size_keep_their_temperature():
    model, layer = sorter()
    data = tf.data.Dataset.from_tensor_slices(models.features(batch=2)).batch(1).filter(lambda x, y: True)
    model.compile("sgd", loss=ks.PermutationCrossEntropyLoss())
    fit = model.fit(data, epochs=2, shuffle=False, verbose=0, callbacks=[ks.TauSchedule(SCHEDULES["function"])])
    assert fit.history["tau"] == [1, 0.5]
    assert layer.tau == 0.5


def test_steps_of_a_loop_of_your_own():
    model, layer = sorter()
    schedule = ks.TauSchedule(lambda step: step + 1.0, frequency="batch")
    schedule.set_model(model)
    schedule.on_train_begin()
    taus = []
    for epoch in range(2):
        for batch in range(3):
            schedule.on_train_batch_begin(batch)
            taus.append(float(layer.tau))
        schedule.on_epoch_end(epoch)
    assert taus == [1, 2, 3, 4, 5, 6]


def two_sorters():
    first, second = ks.SoftRankLayer(tau=3.0, name="first"), ks.NeuralSortLayer(tau=3.0, name="second")
    inputs = outputs = keras.Input((None, 3))
    for part in [*models.head(), first, second]:
        outputs = part(outputs)
    return keras.Model(inputs, outputs), first, second


@pytest.mark.default_stack_only
@pytest.mark.parametrize(
    ("choose", "expected"),
    [
        (lambda first, second: ["first"], (0.5, 3.0)),
        (lambda first, second: [second], (3.0, 0.5)),
        (lambda first, second: [first, "second"], (0.5, 0.5)),
        (lambda first, second: None, (0.5, 0.5)),
    ],
    ids=["name", "object", "both", "all"],
)
def test_sets_the_chosen_layers(choose, expected):
    model, first, second = two_sorters()
    begin(model, ks.TauSchedule(lambda epoch: 0.5, targets=choose(first, second)))
    assert (float(first.tau), float(second.tau)) == expected


class Wrapper(keras.layers.Layer):
    """A layer that holds another, as users write them."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner
        self.supports_masking = True

    def call(self, inputs):
        return self.inner(inputs)


def inner_model(layer):
    inputs = keras.Input((None,))
    return keras.Model(inputs, layer(inputs))


@pytest.mark.default_stack_only
@pytest.mark.parametrize("nest", [inner_model, Wrapper], ids=["model", "layer"])
@pytest.mark.parametrize("targets", [None, ["deep"]], ids=["all", "name"])
def test_reaches_nested_layers(nest, targets):
    layer = ks.NeuralSortLayer(tau=3.0, name="deep")
    dense, squeeze = models.head()[1:]  # no Masking, which a model inside a model need not support
    inputs = keras.Input((None, 3))
    model = keras.Model(inputs, nest(layer)(squeeze(dense(inputs))))
    begin(model, ks.TauSchedule(lambda epoch: 0.25, targets=targets))
    assert float(layer.tau) == 0.25


class CountTraces(keras.layers.Layer):
    """Hands scores on and counts how often Python ran, which is once a trace."""

    traces = 0

    def call(self, inputs):
        self.traces += 1
        return inputs


@pytest.mark.slow
@pytest.mark.parametrize("jit_compile", [False, True])
def test_compiled_model_sees_each_tau_without_a_new_trace(jit_compile):
    counter, layer = CountTraces(), ks.NeuralSortLayer(tau=3.0)
    inputs = keras.Input((5,))
    model = keras.Model(inputs, layer(counter(keras.layers.Dense(5)(inputs))))
    x = models.scores(4, 5)
    loss = ks.PermutationCrossEntropyLoss()
    model.compile(keras.optimizers.SGD(0.0), loss=loss, jit_compile=jit_compile)
    traces = []
    after_epoch = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: traces.append(counter.traces))
    schedule = ks.TauSchedule(lambda epoch: [2.0, 0.5, 0.1][epoch])
    history = model.fit(x, np.abs(x), epochs=3, batch_size=4, verbose=0, callbacks=[schedule, after_epoch]).history
    # The weights stand still (rate 0), so each epoch's loss depends only on its tau.
    mapped = model.layers[1](x)
    expected = [float(loss(np.abs(x), ks.ops.neural_sort(mapped, tau))) for tau in (2.0, 0.5, 0.1)]
    np.testing.assert_allclose(history["loss"], expected, rtol=1e-4)
    assert traces[0] == traces[-1]


@pytest.mark.parametrize("schedule", [0.5, None, "linear"])
def test_schedule_must_be_callable(schedule):
    with pytest.raises(TypeError, match=rf"schedule must be a function.*got {schedule!r}"):
        ks.TauSchedule(schedule)


def test_unknown_frequency():
    with pytest.raises(ValueError, match=r"frequency must be one of \['batch', 'epoch'\], got 'step'"):
        ks.TauSchedule(lambda step: 1.0, frequency="step")


@pytest.mark.parametrize("frequency", ["epoch", "batch"])
@pytest.mark.parametrize("tau", [0.0, -1.0, float("nan"), float("inf")])
def test_tau_must_be_positive_and_finite(tau, frequency):
    model, layer = sorter()
    with pytest.raises(ValueError, match=rf"positive, finite tau, got {tau!r} at {frequency} 0"):
        begin(model, ks.TauSchedule(lambda step: tau, frequency=frequency))
    assert float(layer.tau) == 3.0


@pytest.mark.parametrize("frequency", ["epoch", "batch"])
@pytest.mark.parametrize("value", [None, "0.5", "low", [0.5, 0.25], True], ids=repr)
def test_schedule_must_return_a_number(value, frequency):
    model, layer = sorter()
    shown = re.escape(repr(value))
    with pytest.raises(TypeError, match=rf"schedule must return a number, got {shown} at {frequency} 0"):
        begin(model, ks.TauSchedule(lambda step: value, frequency=frequency))
    assert float(layer.tau) == 3.0


@pytest.mark.parametrize(
    "convert", [np.float32, np.array, tf.constant, lambda tau: 1], ids=["NumPy", "0-d", "TF", "int"]
)
def test_schedule_may_return_any_number(convert):
    model, layer = sorter()
    begin(model, ks.TauSchedule(lambda step: convert(0.5)))
    assert float(layer.tau) == float(convert(0.5))


@pytest.mark.parametrize("targets", [5, "sorter", {"sorter": 1}], ids=repr)
def test_targets_must_be_a_sequence(targets):
    message = rf"targets must be a sequence of layers, losses or their names, got {re.escape(repr(targets))}"
    with pytest.raises(TypeError, match=message):
        ks.TauSchedule(lambda epoch: 1.0, targets=targets)


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        (["missing"], "targets must name layers or losses of the model, got 'missing'; it has .*'plain'"),
        (["plain"], "targets must have a temperature to set, got 'plain', which has none"),
    ],
)
def test_targets_that_cannot_be_set(targets, message):
    inputs = keras.Input((None, 3))
    outputs = keras.layers.Dense(1, name="plain")(inputs)
    model = keras.Model(inputs, ks.NeuralSortLayer()(models.Squeeze()(outputs)))
    with pytest.raises(ValueError, match=message):
        begin(model, ks.TauSchedule(lambda epoch: 1.0, targets=targets))


def test_model_without_a_temperature():
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(3)])
    model.compile("sgd", loss="mse")
    with pytest.raises(ValueError, match="found no layer and no loss of the model with a temperature to set"):
        begin(model, ks.TauSchedule(lambda epoch: 1.0))


def compiled(loss, outputs=2, **options):
    """A model with outputs "a" and "b" whose weights stand still, so that its losses depend on temperatures alone."""
    inputs = keras.Input((5,))
    made = {name: keras.layers.Dense(5, kernel_initializer="identity", name=name)(inputs) for name in "ab"[:outputs]}
    model = keras.Model(inputs, made if outputs > 1 else made["a"])
    model.compile(keras.optimizers.SGD(0.0), loss=loss, **options)
    return model


def spearman(tau=3.0, **arguments):
    return ks.SpearmanLoss(tau, padding=None, **arguments)


X = models.scores(4, 5)
Y = models.scores(4, 5, seed=8)


@pytest.mark.default_stack_only
@pytest.mark.slow
@pytest.mark.parametrize("jit_compile", [False, True])
def test_compiled_model_sees_each_tau_of_its_loss_without_a_new_trace(jit_compile):
    traces = []

    class Counted(ks.SpearmanLoss):
        def list_losses(self, lists, y_pred):
            traces.append(y_pred)
            return super().list_losses(lists, y_pred)

    loss = Counted(3.0, padding=None)
    model = compiled(loss, 1, jit_compile=jit_compile)
    counts = []
    after_epoch = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: counts.append(len(traces)))
    schedule = ks.TauSchedule(lambda epoch: [2.0, 0.5, 0.1][epoch])
    history = model.fit(X, Y, epochs=3, batch_size=4, verbose=0, callbacks=[schedule, after_epoch]).history
    assert history["tau"] == [2.0, 0.5, 0.1]
    np.testing.assert_allclose(history["loss"], [float(spearman(tau)(Y, X)) for tau in history["tau"]], rtol=1e-4)
    assert counts[0] == counts[-1]
    assert loss.tau == loss.get_config()["tau"] == 0.1


def nested_losses():
    """Losses as `compile` takes them: the nest, and those that have a temperature."""
    first, second = spearman(name="first"), spearman(name="second")
    yield "dict", {"a": first, "b": second}, [first, second]
    first, second = spearman(name="first"), spearman(name="second")
    yield "some", {"a": first, "b": "mse"}, [first]


@pytest.mark.parametrize(("loss", "found"), [pytest.param(*each, id=name) for name, *each in nested_losses()])
def test_finds_losses(loss, found):
    begin(compiled(loss), ks.TauSchedule(lambda epoch: 0.5))
    assert [each.tau for each in found] == [0.5] * len(found)


def test_sets_the_chosen_losses():
    first, second = spearman(name="first"), spearman(name="second")
    model = compiled({"a": first, "b": second})
    for targets in (["second"], [second]):
        second.tau = 3.0
        begin(model, ks.TauSchedule(lambda epoch: 0.5, targets=targets))
        assert (first.tau, second.tau) == (3.0, 0.5)
    schedule = ks.TauSchedule(lambda epoch: 0.5, targets=[ks.MeanSquaredLoss()])
    with pytest.raises(ValueError, match=r"temperature to set, got MeanSquaredLoss\(\), which has none"):
        begin(model, schedule)


def test_a_loss_whose_tau_is_none_has_no_temperature_to_set():
    class OptionalTau(ks.losses.ScoreLoss):
        def __init__(self, tau=None, **kwargs):
            super().__init__({"tau": tau}, **kwargs)

    loss = OptionalTau()
    for targets, message in ((None, "found no layer and no loss"), ([loss], "which has none")):
        schedule = ks.TauSchedule(lambda epoch: 0.5, targets=targets)
        with pytest.raises(ValueError, match=message):
            begin(compiled(loss, 1), schedule)
    assert loss.tau is None


def test_layers_and_losses_together():
    layer, loss = ks.SoftRankLayer(tau=3.0), spearman()
    model = models.features_model("functional", layer)
    model.compile("sgd", loss=loss)
    begin(model, ks.TauSchedule(lambda epoch: 0.5))
    assert (float(layer.tau), loss.tau) == (0.5, 0.5)


@pytest.mark.default_stack_only
@pytest.mark.slow
def test_training_goes_on_where_a_saved_model_was(tmp_path):
    model = compiled(spearman(), 1)
    model.fit(X, Y, epochs=2, verbose=0, callbacks=[ks.TauSchedule(lambda epoch: 0.5 ** (epoch + 1))])
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert loaded.loss.tau == 0.25
    np.testing.assert_allclose(loaded.evaluate(X, Y, verbose=0), float(spearman(0.25)(Y, X)), rtol=1e-5)
    loaded.loss.tau = 2.0
    np.testing.assert_allclose(loaded.evaluate(X, Y, verbose=0), float(spearman(2.0)(Y, X)), rtol=1e-5)
