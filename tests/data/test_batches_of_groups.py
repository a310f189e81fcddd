"""Flat batches of whole groups: every row once, no group split; and rows without labels, scored in their order."""

import itertools
from typing import ClassVar

import numpy as np
import pytest
import tensorflow as tf
from support.data.rankers import WEIGHTS

import keras_softsort as ks
from keras_softsort import models, serving

pytestmark = pytest.mark.default_stack_only

pd = pytest.importorskip("pandas")
keras = tf.keras
RANDOM = np.random.default_rng(2)
SIZES = [3, 20, 5, 1, 8, 7, 16, 0, 5, 11]
ROWS = sum(SIZES)
# A row tells its list and its place in it.
FEATURES = np.stack([np.repeat(np.arange(len(SIZES)), SIZES), np.concatenate([*map(np.arange, SIZES)])], axis=1)
LABELS = RANDOM.integers(0, 4, ROWS)
LISTS = ks.data.RankingDataset(FEATURES, LABELS, SIZES, [f"q{i}" for i in range(len(SIZES))])


def flat(lists):
    return [number for own in lists for number in own]


def lists_of(batches):
    """The lists of each batch, in order; each is whole, and numbered from 0 in its batch."""
    found = []
    for features, targets in batches.as_numpy_iterator():
        assert features.dtype == targets.dtype == np.float32
        assert len(features) == len(targets)
        numbers = features[:, 0].astype(int)
        own = list(dict.fromkeys(numbers.tolist()))
        assert targets[:, 0].tolist() == [own.index(number) for number in numbers]
        for number in own:
            places = features[numbers == number, 1].tolist()
            assert places == list(range(SIZES[number]))
            np.testing.assert_array_equal(targets[numbers == number, 1], LABELS[FEATURES[:, 0] == number])
        found.append(own)
    return found


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("rows", [20, 33, 60, 65, 1000])
def test_every_row_once_in_whole_groups(rows, shuffle):
    batches = ks.data.batches_of_groups(LISTS, rows, shuffle=shuffle, seed=3)
    epochs = [lists_of(batches) for _ in range(3)]
    for found in epochs:
        assert sorted(flat(found)) == [i for i, size in enumerate(SIZES) if size]
        assert max(sum(SIZES[i] for i in own) for own in found) <= rows
        assert all(found)
        assert len(found) == int(batches.cardinality())
        if not shuffle:  # a batch ends where the next group does not fit
            for own, after in itertools.pairwise(found):
                assert sum(SIZES[i] for i in own) + SIZES[after[0]] > rows
    assert (epochs[0] != epochs[1]) == shuffle
    assert lists_of(ks.data.batches_of_groups(LISTS, rows, shuffle=shuffle, seed=3)) == epochs[0]


@pytest.mark.slow
def test_batches_are_filled_in_any_order():
    sizes = RANDOM.integers(1, 100, 2000)
    lists = ks.data.RankingDataset(np.zeros([sizes.sum(), 1]), np.zeros(sizes.sum()), sizes)
    for _ in range(5):
        found = [len(x) for x, _ in ks.data.batches_of_groups(lists, 1000).as_numpy_iterator()]
        assert sum(found) == sizes.sum()
        assert max(found) <= 1000
        assert min(found) >= 700
        assert np.mean(found) > 850


def test_another_seed_is_another_order():
    found = [lists_of(ks.data.batches_of_groups(LISTS, 33, seed=seed)) for seed in (3, 4)]
    assert found[0] != found[1]


@pytest.mark.parametrize(("padding", "label"), [("negative_labels", -1), ("nan_labels", np.nan)])
def test_batches_filled_to_one_shape(padding, label):
    weights = np.linspace(1, 2, ROWS)
    lists = ks.data.RankingDataset(FEATURES, LABELS, SIZES, weights=weights)
    batches = ks.data.batches_of_groups(lists, 32, shuffle=False, padding=padding)
    assert [spec.shape for spec in batches.element_spec] == [(32, 2), (32, 2), (32,)]
    count, total = 0, 0.0
    for features, targets, own in batches.as_numpy_iterator():
        valid = own > 0
        np.testing.assert_array_equal(targets[~valid, 1], np.full(np.sum(~valid), label))
        assert np.all(features[~valid] == 0)
        assert np.all(targets[~valid, 0] > targets[valid, 0].max())
        count, total = count + valid.sum(), total + own.sum()
    assert count == ROWS
    assert total == pytest.approx(weights.sum(), rel=1e-6)
    # The padding changes no loss.
    loss = ks.SoftmaxLoss(lists="groups", padding=padding)
    unfilled = ks.data.batches_of_groups(lists, 32, shuffle=False)
    for (x, y, w), (filled, targets, own) in zip(unfilled, batches, strict=True):
        np.testing.assert_allclose(loss(targets, filled[:, 1], own), loss(y, x[:, 1], w), rtol=1e-6)


def test_shards_hold_every_group_once():
    found = [flat(lists_of(ks.data.batches_of_groups(LISTS, 33, shard=(i, 3)))) for i in range(3)]
    assert sorted(flat(found)) == [i for i, size in enumerate(SIZES) if size]
    assert all(found)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"rows": 19}, ValueError, "rows must hold the largest group, got 19, and group 'q1' has 20 rows"),
        ({"rows": 0}, ValueError, "rows must be at least 1, got 0"),
        ({"shuffle": "no"}, TypeError, "shuffle must be True or False"),
        ({"padding": ["a"]}, ValueError, "padding must be 'negative_labels' or 'nan_labels' or None, got .'a'."),
        ({"padding": "zeros"}, ValueError, "padding must be 'negative_labels' or 'nan_labels' or None, got 'zeros'"),
        ({"seed": 0.5}, TypeError, "seed must be an integer"),
        ({"shard": (2, 2)}, ValueError, "shard must be"),
    ],
)
def test_bad_arguments(options, error, message):
    with pytest.raises(error, match=message):
        ks.data.batches_of_groups(LISTS, **options)


def test_negative_labels_would_be_padding():
    lists = ks.data.RankingDataset(FEATURES, LABELS - 1, SIZES)
    with pytest.raises(ValueError, match='labels must be at least 0 with padding="negative_labels"'):
        ks.data.batches_of_groups(lists, padding="negative_labels")
    with pytest.raises(ValueError, match=r"largest group, got 3, and lists\[1\] has 20 rows"):
        ks.data.batches_of_groups(lists, 3)


@pytest.fixture(scope="module")
def frame():
    """New rows of mixed groups."""
    table = pd.DataFrame(RANDOM.normal(size=(60, 3)), columns=["x0", "x1", "x2"])
    return table.assign(query=RANDOM.permutation(np.repeat([f"q{i}" for i in range(12)], 5))[:60])


def test_rows_without_labels_in_every_reader(frame, tmp_path):
    pytest.importorskip("pyarrow", exc_type=ImportError)  # today's needs NumPy 2, and TensorFlow 2.15 NumPy 1
    frame.to_parquet(tmp_path / "new.parquet")
    read = [ks.data.from_frame(frame, group="query"), ks.data.read_parquet(tmp_path / "new.parquet", group="query")]
    for lists in read:
        assert lists.labels is None
        assert lists.feature_names == lists[2:7].feature_names == lists[[4, 2]].feature_names == ("x0", "x1", "x2")
        np.testing.assert_allclose(lists.in_row_order(lists.features[:, 1]), frame["x1"], rtol=1e-6)
        part = lists[2:7]
        own = frame["query"].isin(part.query_ids)
        np.testing.assert_allclose(part.in_row_order(part.features[:, :1]), frame["x0"][own], rtol=1e-6)
        (features,) = lists[0]
        assert features.shape == (5, 3)
        for batches in (
            ks.data.batches_of_groups(lists, 20, shuffle=False),
            ks.data.batches_of_groups(lists, None, shuffle=False),
        ):
            features = np.concatenate([x for (x,) in batches.as_numpy_iterator()])
            np.testing.assert_allclose(lists.in_row_order(features[:, 0]), frame["x0"], rtol=1e-6)
        for x, rows in ks.data.bucketed_batches(lists, 4, rows=True).as_numpy_iterator():
            np.testing.assert_allclose(x[rows >= 0], frame[["x0", "x1", "x2"]].to_numpy()[rows[rows >= 0]], rtol=1e-6)
            assert np.all(x[rows < 0] == 0)


def test_batches_whose_scores_would_be_in_any_order_are_refused(frame):
    lists = ks.data.from_frame(frame, group="query")
    with pytest.raises(
        ValueError, match=r"lists must have labels, got none: models\.score_rows\(model, lists\) scores"
    ):
        ks.data.bucketed_batches(lists, 4, shuffle=False)
    with pytest.raises(ValueError, match="shuffle must be False for lists without labels"):
        ks.data.batches_of_groups(lists)


@pytest.mark.parametrize("is_sorted", [False, True])
def test_rows_in_place_of_labels(frame, is_sorted):
    table = frame.sort_values("query") if is_sorted else frame
    lists = ks.data.from_frame(table.assign(grade=-1, w=2.0), group="query", label="grade", weight="w")[[3, 1, 7]]
    (batch,) = ks.data.bucketed_batches(lists, 3, rows=True, boundaries=(6,), shuffle=False).as_numpy_iterator()
    features, rows = batch
    assert rows.dtype == np.int64
    assert rows[:, 5].tolist() == [-1] * 3
    np.testing.assert_allclose(features[:, :5], table[["x0", "x1", "x2"]].to_numpy()[rows[:, :5]], rtol=1e-6)
    own = set(np.flatnonzero(table["query"].isin(lists.query_ids)))
    assert set(rows[:, :5].ravel()) == own
    pairs = [(np.ones([2, 1]), [1, 0]), (np.ones([1, 1]), [1])]
    ((_, items),) = ks.data.bucketed_batches(pairs, 2, rows=True, shuffle=False).as_numpy_iterator()
    assert items.tolist() == [[0, 1], [2, -1]]
    with pytest.raises(TypeError, match="rows must be True or False, got 1"):
        ks.data.bucketed_batches(pairs, 2, rows=1)


@pytest.mark.slow
def test_a_score_per_row_in_the_order_of_the_rows(frame, tmp_path):
    kernel = keras.initializers.Constant(WEIGHTS[:, np.newaxis])
    inputs = keras.Input((None, 3))
    scores = keras.layers.Dense(1, kernel_initializer=kernel)(inputs)
    # The sum of squares of a list, which padding with 0 does not change, shows that its rows came together.
    of_lists = keras.layers.Lambda(lambda scores: scores + tf.reduce_sum(scores**2, axis=1, keepdims=True))
    model = keras.Model(inputs, of_lists(scores))
    alone = frame[["x0", "x1", "x2"]].to_numpy() @ WEIGHTS
    wanted = alone + pd.Series(alone**2).groupby(frame["query"]).transform("sum")
    lists = ks.data.from_frame(frame, group="query")
    np.testing.assert_allclose(models.score_rows(model, lists, batch_size=5), wanted, rtol=1e-4, atol=1e-5)
    half = lists[::2]
    own = frame["query"].isin(half.query_ids)
    np.testing.assert_allclose(models.score_rows(model, half), wanted[own], rtol=1e-4, atol=1e-5)
    scorer = serving.Scorer(serving.export_ranker(model, tmp_path, item_ids=None))
    by_row = lists.in_row_order(np.concatenate(scorer.score(lists)))
    np.testing.assert_allclose(by_row, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("chosen", [[7, 2, 5], slice(None, None, -1), slice(3, 6), [True, False] * 6])
@pytest.mark.parametrize("is_sorted", [False, True])
def test_lists_in_another_order_know_their_rows(frame, chosen, is_sorted):
    table = frame.sort_values("query") if is_sorted else frame
    part = ks.data.from_frame(table, group="query")[chosen]
    own = table[table["query"].isin(part.query_ids)]
    np.testing.assert_allclose(part.in_row_order(part.features[:, 0]), own["x0"], rtol=1e-6)
    np.testing.assert_allclose(part[::-1].in_row_order(part[::-1].features[:, 0]), own["x0"], rtol=1e-6)
    np.testing.assert_allclose(table["x0"].to_numpy()[part.rows], part.features[:, 0], rtol=1e-6)


def test_a_score_per_row_with_a_mask(frame):
    features, mask = keras.Input((None, 3), name="features"), keras.Input((None,), name="mask", dtype="bool")
    scores = keras.layers.Lambda(lambda each: tf.reduce_sum(each[0], -1) + tf.cast(each[1], tf.float32))(
        [features, mask]
    )
    lists = ks.data.from_frame(frame, group="query")
    found = models.score_rows(keras.Model({"features": features, "mask": mask}, scores), lists, mask=True)
    np.testing.assert_allclose(found, frame[["x0", "x1", "x2"]].sum(axis=1) + 1, rtol=1e-4, atol=1e-5)


def test_as_many_lists_at_a_time_as_are_asked_for(frame):
    class Recorder:
        shapes: ClassVar = []

        def predict_on_batch(self, features):
            self.shapes.append(tuple(features.shape))
            return np.zeros(features.shape[:2])

    models.score_rows(Recorder(), ks.data.from_frame(frame, group="query"), batch_size=5)
    assert Recorder.shapes == [(5, 5, 3), (5, 5, 3), (2, 5, 3)]


def test_wrong_scores_of_rows(frame):
    lists = ks.data.from_frame(frame, group="query")
    with pytest.raises(ValueError, match=r"scores must have shape \(60,\) or \(60, 1\), got \(59,\)"):
        lists.in_row_order(np.zeros(59))
    with pytest.raises(TypeError, match="lists must be a RankingDataset"):
        models.score_rows(None, frame)
    with pytest.raises(TypeError, match="mask must be True or False"):
        models.score_rows(None, lists, mask="yes")
    with pytest.raises(TypeError, match="model must be a Keras model, got None"):
        models.score_rows(None, lists)
    model = keras.Sequential([keras.Input((None, 3)), keras.layers.Dense(2)])
    with pytest.raises(
        ValueError, match=r"model must return scores of shape \(12, 5\) or \(12, 5, 1\), got \(12, 5, 2\)"
    ):
        models.score_rows(model, lists)
    with pytest.raises(ValueError, match="rows must have one for each of the 2 items"):
        ks.data.RankingDataset(np.eye(2), [0, 1], [2], rows=[1])
    with pytest.raises(ValueError, match="rows must be different to put scores into their order, got row 1 twice"):
        ks.data.RankingDataset(np.eye(2), [0, 1], [2], rows=[1, 1]).in_row_order([0.5, 0.25])
    with pytest.raises(ValueError, match="rows must be different"):
        lists[[3, 3]].in_row_order(lists[[3, 3]].features[:, 0])
