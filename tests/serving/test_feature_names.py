"""The names of features in an export, and lists and data frames that `Scorer` compares with them."""

import re
import shutil

import numpy as np
import pytest
import tensorflow as tf

from keras_softsort import data, serving
from keras_softsort.serving import _extra_files

NAMES = ("price", "stars", "age")
WEIGHTS = np.array([2.0, -1.0, 0.25], np.float32)
RANDOM = np.random.default_rng(8)
# Rows of mixed lists, and columns in another order than the features of the model, with one more.
FRAME = {
    "age": RANDOM.normal(size=30),
    "query": RANDOM.permutation(np.repeat(["a", "b", "c", "d", "e"], 6)),
    "stars": RANDOM.normal(size=30),
    "city": np.array(["Bern"] * 30),
    "price": RANDOM.normal(size=30),
}


def linear():
    kernel = tf.keras.initializers.Constant(WEIGHTS[:, np.newaxis])
    return tf.keras.Sequential([tf.keras.Input((None, 3)), tf.keras.layers.Dense(1, kernel_initializer=kernel)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "ranker"
    return serving.export_ranker(linear(), path, item_ids=None, feature_names=NAMES)


@pytest.fixture(scope="module")
def scorer(folder):
    return serving.Scorer(folder)


def wanted():
    """A score per row."""
    return np.stack([FRAME[name] for name in NAMES], axis=1) @ WEIGHTS


@pytest.mark.slow
def test_a_frame_has_a_score_per_row(scorer):
    assert scorer.feature_names == NAMES
    np.testing.assert_allclose(scorer.score(FRAME, group="query"), wanted(), rtol=1e-5)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(FRAME)
    np.testing.assert_allclose(scorer.score(frame, group="query"), wanted(), rtol=1e-5)
    with pytest.raises(TypeError, match=r"group must name the column of a data frame .*, got None"):
        scorer.score(frame)


@pytest.mark.slow
def test_the_group_is_the_list(tmp_path):
    inputs = tf.keras.Input((None, 1))
    sums = tf.keras.layers.Lambda(lambda x: x[..., 0] + tf.reduce_sum(x, axis=[1, 2])[:, tf.newaxis])(inputs)
    folder = serving.export_ranker(tf.keras.Model(inputs, sums), tmp_path, feature_names=["x"])
    frame = {"x": [1.0, 2.0, 4.0], "day": [1, 2, 1], "hour": [1, 1, 1]}
    assert serving.Scorer(folder).score(frame, group="day").tolist() == [6, 4, 9]
    assert serving.Scorer(folder).score(frame, group="hour").tolist() == [8, 9, 11]


@pytest.mark.parametrize("labels", [True, False])
def test_a_dataset_has_scores_list_by_list(scorer, labels):
    frame = {**FRAME, "grade": np.arange(30)}
    lists = data.from_frame(frame, group="query", label="grade" if labels else None, features=NAMES)[1:]
    scores = scorer.score(lists)
    assert [len(one) for one in scores] == [6] * 4
    own = FRAME["query"] != lists.query_ids[0]
    for one, query in zip(scores, lists.query_ids, strict=True):
        np.testing.assert_allclose(one, wanted()[FRAME["query"] == query], rtol=1e-5)
    own = np.isin(FRAME["query"], lists.query_ids)
    np.testing.assert_allclose(lists.in_row_order(np.concatenate(scores)), wanted()[own], rtol=1e-5)
    assert scorer.score(lists[:0]) == []
    assert scorer.predict(lists)[0]["order"].tolist() == np.argsort(-scores[0], kind="stable").tolist()
    nameless = data.RankingDataset(lists.features, None, lists.sizes)
    np.testing.assert_array_equal(np.concatenate(scorer.score(nameless)), np.concatenate(scores))


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        (["price", "age", "stars"], "another order"),
        (["price", "size", "age"], "['stars'] missing"),
        (["price", "stars"], "['age'] missing"),
        (["price", "stars", "age", "size"], "['size'] in addition"),
    ],
)
def test_other_columns_are_refused(scorer, names, problem):
    lists = data.from_frame({**FRAME, "size": FRAME["age"]}, group="query", features=names)
    message = f"features of the model in its order, ['price', 'stars', 'age'], got {names}: {problem}"
    for score in (scorer.score, scorer.predict):
        with pytest.raises(ValueError, match=re.escape(message)):
            score(lists)


def frames_of(names, rows=slice(0, 4)):
    pandas, polars, pyarrow = (
        pytest.importorskip(name, exc_type=ImportError) for name in ("pandas", "polars", "pyarrow")
    )
    columns = {name: FRAME[name][rows].astype(np.float32) for name in names}
    return [pandas.DataFrame(columns), polars.DataFrame(columns), pyarrow.table(columns)]


@pytest.mark.default_stack_only
def test_a_list_may_be_a_frame_with_the_columns_of_the_model(folder, scorer, tmp_path):
    for frame in frames_of(NAMES):
        for scores in (scorer.score([frame, frame])[1], scorer.predict(iter([frame]))[0]["scores"]):
            np.testing.assert_allclose(scores, wanted()[:4], rtol=1e-5)
    message = "lists[1]: lists must have the features of the model in its order, ['price', 'stars', 'age'], got "
    for names in (["price", "age", "stars"], ["price", "stars"]):
        for frame in frames_of(names):
            for score in (scorer.score, scorer.predict):
                with pytest.raises(ValueError, match=re.escape(f"{message}{names}")):
                    score([np.ones([1, 3], np.float32), frame])
    without = shutil.copytree(folder, tmp_path / "1")
    (without / _extra_files.FEATURE_NAMES).unlink()
    nameless = serving.Scorer(without)
    for frame in frames_of(NAMES):
        with pytest.raises(ValueError, match=r"lists\[0\] must be an array, since .* without feature_names=, .*group="):
            nameless.score([frame])


def test_missing_values_go_to_a_model_that_replaces_them(tmp_path):
    inputs = tf.keras.Input((None, 3))
    replaced = tf.keras.layers.Lambda(lambda x: tf.where(tf.math.is_nan(x), 7.0, x))(inputs)
    model = tf.keras.Model(inputs, linear()(replaced))
    folder = serving.export_ranker(model, tmp_path, item_ids=None, feature_names=NAMES)
    frame = {**FRAME, "stars": np.where(np.arange(30) % 4, FRAME["stars"], np.nan)}
    filled = {**frame, "stars": np.nan_to_num(frame["stars"], nan=7.0)}
    scores = serving.Scorer(folder).score(frame, group="query")
    np.testing.assert_allclose(scores, np.stack([filled[name] for name in NAMES], axis=1) @ WEIGHTS, rtol=1e-5)


@pytest.mark.parametrize("rows", [[29], [3, 29]])
def test_missing_values_are_refused_by_a_model_that_does_not_replace_them(scorer, rows):
    """Lists are in the order of their ids or of their first rows; the message has a row of the frame."""
    stars = FRAME["stars"].copy()
    stars[rows] = np.nan
    message = r"lists must have no missing values .*, got NaN in column 'stars' of row (\d+): impute it$"
    with pytest.raises(ValueError, match=message) as error:
        scorer.score({**FRAME, "stars": stars}, group="query")
    assert int(re.search(message, str(error.value)).group(1)) in rows
    with pytest.raises(ValueError, match=r"column 'stars' must hold finite float32 numbers, got inf in row 4"):
        scorer.score({**FRAME, "stars": np.where(np.arange(30) == 4, np.inf, FRAME["stars"])}, group="query")


def test_errors_of_frames(folder, scorer, tmp_path):
    with pytest.raises(ValueError, match=r"lists must have the columns .*, got a frame without \['stars', 'age'\]"):
        scorer.score({name: FRAME[name] for name in ("query", "price")}, group="query")
    with pytest.raises(TypeError, match=r"group must name the column of a data frame .*, got None"):
        scorer.score(FRAME)
    with pytest.raises(ValueError, match=r"group must name one column of .*, got 'day', which is not there"):
        scorer.score(FRAME, group="day")
    without = shutil.copytree(folder, tmp_path / "1")
    (without / _extra_files.FEATURE_NAMES).unlink()
    assert serving.Scorer(without).feature_names is None
    with pytest.raises(
        ValueError, match=r"group must be None, since .* was exported without feature_names=: .*'query'"
    ):
        serving.Scorer(without).score(FRAME, group="query")


@pytest.mark.parametrize(
    ("names", "error", "message"),
    [
        ("abc", TypeError, "feature_names must be a sequence of strings, got 'abc'"),
        ([0, 1, 2], ValueError, r"feature_names must be different strings, got \[0, 1, 2\]"),
        (["a", "b", "a"], ValueError, "feature_names must be different strings, got"),
        (["a", "b"], ValueError, "feature_names must name each feature of a model of one tensor .*, got 2 names"),
    ],
)
def test_errors_of_names(tmp_path, names, error, message):
    with pytest.raises(error, match=message):
        serving.export_ranker(linear(), tmp_path / "ranker", feature_names=names)
    assert not (tmp_path / "ranker").exists()


@pytest.mark.slow
def test_names_of_other_models(tmp_path):
    features, mask = tf.keras.Input((None, 2), name="features"), tf.keras.Input((None,), name="mask", dtype="bool")
    scores = tf.keras.layers.Lambda(lambda each: tf.reduce_sum(each[0], axis=-1))([features, mask])
    model = tf.keras.Model({"features": features, "mask": mask}, scores)
    folder = serving.export_ranker(model, tmp_path, mask_name="mask", feature_names=["x", "y"])
    assert serving.Scorer(folder).score({"y": [1.0], "x": [2.0], "q": [0]}, group="q").tolist() == [3]
    several = tf.keras.Model([features, tf.keras.Input((2,), name="query")], tf.keras.layers.Dense(1)(features))
    with pytest.raises(ValueError, match="feature_names must name each feature of a model of one tensor"):
        serving.export_ranker(several, tmp_path, feature_names=["x", "y"])


@pytest.mark.slow
def test_names_beside_requests_and_in_other_file_systems():
    pytest.importorskip("tensorflow_serving")
    request = {"features": np.ones([1, 2, 3]), "sizes": [2]}
    folder = serving.export_ranker(
        linear(), "ram://names/ranker", feature_names=NAMES, warmup={"serving_default": [request]}
    )
    assert serving.Scorer(folder).feature_names == NAMES
    assert tf.io.gfile.exists(f"{folder}/assets.extra/tf_serving_warmup_requests")
