"""Errors that name the malformed record. TensorFlow's errors have neither its file nor its number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from keras_softsort.data._elwc.parsing import parse_elwc

# Features that no example has, so that only an example that cannot be parsed at all is an error.
_ANY = {"\0": tf.io.FixedLenFeature([], tf.float32, 0.0)}
_ANY_CONTEXT = {"\1": tf.io.FixedLenFeature([], tf.float32, 0.0)}


def checked(function: Callable[[tf.Tensor, tf.Tensor], Any], records: tf.Tensor, names: tf.Tensor) -> Any:
    """Return `function(records, names)`. An error has the name of the first malformed record."""

    def fail(records: tf.Tensor, names: tf.Tensor) -> Any:
        with tf.control_dependencies([_check(records, names)]):
            return function(records, names)

    return _otherwise(function, (records, names), fail)


def _otherwise(function: Callable, arguments: Any, fallback: Callable) -> Any:
    """Return `function(*arguments)`, or `fallback(*arguments)` if an operation of the function fails."""
    source = tf.data.Dataset.from_tensors(arguments)
    results = source.map(function).ignore_errors().concatenate(source.map(fallback))
    return results.take(1).get_single_element()


def _check(records: tf.Tensor, names: tf.Tensor) -> tf.Operation:
    """Assert that each record is an ExampleListWithContext whose examples and context can be parsed."""

    def parsed(record: tf.Tensor) -> tf.Tensor:
        features, _ = parse_elwc(record[tf.newaxis], _ANY_CONTEXT, _ANY)
        # The result must depend on what was parsed: TensorFlow leaves out operations that nothing depends on.
        return tf.reduce_all([tf.reduce_all(values == 0) for values in features.values()])

    is_valid = tf.map_fn(
        lambda record: _otherwise(parsed, (record,), lambda _: False), records, fn_output_signature=tf.bool
    )
    message = "files must hold ExampleListWithContext records, got another message or damaged data in"
    first = tf.argmax(tf.cast(tf.logical_not(is_valid), tf.int32))
    return tf.debugging.Assert(tf.reduce_all(is_valid), [message, names[first]])
