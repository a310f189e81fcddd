"""Records of lists parsed in graph, with operations of TensorFlow's core only, and errors that name the record.

The message of TensorFlow Serving's `input.proto` has examples in field 1 and the context in field 2.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf
from google.protobuf import descriptor_pb2

from keras_softsort._internal import arguments

Features = Mapping[str, Any]
_SPECS = (tf.io.FixedLenFeature, tf.io.FixedLenSequenceFeature)
_PACKAGE, _MESSAGE = "keras_softsort", "SerializedExampleListWithContext"
# Features that no example has, so that only an example that cannot be parsed at all is an error.
_ANY = {"\0": tf.io.FixedLenFeature([], tf.float32, 0.0)}
_ANY_CONTEXT = {"\1": tf.io.FixedLenFeature([], tf.float32, 0.0)}


def parse_elwc(
    serialized: Any,
    context_features: Features | None,
    example_features: Features,
    list_size: Any = None,
    record_names: tf.Tensor | None = None,
    *,
    decode: Callable[[tf.Tensor], tuple[tf.Tensor, tf.Tensor, tf.Tensor]] | None = None,
) -> tuple[dict[str, tf.Tensor], tf.Tensor]:
    """Parse serialized `ExampleListWithContext` `[batch]` to features by name and the number of examples per list.

    Lists are cut or padded to `list_size` examples (None: the longest), with the default value of a feature, 0 or the
    empty string. `record_names` name records in errors. `decode` reads another message than `_decode_elwc`.
    """
    check_mappings(context_features, example_features)
    context_features = dict(context_features or {})
    check_features(context_features, example_features)
    serialized = tf.convert_to_tensor(serialized)
    if serialized.dtype != tf.string or serialized.shape.rank != 1:
        raise ValueError(f"serialized must be strings [batch], got {serialized.dtype.name} {serialized.shape}")
    examples, contexts, sizes = (decode or _decode_elwc)(serialized)
    width: Any = tf.shape(examples)[1]
    if list_size is not None:
        sizes, width = tf.minimum(sizes, list_size), list_size
    # Padding is not parsed, since it lacks the features that every example must have.
    places = tf.where(tf.sequence_mask(sizes))
    if record_names is None:
        record_names = tf.strings.join(["list ", tf.strings.as_string(tf.range(tf.shape(serialized)[0]))])
    names = tf.strings.join(
        ["example ", tf.strings.as_string(places[:, 1]), " of ", tf.gather(record_names, places[:, 0])]
    )
    parsed = tf.io.parse_example(tf.gather_nd(examples, places), dict(example_features), names)
    shape = [tf.shape(serialized)[0], width]
    features = {
        name: _padded(values, example_features[name].default_value, places, shape) for name, values in parsed.items()
    }
    if context_features:
        names = tf.strings.join(["context of ", record_names])
        features.update(tf.io.parse_example(contexts, context_features, names))
    return features, sizes


def check_mappings(context_features: Features | None, example_features: Features) -> None:
    """Raise an error if the features are not given by name; there need not be any of the context."""
    specs = "from names to tf.io.FixedLenFeature or tf.io.FixedLenSequenceFeature"
    if context_features is not None:
        arguments.mapping("context_features", context_features, specs)
    arguments.mapping("example_features", example_features, specs)


def check_features(context_features: Features, example_features: Features) -> None:
    """Raise an error if there is no feature of items, or if a name stands for two features."""
    if not example_features:
        raise ValueError(f"example_features must name at least one feature, got {example_features!r}")
    twice = sorted(set(context_features) & set(example_features))
    if twice:
        raise ValueError(f"a name must be in context_features or in example_features, got {twice} in both")
    for argument, features in (("context_features", context_features), ("example_features", example_features)):
        for name, spec in features.items():
            if not isinstance(spec, _SPECS):
                raise TypeError(
                    f"{argument}[{name!r}] must be a FixedLenFeature or a FixedLenSequenceFeature, "
                    f"got {type(spec).__name__}"
                )


def _decode_elwc(serialized: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Serialized examples [batch, longest], serialized contexts [batch], and sizes [batch]."""
    counts, (examples, contexts) = tf.io.decode_proto(
        tf.concat([serialized, [""]], axis=0),  # one list more, since an empty batch is an error
        message_type=f"{_PACKAGE}.{_MESSAGE}",
        field_names=["examples", "context"],
        output_types=[tf.string, tf.string],
        descriptor_source=_descriptors(),
        name="serialized_must_hold_ExampleListWithContext",  # appears in the error message
    )
    return examples[:-1], contexts[:-1, 0], counts[:-1, 0]


def _descriptors() -> bytes:
    files, field = descriptor_pb2.FileDescriptorSet(), descriptor_pb2.FieldDescriptorProto
    file = files.file.add(name="keras_softsort_elwc.proto", package=_PACKAGE, syntax="proto3")
    message = file.message_type.add(name=_MESSAGE)
    message.field.add(name="examples", number=1, type=field.TYPE_BYTES, label=field.LABEL_REPEATED)
    message.field.add(name="context", number=2, type=field.TYPE_BYTES, label=field.LABEL_OPTIONAL)
    return b"bytes://" + files.SerializeToString()


def _padded(values: tf.Tensor, default: Any, places: tf.Tensor, shape: list[Any]) -> tf.Tensor:
    """Put `values` `[examples, ...]` at their positions in `[batch, width, ...]`. Elsewhere is the default value."""
    padding = tf.broadcast_to(_default_of(default, values.dtype), tf.concat([shape, tf.shape(values)[1:]], axis=0))
    return tf.tensor_scatter_nd_update(padding, places, values)


def _default_of(default: Any, dtype: tf.DType) -> tf.Tensor:
    """The default value of a feature; 0 or the empty string without one."""
    return tf.zeros([], dtype) if default is None else tf.constant(default, dtype)


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
        features[name] = tf.where(is_given, tf.pad(values, short), _default_of(spec.default_value, spec.dtype))
    return features, sizes


# The name of the message in errors, and a function like `parse_elwc`.
RECORD_FORMATS: dict[str, tuple[str, Callable[..., tuple[dict[str, tf.Tensor], tf.Tensor]]]] = {
    "eie": ("ExampleInExample", functools.partial(parse_elwc, decode=_decode_eie)),
    "elwc": ("ExampleListWithContext", parse_elwc),
    "sequence_example": ("tf.train.SequenceExample", _parse_sequences),
}


def checked_records(
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
