"""Answers of a ranker at the edges of its inputs, versions on disk, and errors."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from support.data import rankers
from support.data.rankers import identity
from support.predict_offline import predict_offline

from keras_softsort import serving
from keras_softsort.serving._model_inputs import model_inputs
from keras_softsort.serving._signatures import Ranker
from keras_softsort.serving._versions import NewVersion

keras = tf.keras
pytestmark = pytest.mark.default_stack_only
NAN, INF, LOWEST = float("nan"), float("inf"), np.finfo(np.float32).min


def ranked(tensors, model=None, *, top_k=None, padding=0.0):
    """The result of a signature, traced for unknown sizes as it is exported."""
    model = model or identity()
    ranker = Ranker(model, model_inputs(model, None, None), padding, top_k)
    ids = tensors["item_ids"].dtype if "item_ids" in tensors else None
    inputs, function = ranker.signatures(ids)["serving_default" if ids is None else "with_ids"]
    run = tf.function(function, input_signature=[inputs], autograph=False)
    return {name: value.numpy() for name, value in run(tensors).items()}


def scored(scores, sizes, **more):
    return {"features": tf.constant(scores, tf.float32), "sizes": tf.constant(sizes, tf.int32), **more}


def test_order_of_scores_that_are_equal_or_no_numbers():
    scores = [[1, 3, 1, 3], [NAN, -INF, 0, INF], [-INF, 9, 9, 9], [5, 6, 7, 8], [5, 6, 7, 8], [5, 6, 7, 8]]
    outputs = ranked(scored(scores, [4, 4, 1, 0, -2, 99]))
    assert outputs["order"].tolist() == [[1, 3, 0, 2], [3, 2, 1, 0], [0, -1, -1, -1], [-1] * 4, [-1] * 4, [3, 2, 1, 0]]
    assert outputs["scores"].tolist()[2:] == [[-INF] + [LOWEST] * 3, [LOWEST] * 4, [LOWEST] * 4, [5, 6, 7, 8]]
    np.testing.assert_array_equal(outputs["scores"][:2], scores[:2])


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [tf.float32, tf.float64])
@pytest.mark.parametrize("compiled", [False, True])
def test_order_of_all_kinds_of_scores(dtype, compiled):
    """NaN of any sign is below -inf and above padding, and the zeros are equal."""
    inputs = keras.Input((None, 1), dtype=dtype.name)
    model = keras.Model(inputs, keras.layers.Reshape((-1,), dtype=dtype.name)(inputs))
    ranker = Ranker(model, model_inputs(model, None, None), 0.0, None)
    scores = [[NAN, -INF, 1, INF, -INF, -NAN, -0.0, 0.0, dtype.min, -1e-3, dtype.max, 9, NAN]]
    tensors = {"features": tf.constant(scores, dtype)[..., tf.newaxis], "sizes": tf.constant([11])}
    order = tf.function(ranker.ranked, jit_compile=compiled)(tensors)["order"]
    assert order.numpy().tolist() == [[3, 10, 2, 6, 7, 9, 8, 1, 4, 0, 5, -1, -1]]


@pytest.mark.parametrize(("batch", "n"), [(0, 3), (2, 0)])
def test_nothing_to_rank(batch, n):
    ids = tf.zeros([batch, n], tf.int64)
    outputs = ranked(scored(np.zeros([batch, n]), [0] * batch, item_ids=ids), top_k=2)
    assert {name: value.shape for name, value in outputs.items()} == {
        **dict.fromkeys(["scores", "order", "sorted_ids"], (batch, n)),
        **dict.fromkeys(["top_k", "top_k_scores", "top_k_ids"], (batch, min(n, 2))),
    }


def test_more_best_items_than_there_are():
    outputs = ranked(scored([[1, 2]], [1]), top_k=5)
    assert outputs["top_k"].tolist() == [[0, -1]]
    assert outputs["top_k_scores"].tolist() == [[1, LOWEST]]


@pytest.mark.parametrize("wrong", [{"sizes": [2]}, {"sizes": [2, 2, 2]}, {"item_ids": tf.zeros([2, 2], tf.int64)}])
def test_no_input_is_broadcast(wrong):
    with pytest.raises(tf.errors.InvalidArgumentError):
        ranked(scored(np.zeros([2, 3]), **{"sizes": [3, 3], **wrong}))


@pytest.mark.parametrize(("policy", "dtype"), [("mixed_float16", "float32"), ("float64", "float64")])
def test_dtype_of_scores(policy, dtype):
    inputs = keras.Input((None,), dtype="float64")
    model = keras.Model(inputs, keras.layers.Activation("linear", dtype=policy)(inputs))
    request = {"features": tf.constant([[0.1, 0.2]], tf.float64), "sizes": tf.constant([1])}
    scores = ranked(request, model)["scores"]
    assert scores.dtype == dtype
    np.testing.assert_allclose(scores, [[0.1, np.finfo(dtype).min]], rtol=1e-3)


def test_padding_of_strings_and_integers():
    """This model counts padding: it adds up lengths of words and levels over the whole list."""
    dtypes = {"word": "string", "level": "int32"}
    inputs = {name: keras.Input((None,), dtype=dtype, name=name) for name, dtype in dtypes.items()}

    class Count(keras.layers.Layer):
        def call(self, inputs):
            lengths, levels = tf.strings.length(inputs["word"]), inputs["level"]
            return tf.cast(levels + tf.reduce_sum(lengths + levels, axis=1, keepdims=True), tf.float32)

        def compute_output_shape(self, input_shape):
            return input_shape["level"]

    model = keras.Model(inputs, Count()(inputs))
    request = {"word": tf.constant([["abc", "de"]]), "level": tf.constant([[400, 50]]), "sizes": tf.constant([1])}
    assert ranked(request, model, padding=-1.0)["scores"].tolist() == [[400 + 400 + 3 - 1, LOWEST]]


def test_padding_has_the_digits_of_the_features():
    """Padding in float32 would be 0.10000000149, and a `Masking` layer in float64 would keep it as an item."""
    inputs = keras.Input((None,), dtype="float64")

    class Sum(keras.layers.Layer):
        def call(self, inputs):
            return inputs + tf.reduce_sum(inputs, axis=1, keepdims=True)

        def compute_output_shape(self, input_shape):
            return input_shape

    model = keras.Model(inputs, Sum(dtype="float64")(inputs))
    request = {"features": tf.constant([[0.0, 5.0]], tf.float64), "sizes": tf.constant([1])}
    assert ranked(request, model, padding=0.1)["scores"][0, 0] == 0.1


@pytest.mark.slow
def test_versions(tmp_path):
    base = tmp_path / "models" / "ranker"
    assert serving.export_ranker(identity(), base) == base / "1"
    assert serving.export_ranker(identity(), str(base), version=7) == base / "7"
    (base / "12").mkdir()
    (base / "notes 99").mkdir()
    assert serving.export_ranker(identity(), base) == base / "13"
    before = {path: path.stat().st_mtime_ns for path in base.rglob("*")}
    with pytest.raises(FileExistsError, match=r"version 7 of .*ranker exists already.* 14"):
        serving.export_ranker(identity(), base, version=7)
    assert {path: path.stat().st_mtime_ns for path in base.rglob("*")} == before


def test_nothing_is_seen_before_it_is_whole(tmp_path):
    base = tmp_path / "ranker"
    new_version = NewVersion(base, None)
    with new_version.aside() as aside:
        aside.mkdir(parents=True)
        assert [path.name for path in base.iterdir()] == [aside.name]
        assert aside.parent == base
        assert not aside.name.isdecimal()  # a server passes over it
        assert new_version.place(aside) == base / "1"
    assert [path.name for path in base.iterdir()] == ["1"]


def test_nothing_is_left_of_what_failed(tmp_path):
    def fail_half_way():
        with NewVersion(tmp_path, None).aside() as aside:
            aside.mkdir()
            (aside / "saved_model.pb").touch()
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        fail_half_way()
    assert list(tmp_path.iterdir()) == []


def test_two_exports_at_the_same_time_get_two_numbers(tmp_path):
    """The second begins and ends while the first is being written; a number that was asked for is an error."""

    def export(version, inside=lambda: None):
        new_version = NewVersion(tmp_path, version)
        with new_version.aside() as aside:
            aside.mkdir(parents=True)
            (aside / "by").write_text(str(inside is write_inside))
            inside()
            return new_version.place(aside)

    def write_inside():
        assert export(None).name in {"1", "5"}

    assert export(None, write_inside) == tmp_path / "2"
    assert [(tmp_path / name / "by").read_text() for name in "12"] == ["False", "True"]
    with pytest.raises(FileExistsError, match=r"version 3 of .* exists already; None takes the next free one.* 4"):
        export(3, lambda: export(3))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "2", "3"]


EXPORT_AND_DIE = """
import os, signal, sys
from pathlib import Path
from keras_softsort.serving._versions import NewVersion
with NewVersion(Path(sys.argv[1]), None).aside() as aside:
    aside.mkdir(parents=True)
    (aside / "half").touch()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.nightly
def test_what_dead_processes_left_is_removed_by_the_next_export(tmp_path):
    done = subprocess.run([sys.executable, "-c", EXPORT_AND_DIE, str(tmp_path)], capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr[-2000:]
    (left,) = tmp_path.iterdir()
    others = ["writing-elsewhere-77-new", "writing-elsewhere-77-old", "writing-7-old", "writing-7-new"]
    for name in others:
        (tmp_path / name / "variables").mkdir(parents=True)
        (tmp_path / name / "saved_model.pb").touch()
    days_ago = time.time() - 2 * 24 * 3600
    for path in [p for name in others if "old" in name for p in [*(tmp_path / name).rglob("*"), tmp_path / name]]:
        os.utime(path, (days_ago, days_ago))
    # A folder that was made two days ago and is still written to is not left over.
    os.utime(tmp_path / "writing-7-new", (days_ago, days_ago))
    first, second = NewVersion(tmp_path, None), NewVersion(tmp_path, None)
    with first.aside() as living:
        living.mkdir()
        with second.aside() as aside:
            aside.mkdir()
            assert living.exists()
            assert not left.exists()
            second.place(aside)
        first.place(living)
    found = sorted(path.name for path in tmp_path.iterdir())
    assert found == ["1", "2", "writing-7-new", "writing-elsewhere-77-new"]


@pytest.mark.slow
def test_home_and_file_scheme(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert serving.export_ranker(identity(), "~/ranker") == tmp_path / "ranker" / "1"
    assert serving.export_ranker(identity(), f"file://{tmp_path}/ranker") == tmp_path / "ranker" / "2"
    (answer,) = predict_offline(tmp_path / "ranker/2", [{"features": [[1.0, 2.0]], "sizes": [2]}])
    assert answer.outputs["order"].tolist() == [[1, 0]]


@pytest.mark.slow
def test_remote_file_systems(monkeypatch):
    """TensorFlow's file system in memory, which like object stores renames no folders."""
    base = "ram://bucket/ranker"
    copied, copy = [], tf.io.gfile.copy
    monkeypatch.setattr(tf.io.gfile, "copy", lambda *paths: copied.append(paths[1]) or copy(*paths))
    assert serving.export_ranker(identity(), base) == f"{base}/1"
    assert serving.export_ranker(identity(), f"{base}/", version=3) == f"{base}/3"
    assert sorted(tf.io.gfile.listdir(base)) == ["1", "3"]
    assert copied[-1] == f"{base}/3/saved_model.pb"  # before it is there, a server has nothing to load
    model = tf.saved_model.load(f"{base}/3")
    inputs = {"features": tf.constant([[1.0, 2.0]]), "sizes": tf.constant([2])}
    assert model.signatures["serving_default"](**inputs)["order"].numpy().tolist() == [[1, 0]]
    with pytest.raises(FileExistsError, match=r"version 3 of ram://bucket/ranker exists already; .* is 4"):
        serving.export_ranker(identity(), base, version=3)

    def fail(*paths):
        if "saved_model.pb" in paths[1]:
            raise OSError("no space")
        copy(*paths)

    monkeypatch.setattr(tf.io.gfile, "copy", fail)
    with pytest.raises(OSError, match="no space"):
        serving.export_ranker(identity(), base)
    assert not tf.io.gfile.exists(f"{base}/4/variables/variables.index")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nowhere://bucket/ranker", r"have a scheme .* one of \[.*'ram'.*\] .*got 'nowhere://bucket/ranker'"),
        (Path("gs://bucket/ranker"), r"path must be a string if it has a scheme, .*gs:/bucket/ranker"),
    ],
)
def test_paths_that_cannot_be_written(tmp_path, monkeypatch, path, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=message):
        serving.export_ranker(identity(), path)
    assert list(tmp_path.iterdir()) == []


def unbuilt():
    return keras.Sequential([keras.layers.Dense(1)], name="mine")


class Pooled(keras.Model):
    def call(self, inputs):
        return tf.reduce_mean(inputs, axis=1)


def called(model, shape=(2, 4, 3)):
    model(tf.zeros(shape))
    return model


def pooled():
    inputs = keras.Input((None, 3))
    return keras.Model(inputs, keras.layers.Dense(1)(keras.layers.GlobalAveragePooling1D()(inputs)))


def of_the_list():
    inputs = keras.Input((3,))
    return keras.Model(inputs, keras.layers.Dense(3)(inputs))


def named(name):
    inputs = {name: keras.Input((None,), name=name)}
    return keras.Model(inputs, keras.layers.Activation("linear")(inputs[name]))


def typed(dtype):
    inputs = keras.Input((None,), dtype=dtype)
    return keras.Model(inputs, keras.layers.Activation("linear")(inputs))


FLOAT, LABEL = tf.io.FixedLenFeature([1], tf.float32, 0.0), tf.io.FixedLenFeature([], tf.float32, 0.0)


@pytest.mark.parametrize(
    ("make", "options", "error", "message"),
    [
        (lambda: keras.layers.Dense(1), {}, TypeError, "model must be a Keras model, got Dense"),
        (unbuilt, {}, ValueError, "model must be built: give 'mine' an Input"),
        (lambda: called(Pooled(name="its")), {}, ValueError, "features must be .*'its' does not know its inputs"),
        (of_the_list, {}, ValueError, r"features must have an input of the items.*\[None, 3\]"),
        (identity, {"features": 5}, TypeError, "features must be dense tensors.*got 'features': 5"),
        (identity, {"features": tf.RaggedTensorSpec([None, None])}, TypeError, "features must be dense tensors"),
        (identity, {"features": tf.TensorSpec([None])}, ValueError, r"features must have shape .* of shape \(None,\)"),
        (identity, {"features": tf.TensorSpec(None)}, ValueError, "features must have shape .* of shape <unknown>"),
        (
            rankers.of_one_tensor,
            {"features": tf.TensorSpec([None, None, 4])},
            ValueError,
            r"features must be what the model takes, got .*None, 4\].*and it fails",
        ),
        (identity, {"padding": "a"}, TypeError, "padding must be a number, got 'a'"),
        (identity, {"padding": "1.5"}, TypeError, "padding must be a number, got '1.5'"),
        (identity, {"padding": [1.0]}, TypeError, r"padding must be a number, got \[1.0\]"),
        (identity, {"padding": True}, TypeError, "padding must be a number, got True"),
        (identity, {"padding": None}, TypeError, "padding must be a number, got None"),
        (identity, {"padding": NAN}, ValueError, "padding must be finite, got nan"),
        (identity, {"padding": INF}, ValueError, "padding must be finite, got inf"),
        (identity, {"padding": 1e300}, ValueError, r"padding must fit into 'features' of float32, got 1e\+300"),
        (
            lambda: typed("int32"),
            {"padding": 2**31},
            ValueError,
            r"padding must fit into 'features' of int32, got 2147483648",
        ),
        (lambda: typed("int64"), {"padding": 2**63}, ValueError, "padding must fit into 'features' of int64, got 9"),
        (lambda: typed("uint8"), {"padding": -1}, ValueError, "padding must fit into 'features' of uint8, got -1"),
        (lambda: typed("float16"), {"padding": 7e4}, ValueError, "padding must fit into 'features' of float16, got 7"),
        (identity, {"mask_name": "m"}, ValueError, r"mask_name must be an input of the model, .*'features'.*got 'm'"),
        (lambda: named("sizes"), {}, ValueError, r"names of other inputs of a signature, got \['sizes'\]"),
        (lambda: named("item_ids"), {}, ValueError, r"names of other inputs of a signature, got \['item_ids'\]"),
        (
            lambda: identity((None, 2)),
            {},
            ValueError,
            r"model must return scores \[batch, n\] or \[batch, n, 1\], got .*shape=\(None, None, 2",
        ),
        (pooled, {}, ValueError, r"one per item, got \(None, 1\) for n = None"),
        (identity, {"top_k": 0}, ValueError, "top_k must be at least 1, got 0"),
        (identity, {"top_k": 1.0}, TypeError, "top_k must be an integer, got 1.0"),
        (identity, {"version": 0}, ValueError, "version must be at least 1, got 0"),
        (identity, {"version": 2**63}, ValueError, r"version must be at most 2\^63 - 1, .* got 9223372036854775808"),
        (identity, {"example_features": 5}, TypeError, "example_features must be a dictionary from names to .*, got 5"),
        (identity, {"context_features": [5]}, TypeError, r"context_features must be a dictionary from .*, got \[5\]"),
        (identity, {"version": "2"}, TypeError, "version must be an integer, got '2'"),
        (identity, {"item_ids": "float32"}, ValueError, "item_ids must be one of .*'string'.*got 'float32'"),
        (identity, {"context_features": {"a": FLOAT}}, ValueError, "context_features must come with example_features"),
        (
            identity,
            {"example_features": {"a": FLOAT}, "context_features": {"b": FLOAT}},
            ValueError,
            r"context_features must not be given for a model of one tensor, got \['b'\]",
        ),
        (
            lambda: named("x"),
            {"example_features": {"y": LABEL}},
            ValueError,
            r"must have the model's names, \['x'\], got \['y'\]",
        ),
    ],
)
def test_errors_of_export(tmp_path, make, options, error, message):
    with pytest.raises(error, match=message):
        serving.export_ranker(make(), tmp_path / "ranker", **options)
    assert list(tmp_path.iterdir()) == []


def test_warmup_without_the_api(tmp_path, monkeypatch):
    for name in ("tensorflow_serving", "tensorflow_serving.apis"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(
        ImportError, match=r'warmup needs tensorflow-serving-api, .* install "keras-softsort\[serving\]"'
    ):
        serving.export_ranker(identity(), tmp_path / "ranker", warmup={"serving_default": [{}]})
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_place_of_the_folder(tmp_path):
    (tmp_path / "ranker").touch()
    with pytest.raises(NotADirectoryError, match=r"path must be a folder .* got the file .*ranker"):
        serving.export_ranker(identity(), tmp_path / "ranker")


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    return serving.export_ranker(identity(), tmp_path_factory.mktemp("models") / "ranker")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("request_", "signature", "message"),
    [
        ({}, "rank", r"signature_name must be one of \['serving_default', 'with_ids'\], got 'rank'"),
        ({"features": [[1.0]]}, "serving_default", r"must have the inputs \['features', 'sizes'\].*got \['features'\]"),
        ([1.0], "serving_default", r"a request must have the inputs .* got \[1.0\]"),
        (
            {"features": [[1.0]], "sizes": [1.5]},
            "serving_default",
            "sizes must be of dtype int32, got float64 with 1.5",
        ),
        ({"features": [["a"]], "sizes": [1]}, "serving_default", "features must be of dtype float32, got <U1 with 'a'"),
        ({"features": [[1.0]], "sizes": [2**40]}, "serving_default", f"sizes must fit into int32, got {2**40}"),
        ({"features": [[1.0]], "sizes": [2**32 + 1]}, "serving_default", f"sizes must fit into int32, got {2**32 + 1}"),
        ({"features": [[1.0]], "sizes": [2**63]}, "serving_default", f"sizes must fit into int32, got {2**63}"),
        ({"features": [[1.0]], "sizes": [2**70]}, "serving_default", f"sizes must be of dtype int32, .*{2**70}"),
        ({"features": [[1.0, 1e300]], "sizes": [2]}, "serving_default", r"features must fit into float32, got 1e\+300"),
        (
            {"features": [[1.0], [2.0]], "sizes": [1]},
            "serving_default",
            r"inputs of a request must have the same number of lists, got \{'features': 2, 'sizes': 1\}",
        ),
        (
            {"features": [[1.0], [2.0]], "sizes": [1, 1], "item_ids": [["a", "b"]]},
            "with_ids",
            r"must have the same number of lists, got \{'features': 2, 'item_ids': 1, 'sizes': 2\}",
        ),
        (
            {"features": [[1.0]], "sizes": [1], "item_ids": [["a", "b"]]},
            "with_ids",
            r"must have the same number of items, got \{'features': 1, 'item_ids': 2\}",
        ),
        ({"features": [1.0], "sizes": [1]}, "serving_default", r"features must have shape \(None, None\), got \(1,\)"),
        (
            {"features": [[1.0], [1.0, 2.0]], "sizes": [1, 2]},
            "serving_default",
            r"features must have shape \(None, None\), got rows of different lengths",
        ),
        (
            {"features": [[1.0]], "sizes": [1], "item_ids": [["a"], ["b", "c"]]},
            "with_ids",
            r"item_ids must have shape \(None, None\), got rows of different lengths",
        ),
        (
            {"features": [[1.0, 2.0]], "sizes": [3]},
            "serving_default",
            r"sizes must be from 0 to the list size 2, got \[3\]",
        ),
        (
            {"features": [[1.0, 2.0]], "sizes": [-1], "item_ids": [["a", "b"]]},
            "with_ids",
            r"sizes must be from 0 to the list size 2, got \[-1\]",
        ),
        (
            {"features": [[1.0]], "sizes": [1], "item_ids": [[1]]},
            "with_ids",
            r"item_ids must be of dtype string, got \[\[1\]\]",
        ),
    ],
)
def test_errors_of_a_request(exported, request_, signature, message):
    with pytest.raises(ValueError, match=message):
        predict_offline(exported, [request_], signature_name=signature)


@pytest.mark.slow
def test_integers_that_do_not_fit(tmp_path):
    """Ids taken modulo 2^32 would belong to other items."""
    folder = serving.export_ranker(identity(), tmp_path / "ranker", item_ids="int32")
    request = {"features": [[1.0, 2.0]], "sizes": [2], "item_ids": [[2**32 + 7, 3]]}
    with pytest.raises(ValueError, match=f"item_ids must fit into int32, got {2**32 + 7}"):
        predict_offline(folder, [request], signature_name="with_ids")
    with pytest.raises(ValueError, match=rf"item_ids\[0\] must fit into int32, got {2**32 + 7}"):
        serving.Scorer(folder).predict([[1.0, 2.0]], item_ids=request["item_ids"])
    request["item_ids"] = np.array([[2**31 - 1, 3]], np.uint64)
    (answer,) = predict_offline(folder, [request], signature_name="with_ids")
    assert answer.outputs["sorted_ids"].tolist() == [[3, 2**31 - 1]]


@pytest.mark.slow
def test_numbers_that_become_infinite(tmp_path):
    scorer = serving.Scorer(serving.export_ranker(identity(), tmp_path / "ranker"))
    with pytest.raises(ValueError, match=r"lists\[1\] must fit into float32, got -1e\+300"):
        scorer.score([[1.0], [0.5, -1e300]])
    np.testing.assert_array_equal(scorer.score([[np.inf, -np.inf, np.nan]]), [[np.inf, -np.inf, np.nan]])


@pytest.mark.slow
def test_no_lists_and_no_items(tmp_path):
    """An empty list has no numbers, and NumPy takes it for floating-point ones."""
    folder = serving.export_ranker(identity(), tmp_path / "ranker", item_ids="int64")
    requests = [
        {"features": np.zeros([0, 3]), "sizes": [], "item_ids": np.zeros([0, 3])},
        {"features": [[], []], "sizes": [0, 0], "item_ids": [[], []]},
    ]
    answers = predict_offline(folder, requests, signature_name="with_ids")
    assert [answer.outputs["sorted_ids"].shape for answer in answers] == [(0, 3), (2, 0)]
    (found,) = serving.Scorer(folder).predict([[]], item_ids=[[]])
    assert found["sorted_ids"].shape == (0,)


@pytest.mark.parametrize("requests", [None, 5, "ab", {"features": [[1.0]], "sizes": [1]}])
def test_requests_that_are_none(tmp_path, requests):
    with pytest.raises(TypeError, match=r"warmup\['serving_default'\] must be a sequence of dictionaries, one per"):
        serving.export_ranker(identity(), tmp_path / "ranker", warmup={"serving_default": requests})
    with pytest.raises(TypeError, match="warmup must be a dictionary from names of signatures to sequences"):
        serving.export_ranker(identity(), tmp_path / "ranker", warmup=[requests])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_graph_that_fails(tmp_path):
    def one_number(x):
        return {"y": tf.reshape(x, [])}

    signature = tf.function(one_number, input_signature=[tf.TensorSpec([None], tf.float32, name="x")])
    tf.saved_model.save(tf.Module(), tmp_path, signatures={"serving_default": signature})
    with pytest.raises(RuntimeError, match=r"'serving_default' of .* failed: .*requested shape"):
        predict_offline(tmp_path, [{"x": [1.0, 2.0]}])


@pytest.mark.slow
def test_strings_keep_every_byte(exported):
    ids = [[b"a\0", b"", "ä".encode(), b"\xff" * 40]]
    request = {"features": [[4.0, 3.0, 2.0, 1.0]], "sizes": [4], "item_ids": ids}
    (answer,) = predict_offline(exported, [request], signature_name="with_ids")
    assert answer.outputs["sorted_ids"].tolist() == ids


@pytest.mark.slow
def test_a_column_of_scores(tmp_path):
    """Scores `[batch, n, 1]` of Dense(1) per item are exported as `[batch, n]`."""
    folder = serving.export_ranker(identity((None, 1)), tmp_path / "ranker")
    (answer,) = predict_offline(folder, [{"features": np.float32([[[2], [5], [3]]]), "sizes": [3]}])
    np.testing.assert_array_equal(answer.outputs["scores"], [[2, 5, 3]])
    np.testing.assert_array_equal(answer.outputs["order"], [[1, 2, 0]])
