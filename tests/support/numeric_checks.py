"""The public objects that raise on finite data under `tf.debugging.enable_check_numerics()`: printed as JSON by `main`.

Calls of operators run op by op, and the first call of each Keras object in a graph, as in `fit`. A check raises at the
first operation that gives NaN or infinity, forward or backward; in a graph also at a constant, which no data changes.
"""

import json
import traceback

import numpy as np
import tensorflow as tf

from keras_softsort.ops.core import tracing
from support import models
from support.cases import objects, operators, relations

SCORES = models.scores(3, 6)
# Exponentials of all of them are not in range.
WIDE = 100 * SCORES
MASK = np.arange(6) < [[6], [4], [5]]
VALID = (np.argsort(SCORES) + 1).astype("float32")
# The labels of Keras objects, padded or not.
LABELS = [np.where(MASK, VALID, np.float32(-1)), VALID]


def of_operators():
    """By name, the calls of each operator."""
    subjects = [subject for subject in relations.ALL if not subject.takes_many_operations]
    for subject in subjects:
        yield subject.name, [lambda s=subject: s.run(SCORES), lambda s=subject: s.run(SCORES, mask=MASK)]
    names = {subject.name for subject in subjects}
    for operation in operators.OPERATIONS:
        if operation.name not in names and not operation.matrix_free:
            yield operation.name, [lambda o=operation: differentiated(o.function, *o.tensors)]


def of_keras_objects():
    """By name, the calls of each layer, loss and metric, which build it the first time."""
    for case in objects.first_of_class([*objects.LAYERS, *objects.OTHER_LAYERS]):
        yield case.cls.__name__, [of_layer(case)]
    for case in objects.first_of_class(objects.LOSSES):
        yield case.cls.__name__, [of_loss(case, *each) for each in [(LABELS[0], WIDE), (LABELS[1], SCORES)]]
    for case in objects.first_of_class(objects.METRICS):
        yield case.cls.__name__, [of_metric(case, labels) for labels in LABELS]


def differentiated(function, *inputs):
    """Run `function` and its gradient for each of `inputs`."""
    tensors = [tf.constant(each) for each in inputs]
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        results = [each for each in tf.nest.flatten(function(*tensors)) if each.dtype.is_floating]
    if results:
        tape.gradient(results, tensors)


def of_layer(case):
    layer = case.make()
    return lambda: differentiated(lambda scores: layer(case.inputs(scores)), SCORES)


def of_loss(case, labels, given):
    loss, layers, labels = case.make(), case.predictors(), case.labels(labels)

    def run(scores):
        for layer in layers:
            scores = layer(scores)
        return loss(labels, scores)

    return lambda: differentiated(run, given)


def of_metric(case, labels):
    metric = case.make()
    labels = np.repeat(labels[..., np.newaxis], 2, 2) if case.subject.takes_topics else labels

    def run():
        metric.update_state(labels, SCORES)
        metric.result()

    return run


def traced(call):
    """The call within a graph, which has no other results."""

    @tf.function(autograph=False)
    def run():
        call()

    return run


def raised(call):
    """The last line of the package and the message of the error that a call raises, or None."""
    try:
        call()
    except tf.errors.InvalidArgumentError as error:
        lines = [f"{each.filename}:{each.lineno}" for each in traceback.extract_tb(error.__traceback__)]
        ours = [line.rpartition("keras_softsort/")[2] for line in lines if "keras_softsort/" in line]
        return f"{ours[-1] if ours else lines[-1]}: {error.message.strip().splitlines()[0]}"
    return None


def main():
    tf.debugging.enable_check_numerics()
    found = {}
    with tracing.eager_calls_traced(False):
        for name, calls in of_operators():
            found[name] = [*map(raised, calls)]
        for name, calls in of_keras_objects():
            # A layer is built op by op; of what needs no build, a graph checks the first call.
            found[name] = [*map(raised, calls[1:] or calls)]
            found[f"{name}, traced"] = [raised(traced(calls[0]))]
    print(json.dumps({name: message for name, messages in found.items() for message in messages if message}))
