"""Data frames on Apache Spark: scored and written as lists by two worker processes, one of which dies."""

import gc
import os
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
from support.data.judged import SIZES, random_lists
from support.data.rankers import WEIGHTS

import keras_softsort as ks
from keras_softsort import serving

pytest.importorskip("pyspark", reason="needs the extra spark")
pd = pytest.importorskip("pandas")


def has_java():
    java = shutil.which("java")
    return java is not None and subprocess.run([java, "-version"], capture_output=True, check=False).returncode == 0


pytestmark = [
    pytest.mark.default_stack_only,
    pytest.mark.nightly,  # Spark and its workers take a minute to start
    pytest.mark.filterwarnings("ignore"),  # PySpark's imports warn, and its sockets are left to the garbage collector
    pytest.mark.skipif(not has_java(), reason="Spark needs Java 17, and there is no java on the PATH"),
]
COLUMNS = ["x0", "x1", "x2"]


@pytest.fixture(scope="module")
def session():
    from pyspark.sql import SparkSession

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        settings = {
            "spark.master": "local[2, 3]",  # two at a time, and three attempts per task
            "spark.ui.enabled": "false",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.sql.shuffle.partitions": "3",
            "spark.sql.adaptive.enabled": "false",  # it would join these small partitions
            "spark.sql.execution.arrow.maxRecordsPerBatch": "16",  # less than a list
        }
        builder = SparkSession.builder
        for name, value in settings.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        yield session
        session.stop()
        gc.collect()  # here, where the warnings of open sockets are ignored


@pytest.fixture(scope="module")
def ranker(tmp_path_factory):
    kernel = tf.keras.initializers.Constant(WEIGHTS[:, np.newaxis])
    inputs = tf.keras.Input((None, 3))
    scores = tf.keras.layers.Dense(1, kernel_initializer=kernel)(inputs)
    # The sum of the squares of the scores of a list shows whether a list was split.
    scores = scores + tf.keras.ops.sum(scores**2, axis=1, keepdims=True)
    return serving.export_ranker(tf.keras.Model(inputs, scores), tmp_path_factory.mktemp("spark"), item_ids=None)


@pytest.fixture(scope="module")
def lists():
    pairs = random_lists(SIZES)
    features, labels = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    return ks.data.RankingDataset(features, labels, SIZES, [40, 7, 300, 2, -5, 11, 12, 13], labels / 4)


@pytest.fixture(scope="module")
def frame(session, lists):
    """The rows of all lists, mixed."""
    table = pd.DataFrame(lists.features, columns=COLUMNS)
    table = table.assign(query=np.repeat(lists.query_ids, SIZES), grade=lists.labels, share=lists.weights)
    table["row"] = np.arange(len(table))
    return session.createDataFrame(table.sample(frac=1, random_state=0))


def truth(lists):
    """The score of each row."""
    alone = [features @ WEIGHTS for features, _, _ in lists]
    return np.concatenate([scores + np.sum(scores**2) for scores in alone])


def assert_scored(table, lists):
    """Every row once, with the score that its list alone gives."""
    table = table.sort_values("row")
    assert table["row"].tolist() == list(range(sum(SIZES)))
    np.testing.assert_allclose(table["score"], truth(lists), rtol=1e-5, atol=1e-5)


def test_scores_of_whole_groups(frame, ranker, lists):
    from keras_softsort import spark

    scored = spark.score(frame, ranker, group="query", features=COLUMNS, batch_items=64)
    assert scored.columns == [*frame.columns, "score"]
    assert dict(scored.dtypes)["score"] == "float"
    assert_scored(scored.toPandas(), lists)
    from pyspark.sql import functions

    arrays = frame.select("query", "row", functions.array("x0", "x1").alias("pair"), "x2")
    assert_scored(spark.score(arrays, str(ranker), group="query", features=["pair", "x2"]).toPandas(), lists)


def test_a_worker_that_is_killed_changes_nothing(frame, ranker, lists, tmp_path):
    from keras_softsort.spark._lists import by_group
    from keras_softsort.spark.score import scored

    died = str(tmp_path / "died")
    score = scored(str(ranker), "query", COLUMNS, 64)

    def score_and_die_once(frames):
        for number, one in enumerate(score(frames)):
            yield one
            if number == 0:
                try:
                    os.close(os.open(died, os.O_CREAT | os.O_EXCL))
                except FileExistsError:
                    continue
                os.kill(os.getpid(), signal.SIGKILL)

    rows = by_group(frame, {"group": "query", "features": COLUMNS})
    schema = f"{', '.join(f'{name} {kind}' for name, kind in frame.dtypes)}, score float"
    rows.mapInPandas(score_and_die_once, schema).write.parquet(str(tmp_path / "scored"))
    assert os.path.exists(died)
    assert_scored(pd.read_parquet(tmp_path / "scored"), lists)
    assert (tmp_path / "scored/_SUCCESS").exists()
    assert not list((tmp_path / "scored").glob("_temporary*"))


def records(pattern, **spec):
    """Columns of each list by query, from ELWC files."""
    numbers = {name: tf.io.FixedLenFeature(shape, tf.float32) for name, shape in {"label": [], **spec}.items()}
    context = {"query_id": tf.io.FixedLenFeature([], tf.int64)}
    for features, labels in ks.data.elwc_batches(pattern, context, numbers, "label", 1).as_numpy_iterator():
        valid = labels[0] >= 0
        columns = {name: features[name][0, valid] for name in spec}
        yield int(features["query_id"][0]), {**columns, "label": labels[0, valid]}


def test_elwc_files_hold_every_list_once(frame, lists, tmp_path):
    from keras_softsort import spark

    roles = {"group": "query", "label": "grade", "features": COLUMNS}
    names = spark.write_elwc(frame, tmp_path / "new" / "train", weight="share", **roles)
    assert names == sorted(str(path) for path in (tmp_path / "new").iterdir())
    assert names[0].endswith(f"train-00000-of-0000{len(names)}")
    assert 1 < len(names) <= 3
    found = list(records(str(tmp_path / "new" / "train*"), features=[3], weight=[]))
    assert len(found) == len(lists)
    found = dict(found)
    for query, (features, labels, weights) in zip(lists.query_ids.tolist(), lists, strict=True):
        own = found[query]
        order, expected = np.argsort(own["features"][:, 0]), np.argsort(features[:, 0])
        np.testing.assert_array_equal(own["features"][order], features[expected])
        np.testing.assert_array_equal(own["label"][order], labels[expected])
        np.testing.assert_array_equal(own["weight"][order], weights[expected])
    with pytest.raises(FileExistsError, match="path must be new"):
        spark.write_elwc(frame, tmp_path / "new" / "train", **roles)


def test_groups_of_another_type_are_strings(frame, tmp_path):
    """Times, which NumPy takes for integers, and hashes of 64 bits without a sign, which Spark has as decimals."""
    from keras_softsort import spark

    spec = {name: tf.io.FixedLenFeature([], tf.float32) for name in ("label", "features")}
    for kind, query, expected in [
        ("time", "timestamp_seconds(query)", b"1970-01-01T"),
        ("hash", "cast('18446744073709551000' as decimal(20, 0)) + query", b"1844674407370955"),
    ]:
        rows = frame.selectExpr(f"{query} as query", "x0", "grade")
        spark.write_elwc(rows, tmp_path / kind, group="query", label="grade", features=["x0"])
        context = {"query_id": tf.io.FixedLenFeature([], tf.string)}
        batches = ks.data.elwc_batches(str(tmp_path / f"{kind}-*"), context, spec, "label", 8)
        ids = [one for features, _ in batches.as_numpy_iterator() for one in features["query_id"].tolist()]
        assert len(set(ids)) == len(SIZES)
        assert sum(one.startswith(expected) for one in ids) >= len(SIZES) - 1  # a time is before 1970


def test_a_job_that_fails_leaves_no_file(frame, tmp_path):
    from keras_softsort import spark

    bad = frame.selectExpr("query", "x0", "if(row = 100, null, grade) as grade", "string(x1) as text")
    roles = {"group": "query", "label": "grade", "features": ["x0"]}
    with pytest.raises(Exception, match="labels must be finite, got nan"):
        spark.write_elwc(bad, tmp_path / "train", **roles)
    with pytest.raises(ValueError, match="frame must hold at least one row, got none"):
        spark.write_elwc(frame.limit(0), tmp_path / "train", **roles)
    assert list(tmp_path.iterdir()) == []


def test_errors_of_arguments(frame, ranker, tmp_path):
    from keras_softsort import spark

    roles = {"group": "query", "features": COLUMNS}
    for options, error, message in [
        ({"group": "nothing"}, ValueError, r"group must name a column of \['x0', .*\], got 'nothing'"),
        ({"features": ["x0", "y"]}, ValueError, r"features must name a column of .*, got 'y'"),
        ({"features": []}, ValueError, "features must name at least one column, got none"),
        ({"features": "x0"}, TypeError, "features must be a sequence of column names, got 'x0'"),
        ({"batch_items": 0}, ValueError, "batch_items must be at least 1, got 0"),
    ]:
        with pytest.raises(error, match=message):
            spark.score(frame, ranker, **{**roles, **options})
    with pytest.raises(ValueError, match="frame must not have a column 'score' yet"):
        spark.score(frame.withColumnRenamed("row", "score"), ranker, **roles)
    with pytest.raises(ValueError, match=r"label must name a column of .*, got 'y'"):
        spark.write_elwc(frame, tmp_path / "train", label="y", **roles)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"query": [1.0, np.nan]}, "group 'query' must have a value in every row, got nan"),
        ({"query": ["a", None]}, "group 'query' must have a value in every row, got "),
        ({"x0": ["a", "b"]}, r"column 'x0' must hold numbers, got .* with 'a'"),
        ({"x0": [np.ones(2), np.ones(3)]}, "column 'x0' must be one array, got rows of different lengths"),
        ({"x0": [1.0, 1e39]}, r"column 'x0' must fit into float32, got 1e\+39"),
    ],
)
def test_errors_in_a_worker(ranker, columns, message):
    from keras_softsort.spark.score import scored

    table = pd.DataFrame({"query": [1, 1], "x0": [1.0, 2.0], "x1": [1.0, 2.0], "x2": [1.0, 2.0], **columns})
    with pytest.raises(ValueError, match=message):
        list(scored(str(ranker), "query", COLUMNS, 64)([table]))
