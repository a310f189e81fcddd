"""Padded batches of lists in memory and of ELWC records: every list once, padding where it belongs, few shapes."""

import numpy as np
import pytest
import tensorflow as tf
from support.data.elwc import elwc, example, field
from support.data.judged import random_lists

import keras_softsort as ks
from keras_softsort.data import arrays
from keras_softsort.data.elwc_batches import _named_records
from keras_softsort.data.files import existing_files

pytestmark = pytest.mark.default_stack_only

SIZES = [3, 20, 5, 1, 8, 7, 16, 0, 5, 11]
LISTS = random_lists(SIZES)
SPEC = {"x": tf.io.FixedLenFeature([3], tf.float32), "label": tf.io.FixedLenFeature([], tf.float32)}
CONTEXT = {"number": tf.io.FixedLenFeature([], tf.int64)}


def records(lists=LISTS):
    return [
        elwc(example(number=i), [example(x=x.tolist(), label=float(y)) for x, y in zip(features, labels, strict=True)])
        for i, (features, labels) in enumerate(lists)
    ]


def in_memory(batch_size, lists=LISTS, **options):
    return ks.data.bucketed_batches(lists, batch_size, **options)


def from_records(batch_size, lists=LISTS, **options):
    """The batches of `LISTS`, read from records."""
    source = tf.data.Dataset.from_tensor_slices(records(lists))
    dataset = ks.data.elwc_batches(source, CONTEXT, SPEC, "label", batch_size, **options)
    if options.get("mask"):
        return dataset.map(lambda features, labels: ({"features": features["x"], "mask": features["mask"]}, labels))
    return dataset.map(lambda features, labels: (features["x"], labels))


both = pytest.mark.parametrize("batches", [in_memory, from_records])


def shapes(dataset):
    return [labels.shape for _, labels in dataset.as_numpy_iterator()]


def seen(dataset):
    """The lists in the order in which they come, without padding, which is checked."""
    found = []
    for features, labels in dataset.as_numpy_iterator():
        assert features.dtype == labels.dtype == np.float32
        for x, y in zip(features, labels, strict=True):
            size = np.sum(y >= 0)
            assert np.all(y[size:] == -1)
            assert np.all(x[size:] == 0)
            found.append((x[:size].tolist(), y[:size].tolist()))
    return found


def given(lists=LISTS):
    return [(features.tolist(), labels.tolist()) for features, labels in lists]


@pytest.mark.slow
@both
@pytest.mark.parametrize("shuffle", [True, False])
def test_every_list_once(batches, shuffle):
    dataset = batches(3, boundaries=(4, 10, 20), shuffle=shuffle)
    assert sorted(seen(dataset)) == sorted(given())
    # 3, 1, 0 in four; 5, 8, 7, 5 in ten; 20, 16, 11 in twenty.
    assert sorted(shapes(dataset)) == [(1, 10), (3, 4), (3, 10), (3, 20)]


@pytest.mark.slow
@both
def test_without_shuffling_a_padded_size_is_in_order(batches):
    dataset = batches(2, boundaries=(4, 20), shuffle=False)
    order = [0, 3, 1, 2, 4, 5, 6, 8, 7, 9]  # 20 and 5 are the first batch of twenty; 0 and 11 are left for the end
    assert sorted(seen(dataset)) == sorted(given())
    assert seen(dataset) == seen(dataset)
    found = [given().index(one) for one in seen(dataset)]
    assert [i for i in found if SIZES[i] > 4] == [i for i in order if SIZES[i] > 4]
    assert [i for i in found if SIZES[i] <= 4] == [0, 3, 7]


@pytest.mark.slow
@pytest.mark.parametrize("batches", [in_memory, pytest.param(from_records, marks=pytest.mark.nightly)])
def test_shuffling_by_a_seed(batches):
    first, again, other = (batches(2, boundaries=(20,), seed=seed) for seed in (1, 1, 2))
    epochs = [seen(first), seen(first)]
    assert epochs[0] != epochs[1]
    assert [seen(again), seen(again)] == epochs
    assert seen(other) != epochs[0]
    by_keras = []
    for _ in range(2):
        tf.keras.utils.set_random_seed(5)
        by_keras.append(seen(batches(2, boundaries=(20,))))
    assert by_keras[0] == by_keras[1]


def test_the_longest_list_ends_the_boundaries_of_its_own():
    assert sorted(shapes(in_memory(20))) == [(1, 20), (2, 16), (7, 8)]
    assert shapes(in_memory(20, LISTS[:1])) == [(1, 3)]
    assert shapes(in_memory(20, [LISTS[4]] * 2)) == [(2, 8)]


@pytest.mark.slow
def test_powers_of_two_are_the_boundaries_of_records():
    assert sorted(shapes(from_records(20))) == [(1, 32), (2, 16), (7, 8)]


@pytest.mark.slow
@both
def test_drop_remainder(batches):
    dataset = batches(3, boundaries=(4, 10, 20), drop_remainder=True)
    assert sorted(shapes(dataset)) == [(3, 4), (3, 10), (3, 20)]
    assert dataset.element_spec[1].shape.as_list() == [3, None]
    dataset = batches(3, boundaries=(20,), drop_remainder=True)
    assert [spec.shape.as_list() for spec in dataset.element_spec] == [[3, 20, 3], [3, 20]]
    assert batches(3, boundaries=(20,)).element_spec[1].shape.as_list() == [None, 20]


@pytest.mark.parametrize("drop_remainder", [True, False])
def test_cardinality(drop_remainder):
    dataset = in_memory(3, boundaries=(4, 10, 20), drop_remainder=drop_remainder)
    assert dataset.cardinality().numpy() == len(shapes(dataset)) == (3 if drop_remainder else 4)


@pytest.mark.slow
@both
def test_lists_longer_than_the_last_boundary(batches):
    dataset = batches(4, boundaries=(4, 6), truncate=True)
    assert sorted(seen(dataset)) == sorted(given([(features[:6], labels[:6]) for features, labels in LISTS]))
    if batches is in_memory:
        with pytest.raises(
            ValueError, match=r"boundaries must hold the longest list .*\(4, 6\), and lists\[1\] has 20 items"
        ):
            batches(4, boundaries=(4, 6))
    else:
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"boundaries must hold the longest list .*\(4, 6\)"):
            shapes(batches(4, boundaries=(4, 6), shuffle=False))


@pytest.mark.slow
@both
def test_mask(batches):
    for features, labels in batches(3, mask=True).as_numpy_iterator():
        assert features["mask"].dtype == bool
        np.testing.assert_array_equal(features["mask"], labels >= 0)
        assert features["features"].shape == (*labels.shape, 3)


def test_ranking_dataset_are_the_same_lists():
    flat = ks.data.RankingDataset(
        np.concatenate([features for features, _ in LISTS]), np.concatenate([labels for _, labels in LISTS]), SIZES
    )
    assert given(flat) == given()
    assert len(flat) == len(LISTS)
    assert flat[-1][1].tolist() == LISTS[-1][1].tolist()
    with pytest.raises(IndexError):
        flat[10]
    with pytest.raises(TypeError, match="feature_names must be a sequence of names, got 'abc'"):
        ks.data.RankingDataset(flat.features, flat.labels, SIZES, feature_names="abc")
    assert seen(in_memory(2, flat, seed=3)) == seen(in_memory(2, seed=3))


def test_ranking_dataset_is_cut_like_a_sequence():
    """By slices, numbers and booleans: the lists, ids and weights of the same slices of a Python list."""
    one = ks.data.RankingDataset.of(LISTS)
    lists = ks.data.RankingDataset(one.features, one.labels, one.sizes, 100 + np.arange(10), 1 + np.arange(76))
    every = list(zip(lists, lists.query_ids, strict=True))
    odd = np.arange(10) % 2 == 1
    cuts = {
        "first": (lists[:4], every[:4]),
        "rest": (lists[4:], every[4:]),
        "middle": (lists[-3:-1], every[-3:-1]),
        "steps": (lists[::3], every[::3]),
        "backwards": (lists[::-1], every[::-1]),
        "none": (lists[3:3], []),
        "numbers": (lists[np.array([7, -1, 2, 2])], [every[i] for i in (7, -1, 2, 2)]),
        "a list of numbers": (lists[[1, 0]], [every[1], every[0]]),
        "booleans": (lists[odd], every[1::2]),
    }
    for name, (found, expected) in cuts.items():
        assert isinstance(found, ks.data.RankingDataset), name
        assert len(found) == len(expected)
        for parts, query_id, (parts_expected, id_expected) in zip(found, found.query_ids, expected, strict=True):
            assert [part.tolist() for part in parts] == [part.tolist() for part in parts_expected], name
            assert query_id == id_expected
    assert np.shares_memory(lists[2:5].features, lists.features)
    for wrong in ([10], [0.5], odd[:3]):
        with pytest.raises(IndexError):
            lists[wrong]


CENTERED = [(features, labels - 2.5) for features, labels in LISTS]


def without_padding(dataset):
    """The lists that `dataset` yields, without padding (labels that are NaN), as `seen` gives them."""
    found = []
    for features, labels, *weights in getattr(dataset, "as_numpy_iterator", lambda: dataset)():
        for i, label in enumerate(labels):
            valid = ~np.isnan(label)
            assert not valid[valid.sum() :].any()
            assert not features[i][~valid].any()
            assert all(not weight[i][~valid].any() for weight in weights)
            found.append([part[i][valid].tolist() for part in (features, labels, *weights)])
    return found


def test_padding_by_nan_labels():
    expected = [[features.tolist(), labels.tolist()] for features, labels in CENTERED]
    assert sorted(without_padding(in_memory(3, CENTERED, padding="nan_labels"))) == sorted(expected)
    message = r'padding="negative_labels", .*padding="nan_labels" allows them, got -2\.5 in list 0'
    flat = ks.data.RankingDataset.of(CENTERED)
    first = int(np.argmax(flat.labels < 0))
    assert flat.labels[first] == -2.5
    with pytest.raises(ValueError, match=message.replace("list 0", f"list {np.searchsorted(np.cumsum(SIZES), first)}")):
        in_memory(3, CENTERED)


def test_no_padding_is_one_size_per_batch():
    lists = CENTERED + CENTERED[2:6]
    batches = list(in_memory(2, lists, padding=None).as_numpy_iterator())
    found = [(x.tolist(), y.tolist()) for features, labels in batches for x, y in zip(features, labels, strict=True)]
    assert sorted(found) == sorted(given(lists))
    assert (
        len(batches) == in_memory(2, lists, padding=None).cardinality().numpy() == 10
    )  # three lists of size 5 are two batches
    with pytest.raises(ValueError, match=r"boundaries must be None with padding=None, got \(20,\)"):
        in_memory(2, lists, padding=None, boundaries=(20,))


def test_weights_become_sample_weights():
    lists = [(features, labels, labels + 1 / 8) for features, labels in CENTERED[:6] if labels.min(initial=0) >= -2.5]
    lists = [(x, y, y + 3) for x, y, _ in lists]
    expected = [[part.tolist() for part in parts] for parts in lists]
    assert sorted(without_padding(in_memory(3, lists, padding="nan_labels"))) == sorted(expected)
    batches = ks.data.batches_of_groups(lists, None).as_numpy_iterator()
    found = [[part.tolist() for part in (x, targets[:, 1], weights)] for x, targets, weights in batches]
    assert sorted(found) == sorted(expected)
    with pytest.raises(
        ValueError, match=r"lists\[1\] must be .* and labels \[n\] and weights \[n\], as the first list, got \["
    ):
        in_memory(3, [lists[0], lists[1][:2]])


def by_group(**options):
    batches = ks.data.batches_of_groups(CENTERED, None, **options).as_numpy_iterator()
    return [(x.tolist(), targets[:, 1].tolist()) for x, targets in batches if not targets[:, 0].any()]


@pytest.mark.slow
def test_batches_of_one_group():
    expected = [one for one in given(CENTERED) if one[1]]
    assert by_group(shuffle=False) == expected
    epochs = [by_group(seed=1), by_group(seed=1), by_group(seed=2)]
    assert epochs[0] == epochs[1] != epochs[2]
    assert all(sorted(epoch) == sorted(expected) for epoch in epochs)
    dataset = ks.data.batches_of_groups(CENTERED, None, seed=1)
    assert dataset.cardinality().numpy() == 9
    assert [spec.shape.as_list() for spec in dataset.element_spec] == [[None, 3], [None, 2]]
    assert len({str(list(dataset.as_numpy_iterator())) for _ in range(3)}) > 1
    with pytest.raises(ValueError, match="lists must hold at least one item, got none"):
        ks.data.batches_of_groups([LISTS[7]], None)
    with pytest.raises(ValueError, match="padding must be None with rows=None, got 'nan_labels'"):
        ks.data.batches_of_groups(CENTERED, None, padding="nan_labels")
    with pytest.raises(TypeError, match="seed must be an integer or None, got 'a'"):
        ks.data.batches_of_groups(LISTS, None, seed="a")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("count", "options"),
    [(3, {"seed": 1}), (2, {"shuffle": False}), pytest.param(11, {"shuffle": False}, marks=pytest.mark.nightly)],
)
def test_shards_hold_every_list_once(count, options):
    """Whatever the number of workers, also more than there are lists, and in every epoch of a shuffled order."""
    shards = [in_memory(2, boundaries=(4, 20), shard=(i, count), **options) for i in range(count)]
    for _ in range(2):
        found = [one for shard in shards for one in seen(shard)]
        assert sorted(found) == sorted(given())
    assert [shard.cardinality().numpy() for shard in shards] == [len(shapes(shard)) for shard in shards]
    found = [one for i in range(count) for one in by_group(shard=(i, count), **options)]
    assert sorted(found) == sorted(one for one in given(CENTERED) if one[1])


@pytest.mark.parametrize("batches", [lambda **options: in_memory(2, **options), by_group])
@pytest.mark.parametrize(
    ("shard", "error", "message"),
    [
        (3, ValueError, r"shard must be None or a pair \(index, count\), got 3"),
        ((1, 2, 3), ValueError, r"shard must be None or a pair"),
        ("01", ValueError, r"shard must be None or a pair"),
        ((2, 2), ValueError, r"an index below the count, got \(2, 2\)"),
        ((-1, 2), ValueError, "shard must be at least 0, got -1"),
        ((0, 0), ValueError, "shard must be at least 1, got 0"),
        ((0.0, 1), TypeError, "shard must be an integer, got 0.0"),
    ],
)
def test_bad_shards(batches, shard, error, message):
    with pytest.raises(error, match=message):
        batches(shard=shard)


def test_aligned_features_are_shared_with_tensorflow():
    """A copy would show here as stale numbers; memory that is not aligned or read-only is copied."""
    lists = ks.data.RankingDataset.of(LISTS)
    aligned = arrays.zeros(lists.features.shape)
    for features in (aligned, aligned[1:], lists.features):
        flat = ks.data.RankingDataset(features, lists.labels[: len(features)], [len(features)])
        flat.features[:] = 1
        dataset = in_memory(1, flat)
        flat.features[:] = 7
        (batch, _), *_ = dataset.as_numpy_iterator()
        assert np.all(batch == 7) or features is not aligned
    lists.features.flags.writeable = False
    assert len(seen(in_memory(3, lists))) == 10


ONES = np.ones([3, 2])


def test_numbers_of_any_dtype_are_rounded_to_float32():
    features = [[0.1, np.inf], [-np.inf, np.nan], [-1e-60, 3.4e38]]
    for dtype in (np.float64, np.longdouble, object):
        lists = ks.data.RankingDataset(np.array(features, dtype), [0, 1, 2], [3])
        np.testing.assert_array_equal(lists.features, np.float32(features))
    for values in (np.array([True, False, True]), np.array([1, 0, 1], np.uint8), tf.constant([1, 0, 1], tf.bfloat16)):
        lists = ks.data.RankingDataset(ONES, values, [3])
        assert lists.labels.tolist() == [1, 0, 1]
        assert lists.labels.dtype == np.float32
    large = [2**24 + 1, 2**24 + 3, -(2**63)]
    assert ks.data.RankingDataset(ONES, large, [3]).labels.tolist() == [2**24, 2**24 + 4, -(2**63)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"features": np.ones([4, 2])}, r"features and labels must have .* got \(4, 2\) and \(3,\)"),
        ({"features": np.ones(3)}, r"features and labels must have .* got \(3,\) and \(3,\)"),
        ({"labels": ONES}, r"features and labels must have .* got \(3, 2\) and \(3, 2\)"),
        ({"sizes": [2, 2]}, r"sizes must be at least 0 and add up to the 3 items, got \[2 2\]"),
        ({"sizes": [4, -1]}, r"sizes must be at least 0 and add up to the 3 items, got \[ 4 -1\]"),
        ({"sizes": [2.0, 1.0]}, r"sizes must be integers \[lists\], got float64 \(2,\)"),
        ({"query_ids": [1]}, r"query_ids must have one for each of the 2 lists, got \(1,\)"),
        ({"labels": [0, np.nan, 1], "sizes": [1, 2]}, "labels must be finite, got nan in list 1"),
        ({"labels": [np.inf, 0, 1], "sizes": [0, 3]}, "labels must be finite, got inf in list 1"),
        ({"weights": [1, 2]}, r"weights must have one for each of the 3 items, got \(2,\)"),
        ({"weights": [1, 2, -1]}, r"weights must be at least 0, got -1\.0 in list 1"),
        ({"weights": [np.nan, 2, 1]}, "weights must be at least 0, got nan in list 0"),
        ({"weights": [1, np.inf, 1]}, "weights must be finite, got inf in list 0"),
        ({"feature_names": ["a"]}, r"feature_names must have a different one for each of the 2 features, got \('a',\)"),
        ({"feature_names": ["a", "a"]}, r"feature_names must have a different one for each of the 2 features, got "),
        ({"sizes": [2**62] * 4, "features": ONES[:0], "labels": []}, "sizes must be at least 0 and add up to the 0"),
        ({"features": ONES * 1e300}, r"features must fit into float32, got 1e\+300"),
        ({"features": (-ONES * 1e39).tolist()}, r"features must fit into float32, got -1e\+39"),
        ({"features": np.array([[10**400, 1]] * 3, object)}, "features must hold numbers, got object .* too large"),
        ({"labels": [0, 1e39, 1]}, r"labels must fit into float32, got 1e\+39"),
        ({"weights": [0, 1, 1e39]}, r"weights must fit into float32, got 1e\+39"),
        ({"features": ONES.astype(str)}, "features must hold numbers, got <U32 with '1.0'"),
        ({"features": ONES * 1j}, "features must hold numbers, got complex128 with 1j"),
        ({"features": [[1.0], [1.0, 2.0], [3.0]]}, "features must be one array, got rows of different lengths"),
        ({"labels": ["a", None, 1.0]}, "labels must hold numbers, got "),
        ({"labels": np.array(["2024"] * 3, "M8[D]")}, "labels must hold numbers, got datetime64"),
    ],
)
def test_bad_ranking_dataset(arguments, message):
    with pytest.raises(ValueError, match=message):
        ks.data.RankingDataset(**{"features": ONES, "labels": np.ones(3), "sizes": [2, 1], **arguments})


@both
@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"seed": "a"}, TypeError, "seed must be an integer or None, got 'a'"),
        ({"seed": 1.5}, TypeError, "seed must be an integer or None, got 1.5"),
        ({"seed": 2**63}, ValueError, "seed must fit into int64, got 9223372036854775808"),
        ({"batch_size": 0}, ValueError, "batch_size must be at least 1, got 0"),
        ({"boundaries": 5}, TypeError, "boundaries must be a sequence of integers, got 5"),
        ({"boundaries": "ab"}, TypeError, "boundaries must be a sequence of integers, got 'ab'"),
        ({"boundaries": (5, 2**31)}, ValueError, r"boundaries must be at most 2\^31 - 1, got 2147483648"),
        ({"boundaries": ()}, ValueError, r"boundaries must be non-empty and strictly increasing, got \(\)"),
        ({"boundaries": (3, 3)}, ValueError, r"boundaries must be .* strictly increasing, got \(3, 3\)"),
        ({"boundaries": (5, 3)}, ValueError, r"boundaries must be .* strictly increasing, got \(5, 3\)"),
        ({"boundaries": (0, 3)}, ValueError, "boundaries must be at least 1, got 0"),
        *[
            ({name: 1}, TypeError, f"{name} must be True or False, got 1")
            for name in ("truncate", "shuffle", "drop_remainder", "mask")
        ],
    ],
)
def test_bad_arguments(batches, arguments, error, message):
    with pytest.raises(error, match=message):
        batches(**{"batch_size": 2, **arguments})


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"lists": []}, ValueError, "lists must hold at least one list, got none"),
        ({"lists": [LISTS[7]]}, ValueError, "lists must hold at least one item, got none"),
        (
            {"lists": [(ONES, np.ones(3)), (np.ones([3, 1]), np.ones(3))]},
            ValueError,
            r"lists\[1\] must be features \[n, 2\] and labels \[n\] without .*got \[\(3, 1\), \(3,\)\]",
        ),
        ({"lists": [(ONES, np.ones(2))]}, ValueError, r"lists\[0\] must be .*got \[\(3, 2\), \(2,\)\]"),
        ({"lists": [(ONES, 1.0)]}, ValueError, r"lists\[0\] must be .*got \[\(3, 2\), \(\)\]"),
        (
            {"lists": [(ONES, [0, 1, -2])]},
            ValueError,
            'labels must be at least 0 with padding="negative_labels", .* got -2.0 in list 0',
        ),
        ({"lists": None}, TypeError, "lists must be a sequence of .*, got None"),
        ({"lists": 5}, TypeError, "lists must be a sequence of .*, got 5"),
        ({"lists": [5]}, TypeError, r"lists\[0\] must be a sequence of arrays, .*, got 5"),
        ({"lists": [(ONES, [1, 1e39, 1])]}, ValueError, r"lists\[0\] must fit into float32, got 1e\+39"),
        ({"boundaries": 5, "padding": None}, ValueError, "boundaries must be None with padding=None, got 5"),
        ({"padding": "zeros"}, ValueError, "padding must be 'negative_labels' or 'nan_labels' or None, got 'zeros'"),
    ],
)
def test_bad_lists(arguments, error, message):
    with pytest.raises(error, match=message):
        ks.data.bucketed_batches(**{"lists": [(ONES, np.ones(3))], "batch_size": 2, **arguments})


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The records in three files."""
    folder = tmp_path_factory.mktemp("records")
    for i, some in enumerate((records()[:5], records()[5:9], records()[9:])):
        with tf.io.TFRecordWriter(str(folder / f"part-{i}.tfrecord")) as writer:
            for one in some:
                writer.write(one)
    return folder


def numbers(dataset):
    return [int(i) for features, _ in dataset.as_numpy_iterator() for i in features["number"]]


def of_files(files, **options):
    arguments = {"label": "label", "batch_size": 10, "boundaries": (20,), "shuffle": False, **options}
    return ks.data.elwc_batches(files, CONTEXT, SPEC, **arguments)


@pytest.mark.slow
def test_files(files):
    paths = [files / f"part-{i}.tfrecord" for i in range(3)]
    assert numbers(of_files(str(files / "part-*"))) == list(range(10))
    assert numbers(of_files(paths[1])) == [5, 6, 7, 8]
    assert numbers(of_files([paths[2], str(paths[0])])) == [9, 0, 1, 2, 3, 4]
    first = of_files(files / "part-*", shuffle=True, seed=1)
    epochs = [numbers(first), numbers(first)]
    assert epochs[0] != epochs[1]
    assert sorted(epochs[0]) == list(range(10))
    # Files and records are drawn, though the buffer holds one record.
    narrow = of_files(files / "part-*", shuffle=True, seed=1, shuffle_buffer=1)
    epochs = [numbers(narrow) for _ in range(4)]
    assert len({tuple(order) for order in epochs}) > 1
    assert all([i for i in order if i < 5] == [0, 1, 2, 3, 4] for order in epochs)
    with pytest.raises(ValueError, match=r"files must match at least one file, but no file matches '.*none'"):
        of_files([paths[0], files / "none"])


@pytest.mark.slow
def test_features_and_labels_of_records():
    spec = {
        "clicks": tf.io.FixedLenFeature([1], tf.int64, default_value=[-1]),
        "price": tf.io.FixedLenFeature([], tf.float32, default_value=7.0),
    }
    context = {"user": tf.io.FixedLenFeature([2], tf.float32)}
    data = [
        elwc(example(user=[1.0, 2.0]), [example(clicks=3, price=0.5), example(price=1.0)]),
        elwc(example(user=[3.0, 4.0]), []),
    ]
    source = tf.data.Dataset.from_tensor_slices(data)
    (features, labels), *rest = ks.data.elwc_batches(
        source, context, spec, "clicks", 2, boundaries=(3,), mask=True
    ).as_numpy_iterator()
    order = np.argsort(features["user"][:, 0])
    assert rest == []
    assert labels[order].tolist() == [[3, -1, -1], [-1, -1, -1]]
    assert features["price"][order].tolist() == [[0.5, 1, 7], [7, 7, 7]]
    assert features["mask"][order].tolist() == [[True, True, False], [False] * 3]  # what has no label is an item
    assert features["user"][order].tolist() == [[1, 2], [3, 4]]
    assert set(features) == {"price", "user", "mask"}


@pytest.mark.slow
def test_padding_of_a_label_without_default_is_no_judgement():
    (_, labels), *_ = of_files(tf.data.Dataset.from_tensor_slices(records()[:1])).as_numpy_iterator()
    assert labels[0].tolist() == [*LISTS[0][1].tolist(), *[-1] * 17]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"label": ["x"]}, ValueError, r"label must be one of example_features, \['label', 'x'\], got \['x'\]"),
        ({"label": ("x", None)}, ValueError, r"got \('x', None\); its specification belongs into example_features"),
        ({"label": "grade"}, ValueError, r"label must be one of example_features, \['label', 'x'\], got 'grade'"),
        ({"label": "x"}, ValueError, r"label must be one number per item, of shape \[\] or \[1\], got FixedLen.*\[3\]"),
        ({"shuffle_buffer": 0}, ValueError, "shuffle_buffer must be at least 1, got 0"),
        ({"padding": None}, ValueError, "padding must be 'negative_labels' or 'nan_labels', got None"),
        ({"shard": (1, 1)}, ValueError, r"an index below the count, got \(1, 1\)"),
    ],
)
def test_bad_arguments_of_records(arguments, error, message):
    with pytest.raises(error, match=message):
        of_files(tf.data.Dataset.from_tensors(b""), **arguments)


@pytest.mark.parametrize(
    "spec", [{"label": tf.io.FixedLenFeature([], tf.string)}, {"label": tf.io.VarLenFeature(tf.float32)}]
)
def test_labels_that_are_no_number_an_item(spec):
    with pytest.raises(ValueError, match="label must be one number per item"):
        ks.data.elwc_batches(tf.data.Dataset.from_tensors(b""), None, spec, "label", 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"files": None}, "files must be a sequence of paths, got None"),
        ({"files": 5}, "files must be a sequence of paths, got 5"),
        ({"files": [None]}, r"files must hold paths, got None"),
        ({"example_features": None}, "example_features must be a dictionary from names to .*, got None"),
        ({"example_features": ["label"]}, r"example_features must be a dictionary from names to .*, got \['label'\]"),
        ({"context_features": ["label"]}, r"context_features must be a dictionary from names to .*, got \['label'\]"),
    ],
)
def test_records_of_what_is_none(arguments, message):
    right = {"files": "none", "context_features": None, "example_features": SPEC, "label": "label", "batch_size": 2}
    with pytest.raises(TypeError, match=message):
        ks.data.elwc_batches(**{**right, **arguments})


def test_a_feature_of_the_name_mask():
    spec = {**SPEC, "mask": tf.io.FixedLenFeature([], tf.float32)}
    with pytest.raises(ValueError, match='mask must be False if a feature has the name "mask"'):
        ks.data.elwc_batches(tf.data.Dataset.from_tensors(b""), None, spec, "label", 2, mask=True)


GARBAGE = {
    "no message": b"no record",
    "half a record": records()[0][:-1],
    "examples that are none": records()[0] + field(1, b"\xff\xfe no example"),
    "a context that is none": records()[0] + field(2, b"\xff\xfe no example"),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", [kind if "example" in kind else pytest.param(kind, marks=pytest.mark.nightly) for kind in GARBAGE]
)
def test_malformed_records(tmp_path, kind):
    """Errors name the file and the number of the record, whatever is wrong with it."""
    paths = [tmp_path / "good.tfrecord", tmp_path / "bad.tfrecord"]
    for path, some in zip(paths, [records(), [*records()[:4], GARBAGE[kind], *records()[4:]]], strict=True):
        with tf.io.TFRecordWriter(str(path)) as writer:
            for one in some:
                writer.write(one)
    message = r"files must hold ExampleListWithContext records, got .*\n?.*record 4 of .*bad\.tfrecord"
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        shapes(of_files([*paths], batch_size=3))
    source = tf.data.Dataset.from_tensor_slices([records()[0], GARBAGE[kind]])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"got another message.*record 1 of the dataset"):
        shapes(of_files(source))


@pytest.mark.slow
def test_a_record_without_a_feature(files):
    """TensorFlow's own message tells the feature; the record is named in it."""
    spec = {**SPEC, "price": tf.io.FixedLenFeature([], tf.float32)}
    dataset = ks.data.elwc_batches(files / "part-1*", CONTEXT, spec, "label", 2, boundaries=(20,), shuffle=False)
    message = r"Name: example 0 of record 0 of .*part-1\.tfrecord, Feature: price .* is required"
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        shapes(dataset)


@pytest.mark.slow
def test_nan_marks_the_padding_of_records():
    source = tf.data.Dataset.from_tensor_slices(records(CENTERED))
    batches = ks.data.elwc_batches(source, CONTEXT, SPEC, "label", 3, padding="nan_labels")
    found = without_padding((features["x"], labels) for features, labels in batches.as_numpy_iterator())
    assert sorted(found) == sorted([features.tolist(), labels.tolist()] for features, labels in CENTERED)


@pytest.mark.slow
@pytest.mark.parametrize("count", [3, 4, *(pytest.param(count, marks=pytest.mark.nightly) for count in (1, 2, 9))])
def test_shards_of_files_hold_every_record_once(files, count):
    """By file while there are as many files as workers, else by record."""
    found = existing_files(files / "part-*", "files")
    for shuffle in (True, False):
        shards = [_named_records(found, shuffle, 3, i, count) for i in range(count)]
        shards = [[record for record, _ in shard.as_numpy_iterator()] for shard in shards]
        assert sorted(record for shard in shards for record in shard) == sorted(records())
        assert all(shards) or count == 9  # a worker without a list would wait for the others
    if count == 3:
        assert sorted(map(len, shards)) == [1, 4, 5]
    source = tf.data.Dataset.from_tensor_slices(records())
    shards = [_named_records(source, False, None, i, count) for i in range(count)]
    assert sorted(record for shard in shards for record, _ in shard.as_numpy_iterator()) == sorted(records())


@pytest.mark.slow
def test_shards_of_batches_of_files(files):
    shards = [numbers(of_files(files / "part-*", shard=(i, 2))) for i in range(2)]
    assert sorted(shards[0]) == [0, 1, 2, 3, 4, 9]
    assert sorted(shards[1]) == [5, 6, 7, 8]


def scorer():
    dense = [tf.keras.layers.Dense(8, activation="tanh"), tf.keras.layers.Dense(1), tf.keras.layers.Reshape((-1,))]
    return dense


def learnable(count=60):
    """Lists whose labels follow from their features."""
    random = np.random.default_rng(2)
    found = []
    for _ in range(count):
        features = random.normal(size=(random.integers(2, 8), 3))
        found.append((features, np.clip(np.round(2 + features[:, 0] - features[:, 1]), 0, 4)))
    return found


@pytest.mark.slow
def test_fit_learns_from_batches():
    model = tf.keras.Sequential([tf.keras.Input((None, 3)), *scorer()])
    model.compile(tf.keras.optimizers.Adam(0.03), loss=ks.PlackettLuceLoss())
    batches = in_memory(16, learnable(), boundaries=(7,), seed=1)
    losses = model.fit(batches, epochs=8, shuffle=False, verbose=0).history["loss"]
    assert losses[-1] < 0.8 * losses[0]


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore:Your input ran out of data")
def test_fit_learns_from_records_by_name():
    inputs = {"x": tf.keras.Input((None, 3), name="x"), "number": tf.keras.Input((), name="number")}
    scores = inputs["x"]
    for layer in scorer():
        scores = layer(scores)
    model = tf.keras.Model(inputs, scores)
    model.compile(tf.keras.optimizers.Adam(0.03), loss=ks.PlackettLuceLoss())
    source = tf.data.Dataset.from_tensor_slices(records(learnable()))
    batches = ks.data.elwc_batches(source, CONTEXT, SPEC, "label", 16, seed=1)
    losses = model.fit(batches, epochs=8, shuffle=False, verbose=0).history["loss"]
    assert losses[-1] < 0.8 * losses[0]


def test_no_list_is_a_choice_of_lists():
    lists = ks.data.RankingDataset(np.eye(3), [0, 1, 2], sizes=[2, 1])
    assert len(lists[[]]) == 0
