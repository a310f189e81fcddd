"""Results of models under `MirroredStrategy`, as JSON: a script for a process with two logical CPUs."""

import contextlib
import json
import pathlib

import numpy as np
import tensorflow as tf

import keras_softsort as ks
from keras_softsort import serving
from support import models
from support.cases import objects
from support.cases.matching.set_loss import SET_LOSS
from support.predict_offline import predict_offline

keras = tf.keras
BATCH = 8
# Name -> layers after the scores, a loss and a metric, which are trained with and without replicas.
TRAINED = {"PlackettLuceLoss": (list, ks.PlackettLuceLoss, ks.KendallTau)}
if objects.EVERYTHING:
    TRAINED["PermutationCrossEntropyLoss"] = (
        lambda: [ks.NeuralSortLayer(tau=0.7)],
        ks.PermutationCrossEntropyLoss,
        ks.PermutationAccuracy,
    )
    TRAINED["SetLoss"] = (list, SET_LOSS.cases[0].make, ks.KendallTau)
NOISY_LOSSES = [ks.NeuralNDCGLoss(stochastic=True, seed=3), ks.PLRankLoss(seed=3)]


def main(folder):
    (cpu,) = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    keras.utils.set_random_seed(0)
    trainings = {name: [trained(name, None), trained(name, strategy)] for name in TRAINED}
    found = {
        "noise": noise(strategy),
        "noisy_training": noisy_training(strategy),
        "trained": {name: [result for _, result in pair] for name, pair in trainings.items()},
        "memory": remembered(strategy),
        "annealed": [annealed(None, False), annealed(strategy, False), annealed(strategy, True)],
        "saved": saved(strategy, trainings["PlackettLuceLoss"][1][0], pathlib.Path(folder)),
    }
    print(json.dumps(found))


def remembered(strategy):
    """Labels given to `RetrievalLoss`, those in its memory on each replica, and its losses."""
    x, y = np.random.default_rng(0).normal(size=(2 * BATCH, 3)).astype("float32"), np.arange(2 * BATCH) % 5
    with strategy.scope():
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
        model.compile("sgd", loss=ks.RetrievalLoss(memory_size=6), jit_compile=False)
    losses = model.fit(x, y, batch_size=BATCH, epochs=2, shuffle=False, verbose=0).history["loss"]
    copies = strategy.experimental_local_results(model.loss._memory.labels)
    return {"labels": y.tolist(), "memory": [copy.numpy().tolist() for copy in copies], "losses": losses}


def annealed(strategy, within):
    """The losses of a training that anneals the temperature of its loss, which is made in the strategy or before."""
    x, y = data()
    before = ks.SpearmanLoss(9.0)
    with scope_of(strategy):
        loss = ks.SpearmanLoss(9.0) if within else before
        model = models.features_model("functional")
        for layer in model.layers:
            layer.set_weights([np.full_like(weight, 0.5) for weight in layer.get_weights()])
        model.compile(keras.optimizers.SGD(0.0), loss=loss, jit_compile=False)
    schedule = ks.TauSchedule(lambda epoch: [2.0, 0.5, 0.1][epoch])
    return model.fit(x, y, batch_size=BATCH, epochs=3, shuffle=False, verbose=0, callbacks=[schedule]).history["loss"]


def scope_of(strategy):
    return contextlib.nullcontext() if strategy is None else strategy.scope()


def stochastic_cases():
    """The first of each class in the registry whose layers hold a seed."""
    noisy = [case for case in objects.LAYERS if any("noise_state" in weight.name for weight in case.make().weights)]
    return list({case.cls: case for case in reversed(noisy)}.values())


def noise(strategy):
    """The results of two replicas in two steps for equal input, by layer and loss."""
    cases = stochastic_cases()
    with strategy.scope():
        layers = [case.make() for case in cases]
    scores, labels = np.zeros([20, 5], "float32"), np.tile(np.arange(5, dtype="float32"), [20, 1])

    @tf.function
    def step():
        return strategy.run(
            lambda: [
                *(layer(case.inputs(scores), training=True) for case, layer in zip(cases, layers, strict=True)),
                *(loss(labels, tf.constant(scores)) for loss in NOISY_LOSSES),
            ]
        )

    drawn = [[strategy.experimental_local_results(value) for value in step()] for _ in range(2)]
    names = [*map(str, cases), *(type(loss).__name__ for loss in NOISY_LOSSES)]
    return {name: [x.numpy().tolist() for one in drawn for x in one[i]] for i, name in enumerate(names)}


class Total(keras.layers.Layer):
    """The mean square of each of several tensors, added up: [batch, 1]."""

    def call(self, inputs):
        squares = [tf.reduce_mean(tf.square(x), axis=list(range(1, x.shape.rank))) for x in inputs]
        return tf.add_n(squares)[:, tf.newaxis]


def noisy_training(strategy):
    """A model of every stochastic layer: losses, how far weights moved, and states of the noise on each replica."""
    with strategy.scope():
        inputs = keras.Input((5, 3))
        scores = models.Squeeze()(keras.layers.Dense(1)(inputs))
        parts = []
        for case in stochastic_cases():
            part = scores
            for layer in case.layers():
                part = layer(part)
            parts.append(part)
        model = keras.Model(inputs, Total()(parts))
        model.compile(keras.optimizers.SGD(0.1), loss=models.squares, jit_compile=False)
    kernel = model.layers[1].kernel
    before = np.array(kernel)
    x, _ = models.features(2 * BATCH)
    losses = model.fit(x, np.zeros([len(x), 1]), batch_size=BATCH, epochs=2, verbose=0).history["loss"]
    states = [weight for weight in model.weights if "noise_state" in weight.name]
    return {
        "losses": losses,
        "moved": float(np.max(np.abs(np.array(kernel) - before))),
        "states": [on_replicas(strategy, state) for state in states],
        "kernels": on_replicas(strategy, kernel),
    }


def on_replicas(strategy, weight):
    variable = weight.value if models.IS_KERAS_3 else weight
    return [local.numpy().tolist() for local in strategy.experimental_local_results(variable)]


def data():
    """Lists, some of which are padded."""
    x, y = models.features(2 * BATCH)
    x[::3, 3:], y[::3, 3:] = models.PAD, -1
    return x, y


def trained(name, strategy):
    """A model, and what training it gave."""
    layers, loss, metric = TRAINED[name]
    with scope_of(strategy):
        model = models.features_model("functional", *layers())
        model.compile(
            keras.optimizers.SGD(0.5), loss=loss(), weighted_metrics=[metric(name="metric")], jit_compile=False
        )
    logs = model.fit(*data(), batch_size=BATCH, epochs=2, shuffle=False, verbose=0).history
    evaluated = model.evaluate(*data(), batch_size=BATCH, verbose=0, return_dict=True)
    return model, {"logs": logs, "evaluated": evaluated, "weights": weights(model)}


def worker():
    """One of several processes, told which by TF_CONFIG: what it trained, and what its replica draws."""
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    _, result = trained("PermutationCrossEntropyLoss", strategy)
    with strategy.scope():
        layer = ks.GumbelSoftmaxLayer(seed=3, hard=False)
    drawn = strategy.run(tf.function(lambda: layer(np.zeros([20, 5], "float32"), training=True)))
    print(json.dumps([result["weights"], drawn.numpy().tolist()]))


def weights(model):
    return np.concatenate([weight.ravel() for weight in model.get_weights()]).tolist()


def saved(strategy, model, folder):
    """A model that was trained in the strategy, saved and loaded there, trained on and exported."""
    with strategy.scope():
        model.save(folder / "model.keras")
        loaded = keras.models.load_model(folder / "model.keras")
    kept = [weights(model), weights(loaded)]
    x, y = data()
    loss = loaded.fit(x, y, batch_size=BATCH, shuffle=False, verbose=0).history["loss"]
    path = serving.export_ranker(loaded, folder / "ranker", padding=models.PAD)
    (answer,) = predict_offline(path, [{"features": x, "sizes": np.sum(y >= 0, axis=1)}])
    scores = [loaded.predict(x, verbose=0).tolist(), answer.outputs["scores"].tolist()]
    return {"weights": kept, "loss": loss, "scores": scores}
