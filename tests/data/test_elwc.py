"""ExampleListWithContext records in graph: against the wire format, TensorFlow Serving's protos and TF-Ranking."""

import numpy as np
import pytest
import tensorflow as tf
from support.data.elwc import elwc, example, field

from keras_softsort.data.elwc.parsing import parse_elwc

CONTEXT = {
    "words": tf.io.FixedLenSequenceFeature([], tf.string, allow_missing=True, default_value="-"),
    "user": tf.io.FixedLenFeature([2], tf.float32, default_value=[7.0, 8.0]),
}
EXAMPLES = {
    "label": tf.io.FixedLenFeature([], tf.float32, default_value=-1.0),
    "size": tf.io.FixedLenFeature([2], tf.int64, default_value=[3, 4]),
    "color": tf.io.FixedLenFeature([1], tf.string, default_value="none"),
    "tags": tf.io.FixedLenSequenceFeature([], tf.int64, allow_missing=True, default_value=-5),
}
RECORDS = [
    elwc(
        example(words=[b"soft", b"sort"], user=[0.5, 1.5]),
        [
            example(label=1.0, size=[1, 2], color=b"red", tags=[1, 2]),
            example(label=0.0, color=b"blue"),
            example(label=2.0, size=[5, 6], color=b"", tags=[3]),
        ],
    ),
    elwc(None, []),
    elwc(example(words=[b"a"]), [example(label=4.0, tags=[9])]),
]
EXPECTED = {
    "words": [[b"soft", b"sort"], [b"-", b"-"], [b"a", b"-"]],
    "user": [[0.5, 1.5], [7, 8], [7, 8]],
    "label": [[1, 0, 2], [-1, -1, -1], [4, -1, -1]],
    "size": [[[1, 2], [3, 4], [5, 6]], [[3, 4]] * 3, [[3, 4]] * 3],
    "color": [[[b"red"], [b"blue"], [b""]], [[b"none"]] * 3, [[b"none"]] * 3],
    "tags": [[[1, 2], [-5, -5], [3, -5]], [[-5, -5]] * 3, [[9, -5], [-5, -5], [-5, -5]]],
}


def as_lists(features):
    return {name: values.numpy().tolist() for name, values in features.items()}


def test_by_hand():
    features, sizes = parse_elwc(tf.constant(RECORDS), CONTEXT, EXAMPLES)
    assert as_lists(features) == EXPECTED
    assert sizes.dtype == tf.int32
    assert sizes.numpy().tolist() == [3, 0, 1]


@pytest.mark.parametrize("list_size", [2, 4])
def test_list_size_cuts_and_pads(list_size):
    features, sizes = parse_elwc(RECORDS, CONTEXT, EXAMPLES, list_size=list_size)
    labels = {2: [[1, 0], [-1, -1], [4, -1]], 4: [[1, 0, 2, -1], [-1] * 4, [4, -1, -1, -1]]}[list_size]
    assert features["label"].numpy().tolist() == labels
    assert features["size"].shape == (3, list_size, 2)
    assert features["user"].numpy().tolist() == EXPECTED["user"]
    assert sizes.numpy().tolist() == [min(3, list_size), 0, 1]
    by_tensor, _ = parse_elwc(RECORDS, CONTEXT, EXAMPLES, list_size=tf.constant(list_size))
    assert as_lists(by_tensor) == as_lists(features)


@pytest.mark.parametrize("count", [0, 2])
def test_no_list_and_no_example(count):  # a list is one wide at least, as in TF-Ranking
    features, sizes = parse_elwc(tf.constant(RECORDS[1:2] * count, tf.string), CONTEXT, EXAMPLES)
    assert features["size"].shape == (count, 1, 2)
    assert features["user"].shape == (count, 2)
    assert sizes.shape == (count,)


def test_static_shapes():
    known = {}

    @tf.function(input_signature=[tf.TensorSpec([3], tf.string), tf.TensorSpec([None], tf.string)])
    def run(three, any_number):
        for key, (strings, size) in {"known": (three, 5), "unknown": (any_number, None)}.items():
            features, sizes = parse_elwc(strings, CONTEXT, EXAMPLES, list_size=size)
            known[key] = [features["label"].shape, features["size"].shape, features["user"].shape, sizes.shape]

    run.get_concrete_function()
    assert [shape.as_list() for shape in known["known"]] == [[3, 5], [3, 5, 2], [3, 2], [3]]
    assert [shape.as_list() for shape in known["unknown"]] == [[None, None], [None, None, 2], [None, 2], [None]]


def test_what_must_be_there_is_not_asked_of_the_padding():
    required = {"label": tf.io.FixedLenFeature([], tf.float32), "color": tf.io.FixedLenFeature([], tf.string)}
    whole = [elwc(None, [example(label=1.0, color=b"a"), example(label=2.0, color=b"b")]), elwc(None, [])]
    features, _ = parse_elwc(whole, None, required)
    assert as_lists(features) == {"label": [[1, 2], [0, 0]], "color": [[b"a", b"b"], [b"", b""]]}
    lacking = [*whole, elwc(None, [example(label=1.0, color=b"a"), example(color=b"b")])]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Name: example 1 of list 2, Feature: label .* required"):
        parse_elwc(lacking, None, required)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Name: context of list 1, Feature: user .* required"):
        parse_elwc([elwc(example(user=1.0), []), whole[0]], {"user": tf.io.FixedLenFeature([], tf.float32)}, required)


@pytest.mark.parametrize("traced", [False, True])
def test_malformed_records(traced):
    def parse(strings):
        return parse_elwc(strings, CONTEXT, EXAMPLES)

    run = tf.function(parse) if traced else parse
    for bad in (b"no record", RECORDS[0][:-1]):
        with pytest.raises(tf.errors.DataLossError, match="serialized_must_hold_ExampleListWithContext"):
            run(tf.constant([RECORDS[0], bad]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="Could not parse example"):
        run(tf.constant([field(1, b"no example")]))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"example 0 of list 0, .*label.*Data types don't match"):
        run(tf.constant([elwc(None, [example(label=1)])]))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"serialized": tf.zeros([2])}, ValueError, r"serialized must be strings \[batch\], got float32 \(2,\)"),
        ({"serialized": b"one"}, ValueError, r"serialized must be strings \[batch\], got string \(\)"),
        ({"example_features": {}}, ValueError, "example_features must name at least one feature, got {}"),
        ({"context_features": {"label": EXAMPLES["label"]}}, ValueError, r"got \['label'\] in both"),
        (
            {"example_features": {"words": tf.io.VarLenFeature(tf.string)}},
            TypeError,
            r"example_features\['words'\] must be a FixedLenFeature .*got VarLenFeature",
        ),
        (
            {"context_features": {"words": tf.io.RaggedFeature(tf.string)}},
            TypeError,
            r"context_features\['words'\] must be a FixedLenFeature .*got RaggedFeature",
        ),
    ],
)
def test_bad_arguments(arguments, error, message):
    with pytest.raises(error, match=message):
        parse_elwc(**{"serialized": RECORDS, "context_features": None, "example_features": EXAMPLES, **arguments})


def test_serving_signature(tmp_path):
    numbers = {name: EXAMPLES[name] for name in ("label", "size")}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="examples")])
    def signature(examples):
        features, sizes = parse_elwc(examples, None, numbers)
        return {**features, "sizes": sizes}

    module = tf.Module()
    module.signature = signature
    tf.saved_model.save(module, tmp_path, signatures=signature)
    run = tf.saved_model.load(tmp_path).signatures["serving_default"]
    found = as_lists(run(examples=tf.constant(RECORDS[:1] * 2)))
    assert found == {"label": EXPECTED["label"][:1] * 2, "size": EXPECTED["size"][:1] * 2, "sizes": [3, 3]}


def random_records(count):
    """Records and, on the TF-Ranking stack, the same by TensorFlow Serving's own message."""
    random = np.random.default_rng(3)
    for _ in range(count):
        context = example(user=random.normal(size=2).tolist(), words=[b"w"] * int(random.integers(1, 4)))
        examples = [
            example(
                label=float(random.integers(5)),
                size=random.integers(9, size=2).tolist(),
                tags=[1] * int(random.integers(1, 3)),
            )
            for _ in range(random.integers(0, 200))  # lengths of one and two bytes
        ]
        yield context, examples


def test_the_message_is_that_of_tensorflow_serving():
    input_pb2 = pytest.importorskip("tensorflow_serving.apis.input_pb2")
    for context, examples in random_records(3):
        message = input_pb2.ExampleListWithContext(examples=examples, context=context)
        # Not as bytes, in which the features of an example have no certain order.
        assert message.FromString(elwc(context, examples)) == message


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # its imports warn
@pytest.mark.parametrize("list_size", [None, 20, 300])
def test_as_tf_ranking_parses(list_size):
    tfr = pytest.importorskip("tensorflow_ranking")
    records = [elwc(*one) for one in random_records(6)]
    theirs = tfr.data.parse_from_example_list(
        tf.constant(records),
        list_size=list_size,
        context_feature_spec=CONTEXT,
        example_feature_spec=EXAMPLES,
        size_feature_name="sizes",
    )
    features, sizes = parse_elwc(records, CONTEXT, EXAMPLES, list_size=list_size)
    # TF-Ranking's sizes are those before the cut.
    np.testing.assert_array_equal(sizes, np.minimum(theirs.pop("sizes"), list_size or 1000))
    assert set(features) == set(theirs)
    for name, values in theirs.items():
        np.testing.assert_array_equal(features[name], values)
