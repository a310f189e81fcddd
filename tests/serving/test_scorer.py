"""`Scorer`: the scores of a server for lists of any lengths, in few shapes, from many threads, without Keras."""

from concurrent import futures

import numpy as np
import pytest
import tensorflow as tf
from support.data import rankers
from support.predict_offline import predict_offline
from support.processes import json_from

from keras_softsort import serving
from keras_softsort._internal.arrays import padded_sizes
from keras_softsort.serving import scorer as scorer_module

pytestmark = pytest.mark.default_stack_only

SIZES = [3, 0, 17, 8, 1, 130, 9, 3, 40]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    base = tmp_path_factory.mktemp("models") / "ranker"
    return serving.export_ranker(rankers.of_names(), base, mask_name="mask", top_k=4)


@pytest.fixture(scope="module")
def scorer(folder):
    return serving.Scorer(folder, batch_items=64)


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """The folder of a ranker of one tensor [batch, n, 3], without ids."""
    kernel = tf.keras.initializers.Constant(rankers.WEIGHTS[:, np.newaxis])
    model = tf.keras.Sequential([tf.keras.Input((None, 3)), tf.keras.layers.Dense(1, kernel_initializer=kernel)])
    return serving.export_ranker(model, tmp_path_factory.mktemp("models") / "plain", item_ids=None)


def lists_of(sizes, seed=0):
    """Lists for `rankers.of_names`, and the ids of their items."""
    rng = np.random.default_rng(seed)
    lists = [{"documents": rng.normal(size=(n, 3)), "query": rng.normal(size=2)} for n in sizes]
    return lists, [[f"{i}/{j}\0" for j in range(n)] for i, n in enumerate(sizes)]


def requests_of(lists, ids):
    """One request per list, as a client sends it."""
    for one, own in zip(lists, ids, strict=True):
        arrays = {name: np.float32(value)[np.newaxis] for name, value in one.items()}
        names = np.array([*(each.encode() for each in own), None], object)[np.newaxis, :-1]
        yield {**arrays, "sizes": np.int32([len(own)]), "item_ids": names}


@pytest.fixture
def shapes(monkeypatch):
    """The batches [lists, n] that the model is called with."""
    found, made = [], scorer_module._batches

    def batches(*arguments):
        for members, inputs in made(*arguments):
            found.append(next(iter(inputs.values())).shape[:2])
            yield members, inputs

    monkeypatch.setattr(scorer_module, "_batches", batches)
    return found


@pytest.mark.slow
def test_same_as_a_server_and_the_truth(folder, scorer):
    lists, ids = lists_of(SIZES)
    requests = list(requests_of(lists, ids))
    found = scorer.predict(lists, item_ids=ids)
    answers = predict_offline(folder, requests, signature_name="with_ids")
    for outputs, answer, request in zip(found, answers, requests, strict=True):
        rankers.assert_same({name: value[np.newaxis] for name, value in outputs.items()}, answer.outputs)
        rankers.assert_same(answer.outputs, rankers.expected(**request, top_k=4))
    for one, outputs in zip(scorer.score(iter(lists)), found, strict=True):
        assert one.dtype == np.float32
        np.testing.assert_array_equal(one, outputs["scores"])
    assert set(scorer.predict(lists)[0]) == {"scores", "order", "top_k", "top_k_scores"}


def test_a_model_of_one_tensor_takes_arrays(plain):
    lists = [np.random.default_rng(n).normal(size=(n, 3)) for n in SIZES]
    scorer = serving.Scorer(plain)
    for one, scores in zip(lists, scorer.score(lists), strict=True):
        np.testing.assert_allclose(scores, one @ rankers.WEIGHTS, rtol=1e-5, atol=1e-6)
    assert scorer.score([]) == []
    np.testing.assert_array_equal(*scorer.score([np.eye(3, dtype=int).tolist(), {"features": np.eye(3)}]))


@pytest.mark.slow
def test_few_shapes_and_no_more_items_than_asked(scorer, shapes):
    lists, _ = lists_of(range(1, 100))
    scorer.score(lists)
    assert len({n for _, n in shapes}) == 9  # 8, 12, 16, 24, 32, 48, 64, 96 and 128
    assert all(batch * n <= 64 or batch == 1 for batch, n in shapes)
    assert max(batch for batch, _ in shapes) == 8
    for size in (8, 9, 13, 17, 100, 1000, 1025):
        (padded,) = padded_sizes(np.array([size]))
        assert size <= padded < 1.5 * size + 1


@pytest.mark.nightly
def test_threads_do_not_mix_up_their_lists(scorer):
    work = [lists_of([5, 30, 2, 64], seed)[0] for seed in range(8)]
    alone = [scorer.score(lists) for lists in work]
    with futures.ThreadPoolExecutor(8) as pool:
        together = list(pool.map(scorer.score, work))
    for one, other in zip(alone, together, strict=True):
        for scores, expected in zip(other, one, strict=True):
            np.testing.assert_allclose(scores, expected, rtol=1e-6)


@pytest.mark.slow
def test_a_model_of_one_list_size(tmp_path, shapes):
    inputs = tf.keras.Input((5, 2))
    model = tf.keras.Model(inputs, tf.keras.layers.Dense(1, kernel_initializer="ones")(inputs))
    scorer = serving.Scorer(serving.export_ranker(model, tmp_path / "ranker", item_ids="int64"))
    found = scorer.predict([np.ones([2, 2]), np.ones([5, 2])], item_ids=[[7, 8], range(5)])
    assert [outputs["scores"].tolist() for outputs in found] == [[2] * 2, [2] * 5]
    assert found[0]["sorted_ids"].tolist() == [7, 8]
    assert shapes == [(2, 5)]
    with pytest.raises(ValueError, match=r"lists\[0\] must have at most the 5 items that the model takes, got 6"):
        scorer.score([np.ones([6, 2])])


WITHOUT_KERAS = """
import json, pathlib, sys, types
import numpy as np
package = pathlib.Path(sys.argv[2])
for name in ["keras_softsort", "keras_softsort.serving"]:  # their __init__ would import Keras for other names
    module = sys.modules[name] = types.ModuleType(name)
    module.__path__ = [str(package.joinpath(*name.split(".")[1:]))]
for name in ["keras", "tf_keras", "keras_softsort.layers", "keras_softsort.losses"]:
    sys.modules[name] = None
from keras_softsort.serving.scorer import Scorer
lists = [np.eye(3)[:n] for n in (1, 3)]
print(json.dumps([scores.tolist() for scores in Scorer(sys.argv[1]).score(lists)]))
"""


@pytest.mark.slow
def test_neither_keras_nor_a_layer_is_needed(plain):
    package = scorer_module.__file__.rpartition("/serving/")[0]
    found = json_from(WITHOUT_KERAS, plain, package)
    assert found == [rankers.WEIGHTS[:1].tolist(), rankers.WEIGHTS.tolist()]


def test_a_path_with_a_scheme(plain):
    """TensorFlow's file system in memory stands for an object store."""
    for file in filter(lambda each: each.is_file(), plain.rglob("*")):
        tf.io.gfile.makedirs(f"ram://scorer/{file.parent.relative_to(plain)}")
        tf.io.gfile.copy(str(file), f"ram://scorer/{file.relative_to(plain)}", overwrite=True)
    (scores,) = serving.Scorer("ram://scorer").score([np.eye(3)])
    np.testing.assert_array_equal(scores, rankers.WEIGHTS)


FINE = {"documents": np.ones([2, 3]), "query": np.ones(2)}


@pytest.mark.parametrize(
    ("lists", "ids", "error", "message"),
    [
        (5, None, TypeError, "lists must be a sequence of arrays, one per list, got 5"),
        (FINE, None, TypeError, r"lists must be a sequence of arrays, one per list, got \{'documents'"),
        (
            [FINE, np.ones([2, 3])],
            None,
            ValueError,
            r"lists\[1\] must be a mapping .*\['documents', 'query'\].* got nd",
        ),
        ([{"query": [1, 2]}], None, ValueError, r"lists\[0\] must be a mapping with the inputs .*, got \['query'\]"),
        (
            [{**FINE, "documents": np.ones([2, 4])}],
            None,
            ValueError,
            r"\['documents'\] must have shape \(None, 3\), got",
        ),
        ([{**FINE, "documents": np.ones(3)}], None, ValueError, r"must have shape \(None, 3\), got \(3,\)"),
        ([{**FINE, "documents": [[1], [1, 2]]}], None, ValueError, r"shape \(None, 3\), got rows of different lengths"),
        ([{**FINE, "query": np.ones([1, 2])}], None, ValueError, r"\['query'\] must have shape \(2,\), got \(1, 2\)"),
        ([{**FINE, "query": ["a", "b"]}], None, ValueError, r"\['query'\] must be of dtype float32, got <U1 with 'a'"),
        ([FINE], [["a"]], ValueError, r"item_ids\[0\] must have one id for each of the 2 items, got 1"),
        ([FINE], 5, TypeError, "item_ids must be a sequence of arrays, one per list, got 5"),
        ([FINE], "ab", TypeError, "item_ids must be a sequence of arrays, one per list, got 'ab'"),
        ([FINE], [], ValueError, "item_ids must hold one array per list, 1, got 0"),
        ([FINE], [[1, 2]], ValueError, r"item_ids\[0\] must be of dtype string, got \[1, 2\]"),
    ],
)
def test_errors_of_lists(scorer, lists, ids, error, message):
    with pytest.raises(error, match=message):
        scorer.predict(lists, item_ids=ids)


def test_errors_of_a_scorer(tmp_path, plain):
    with pytest.raises(FileNotFoundError, match=r"path must be the folder of a SavedModel.*, got .*nothing"):
        serving.Scorer(tmp_path / "nothing")
    with pytest.raises(ValueError, match="batch_items must be at least 1, got 0"):
        serving.Scorer(plain, batch_items=0)
    with pytest.raises(ValueError, match=r"item_ids must be None, since .*plain"):
        serving.Scorer(plain).predict([np.ones([1, 3])], item_ids=[["a"]])
    module = tf.Module()
    call = tf.function(lambda x: {"scores": x}, input_signature=[tf.TensorSpec([None], tf.float32, name="x")])
    for signatures, message in [({"other": call}, r"got one with \['other'\]"), ({"serving_default": call}, r"sizes")]:
        tf.saved_model.save(module, tmp_path / message[:3], signatures=signatures)
        with pytest.raises(ValueError, match=f"path must hold a model from export_ranker, .*{message}"):
            serving.Scorer(tmp_path / message[:3])
