"""The formats of records of lists, and errors that name the malformed record.

TensorFlow's errors name neither the file nor the number of a malformed record. `checked` finds them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from keras_softsort.data._elwc.parsing import Features, default_of, parse_elwc

# Features that no example has, so that only an example that cannot be parsed at all is an error.
_ANY = {"\0": tf.io.FixedLenFeature([], tf.float32, 0.0)}
_ANY_CONTEXT = {"\1": tf.io.FixedLenFeature([], tf.float32, 0.0)}


def _decode_eie(serialized: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Decode examples that hold the serialized examples and the context of a list, as `_decode_elwc` does."""
    parsed = tf.io.parse_example(
        serialized,
        {
            "serialized_context": tf.io.FixedLenFeature([], tf.string, default_value=""),
            "serialized_examples": tf.io.RaggedFeature(tf.string),
        },
    )
    examples = parsed["serialized_examples"]
    # One at least, as of ELWC records.
    shape = tf.stack([-1, tf.maximum(examples.bounding_shape(axis=1), 1)])
    sizes = tf.cast(examples.row_lengths(), tf.int32)
    return examples.to_tensor(shape=shape), parsed["serialized_context"], sizes


def _parse_sequences(
    serialized: tf.Tensor,
    context_features: Features,
    example_features: Features,
    list_size: Any,
    record_names: tf.Tensor,
) -> tuple[dict[str, tf.Tensor], tf.Tensor]:
    """Parse `tf.train.SequenceExample`s, whose feature lists hold a feature per item, as `parse_elwc`."""
    for name, spec in example_features.items():
        if not isinstance(spec, tf.io.FixedLenFeature):
            raise TypeError(
                f"example_features[{name!r}] must be a FixedLenFeature in a SequenceExample, got {type(spec).__name__}"
            )
    lists = {
        name: tf.io.FixedLenSequenceFeature(spec.shape, spec.dtype, allow_missing=True)
        for name, spec in example_features.items()
    }
    features, found, lengths = tf.io.parse_sequence_example(serialized, context_features, lists, record_names)
    lengths = {name: tf.cast(length, tf.int32) for name, length in lengths.items()}
    sizes = tf.reduce_max(tf.stack(list(lengths.values())), axis=0)
    width = tf.reduce_max(sizes) if list_size is None else list_size
    sizes = tf.minimum(sizes, width)
    for name, spec in example_features.items():
        if spec.default_value is None:
            missing = tf.argmin(lengths[name] - sizes)
            message = f"example_features must be in every item unless they have a default value, {name} is not in"
            tf.debugging.Assert(tf.reduce_all(lengths[name] >= sizes), [message, record_names[missing]])
        values = found[name][:, :width]
        short = [[0, 0], [0, width - tf.shape(values)[1]], *[[0, 0]] * (values.shape.rank - 2)]
        is_given = tf.sequence_mask(lengths[name], width)
        is_given = tf.reshape(is_given, tf.concat([tf.shape(is_given), [1] * (values.shape.rank - 2)], axis=0))
        features[name] = tf.where(is_given, tf.pad(values, short), default_of(spec.default_value, spec.dtype))
    return features, sizes


# The name of the message in errors, and a function like `parse_elwc`.
RECORD_FORMATS: dict[str, tuple[str, Callable[..., tuple[dict[str, tf.Tensor], tf.Tensor]]]] = {
    "eie": ("ExampleInExample", functools.partial(parse_elwc, decode=_decode_eie)),
    "elwc": ("ExampleListWithContext", parse_elwc),
    "sequence_example": ("tf.train.SequenceExample", _parse_sequences),
}


def checked(
    record_format: str, function: Callable[[tf.Tensor, tf.Tensor], Any], records: tf.Tensor, names: tf.Tensor
) -> Any:
    """Return `function(records, names)`. An error has the name of the first malformed record."""

    def fail(records: tf.Tensor, names: tf.Tensor) -> Any:
        with tf.control_dependencies([_check(record_format, records, names)]):
            return function(records, names)

    return _otherwise(function, (records, names), fail)


def _otherwise(function: Callable, arguments: Any, fallback: Callable) -> Any:
    """Return `function(*arguments)`, or `fallback(*arguments)` if an operation of the function fails."""
    source = tf.data.Dataset.from_tensors(arguments)
    results = source.map(function).ignore_errors().concatenate(source.map(fallback))
    return results.take(1).get_single_element()


def _check(record_format: str, records: tf.Tensor, names: tf.Tensor) -> tf.Operation:
    """Assert that each record is one of the format whose examples and context can be parsed."""
    title, parse = RECORD_FORMATS[record_format]

    def parsed(record: tf.Tensor) -> tf.Tensor:
        features, _ = parse(record[tf.newaxis], _ANY_CONTEXT, _ANY, None, tf.constant([""]))
        # The result must depend on what was parsed: TensorFlow leaves out operations that nothing depends on.
        return tf.reduce_all([tf.reduce_all(values == 0) for values in features.values()])

    is_valid = tf.map_fn(
        lambda record: _otherwise(parsed, (record,), lambda _: False), records, fn_output_signature=tf.bool
    )
    message = f"files must hold {title} records, got another message or damaged data in"
    first = tf.argmax(tf.cast(tf.logical_not(is_valid), tf.int32))
    return tf.debugging.Assert(tf.reduce_all(is_valid), [message, names[first]])
