"""Lists in the three record formats of TF-Ranking: the same batches from each, and errors that name the record."""

import numpy as np
import pytest
import tensorflow as tf
from support.data.elwc import elwc, example

import keras_softsort as ks

CONTEXT = {"user": tf.io.FixedLenFeature([2], tf.float32, default_value=[7.0, 8.0])}
ITEMS = {
    "label": tf.io.FixedLenFeature([], tf.float32),
    "size": tf.io.FixedLenFeature([2], tf.int64, default_value=[3, 4]),
    "color": tf.io.FixedLenFeature([1], tf.string, default_value=["none"]),
}
# A context, and items that have all features, or the first two, or the label alone.
LISTS = [
    (
        {"user": [0.5, 1.5]},
        [{"label": 1.0, "size": [1, 2], "color": b"red"}, {"label": 0.0, "size": [5, 6], "color": b"x"}],
    ),
    ({}, [{"label": 2.0, "size": [9, 9]}]),
    ({"user": [2.0, 3.0]}, [{"label": 4.0}, {"label": 3.0}, {"label": 0.0}]),
]
FORMATS = ("elwc", "eie", "sequence_example")


def record(record_format, context, items):
    """One list as a serialized record."""
    if record_format == "elwc":
        return elwc(example(**context), [example(**item) for item in items])
    if record_format == "eie":
        examples = [example(**item).SerializeToString() for item in items]
        serialized = {"serialized_context": example(**context).SerializeToString()}
        return example(**serialized, **({"serialized_examples": examples} if items else {})).SerializeToString()
    lists = {
        name: tf.train.FeatureList(feature=[example(**item).features.feature[name] for item in items])
        for name in (items[0] if items else ())
    }
    context = example(**context).features
    return tf.train.SequenceExample(
        context=context, feature_lists=tf.train.FeatureLists(feature_list=lists)
    ).SerializeToString()


def batches(record_format, lists=LISTS, files=None, **options):
    records = [record(record_format, *each) for each in lists]
    files = tf.data.Dataset.from_tensor_slices(records) if files is None else files
    options = {"boundaries": (2, 4), "shuffle": False, **options}
    return ks.data.elwc_batches(files, CONTEXT, ITEMS, "label", 4, record_format=record_format, **options)


@pytest.mark.default_stack_only
@pytest.mark.slow
@pytest.mark.parametrize("record_format", FORMATS)
@pytest.mark.parametrize("options", [{}, {"mask": True, "boundaries": (2,), "truncate": True}], ids=["whole", "cut"])
def test_batches(record_format, options):
    wanted = list(batches("elwc", **options).as_numpy_iterator())
    found = list(batches(record_format, **options).as_numpy_iterator())
    assert len(found) == len(wanted) > 0
    for (features, labels), (other_features, other_labels) in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(labels, other_labels)
        assert set(features) == set(other_features) == {"user", "size", "color"} | ({"mask"} if options else set())
        for name, values in features.items():
            np.testing.assert_array_equal(values, other_features[name], err_msg=name)


@pytest.mark.slow
def test_values():
    """The padding has the default values, or 0."""
    (features, labels), _ = batches("sequence_example").as_numpy_iterator()
    np.testing.assert_array_equal(labels, [[1, 0], [2, -1]])
    np.testing.assert_array_equal(features["size"], [[[1, 2], [5, 6]], [[9, 9], [3, 4]]])
    np.testing.assert_array_equal(features["color"][..., 0], [[b"red", b"x"], [b"none", b"none"]])
    np.testing.assert_array_equal(features["user"], [[0.5, 1.5], [7, 8]])


@pytest.mark.default_stack_only
@pytest.mark.slow
@pytest.mark.parametrize("record_format", FORMATS)
def test_a_list_of_no_items(record_format):
    ((features, labels),) = batches(record_format, [({"user": [1.0, 2.0]}, [])]).as_numpy_iterator()
    np.testing.assert_array_equal(labels, [[-1, -1]])
    np.testing.assert_array_equal(features["user"], [[1, 2]])


TITLES = {"elwc": "ExampleListWithContext", "eie": "ExampleInExample", "sequence_example": "SequenceExample"}


@pytest.mark.slow
@pytest.mark.parametrize("record_format", FORMATS)
def test_a_malformed_record_is_named(record_format):
    records = [record(record_format, *LISTS[0]), b"no record"]
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=rf"{TITLES[record_format]} records.*record 1 of the dataset"
    ):
        list(batches(record_format, files=tf.data.Dataset.from_tensor_slices(records)))


@pytest.mark.slow
def test_an_item_without_a_label():
    items = [{"size": [1, 2], "label": 1.0}]
    both = tf.train.SequenceExample.FromString(record("sequence_example", {}, items))
    both.feature_lists.feature_list["size"].feature.add().int64_list.value.extend([1, 2])
    records = tf.data.Dataset.from_tensors(both.SerializeToString())
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"label is not in.*record 0 of the dataset"):
        list(batches("sequence_example", files=records))


def test_errors():
    with pytest.raises(ValueError, match=r"record_format must be one of \['eie', .*'sequence_example'\], got 'csv'"):
        batches("csv", [])
    spec = {"label": tf.io.FixedLenSequenceFeature([], tf.float32, allow_missing=True)}
    records = tf.data.Dataset.from_tensors(record("sequence_example", {}, []))
    with pytest.raises(TypeError, match=r"example_features\['label'\] must be a FixedLenFeature in a SequenceExample"):
        ks.data.elwc_batches(records, None, spec, "label", 2, record_format="sequence_example")


@pytest.mark.parametrize("record_format", ["eie", "sequence_example"])
def test_as_tf_ranking_parses(record_format):
    tfr = pytest.importorskip("tensorflow_ranking")
    parsers = {"eie": tfr.data.parse_from_example_in_example, "sequence_example": tfr.data.parse_from_sequence_example}
    records = tf.constant([record(record_format, *each) for each in LISTS])
    specs = {**ITEMS, "label": tf.io.FixedLenFeature([1], tf.float32, default_value=[-1.0])}
    theirs = parsers[record_format](
        records, list_size=4, context_feature_spec=CONTEXT, example_feature_spec={"label": specs["label"]}
    )
    ((features, labels),) = batches(record_format, boundaries=(4,)).as_numpy_iterator()
    np.testing.assert_array_equal(labels, theirs["label"][..., 0])
    np.testing.assert_array_equal(features["user"], theirs["user"])
