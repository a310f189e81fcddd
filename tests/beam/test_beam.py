"""Lists on Apache Beam: read, written and scored by worker processes as in one."""

import functools
import gc
import json
import operator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from support.data.judged import SIZES, as_text, random_lists
from support.data.rankers import WEIGHTS

import keras_softsort as ks
from keras_softsort import serving

beam = pytest.importorskip("apache_beam", reason="needs the extra beam")
pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
# Beam's imports warn.
pytestmark = [pytest.mark.default_stack_only, pytest.mark.filterwarnings("ignore")]
ONES = np.ones([2, 3])
TWO_PROCESSES = ["--runner=DirectRunner", "--direct_running_mode=multi_processing", "--direct_num_workers=2"]


@pytest.fixture(autouse=True)
def _collect():
    """Close the files that Beam leaves open here, where warnings of them are ignored."""
    yield
    gc.collect()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A ranker, and the same lists as SVMlight and Parquet files that split two of them."""
    base = tmp_path_factory.mktemp("beam")
    kernel = tf.keras.initializers.Constant(WEIGHTS[:, np.newaxis])
    model = tf.keras.Sequential([tf.keras.Input((None, 3)), tf.keras.layers.Dense(1, kernel_initializer=kernel)])
    serving.export_ranker(model, base / "ranker", item_ids=None)
    text = as_text(random_lists(SIZES))
    (base / "whole.txt").write_text(text)
    lists, lines = truth(base), text.splitlines(keepends=True)
    columns = {f"x{i}": column for i, column in enumerate(lists.features.T)}
    columns |= {"grade": lists.labels, "query": np.repeat(lists.query_ids, lists.sizes)}
    columns["share"] = np.arange(len(lists.labels), dtype=np.float32)

    for i, rows in enumerate((slice(10), slice(10, 100), slice(100, None))):
        (base / f"part-{i}.txt").write_text("".join(lines[rows]))
        pq.write_table(pa.table({name: column[rows] for name, column in columns.items()}), base / f"part-{i}.parquet")
    return base


def truth(base):
    return ks.data.read_svmlight(base / "whole.txt")


def pipeline():
    """One that runs in this process."""
    from apache_beam.runners.portability.fn_api_runner import FnApiRunner

    return beam.Pipeline(runner=FnApiRunner())


def assert_same_lists(found, lists):
    """`found` are pairs of a query and its columns."""
    assert sorted(query for query, _ in found) == sorted(lists.query_ids.tolist())
    found = dict(found)
    for query, parts in zip(lists.query_ids.tolist(), lists, strict=True):
        for one, expected in zip(found[query], parts, strict=True):
            np.testing.assert_array_equal(one, expected)


def records(pattern, label="label", weight="weight", **spec):
    """Pairs of a query and its columns, from ELWC files."""
    numbers = {name: tf.io.FixedLenFeature(shape, tf.float32) for name, shape in {label: [], **spec}.items()}
    context = {"query_id": tf.io.FixedLenFeature([], tf.int64)}
    for features, labels in ks.data.elwc_batches(pattern, context, numbers, label, 1).as_numpy_iterator():
        valid = labels[0] >= 0
        names = [name for name in spec if name != weight]
        columns = [features[name].reshape(len(valid), -1) for name in names]
        weights = [features[weight][0, valid]] if weight in spec else []
        yield int(features["query_id"][0]), (np.concatenate(columns, -1)[valid], labels[0, valid], *weights)


@pytest.mark.nightly
def test_two_processes_read_write_and_score(folder):
    from apache_beam.ml.inference.base import KeyedModelHandler, RunInference
    from apache_beam.options.pipeline_options import PipelineOptions

    from keras_softsort.beam import RankerModelHandler, ReadParquet, ReadSVMlight, WriteELWC

    handler = KeyedModelHandler(RankerModelHandler(folder / "ranker/1", batch_items=16))
    with beam.Pipeline(options=PipelineOptions(TWO_PROCESSES)) as run:
        lists = run | ReadSVMlight(str(folder / "part-*.txt"), num_features=3)
        _ = (
            lists
            | beam.MapTuple(lambda query, parts: (query, parts[0]))
            | RunInference(handler)
            | beam.MapTuple(lambda query, result: json.dumps([query, result.inference.tolist(), result.model_id]))
            | beam.io.WriteToText(str(folder / "scores"))
        )
        parquet = run | ReadParquet(
            str(folder / "part-*.parquet"), group="query", label="grade", features=["x0", "x1", "x2"]
        )
        _ = parquet | WriteELWC(folder / "train.tfrecord", shards=3)
    lines = [line for file in folder.glob("scores-*") for line in file.read_text().splitlines()]
    scores = {query: values for query, values, _ in map(json.loads, lines)}
    assert len(scores) == len(lines) == len(SIZES)
    assert {json.loads(line)[2] for line in lines} == {str(folder / "ranker/1")}
    for query, (features, _) in zip(truth(folder).query_ids.tolist(), truth(folder), strict=True):
        np.testing.assert_allclose(scores[query], features @ WEIGHTS, rtol=1e-5, atol=1e-6)
    assert len(list(folder.glob("train.tfrecord-*-of-00003"))) == 3
    assert_same_lists(list(records(str(folder / "train.tfrecord*"), features=[3])), truth(folder))


def checked(lists, check):
    """Run `check` on all elements, in the pipeline."""
    from apache_beam.testing.util import assert_that

    assert_that(lists, check, label=f"{lists.producer.full_label} checked")


@pytest.mark.nightly
def test_arguments_of_the_readers_and_the_writer(folder):
    from keras_softsort.beam import ReadParquet, ReadSVMlight, WriteELWC

    lists = truth(folder)

    def is_wider(found):
        (features,) = [parts[0] for query, parts in found if query == 40]
        assert features.shape == (3, 6)
        np.testing.assert_array_equal(features[:, 1:4], lists[0][0])
        np.testing.assert_array_equal(features[:, [0, 4, 5]], 0)

    with pipeline() as run:
        read = run | ReadSVMlight(str(folder / "part-*.txt"), num_features=3)
        checked(read, lambda found: assert_same_lists(found, lists))
        checked(run | "zero" >> ReadSVMlight(str(folder / "part-0.txt"), num_features=6, zero_based=True), is_wider)
        roles = {"group": "query", "label": "grade", "features": ["x2", "x0"], "weight": "share"}
        parquet = run | ReadParquet(str(folder / "part-*.parquet"), **roles)
        _ = parquet | WriteELWC(folder / "named", shards=1, features=["c", "a"], label="grade", weight="share")
    names = [path.name for path in folder.glob("named*")]
    assert names == ["named-00000-of-00001"]
    found = list(records(str(folder / names[0]), label="grade", weight="share", c=[], a=[], share=[]))
    weights = np.arange(sum(SIZES), dtype=np.float32)
    assert_same_lists(
        found, ks.data.RankingDataset(lists.features[:, [2, 0]], lists.labels, lists.sizes, lists.query_ids, weights)
    )


@pytest.mark.slow
def test_the_index_of_pandas_is_no_feature(tmp_path):
    from keras_softsort.beam import ReadParquet

    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": [1.0, 2.0, 3.0], "query": [7, 9, 7], "grade": [0, 1, 2]}, index=[2, 0, 1])
    frame.to_parquet(tmp_path / "shuffled.parquet")
    frame.set_index("query").to_parquet(tmp_path / "queries.parquet")
    assert pq.read_schema(tmp_path / "shuffled.parquet").names[-1] == "__index_level_0__"

    def is_x_only(found):
        assert {query: parts[0].tolist() for query, parts in found} == {7: [[1], [3]], 9: [[2]]}

    with pipeline() as run:
        for name in ("shuffled", "queries"):
            read = name >> ReadParquet(str(tmp_path / f"{name}.parquet"), group="query", label="grade")
            checked(run | read, is_x_only)


@pytest.mark.parametrize(
    ("step", "error", "message"),
    [
        (lambda beams: beams.ReadSVMlight("*", num_features=0), ValueError, "num_features must be at least 1, got 0"),
        (lambda beams: beams.ReadSVMlight("*", num_features=1, zero_based=1), TypeError, "zero_based must be True or"),
        (lambda beams: beams.WriteELWC("x", shards=0), ValueError, "shards must be at least 1, got 0"),
        (lambda beams: beams.RankerModelHandler("x", batch_items=0), ValueError, "batch_items must be at least 1"),
        (lambda beams: beams.RankerModelHandler("x", max_batch_duration_secs=0), ValueError, "_secs must be positive"),
    ],
)
def test_errors_of_arguments(step, error, message):
    from keras_softsort import beam as beams

    with pytest.raises(error, match=message):
        step(beams)


@pytest.mark.slow
def test_queries_below_zero(folder):
    """The smallest int64, which has no number before it, is a valid query id."""
    from keras_softsort.beam import ReadSVMlight

    ids = [-(2**63), -1, 2**63 - 1]
    (folder / "negative.txt").write_text("".join(f"1 qid:{query} 1:{i}\n" for i, query in enumerate(ids, 1)))

    def are_all(found):
        assert sorted((query, parts[0].tolist()) for query, parts in found) == [
            (i, [[j]]) for j, i in enumerate(ids, 1)
        ]

    with pipeline() as run:
        checked(run | ReadSVMlight(str(folder / "negative.txt"), num_features=1), are_all)


@pytest.mark.slow
def test_errors_in_a_pipeline(folder):
    from keras_softsort.beam import ReadParquet, ReadSVMlight, WriteELWC

    (folder / "damaged.parquet").write_text("no magic")
    frame = {"query": [1, 1], "grade": [0.0, 1.0], "x0": [1.0, np.nan]}
    pq.write_table(pa.table(frame), folder / "nan.parquet")
    (folder / "no_query.txt").write_text("1 1:0.5\n")
    (folder / "malformed.txt").write_text("1 qid:1 1:0.5\n2 qid:1 1:x\n")
    two = beam.Create([(1, (ONES, ONES[:, 0])), (2, (ONES, np.ones(3)))])
    # Beam itself refuses the integer where it knows that the query is one.
    unsigned = [beam.Create([2**62]), beam.Map(lambda one: (2 * one, (ONES, ONES[:, 0]))).with_output_types(Any)]
    roles = {"group": "query", "label": "grade"}
    for steps, message in [
        ([ReadSVMlight(str(folder / "no_query.txt"), num_features=3)], "no_query.txt must name the query of each"),
        ([ReadSVMlight(str(folder / "malformed.txt"), num_features=3)], "malformed.txt, line 2: expected"),
        ([ReadSVMlight(str(folder / "nothing*"), num_features=3)], "nothing"),
        (
            [ReadParquet(str(folder / "part-0.parquet"), group="query", label="x")],
            "part-0.parquet: label must name one column of",
        ),
        ([ReadParquet(str(folder / "damaged.*"), **roles)], "damaged.parquet cannot be read as a Parquet file: "),
        ([ReadParquet(str(folder / "nan.*"), **roles)], "nan.parquet, rows from 0 on: column 'x0' must .* in row 1"),
        (
            [*unsigned, WriteELWC(folder / "bad", shards=1)],
            "must have a query id that fits into int64, or text, got 92",
        ),
        ([two, WriteELWC(folder / "bad", shards=1)], r"the list of query 2 must be features \[n, f\]"),
    ]:
        run = pipeline()
        functools.reduce(operator.or_, steps, run)
        with pytest.raises((ValueError, OSError), match=message):
            run.run()
    assert list(folder.glob("bad*")) == []


@pytest.mark.parametrize("seconds", [None, 0.5])
@pytest.mark.nightly
def test_batches_of_beam_change_no_score(folder, seconds):
    from apache_beam.ml.inference.base import RunInference
    from apache_beam.testing.util import assert_that

    from keras_softsort.beam import RankerModelHandler

    lists = [features for features, _ in truth(folder)]
    handler = RankerModelHandler(str(folder / "ranker/1"), batch_items=2, max_batch_duration_secs=seconds)
    options = handler.batch_elements_kwargs()
    assert options["max_batch_size"] == 16
    assert ("length_fn" in options) == (seconds is not None) == ("max_batch_duration_secs" in options)

    def same(results):
        assert sorted(len(result.example) for result in results) == sorted(SIZES)
        for result in results:
            np.testing.assert_allclose(result.inference, result.example @ WEIGHTS, rtol=1e-5, atol=1e-6)

    with pipeline() as run:
        assert_that(run | beam.Create(lists) | RunInference(handler), same)
