"""Lists written as ELWC records: read back by `elwc_batches` and by TF-Ranking's parser to the same bits."""

import numpy as np
import pytest
import tensorflow as tf
from support.data.judged import random_lists

import keras_softsort as ks

pytestmark = pytest.mark.default_stack_only

SIZES = [3, 20, 1, 0, 130, 7]
QUERY = {"query_id": tf.io.FixedLenFeature([], tf.int64)}


def lists_of_any_bits(weights=True):
    """Among the numbers are NaN, infinities, zeros of both signs and numbers below the normal ones."""
    pairs = random_lists(SIZES)
    features = np.concatenate([features for features, _ in pairs])
    features[:6, 0] = [np.nan, np.inf, -np.inf, -0.0, 1e-45, 3.4e38]
    labels = np.concatenate([labels for _, labels in pairs]) - 2.5
    ids = [0, -1, 2**63 - 1, -(2**63), 300, 7]
    return ks.data.RankingDataset(features, labels, SIZES, ids, np.abs(labels) / 3 if weights else None)


def spec(default=None, **shapes):
    return {name: tf.io.FixedLenFeature(shape, tf.float32, default) for name, shape in shapes.items()}


def assert_bits(found, expected):
    assert found.dtype == expected.dtype == np.float32
    np.testing.assert_array_equal(found.view(np.int32), expected.view(np.int32))


@pytest.mark.slow
@pytest.mark.parametrize("shards", [1, 2, 9])
def test_elwc_batches_reads_the_same_bits(tmp_path, shards):
    lists = lists_of_any_bits()
    files = ks.data.write_elwc(lists, tmp_path / "new" / "train", shards=shards)
    assert files == sorted(str(file) for file in (tmp_path / "new").iterdir())
    assert len(files) == shards
    assert shards == 1 or files[-1].endswith(f"train-{shards - 1:05}-of-{shards:05}")
    batches = ks.data.elwc_batches(
        str(tmp_path / "new" / "train*"),
        QUERY,
        spec(features=[3], label=[], weight=[]),
        "label",
        2,
        padding="nan_labels",
    )
    found = {}
    for features, labels in batches.as_numpy_iterator():
        for i, query in enumerate(features["query_id"].tolist()):
            size = np.sum(~np.isnan(labels[i]))
            found[query] = [part[i, :size] for part in (features["features"], labels, features["weight"])]
    assert set(found) == set(lists.query_ids.tolist())
    for query, parts in zip(lists.query_ids.tolist(), lists, strict=True):
        for one, expected in zip(found[query], parts, strict=True):
            assert_bits(one, expected)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # its imports warn
def test_tf_ranking_reads_the_same_bits(tmp_path):
    tfr = pytest.importorskip("tensorflow_ranking")
    lists = lists_of_any_bits()
    (file,) = ks.data.write_elwc(lists, tmp_path / "train", features=["a", "b", "c"])
    records = list(tf.data.TFRecordDataset(file).as_numpy_iterator())
    parsed = tfr.data.parse_from_example_list(
        tf.constant(records),
        context_feature_spec=QUERY,
        example_feature_spec=spec(7.0, a=[1], b=[1], c=[1], label=[], weight=[]),  # of its padding
        size_feature_name="sizes",
    )
    assert parsed["sizes"].numpy().tolist() == SIZES
    assert parsed["query_id"].numpy().tolist() == lists.query_ids.tolist()
    for i, (features, labels, weights) in enumerate(lists):
        for j, name in enumerate("abc"):
            assert_bits(parsed[name].numpy()[i, : SIZES[i], 0], np.ascontiguousarray(features[:, j]))
        assert_bits(parsed["label"].numpy()[i, : SIZES[i]], labels)
        assert_bits(parsed["weight"].numpy()[i, : SIZES[i]], weights)


def test_the_message_is_that_of_tensorflow_serving(tmp_path):
    input_pb2 = pytest.importorskip("tensorflow_serving.apis.input_pb2")
    lists = ks.data.RankingDataset([[1.0] * 40, [2.0] * 40], [3.0, 4.0], [2], ["query ä"])
    (file,) = ks.data.write_elwc(lists, tmp_path / "train")
    (record,) = tf.data.TFRecordDataset(file).as_numpy_iterator()
    message = input_pb2.ExampleListWithContext.FromString(record)
    assert message.context.features.feature["query_id"].bytes_list.value == ["query ä".encode()]
    assert [set(example.features.feature) for example in message.examples] == [{"features", "label"}] * 2
    assert message.examples[1].features.feature["features"].float_list.value == [2.0] * 40
    assert message.examples[1].features.feature["label"].float_list.value == [4.0]
    assert len(message.SerializeToString()) == len(record)


def written_ids(tmp_path, ids, dtype):
    lists = ks.data.RankingDataset(np.ones([len(ids), 1]), np.zeros(len(ids)), [1] * len(ids), ids)
    files = ks.data.write_elwc(lists, tmp_path / "ids")
    context = {"query_id": tf.io.FixedLenFeature([], dtype)}
    ((features, _),) = ks.data.elwc_batches(
        files, context, spec(features=[1], label=[]), "label", len(ids), shuffle=False
    ).as_numpy_iterator()
    return features["query_id"].tolist()


@pytest.mark.slow
@pytest.mark.parametrize(
    "ids",
    [np.array([5, 2**63 - 1], np.uint64), np.array([-128, 5], np.int8), np.array([2**63 - 1, -(2**63)], object)],
    ids=["uint64", "int8", "object"],
)
def test_integers_are_read_as_they_were(tmp_path, ids):
    assert written_ids(tmp_path, ids, tf.int64) == ids.tolist()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ids", "texts"),
    [
        (np.array(["2024-01-02T03", "2024-05-06"], "datetime64[ns]"), ["2024-01-02T03:00:00.000000000", "2024-05-06T"]),
        (np.array(["2024-01-02", "2024-05-06"], "datetime64[D]"), ["2024-01-02", "2024-05-06"]),
        (np.array([90, 5], "timedelta64[ns]"), ["90 nanoseconds", "5 nanoseconds"]),
        (np.array([True, False]), ["True", "False"]),
        (np.array([1.5, 7.0]), ["1.5", "7.0"]),
        (np.array([b"a\xff", "ä"], object), [b"a\xff", "ä"]),
        (np.array([2**63 + 5, 2**64 - 1], np.uint64).astype(str), ["9223372036854775813", "18446744073709551615"]),
    ],
    ids=["times", "days", "durations", "booleans", "decimals", "text", "text of uint64"],
)
def test_ids_of_another_type_are_read_as_text(tmp_path, ids, texts):
    expected = [text if isinstance(text, bytes) else text.encode() for text in texts]
    found = written_ids(tmp_path, ids, tf.string)
    assert [one[: len(text)] for one, text in zip(found, expected, strict=True)] == expected


@pytest.mark.parametrize("wrong", [2**63, 2**64 - 1, 2**70, -(2**63) - 1])
def test_integers_beyond_int64(tmp_path, wrong):
    """An error: int64 would change the number, and as text only some ids of the file would be text."""
    ids = np.array([7, wrong], np.uint64 if 0 < wrong < 2**64 else object)
    with pytest.raises(ValueError, match=rf"lists\[1\] must have a query id .* int64, or text, got {wrong}$"):
        written_ids(tmp_path, ids, tf.int64)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_names_of_label_and_weight(tmp_path):
    lists = ks.data.RankingDataset(np.eye(2), [3.0, 1.0], [2], weights=[0.5, 2.0])
    files = ks.data.write_elwc(lists, tmp_path / "train", label="grade", weight="share")
    ((features, labels),) = ks.data.elwc_batches(
        files, None, spec(features=[2], grade=[], share=[]), "grade", 1, boundaries=(2,)
    ).as_numpy_iterator()
    assert labels.tolist() == [[3.0, 1.0]]
    assert features["share"].tolist() == [[0.5, 2.0]]


@pytest.mark.slow
def test_an_iterator_is_read_once_and_one_by_one(tmp_path):
    files = ks.data.write_elwc(((np.full([2, 1], i), [0, 1]) for i in range(5)), tmp_path / "x", shards=2)
    batches = ks.data.elwc_batches(
        files, None, spec(features=[1], label=[]), "label", 5, shuffle=False, boundaries=(2,)
    )
    ((features, labels),) = batches.as_numpy_iterator()
    assert features["features"][:, 0, 0].tolist() == [0, 2, 4, 1, 3]
    assert labels.tolist() == [[0, 1]] * 5


def test_a_crash_leaves_no_file(tmp_path):
    def crash():
        yield np.ones([2, 1]), [1, 2]
        raise OSError("the source is gone")

    with pytest.raises(OSError, match="the source is gone"):
        ks.data.write_elwc(crash(), tmp_path / "train", shards=3)
    assert list(tmp_path.iterdir()) == []


def test_files_that_exist(tmp_path):
    ks.data.write_elwc(random_lists([2]), tmp_path / "train", shards=4)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    for shards in (1, 2, 4):
        with pytest.raises(FileExistsError, match=r"path must be new, got '.*train', but .*-of-00004' exists"):
            ks.data.write_elwc(random_lists([3]), tmp_path / "train", shards=shards)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
    ks.data.write_elwc(random_lists([2]), "ram://written/train")
    assert tf.io.gfile.listdir("ram://written") == ["train"]


PAIR = (np.ones([2, 3]), np.ones(2))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"lists": []}, ValueError, "lists must hold at least one list, got none"),
        (
            {"lists": [PAIR, (np.ones([2, 4]), np.ones(2))]},
            ValueError,
            r"lists\[1\] must be .* got \[\(2, 4\), \(2,\)\]",
        ),
        (
            {"lists": [PAIR, (np.ones([2, 3]), np.ones(3))]},
            ValueError,
            r"lists\[1\] must be .* got \[\(2, 3\), \(3,\)\]",
        ),
        (
            {"lists": [PAIR, (*PAIR, np.ones(2))]},
            ValueError,
            r"lists\[1\] must be .* without weights, as the first list",
        ),
        ({"lists": [(np.ones(3), np.ones(3))]}, ValueError, r"lists\[0\] must be .* got \[\(3,\), \(3,\)\]"),
        ({"lists": [PAIR[:1]]}, ValueError, r"lists\[0\] must be .* got \[\(2, 3\)\]"),
        ({"lists": None}, TypeError, r"lists must be a sequence of .*, got None"),
        ({"lists": 5}, TypeError, r"lists must be a sequence of .*, got 5"),
        ({"lists": {"a": PAIR}}, TypeError, r"lists must be a sequence of .*, got {'a'"),
        ({"lists": [5]}, TypeError, r"lists\[0\] must be a sequence of arrays, .*, got 5"),
        ({"lists": [PAIR, ([[1e300] * 3], [1])]}, ValueError, r"lists\[1\] must fit into float32, got 1e\+300"),
        ({"lists": [([["a"]], [1])]}, ValueError, r"lists\[0\] must hold numbers, got <U1 with 'a'"),
        ({"features": 5}, TypeError, "features must be a sequence of names, got 5"),
        ({"features": ["a", "b"]}, ValueError, r"features must be one name or 3 distinct names, .*got \['a', 'b'\]"),
        ({"features": ["a", "b", "a"]}, ValueError, "3 distinct names"),
        ({"features": "label"}, ValueError, "other than label 'label' and weight 'weight', .*got 'label'"),
        ({"features": "grade", "label": "grade"}, ValueError, "other than label 'grade' and weight 'weight'"),
        ({"lists": [(*PAIR, np.ones(2))], "weight": "label"}, ValueError, "weight 'label', which must differ too"),
        ({"label": None}, TypeError, "label must be a name, got None"),
        ({"weight": 3}, TypeError, "weight must be a name, got 3"),
        ({"shards": 0}, ValueError, "shards must be at least 1, got 0"),
        ({"shards": 1.0}, TypeError, "shards must be an integer, got 1.0"),
        ({"path": "train-*"}, ValueError, r"path must be a file name, not a pattern, got 'train-\*'"),
    ],
)
def test_bad_arguments(tmp_path, monkeypatch, arguments, error, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=message):
        ks.data.write_elwc(**{"lists": [PAIR], "path": "train", **arguments})
    assert list(tmp_path.iterdir()) == []
