"""Options of every loss and metric: which can be assigned, what is shown, and which methods a subclass may override."""

import copy
import inspect
import json
import pickle
import threading

import numpy as np
import pytest
import tensorflow as tf
from support import models
from support.cases import objects
from support.cases.keras_case import constructor_arguments
from support.processes import json_from

import keras_softsort as ks
from keras_softsort._keras.options import FixedOptions, written_option

keras = tf.keras
LOSSES = objects.first_of_class(objects.LOSSES)


def with_and_without_jit():
    """One loss of each kind with a temperature, in a graph and compiled; with everything, all."""
    for case in LOSSES:
        if case.make().has_tau:
            for jit_compile in (False, True):
                yield pytest.param(case, jit_compile, marks=[] if case.cls in objects.KINDS else [pytest.mark.nightly])


def inputs(case):
    """Labels and predictions of the loss."""
    predicted = tf.constant(models.scores(3, 4))
    for layer in case.predictors():
        predicted = layer(predicted)
    return case.labels(models.features(3, 4)[1]), predicted


@pytest.mark.slow
@pytest.mark.parametrize(("case", "jit_compile"), [*with_and_without_jit()], ids=str)
def test_tau_is_assigned_after_a_trace(case, jit_compile):
    y_true, y_pred = inputs(case)
    loss, traces = case.make(tau=2.0), []

    @tf.function(jit_compile=jit_compile)
    def traced(y_true, y_pred):
        traces.append(y_pred)
        return loss(y_true, y_pred)

    found = []
    for tau in (2.0, 0.3):
        loss.tau = tau
        assert loss.tau == loss.get_config()["tau"] == tau
        tf.random.set_seed(0)
        found.append([float(tf.reduce_sum(traced(y_true, y_pred)))])
        if not case.draws_noise:
            for other in (loss, case.make(tau=tau)):
                found[-1].append(float(tf.reduce_sum(other(y_true, y_pred))))
    assert len(traces) == 1
    for values in found:
        np.testing.assert_allclose(values, values[0], rtol=1e-4, atol=1e-6)
    assert case.draws_noise or abs(found[0][0] - found[1][0]) > 1e-4, (
        f"{case} must change with tau. Set `draws_noise` of its case if it draws noise"
    )


@pytest.mark.parametrize("value", [0.0, -1.0, "low", None, np.ones(2), True], ids=repr)
def test_tau_that_cannot_be_assigned(value):
    loss = ks.RankNetLoss(0.5)
    with pytest.raises((TypeError, ValueError), match="tau must be"):
        loss.tau = value
    assert loss.tau == 0.5


def test_tau_is_assigned_from_a_tensor_or_a_variable():
    loss = ks.RankNetLoss(0.5)
    for value in (tf.constant(0.25), tf.Variable(0.125), np.float32(4.0), 2):
        loss.tau = value
        assert loss.tau == float(value)


def test_losses_without_a_temperature():
    loss = ks.MeanSquaredLoss()
    assert not loss.has_tau
    assert not hasattr(loss, "tau")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_digits_of_tau(dtype):
    """In float64 tau is not rounded to float32. In float32 a tau that is too small becomes the smallest number."""
    labels, scores = np.array([[0, 2, 1]], dtype), np.array([[0.3, 0.2, 0.9]], dtype)
    loss = ks.SoftmaxLoss(0.1)
    traced = tf.function(lambda scores: loss(labels, scores))
    np.testing.assert_allclose(traced(scores), loss(labels, scores), rtol=1e-6 if dtype == "float32" else 1e-14)
    loss.tau = 1e-50
    assert loss.tau == 1e-50
    assert np.isfinite(traced(np.zeros_like(scores)))


@pytest.mark.slow
def test_a_loss_that_is_made_in_a_trace():
    made = []

    @tf.function
    def traced(labels, scores):
        made.append(ks.SpearmanLoss(0.5))
        return made[-1](labels, scores)

    labels, scores = np.float32([[0, 2, 1]]), np.float32([[0.3, 0.2, 0.9]])
    np.testing.assert_allclose(traced(labels, scores), ks.SpearmanLoss(0.5)(labels, scores), rtol=1e-6)
    made[0].tau = 1.0
    np.testing.assert_allclose(traced(labels, scores), ks.SpearmanLoss(1.0)(labels, scores), rtol=1e-6)
    assert len(made) == 1


def test_a_loss_in_a_graph_of_tensorflow_1():
    """Its temperature is a constant, since such a graph initializes no variables by itself."""
    labels, scores = np.float32([[0, 2, 1]]), np.float32([[0.3, 0.2, 0.9]])
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        found = session.run(ks.SpearmanLoss(0.5)(labels, scores))
    np.testing.assert_allclose(found, ks.SpearmanLoss(0.5)(labels, scores), rtol=1e-6)


@pytest.mark.slow
def test_calls_of_both_dtypes_at_once():
    """A trace reads the temperature in its own dtype, whatever another thread traces meanwhile."""
    loss = ks.SoftmaxLoss(0.1)
    labels, scores = np.array([[0.0, 2, 1]]), np.array([[0.3, 0.2, 0.9]])
    found = {}

    def call(dtype):
        found[dtype] = tf.function(loss.__call__)(labels.astype(dtype), scores.astype(dtype)).numpy()

    for _ in range(5):
        threads = [threading.Thread(target=call, args=(dtype,)) for dtype in ("float32", "float64")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        expected = float(loss(labels, scores))
        assert (found["float32"].dtype, found["float64"].dtype) == (np.float32, np.float64)
        np.testing.assert_allclose(found["float32"], expected, rtol=1e-6)
        np.testing.assert_allclose(found["float64"], expected, rtol=1e-14)


@pytest.mark.slow
def test_making_a_loss_starts_nothing():
    """The devices of TensorFlow can be configured after a loss was made."""
    code = """
import json
import tensorflow as tf
import keras_softsort as ks

ks.RankNetLoss(), ks.SpearmanLoss(0.5)
(cpu,) = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
print(json.dumps(len(tf.config.list_logical_devices("CPU"))))
"""
    assert json_from(code) == 2


@pytest.mark.slow
def test_a_trace_outlives_the_loss():
    def trace():
        return tf.function(ks.SpearmanLoss(0.5)).get_concrete_function(labels, scores)

    labels, scores = tf.constant([[0.0, 2, 1]]), tf.constant([[0.3, 0.2, 0.9]])
    concrete = trace()
    with tf.GradientTape() as tape:
        tape.watch(scores)
        value = concrete(labels, scores)
    np.testing.assert_allclose(value, ks.SpearmanLoss(0.5)(labels, scores), rtol=1e-6)
    assert np.any(tape.gradient(value, scores) != 0)


@keras.utils.register_keras_serializable(package="tests")
class OwnSoftmax(ks.losses.ScoreLoss):
    """A loss of one's own with a temperature."""

    def __init__(self, tau=1.0, **kwargs):
        super().__init__({"tau": tau}, **kwargs)

    def score_losses(self, scores, labels, *, mask, weights):
        logits = tf.where(mask, scores / self.tau, -1e9)
        return -tf.reduce_sum(labels * tf.nn.log_softmax(logits), axis=-1)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_tau_of_a_loss_of_ones_own(dtype):
    labels, scores = np.array([[0, 2, 1]], dtype), np.array([[0.3, 0.2, 0.9]], dtype)
    loss = OwnSoftmax(dtype=dtype)  # which is that of its temperature in a trace
    traced = tf.function(lambda scores: loss(labels, scores))
    for tau in (1.0, 0.1):
        loss.tau = tau
        np.testing.assert_allclose(traced(scores), ks.SoftmaxLoss(tau)(labels, scores), rtol=1e-6)


@pytest.mark.parametrize("hessian", ["auto", "absolute"])
def test_objective_of_trees_takes_the_present_tau(hessian):
    loss, given = ks.RankNetLoss(1.0), ([1.0, 0, 2], [0.1, 0.2, 0.3], None, [3])
    objective = ks.trees.objective(loss, hessian=hessian)
    objective(*given)
    loss.tau = 0.1
    for found, expected in zip(
        objective(*given), ks.trees.objective(ks.RankNetLoss(0.1), hessian=hessian)(*given), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize(
    "case", objects.first_of_class([*objects.LOSSES, *objects.METRICS, *objects.LAMBDA_WEIGHTS]), ids=str
)
def test_other_options_cannot_be_assigned(case):
    made = case.make()
    config = made.get_config()
    for name in {*config} - {"tau", "name"}:
        if name == "dtype" and isinstance(made, keras.metrics.Metric):
            continue  # which belongs to Keras
        with pytest.raises(AttributeError):
            setattr(made, name, "another")
    assert made.get_config() == config


def test_the_error_of_an_assignment():
    loss = ks.RankNetLoss()
    with pytest.raises(AttributeError, match=r"RankNetLoss.ties cannot be assigned; make a new .* with ties='half'"):
        loss.ties = "half"


HOOKS = [(case.cls, "call") for case in LOSSES]
HOOKS += [(case.cls, "score_losses") for case in LOSSES if issubclass(case.cls, ks.losses.ScoreLoss)]


@pytest.mark.parametrize(("cls", "name"), HOOKS, ids=lambda each: getattr(each, "__name__", each))
def test_overriding_a_method_that_is_not_called(cls, name):
    hook = "list_losses" if issubclass(cls, ks.losses.ListLoss) else "weighted_losses"
    with pytest.raises(TypeError, match=rf"Own must not override {name}, which is not called: override {hook}\("):
        type("Own", (cls,), {name: lambda self, *arguments, **options: 0.0})
    mixin = type("Mixin", (), {name: lambda self, *arguments, **options: 0.0})
    with pytest.raises(TypeError, match="Own must not override"):
        type("Own", (mixin, cls), {})


@pytest.mark.parametrize("case", [case for case in LOSSES if case.cls in objects.KINDS], ids=str)
def test_overriding_the_method_that_is_called(case):
    if issubclass(case.cls, ks.losses.ListLoss):

        class Own(case.cls):
            def list_losses(self, lists, y_pred):
                return 100 * super().list_losses(lists, y_pred)
    else:

        class Own(case.cls):
            def weighted_losses(self, y_true, y_pred, sample_weight):
                found = super().weighted_losses(y_true, y_pred, sample_weight)
                return found._replace(values=100 * found.values)

    given, found = inputs(case), []
    for cls in (case.cls, Own):
        tf.random.set_seed(0)
        found.append(cls(**case.arguments)(*given))
    np.testing.assert_allclose(found[1], 100 * found[0], rtol=1e-5)


def test_trees_see_an_overridden_method():
    class Own(ks.RankNetLoss):
        def list_losses(self, lists, y_pred):
            return 100 * super().list_losses(lists, y_pred)

    given = ([1.0, 0, 2], [0.1, 0.2, 0.3], None, [3])
    plain = ks.trees.objective(ks.RankNetLoss())(*given)[0]
    np.testing.assert_allclose(ks.trees.objective(Own())(*given)[0], 100 * plain, rtol=1e-5)


@pytest.mark.parametrize(
    "case",
    [case for case in objects.METRICS if not case.subject.takes_topics and "statistic" not in case.arguments],
    ids=str,
)
def test_overriding_methods_of_metrics(case):
    labels, scores = np.float32([[2, 1, 3]]), np.float32([[0.3, 0.2, 0.9]])

    class Own(case.cls):
        def measure(self, y_pred, lists, *more):
            values, weights = super().measure(y_pred, lists, *more)
            return values + 7, weights

    plain, own = (cls(**{**case.arguments, "lists": "rows"}) for cls in (case.cls, Own))
    for metric in (plain, own):
        metric.update_state(labels, scores)
    np.testing.assert_allclose(own.result(), plain.result() + 7, rtol=1e-5)


@pytest.mark.parametrize("case", [*objects.LOSSES, *objects.METRICS, *objects.LAMBDA_WEIGHTS], ids=str)
def test_what_is_shown(case):
    shown = repr(case.make())
    assert shown == str(case.make())
    assert shown.startswith(f"{case.cls.__name__}(")
    for name, value in case.arguments.items():
        if name not in {"name", "dtype"} and not isinstance(case.make(), ks.losses.LambdaWeight):
            assert f"{name}={getattr(value, '__name__', '')}" in shown


def test_what_is_shown_of_a_search():
    loss = ks.RankNetLoss(0.5, lambda_weight=ks.losses.LambdaWeight("ndcg", k=3), reduction="sum", padding=None)
    shown = "RankNetLoss(tau=0.5, lambda_weight=LambdaWeight('ndcg', k=3), padding=None, reduction='sum')"
    assert repr(loss) == shown
    loss.tau = 1.0
    assert (
        repr(ks.trees.objective(loss, unit_scale=True))
        == f"objective({shown.replace('tau=0.5, ', '')}, unit_scale=True)"
    )
    assert repr(ks.trees.metric("ndcg", k=5)) == "metric('ndcg', k=5)"
    assert repr(ks.NDCG(k=5)) == "NDCG(k=5)"


@pytest.mark.parametrize(
    ("cls", "arguments", "message"),
    [
        (ks.ApproxNDCGLoss, {"temperature": 0.1}, "ApproxNDCGLoss has no argument 'temperature'; use tau"),
        (ks.RankNetLoss, {"sigma": 1}, "RankNetLoss has no argument 'sigma'; use tau, which is 1 / sigma"),
        (ks.DkNNLoss, {"k": 1, "temperature": 1}, "DkNNLoss has no argument 'temperature'; use tau"),
        (ks.RetrievalLoss, {"temperature": 1}, "RetrievalLoss has no argument 'temperature'; use tau"),
        (ks.MeanSquaredLoss, {"temperature": 1}, r"MeanSquaredLoss has no argument 'temperature'; it has \["),
        (ks.SoftmaxLoss, {"normalisation": 1}, r"SoftmaxLoss has no argument 'normalisation'; it has \['tau'"),
        (ks.RankNetLoss, {"normalisation": 1}, "RankNetLoss has no argument 'normalisation'; use normalization"),
        (ks.NDCG, {"topn": 3}, "NDCG has no argument 'topn'; use k"),
        (ks.KendallTau, {"list": "batch"}, "KendallTau has no argument 'list'; use lists"),
        (OwnSoftmax, {"temperature": 1}, "OwnSoftmax has no argument 'temperature'; use tau"),
    ],
)
def test_arguments_that_there_are_not(cls, arguments, message):
    with pytest.raises(TypeError, match=message):
        cls(**arguments)


@pytest.mark.parametrize("case", objects.ALL, ids=str)
def test_comes_back_by_itself(case):
    """Keras also writes and reads an object outside of a model."""
    made = case.make()
    config = made.get_config()
    assert set(constructor_arguments(case.cls)) <= set(config)
    assert {name: config[name] for name in case.arguments} == {
        name: written_option(value) for name, value in case.arguments.items()
    }
    written = json.loads(json.dumps(keras.utils.serialize_keras_object(made)))
    again = keras.utils.deserialize_keras_object(written)
    assert type(again) is case.cls
    assert again.get_config() == config


def test_local_variables_are_no_options():
    class Own(ks.losses.ScoreLoss):
        def __init__(self, margin=1.0, **kwargs):
            doubled = 2 * margin
            super().__init__(locals(), **kwargs)

    config = Own(3.0).get_config()
    assert config["margin"] == 3.0
    assert "doubled" not in config


@pytest.mark.parametrize(
    "case", objects.first_of_class([case for case in objects.ALL if issubclass(case.cls, FixedOptions)]), ids=str
)
def test_the_options_of_an_object_are_the_arguments_of_its_constructors(case):
    """Most constructors pass their `locals()`."""
    arguments = {
        name
        for base in case.cls.__mro__
        if base.__module__.startswith("keras_softsort.") and "__init__" in vars(base)
        for name, each in inspect.signature(base.__init__).parameters.items()
        if each.kind is not each.VAR_KEYWORD
    }
    assert set(case.make().get_config()) == arguments - {"self", "options"}


WAYS_TO_COPY = {
    "config": lambda made: type(made).from_config(made.get_config()),
    "deepcopy": copy.deepcopy,
    "pickle": lambda made: pickle.loads(pickle.dumps(made)),
}


@pytest.mark.parametrize("case", objects.first_of_class(objects.ALL), ids=str)
def test_copies_within_a_trace(case):
    made, found = case.make(), {}
    # A layer or metric makes variables, which a trace may not.
    ways = {} if isinstance(made, (keras.layers.Layer, keras.metrics.Metric)) else WAYS_TO_COPY

    @tf.function(autograph=False)
    def traced():
        found.update({way: copied(made).get_config() for way, copied in ways.items()})
        found.update(own=made.get_config(), shown=repr(made))

    traced()
    assert found.pop("shown") == repr(made)
    for way, config in found.items():
        assert config == made.get_config(), way


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cls", "dtype", "make"),
    [
        (ks.RankNetLoss, "float64", tf.Variable),
        (ks.RankNetLoss, "float64", keras.Variable if models.IS_KERAS_3 else tf.Variable),
        (OwnSoftmax, "float32", tf.Variable),
        (OwnSoftmax, "float64", tf.Variable),
        (ks.RetrievalLoss, "float64", tf.Variable),
        (ks.DkNNLoss, "float32", tf.Variable),
    ],
)
def test_tau_from_a_variable(cls, dtype, make):
    """The loss follows the variable, and its traces do."""
    tau, options = make(0.5), {"k": 1} if cls is ks.DkNNLoss else {}
    if cls is OwnSoftmax:
        options["dtype"] = dtype
    loss, number = cls(tau=tau, **options), cls(tau=0.5, **options)
    if issubclass(cls, ks.losses.ScoreLoss):
        given = np.array([[0, 2, 1]], dtype), tf.constant([[0.3, 0.2, 0.9]], dtype)
    else:
        given = np.array([0, 1, 0, 1]), tf.constant([[0.3, 0.1], [0.2, 0.9], [0.7, 0.1], [0.4, 0.3]], dtype)
    traced = tf.function(loss.__call__)
    for step in (0.5, 0.25, 2.0):
        if step == 2.0:
            loss.tau = step
        else:
            tau.assign(step)
        number.tau = step
        assert float(tau.numpy()) == loss.get_config()["tau"] == step
        for function in (loss, traced):
            np.testing.assert_allclose(function(*given), number(*given), rtol=1e-6)
    assert traced.experimental_get_tracing_count() == 1
    with tf.GradientTape() as tape:
        value = traced(*given)
    inner = tau.value if models.IS_KERAS_3 and not isinstance(tau, tf.Variable) else tau
    assert abs(float(tape.gradient(value, inner))) > 1e-6
    for way in WAYS_TO_COPY.values():
        again = way(loss)
        tau.assign(1.0)
        assert again.tau == 2.0
        tau.assign(2.0)


class Penalty(keras.layers.Layer):
    """A layer that adds a loss, whose temperature is a variable of the layer."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.tau = tf.Variable(0.5, trainable=False)
        self.loss_of_scores = ks.RankNetLoss(self.tau)

    def call(self, scores):
        loss = self.loss_of_scores(tf.constant([[0.0, 2.0, 1.0]]), scores)
        self.add_loss(loss)
        return scores + loss


@pytest.mark.slow
def test_a_saved_model_that_calls_a_loss(tmp_path):
    model = keras.Sequential([keras.Input((3,), batch_size=1), Penalty()])
    module, scores = tf.Module(), tf.constant([[0.3, 0.2, 0.9]])
    module.model, module.layer = model, model.layers[0]
    module.call = tf.function(model.__call__, input_signature=[tf.TensorSpec([1, 3])], autograph=False)
    expected = model(scores)
    tf.saved_model.save(module, tmp_path)
    loaded = tf.saved_model.load(tmp_path)
    np.testing.assert_allclose(loaded.call(scores), expected, rtol=1e-6)


def test_a_variable_that_is_no_temperature():
    for value in (-1.0, [1.0, 2.0]):
        with pytest.raises((TypeError, ValueError), match="tau must be"):
            ks.RankNetLoss(tf.Variable(value))
