"""Frames and Parquet files as lists: against rows grouped one by one, whatever library holds them."""

import re
import sys

import numpy as np
import pytest

import keras_softsort as ks
from keras_softsort.data import tables

pytestmark = pytest.mark.default_stack_only
# Today's pyarrow does not import beside NumPy 1, which TensorFlow 2.15 needs.
pd, pl, pa, pq = (
    pytest.importorskip(name, exc_type=ImportError) for name in ("pandas", "polars", "pyarrow", "pyarrow.parquet")
)

ROWS = 57


def columns(groups="numbers"):
    random = np.random.default_rng(3)
    numbers = random.integers(7, size=ROWS)
    kinds = {
        "numbers": numbers + 2**60,
        "strings": [f"query {i}" for i in numbers],
        "days": np.datetime64("2024-02-27") + numbers,
        "sorted": np.sort(numbers),
    }
    return {
        "f1": random.normal(size=ROWS),
        "era": kinds[groups],
        "small": random.integers(-9, 9, size=ROWS).astype(np.int8),
        "target": random.normal(size=ROWS),
        "flag": random.integers(2, size=ROWS).astype(bool),
        "weight": random.random(ROWS).astype(np.float32),
    }


FRAMES = {
    "pandas": pd.DataFrame,
    "pandas without NumPy": lambda frame: pd.DataFrame(frame).convert_dtypes(),
    "pandas of pyarrow": lambda frame: pd.DataFrame(frame).convert_dtypes(dtype_backend="pyarrow"),
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
    "pyarrow in chunks": lambda frame: pa.concat_tables([pa.table(frame).slice(0, 20), pa.table(frame).slice(20)]),
    "pyarrow batch": lambda frame: pa.table(frame).combine_chunks().to_batches()[0],
    "dictionary": dict,
}


def grouped(frame, features, weight=None):
    """Lists by group value, row by row."""
    found = {}
    for row in range(ROWS):
        parts = found.setdefault(str(frame["era"][row]), ([], [], []))
        parts[0].append([float(np.float32(frame[name][row])) for name in features])
        parts[1].append(float(np.float32(frame["target"][row])))
        parts[2].append(float(frame[weight][row]) if weight else None)
    return found


def assert_grouped(lists, expected):
    assert [re.sub("[T ]00:00:00.*", "", str(i)) for i in lists.query_ids] == [*expected]  # times of a day
    for parts, wanted in zip(lists, expected.values(), strict=True):
        assert [part.tolist() for part in parts] == list(wanted[: len(parts)])


@pytest.fixture
def few_rows(monkeypatch):
    """At a time, so that parts of columns are put together."""
    monkeypatch.setattr(tables, "_COPIED", 10)
    monkeypatch.setattr(tables, "_DECODED", 8)


@pytest.mark.parametrize("groups", ["numbers", "strings", "days", "sorted"])
@pytest.mark.parametrize("library", FRAMES)
def test_as_grouped_row_by_row(library, groups, few_rows):
    frame = FRAMES[library](columns(groups))
    lists = ks.data.from_frame(frame, group="era", label="target", weight="weight")
    assert_grouped(lists, grouped(columns(groups), ["f1", "small", "flag"], "weight"))
    lists = ks.data.from_frame(frame, group="era", label="target", features=["flag", "f1"])
    assert lists.weights is None
    assert lists.feature_names == ("flag", "f1")
    assert_grouped(lists, grouped(columns(groups), ["flag", "f1"]))
    assert lists.features.dtype == np.float32


@pytest.mark.parametrize("groups", ["numbers", "strings", "days", "sorted"])
def test_parquet_is_the_frame_in_files(tmp_path, groups, few_rows):
    table = pa.table(columns(groups))
    pq.write_table(table.slice(0, 25), tmp_path / "part-0.parquet", row_group_size=7)
    pq.write_table(table.slice(25, 0), tmp_path / "part-1.parquet")
    pq.write_table(table.slice(25), tmp_path / "part-2.parquet", row_group_size=30)
    roles = {"group": "era", "label": "target", "weight": "weight"}
    lists = ks.data.read_parquet(tmp_path / "part-*.parquet", **roles)
    assert_grouped(lists, grouped(columns(groups), ["f1", "small", "flag"], "weight"))
    several = [tmp_path / "part-0.parquet", str(tmp_path / "part-2.parquet")]
    lists = ks.data.read_parquet(several, group="era", label="target", features=["small"])
    assert_grouped(lists, grouped(columns(groups), ["small"]))
    twice = ks.data.read_parquet([tmp_path / "part-2.parquet"] * 2, group="era", label="target", features=["small"])
    assert len(twice.labels) == 2 * (ROWS - 25)


def test_lists_of_frames_become_batches():
    frame = pd.DataFrame(columns())
    lists = ks.data.from_frame(frame, group="era", label="target", weight="weight")
    assert lists.labels.min() < 0
    batches = list(ks.data.bucketed_batches(lists, 3, padding="nan_labels").as_numpy_iterator())
    assert sum(np.sum(~np.isnan(labels)) for _, labels, _ in batches) == ROWS
    batches = ks.data.batches_of_groups(lists, None, shuffle=False).as_numpy_iterator()
    eras = [targets[:, 1].tolist() for _, targets, _ in batches]
    assert eras == [one[1] for one in grouped(columns(), [], "weight").values()]


def changed(**values):
    return {**columns(), **values}


def at(row, value, dtype=np.float64):
    numbers = np.arange(ROWS).astype(dtype)
    numbers[row] = value
    return numbers


NAN_ROW = at(20, np.nan)


@pytest.mark.usefixtures("few_rows")
@pytest.mark.parametrize("read", ["frame", "parquet"])
@pytest.mark.parametrize(
    ("frame", "options", "message"),
    [
        ({}, {"group": "day"}, r"group must name one column of \['f1', 'era', .*got 'day', which is not there"),
        ({}, {"label": "y"}, r"label must name one column of .*got 'y', which is not there"),
        ({}, {"weight": "w"}, r"weight must name one column of .*got 'w', which is not there"),
        ({}, {"features": ["f1", "f2"]}, r"features must name one column of .*got 'f2', which is not there"),
        ({}, {"features": ["f1", "f1"]}, r"must be different columns, got \['f1'\] more than once"),
        ({}, {"features": ["f1", "target"]}, r"must be different columns, got \['target'\] more than once"),
        ({}, {"label": "era"}, r"must be different columns, got \['era'\] more than once"),
        ({}, {"features": []}, "must be different columns, got no column for features"),
        ({"small": ["x"] * ROWS}, {}, "column 'small' must hold numbers, got .* with 'x'; encode it as numbers"),
        ({"small": NAN_ROW}, {}, "column 'small' must hold finite float32 numbers, got nan in row 20"),
        ({"small": at(33, 1e39)}, {}, r"column 'small' must hold finite float32 numbers, got 1e\+39 in row 33"),
        (
            {"small": at(2, np.nan), "f1": ["a"] * ROWS, "flag": at(3, np.inf)},
            {},
            "'f1' .*; column 'small' .*nan in row 2: impute it, or pass missing=\"keep\"; column 'flag' .* row 3",
        ),
        (
            {"flag": at(3, np.inf)},
            {"missing": "keep"},
            "column 'flag' must hold finite float32 numbers, got inf in row 3",
        ),
        ({"target": NAN_ROW}, {"missing": "keep"}, "column 'target' must .*got nan in row 20$"),
        ({}, {"missing": "zero"}, r"missing must be one of \['error', 'keep'\], got 'zero'"),
        ({"era": [[1, 2]] * ROWS}, {}, r"group 'era' must hold values such as numbers or strings, got .*1, 2"),
        ({"target": NAN_ROW}, {}, "column 'target' must hold finite float32 numbers, got nan in row 20"),
        ({"weight": at(20, -np.inf)}, {"weight": "weight"}, "column 'weight' must hold finite .*got -inf in row 20"),
        ({"weight": at(20, -1)}, {"weight": "weight"}, r"weights must be at least 0, got -1\.0 in list"),
        ({"era": NAN_ROW}, {}, "group 'era' must have a value in every row, got .*nan.* in row 20"),
        ({name: values[:0] for name, values in columns().items()}, {}, "must have at least one row, got none"),
    ],
)
def test_bad_tables(tmp_path, read, frame, options, message):
    table, roles = pa.table(changed(**frame)), {"group": "era", "label": "target", **options}
    if read == "frame":
        with pytest.raises(ValueError, match=message):
            ks.data.from_frame(table, **roles)
    else:
        pq.write_table(table, tmp_path / "x.parquet", row_group_size=9)
        with pytest.raises(ValueError, match=message):
            ks.data.read_parquet(tmp_path / "x.parquet", **roles)


def test_errors_have_the_index_of_a_row():
    frame = pd.DataFrame(changed(small=NAN_ROW), index=1000 + np.arange(ROWS))
    with pytest.raises(ValueError, match=r"got nan in row 20 \(index 1020\): impute it"):
        ks.data.from_frame(frame, group="era", label="target")


@pytest.mark.parametrize("library", FRAMES)
def test_missing_features_may_be_kept(library, few_rows, tmp_path):
    frame, roles = changed(f1=NAN_ROW), {"group": "era", "label": "target", "missing": "keep"}
    reads = [ks.data.from_frame(FRAMES[library](frame), **roles)]
    pq.write_table(pa.table(frame), tmp_path / "x.parquet", row_group_size=9)
    reads.append(ks.data.read_parquet(tmp_path / "x.parquet", **roles))
    for lists in reads:
        np.testing.assert_array_equal(lists.in_row_order(lists.features[:, 0]), NAN_ROW.astype(np.float32))


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame({"g": [[1], [2]], "x": [1.0, 2.0]}), "group 'g' must hold values such as .*, got .1."),
        (pd.DataFrame({"g": [np.arange(2)] * 2, "x": [1.0, 2.0]}), "group 'g' must hold values such as .*, got array"),
        (pl.DataFrame({"g": [{"a": 1}, {"a": 2}], "x": [1.0, 2.0]}), "column 'g' must hold .*, got"),
        (pl.DataFrame({"g": [{"a": 1, "b": 2}] * 2, "x": [1.0, 2.0]}), "column 'g' must hold one value .*, got 2 in"),
        (pl.DataFrame({"g": pl.Series([1, 2], dtype=pl.Int128), "x": [1.0, 2.0]}), "column 'g' must .*128"),
    ],
)
def test_groups_that_are_no_values(frame, message):
    with pytest.raises(ValueError, match=message):
        ks.data.from_frame(frame, group="g")


def test_a_data_set_prints_its_sizes():
    lists = ks.data.from_frame({"g": [1, 1, 2], "x": [1.0, 2.0, 3.0]}, group="g")
    assert repr(lists) == "RankingDataset(2 lists, 3 items, 1 feature, no labels)"
    assert repr(ks.data.RankingDataset(np.ones([1, 2]), [1], [1])) == "RankingDataset(1 list, 1 item, 2 features)"
    assert repr(ks.data.ClickLog([0], [[0]], [[1]])) == "ClickLog(1 session, 1 position)"
    log = ks.data.ClickLog([0, 0], [[0, 1]] * 2, [[1, 0]] * 2)
    assert repr(log) == "ClickLog(2 sessions, 2 positions)"


def test_missing_values_of_each_library():
    values = [None if row == 20 else row for row in range(ROWS)]
    frames = [
        pd.DataFrame(changed(small=pd.array(values, "Int64"))),
        pd.DataFrame(changed(small=pd.array(values, "int64[pyarrow]"))),
        pl.DataFrame(changed(small=values)),
        pa.table(changed(small=values)),
    ]
    for frame in frames:
        with pytest.raises(ValueError, match="column 'small' must hold finite float32 numbers, got nan in row 20"):
            ks.data.from_frame(frame, group="era", label="target")
    days = [np.datetime64("NaT") if row == 3 else day for row, day in enumerate(columns("days")["era"])]
    with pytest.raises(ValueError, match=r"group 'era' must have a value in every row, got .*NaT.* in row 3"):
        ks.data.from_frame(pd.DataFrame(changed(era=days)), group="era", label="target")


def test_a_column_of_two():
    frame = pd.DataFrame(columns())
    frame.columns = ["f1", "era", "f1", "target", "flag", "weight"]
    with pytest.raises(ValueError, match="got 'f1', which is there more than once"):
        ks.data.from_frame(frame, group="era", label="target")
    assert len(ks.data.from_frame(frame, group="era", label="target", features=["flag"])) == 7


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pl.LazyFrame(), r"frame must be .*got polars\.\S*LazyFrame: call its collect\(\)"),
        (np.ones([3, 2]), r"frame must be a pandas or polars DataFrame, .* got numpy\.ndarray$"),
        ([1, 2], r"frame must be .* got builtins\.list$"),
    ],
)
def test_no_frames(frame, message):
    with pytest.raises(TypeError, match=message):
        ks.data.from_frame(frame, group="era", label="target")
    with pytest.raises(TypeError, match="features must be a sequence of column names, got 'f1'"):
        ks.data.from_frame(columns(), group="era", label="target", features="f1")
    with pytest.raises(TypeError, match="features must be a sequence of column names, got 5"):
        ks.data.from_frame(columns(), group="era", label="target", features=5)
    with pytest.raises(ValueError, match=r"columns must all be .* of length 57, got 'f1': \(3,\)"):
        ks.data.from_frame(changed(f1=[1, 2, 3]), group="era", label="target")


def test_bad_files(tmp_path, monkeypatch):
    roles = {"group": "era", "label": "target"}
    with pytest.raises(ValueError, match=r"path must match at least one file, but no file matches '.*none\.parquet'"):
        ks.data.read_parquet(tmp_path / "none.parquet", **roles)
    for name, frame in (("a", columns()), ("b", {"era": [1]})):
        pq.write_table(pa.table(frame), tmp_path / f"{name}.parquet")
    with pytest.raises(ValueError, match=r"path must be files with the same columns, got .* and \['era'\]"):
        ks.data.read_parquet([tmp_path / "a.parquet", tmp_path / "b.parquet"], **roles)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r'read_parquet needs pyarrow, .* install "keras-softsort\[data\]"'):
        ks.data.read_parquet(tmp_path / "a.parquet", **roles)


def damaged(tmp_path, kind):
    """A file between two that are whole."""
    for name in "abc":
        pq.write_table(pa.table(columns()), tmp_path / f"{name}.parquet", compression="none")
    path = tmp_path / "b.parquet"
    whole = path.read_bytes()
    if kind == "no magic":
        path.write_bytes(b"label,query\n1,2\n" * 100)
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "cut":
        path.write_bytes(whole[:-100])
    elif kind == "page":  # the header of the first page of data
        path.write_bytes(whole[:4] + b"\xff" * 40 + whole[44:])
    else:
        path.unlink()
        path.mkdir()
    return tmp_path


@pytest.mark.parametrize("kind", ["no magic", "empty", "cut", "page", "folder"])
def test_damaged_files_are_named(tmp_path, kind):
    with pytest.raises(OSError, match=r"b\.parquet cannot be read as a Parquet file: ."):
        ks.data.read_parquet(damaged(tmp_path, kind) / "*.parquet", group="era", label="target")


@pytest.mark.parametrize("frame", [{"g": 1, "y": 2, "a": 3}, {"g": [1, 2], "y": [0, 1], "a": 3}])
def test_columns_that_are_no_arrays(frame):
    with pytest.raises(ValueError, match=r"columns must all be one-dimensional of length \d, got '[ga]': \(\)"):
        ks.data.from_frame(frame, group="g", label="y")


def test_columns_of_objects():
    frame = {"g": [1, 1, 2], "y": [0, 1, 0]}
    for value, example in [("2", "'2'"), (1j, "1j"), (np.datetime64("2024-02-27"), r".*2024-02-27.*"), (pd.NA, "<NA>")]:
        frame["a"] = np.array([1, value, 3], object)
        message = f"column 'a' must hold numbers, got object with {example}; encode it as numbers"
        for missing in tables.MISSING:
            with pytest.raises(ValueError, match=message):
                ks.data.from_frame(frame, group="g", label="y", missing=missing)
    frame["a"] = np.array([1, 10**400, 3], object)
    with pytest.raises(ValueError, match="column 'a' must hold numbers, got object with 1; encode it as numbers"):
        ks.data.from_frame(frame, group="g", label="y")
    for value in (2, 2.0, True, np.float32(2), np.int8(2), np.True_):
        frame["a"] = np.array([1, value, 3], object)
        np.testing.assert_array_equal(ks.data.from_frame(frame, group="g", label="y").features, [[1], [value], [3]])


MISSING_VALUES = {
    "booleans": ([True, None, False], [1, np.nan, 0]),
    "no values": ([None, None, None], [np.nan, np.nan, np.nan]),
    "numbers": ([None, 2.5, 1], [np.nan, 2.5, 1]),
}


@pytest.mark.parametrize("library", ["dictionary", "pandas", "pandas of objects", "polars", "pyarrow"])
@pytest.mark.parametrize("values", MISSING_VALUES)
def test_none_is_a_missing_number(library, values):
    values, wanted = MISSING_VALUES[values]
    columns = {"g": [1, 1, 2], "a": values}
    of_objects = {"g": [1, 1, 2], "a": pd.Series(values, dtype=object)}
    make = {**FRAMES, "pandas of objects": lambda _: pd.DataFrame(of_objects)}[library]
    options = {"strict": False} if library == "polars" else {}
    frame = make(columns, **options)
    np.testing.assert_array_equal(ks.data.from_frame(frame, group="g", missing="keep").features[:, 0], wanted)
    row = int(np.argmax(np.isnan(wanted)))
    with pytest.raises(
        ValueError, match=f"column 'a' must .*got nan in row {row}: impute it, or pass missing=\"keep\""
    ):
        ks.data.from_frame(frame, group="g")


@pytest.mark.parametrize(
    ("values", "example"),
    [
        (pd.Categorical([94110, 10001, 94110]), "94110"),
        (pd.Categorical([0.5, None, 0.5]), "0.5"),
        (pd.Categorical(["a", "b", "a"]), "'a'"),
        (pd.Categorical([None, None, None], categories=["a"]), "nan"),
        (pd.Series(pa.array([7, 8, 7]).dictionary_encode().to_pylist(), dtype="category"), "7"),
        (pa.array([94110, None, 94110]).dictionary_encode(), r"94110\.0"),
        (pl.Series(["a", None, "a"], dtype=pl.Categorical), "'a'|None"),
        (pl.Series(["a", None, "a"], dtype=pl.Enum(["a", "b"])), "'a'|None"),
    ],
)
@pytest.mark.parametrize("missing", tables.MISSING)
def test_categories_are_no_numbers(values, example, missing):
    table = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[type(values).__module__.split(".")[0]]
    columns = {"g": [1, 1, 2], "zip": values}
    message = f"column 'zip' must hold numbers, got categories with ({example}); encode it as numbers"
    for frame in (columns, table(columns)):
        with pytest.raises(ValueError, match=message):
            ks.data.from_frame(frame, group="g", missing=missing)


@pytest.mark.parametrize("values", [pd.Categorical([5, 4, 5]), pa.array([5, 4, 5]).dictionary_encode()], ids=type)
def test_categories_may_be_groups_and_labels(values):
    columns = {"c": values, "x": [1.0, 2.0, 3.0], "y": [1, 1, 2]}
    for frame in (columns, pa.table({**columns, "c": pa.array(values)})):
        assert ks.data.from_frame(frame, group="c", label="y").query_ids.tolist() == [5, 4]
        assert ks.data.from_frame(frame, group="y", label="c").labels.tolist() == [5, 4, 5]


def test_a_null_of_a_dictionary_is_none_of_its_values():
    frame = pa.table({"c": pa.array([5, None, 4]).dictionary_encode(), "x": [1.0, 2.0, 3.0], "y": [1, 1, 2]})
    with pytest.raises(ValueError, match="column 'c' must hold finite float32 numbers, got nan in row 1"):
        ks.data.from_frame(frame, group="y", label="c")
    with pytest.raises(ValueError, match=r"group 'c' must have a value in every row, got .*nan.* in row 1"):
        ks.data.from_frame(frame, group="c", label="y")


SHUFFLED = pd.DataFrame(columns()).sample(frac=1, random_state=0)


@pytest.mark.parametrize(
    "frame", [SHUFFLED, SHUFFLED.set_index("era"), SHUFFLED.set_index(["small", "era"])], ids=["none", "one", "two"]
)
def test_the_index_of_pandas_is_no_feature(frame, tmp_path):
    frame.to_parquet(tmp_path / "x.parquet")
    table, names = pa.Table.from_pandas(frame), [name for name in ("f1", "small", "flag") if name in frame.columns]
    stored = [name for name in table.column_names if name not in frame.columns]
    assert stored in (["__index_level_0__"], ["era"], ["small", "era"])
    roles = {"group": "era", "label": "target", "weight": "weight"}
    expected = frame.reset_index()[["era", "target", "weight", *names]]
    expected = ks.data.from_frame(expected, **roles)
    for more in ({}, {"features": ["f1", stored[0]] if stored != ["era"] else ["f1"]}):
        for lists in (
            ks.data.from_frame(table, **roles, **more),
            ks.data.from_frame(table.to_batches()[0], **roles, **more),
            ks.data.read_parquet(tmp_path / "x.parquet", **roles, **more),
        ):
            assert lists.feature_names == tuple(more.get("features", names))
            np.testing.assert_array_equal(lists.features[:, 0], expected.features[:, 0])
            np.testing.assert_array_equal(lists.labels, expected.labels)
            assert list(lists.query_ids) == list(expected.query_ids)


def test_the_index_of_pandas_in_some_files(tmp_path):
    frame = pd.DataFrame(columns())
    frame[:20].to_parquet(tmp_path / "a.parquet")
    frame[20:40].sample(frac=1, random_state=0).to_parquet(tmp_path / "b.parquet")
    frame[40:].set_index("era").to_parquet(tmp_path / "c.parquet")
    roles, paths = {"group": "era", "label": "target"}, [tmp_path / f"{name}.parquet" for name in "abc"]
    for files in (paths, paths[::-1]):
        lists = ks.data.read_parquet(files, **roles)
        assert lists.feature_names == ("f1", "small", "flag", "weight")
        assert len(lists.labels) == ROWS
    with pytest.raises(ValueError, match=r"features must name one column of .*'__index_level_0__', which is not there"):
        ks.data.read_parquet(paths, features=["__index_level_0__"], **roles)
    frame.drop(columns="flag").to_parquet(tmp_path / "d.parquet")
    with pytest.raises(ValueError, match="path must be files with the same columns"):
        ks.data.read_parquet([*paths, tmp_path / "d.parquet"], **roles)


@pytest.mark.parametrize("missing", [None, pd.NA, np.nan])
def test_a_missing_value_among_strings_is_no_group(missing):
    for values in (pd.array(["a", missing], dtype="string"), ["a", missing]):
        with pytest.raises(ValueError, match=r"group 'g' must have a value in every row, got (None|<NA>|nan) in row 1"):
            ks.data.from_frame({"g": values, "x": [1.0, 2.0]}, group="g")


LARGE = 2**53


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (np.array([LARGE, LARGE + 1]), np.array([LARGE + 2, LARGE + 3], np.uint64)),
        (np.array([LARGE, LARGE + 1]), np.array([0.5, LARGE + 2])),
        (np.array([1, 2], np.int32), np.array([0.5, LARGE])),
        (np.array([1, 2], np.int8), np.array([LARGE, LARGE + 1])),
        (np.array([1, 2]), np.array(["1", "2"])),
        (np.array(["2024-02-27", "2024-02-28"], "M8[ms]"), np.array(["2024-02-29", "2024-03-01"], "M8[ns]")),
    ],
    ids=["unsigned", "floats", "small and floats", "small and large", "strings", "times"],
)
def test_groups_of_another_type_in_each_file(tmp_path, first, second):
    for name, groups in (("a", first), ("b", second), ("c", first)):
        pq.write_table(pa.table({"q": groups, "x": [1.0, 2.0]}), tmp_path / f"{name}.parquet")
    lists = ks.data.read_parquet(tmp_path / "*.parquet", group="q")
    assert lists.sizes.tolist() == [2, 2, 1, 1]
    assert list(lists.query_ids) == [*first, *second]


def test_groups_that_cannot_be_compared(tmp_path):
    for name, groups in (("a", [1, 2]), ("b", np.array(["2024-02-27", "2024-02-28"], "M8[ms]"))):
        pq.write_table(pa.table({"q": groups, "x": [1.0, 2.0]}), tmp_path / f"{name}.parquet")
    message = r"group 'q' must have values of one type in all files, got datetime64\[ms\] and int64"
    with pytest.raises(ValueError, match=message):
        ks.data.read_parquet(tmp_path / "*.parquet", group="q")


@pytest.mark.parametrize(
    "values",
    [["1", 1, "a", 1], (2**63 + 1, 2**63, -1, 2**63), [LARGE + 1, 0.5, float(LARGE), 0.5], ["a", b"a", "a\0", "a"]],
)
def test_group_values_in_a_list_stay_as_they_are(values):
    lists = ks.data.from_frame({"q": values, "x": range(4)}, group="q")
    assert lists.query_ids.tolist() == [*dict.fromkeys(values)]
    assert len(lists) == 3


@pytest.mark.parametrize(("values", "kind"), [([1, 2, 1], "i"), (["a", "b", "a"], "U"), ([0.5, 1, 0.5], "f")])
def test_ids_of_a_list_that_numpy_can_hold_are_an_array_of_it(values, kind):
    lists = ks.data.from_frame({"q": values, "x": range(3)}, group="q")
    assert (lists.query_ids.dtype.kind, lists.sizes.tolist()) == (kind, [2, 1])
