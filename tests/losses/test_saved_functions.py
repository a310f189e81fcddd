"""Functions of one's own in losses come back as themselves, whatever they are called."""

import json

import numpy as np
import pytest
import tensorflow as tf
from support import models

import keras_softsort as ks

keras = tf.keras
# Names of Keras' own functions and classes, and one that ends as another name does.
NAMES = ("exponential", "mean_squared_error", "identity", "own_exponential")


def function_called(name):
    """A function that fits every argument: of labels, of ranks, of targets and predictions."""

    def function(first, second=None):
        return 2 * first + 1 if second is None else tf.square(first - second)

    function.__name__ = name
    return function


REGISTERED = {name: keras.utils.register_keras_serializable(package="mine")(function_called(name)) for name in NAMES}
# How a function gets into a loss, and how it is found there.
PLACES = {
    "gain": (
        lambda f: ks.RankNetLoss(lambda_weight=ks.losses.LambdaWeight("ndcg", gain=f)),
        lambda loss: loss.lambda_weight.gain,
    ),
    "lambda discount": (
        lambda f: ks.SoftmaxLoss(lambda_weight=ks.losses.LambdaWeight("dcg", discount=f)),
        lambda loss: loss.lambda_weight.discount,
    ),
    "discount": (lambda f: ks.PlackettLuceLoss(discount=f), lambda loss: loss.discount),
    "pair_cost": (lambda f: ks.SetLoss(f, REGISTERED["identity"]), lambda loss: loss.pair_cost),
    "matched_loss": (lambda f: ks.SetLoss(REGISTERED["identity"], f), lambda loss: loss.matched_loss),
}
for _name in ("unmatched_loss", "target_mask", "prediction_mask"):
    PLACES[_name] = (
        lambda f, name=_name: ks.SetLoss(REGISTERED["identity"], REGISTERED["identity"], **{name: f}),
        lambda loss, name=_name: getattr(loss, name),
    )


def again(loss):
    """The loss as Keras writes and reads it."""
    return keras.losses.deserialize(json.loads(json.dumps(keras.losses.serialize(loss))))


each_place = pytest.mark.parametrize("place", PLACES)


@each_place
@pytest.mark.parametrize("name", NAMES)
def test_registered_function_comes_back(place, name):
    make, read = PLACES[place]
    loss = make(REGISTERED[name])
    assert read(again(loss)) is REGISTERED[name]
    assert read(type(loss).from_config(json.loads(json.dumps(loss.get_config())))) is REGISTERED[name]


@each_place
@pytest.mark.parametrize("name", [*NAMES, "own_name"])
def test_unregistered_function_is_no_other(place, name):
    make, read = PLACES[place]
    function = function_called(name)
    loss = make(function)
    with pytest.raises(TypeError, match=rf"'{name}'.*register_keras_serializable.*custom_objects"):
        again(loss)
    with keras.utils.custom_object_scope({name: function}):
        assert read(again(loss)) is function


def test_function_that_is_not_registered_where_it_is_read():
    loss = ks.PlackettLuceLoss(discount=REGISTERED["exponential"])
    written = json.dumps(loss.get_config())
    assert "mine>exponential" in written
    # The name of a package that is not there, and of one whose name ends the same.
    for package in ("absent", "e"):
        with pytest.raises(TypeError, match=f"'{package}>exponential'"):
            ks.PlackettLuceLoss.from_config(json.loads(written.replace("mine>", f"{package}>")))


@pytest.mark.parametrize("name", ["mean_squared_error", "mean_absolute_error"])
def test_function_of_keras(name):
    function = keras.losses.get(name)
    assert callable(function)
    loss = ks.SetLoss(REGISTERED["identity"], function)
    assert again(loss).matched_loss is function
    # Other versions of Keras write it so.
    for module, registered_name in (("builtins", "function"), ("keras.metrics", name), ("keras.losses", "function")):
        written = {"module": module, "class_name": "function", "config": name, "registered_name": registered_name}
        config = {**loss.get_config(), "matched_loss": written}
        assert ks.SetLoss.from_config(config).matched_loss is function


@pytest.mark.parametrize("option", ["gain", "discount"])
def test_a_lambda_weight_comes_back_by_itself(option):
    weight = ks.losses.LambdaWeight("ndcg", **{option: REGISTERED["exponential"]})
    written = json.loads(json.dumps(keras.utils.serialize_keras_object(weight)))
    again = keras.utils.deserialize_keras_object(written)
    assert getattr(again, option) is REGISTERED["exponential"]
    assert repr(again) == repr(weight)


def test_keras_object_and_lambda():
    loss = ks.SetLoss(REGISTERED["identity"], keras.losses.MeanSquaredError())
    assert isinstance(again(loss).matched_loss, keras.losses.MeanSquaredError)
    with pytest.warns(UserWarning, match="lambda"):
        written = keras.losses.serialize(ks.PlackettLuceLoss(discount=lambda ranks: 1 / ranks))
    with pytest.raises(ValueError, match="lambda"):
        keras.losses.deserialize(written)


def test_operation_of_tensorflow():
    loss = ks.PlackettLuceLoss(discount=tf.math.rsqrt)
    with keras.utils.custom_object_scope({"rsqrt": tf.math.rsqrt}):
        assert again(loss).discount is tf.math.rsqrt
    with pytest.raises(TypeError, match="'rsqrt'"):
        again(loss)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:You are saving your model as an HDF5 file:UserWarning")
@pytest.mark.parametrize("suffix", ["keras", "h5"])
def test_saved_model(tmp_path, suffix):
    """The value of a loss with a gain, before and after."""
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(3)])
    weight = ks.losses.LambdaWeight("ndcg", gain=REGISTERED["exponential"], discount=REGISTERED["own_exponential"])
    model.compile("sgd", ks.RankNetLoss(lambda_weight=weight))
    x, y = models.scores(4, 3), np.float32([[3, 0, 1]] * 4)
    before = model.evaluate(x, y, verbose=0)
    path = str(tmp_path / f"model.{suffix}")
    model.save(path)
    loaded = keras.models.load_model(path)
    assert loaded.loss.lambda_weight.gain is REGISTERED["exponential"]
    np.testing.assert_allclose(loaded.evaluate(x, y, verbose=0), before, rtol=1e-6)
