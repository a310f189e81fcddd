"""KNNClassifier beside a sort of all distances and scikit-learn; its references saved, loaded and exported."""

import numpy as np
import pytest
import tensorflow as tf
from support.cases.neighbors.knn_classifier import KNN_CLASSIFIER
from support.oracles import neighbors as neighbor_oracles
from support.predict_offline import predict_offline

import keras_softsort as ks
from keras_softsort.ops.neighbors import _bounds
from keras_softsort.serving._saved_model import signature_inputs

pytestmark = pytest.mark.default_stack_only

keras = tf.keras
RNG = np.random.default_rng(5)
REFERENCES = RNG.normal(size=(50, 3)).astype("float32")
LABELS = RNG.integers(0, 4, size=50)
QUERIES = RNG.normal(size=(6, 3)).astype("float32")


def head(k=4, references=REFERENCES, labels=LABELS, dtype=None, **options):
    layer = ks.KNNClassifier(k, dtype=dtype, **options)
    layer.set_references(references, labels)
    return layer


def check(
    found, queries=QUERIES, references=REFERENCES, labels=LABELS, *, k=4, distance="squared_euclidean", by="count"
):
    for i, query in enumerate(queries):
        ids, distances = neighbor_oracles.nearest(query, references, k, distance)
        np.testing.assert_array_equal(found["neighbors"][i], ids)
        np.testing.assert_allclose(found["distances"][i], distances, rtol=1e-5, atol=1e-6)
        wanted = neighbor_oracles.votes(ids, distances, labels, max(labels) + 1, by)
        np.testing.assert_allclose(found["probabilities"][i], wanted, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("distance", ["squared_euclidean", "euclidean", "cityblock", "cosine", "dot"])
@pytest.mark.parametrize("block_size", [7, 1000])
def test_distances_and_blocks(distance, block_size):
    check(head(distance=distance, block_size=block_size)(QUERIES), distance=distance)


@pytest.mark.parametrize("block_size", [1, 3, 49, 50])
def test_every_block_is_seen_once(block_size):
    check(head(k=10, block_size=block_size)(QUERIES), k=10)


@pytest.mark.slow
@pytest.mark.parametrize("jit_compile", [None, pytest.param(True, marks=pytest.mark.slow)])
def test_unknown_batch_and_xla(jit_compile):
    run = tf.function(head(block_size=8), jit_compile=jit_compile, input_signature=[tf.TensorSpec([None, 3])])
    check(run(QUERIES))


@pytest.mark.parametrize("distance", ["euclidean", "cosine"])
def test_votes_by_distance(distance):
    queries = np.concatenate([QUERIES, REFERENCES[:1]])  # the last is a reference, at distance 0
    if distance == "cosine":
        queries, references = np.float32([[3, 0], [1, 2]]), np.float32([[2, 0], [0, 1], [1, 1], [5, 0]])
        found = head(3, references, [0, 1, 1, 1], votes="distance", distance=distance)(queries)
        return check(found, queries, references, [0, 1, 1, 1], k=3, distance=distance, by="distance")
    found = head(votes="distance", distance=distance)(queries)
    check(found, queries, distance=distance, by="distance")
    assert found["probabilities"][-1, LABELS[0]] == 1


def test_scikit_learn_agrees():
    neighbors = pytest.importorskip("sklearn.neighbors")
    peer = neighbors.KNeighborsClassifier(4, weights="distance").fit(REFERENCES, LABELS)
    found = head(votes="distance", distance="euclidean")(QUERIES)
    np.testing.assert_allclose(found["probabilities"], peer.predict_proba(QUERIES), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("approximate", [False, True])
@pytest.mark.parametrize("block_size", [4, 100])
def test_equals_stand_by_their_ids(block_size, approximate):
    references = np.float32([[1, 1], [0.3, 0.1], [1, 1], [0.3, 0.1], [1, 1], [1, 1], [0.3, 0.1], [1, 1], [0.7, 1]])
    layer = head(5, references, np.arange(9), block_size=block_size, approximate=approximate)
    np.testing.assert_array_equal(layer(np.float32([[0.3, 0.1]]))["neighbors"], [[1, 3, 6, 8, 0]])


@pytest.mark.slow
@pytest.mark.parametrize(
    "distance",
    [
        *("squared_euclidean", "cityblock"),
        *(pytest.param(name, marks=pytest.mark.nightly) for name in ("euclidean", "cosine", "dot")),
    ],
)
def test_a_query_has_the_same_neighbors_in_any_batch(distance):
    references = RNG.integers(-3, 4, size=(3000, 5)).astype("float32")  # many are equal
    queries = RNG.integers(-3, 4, size=(300, 5)).astype("float32")
    queries[7] = 0
    layer = head(7, references, np.zeros(3000, int), distance=distance, block_size=512)
    run = tf.function(layer, input_signature=[tf.TensorSpec([None, 5])], autograph=False)
    found = run(queries)
    for i in [7, 0, 299]:
        ids, distances = neighbor_oracles.nearest(queries[i], references, 7, distance)
        np.testing.assert_allclose(found["distances"][i], distances, rtol=1e-5, atol=1e-6)
        if distance in ("squared_euclidean", "cityblock", "dot"):  # exact for integers
            np.testing.assert_array_equal(found["neighbors"][i], ids)
    order = RNG.permutation(300)
    for chosen in ([7], [1, 299], order[:17], order, np.concatenate([order, order])):
        again = run(queries[chosen])
        for name in ("neighbors", "distances"):
            np.testing.assert_array_equal(again[name], found[name].numpy()[chosen])


def test_more_copies_than_a_round_looks_into():
    references = np.ones((2000, 3), "float32")
    references[5], references[900] = 2, 1.001
    layer = head(4, references, np.zeros(2000, int), block_size=256)
    found = layer(np.float32([[1, 1, 1], [2, 2, 2], [1e30, 0, 0], [np.inf, 0, 0]]))
    np.testing.assert_array_equal(found["neighbors"], [[0, 1, 2, 3], [5, 900, 0, 1], [0, 1, 2, 3], [0, 1, 2, 3]])


@pytest.mark.parametrize("distance", ["squared_euclidean", "cityblock", "cosine", "dot"])
def test_bounds_hold(distance):
    """For references near and far, also where products lose all digits."""
    queries = RNG.normal(size=(9, 6)).astype("float32")
    queries[::2] += 1000
    references = np.float32(RNG.normal(size=(64, 6)) * np.exp(3 * RNG.normal(size=(64, 1))) + [[0], [1000]] * 32)
    prepared = _bounds.query_bounds(tf.constant(queries), tf.constant(references), distance)
    is_reference = np.arange(64) < 60
    found = _bounds.chunk_bounds(prepared, tf.constant(references), is_reference, distance, 4) + prepared.offset
    distances = [[neighbor_oracles.distance(q, r, distance) for r in references[:60]] for q in queries]
    distances = np.pad(distances, [(0, 0), (0, 4)], constant_values=np.inf).reshape(9, 4, 16).min(axis=1)
    assert np.all(-distances <= found)
    assert np.all(-distances >= found - 1e-4 * (1 + np.abs(queries).max() + np.abs(references).max()) ** 2)


def test_approximate_is_exact_on_this_device():
    references = RNG.normal(size=(3000, 5)).astype("float32")
    exact, found = (
        head(7, references, np.zeros(3000, int), approximate=each)(QUERIES @ np.ones((3, 5), "f"))
        for each in (False, True)
    )
    np.testing.assert_array_equal(found["neighbors"], exact["neighbors"])

    check(head(approximate=True, block_size=16)(QUERIES))


def test_digits_that_products_lose():
    references = np.float32(1000 + np.arange(40)[:, None] * 0.001 * np.ones(3))
    ids, _ = neighbor_oracles.nearest(references[20], references, 5)
    found = head(5, references, np.zeros(40, int), block_size=16)(references[20:21])
    np.testing.assert_array_equal(np.sort(found["neighbors"][0]), np.sort(ids))
    assert found["distances"][0, 0] == 0


def test_equals_that_products_round_apart():
    steps = np.float32(np.arange(1, 20)[:, None] / 64 * [1, 3, 2])
    query = np.float32([[1000, 2000, 3000]])
    # The first, from which products are taken, lies so far away that they are rounded.
    references = np.concatenate([query + 20_000, np.stack([query - steps, query + steps], axis=1).reshape(-1, 3)])
    found = head(38, references, np.zeros(39, int))(query)
    np.testing.assert_array_equal(found["neighbors"], [np.arange(1, 39)])


def test_float64_and_half():
    found = head(dtype="float64")(QUERIES.astype("float64"))
    assert found["distances"].dtype == found["probabilities"].dtype == tf.float64
    layer = head(dtype="mixed_float16")
    assert tf.as_dtype(layer.references.dtype) == tf.float32
    found = layer(tf.cast(QUERIES, tf.float16))
    assert found["distances"].dtype == tf.float32
    check(found, tf.cast(QUERIES, tf.float16).numpy().astype("float64"))


def test_a_query_that_is_not_a_number():
    for votes in ("count", "distance"):
        found = head(votes=votes)(np.float32([[np.nan, 0, 0], *QUERIES]))
        assert np.all(np.isnan(found["probabilities"][0]))
        assert np.all(np.isnan(found["distances"][0]))
        assert np.all(np.isfinite(found["probabilities"][1:]))


def test_adapt():
    encoder = keras.Sequential([keras.Input((2,)), keras.layers.Dense(3, "tanh"), keras.layers.Dropout(0.9)])
    inputs = RNG.normal(size=(50, 2)).astype("float32")
    layer = ks.KNNClassifier(4)
    layer.adapt(tf.data.Dataset.from_tensor_slices((inputs, LABELS)).batch(16), encoder=encoder)
    embeddings = encoder(inputs).numpy()
    np.testing.assert_allclose(tf.convert_to_tensor(layer.references), embeddings, rtol=1e-6)
    np.testing.assert_array_equal(tf.convert_to_tensor(layer.labels), LABELS)
    layer.adapt([(embeddings[:20] + 1, LABELS[:20]), (embeddings[20:] + 1, LABELS[20:])])
    np.testing.assert_allclose(tf.convert_to_tensor(layer.references), embeddings + 1, rtol=1e-6)
    assert layer.trainable_weights == []


@pytest.mark.parametrize(
    "data",
    [
        (REFERENCES, LABELS),
        ((REFERENCES, LABELS),),
        (REFERENCES.tolist(), LABELS.tolist()),
        (tf.constant(REFERENCES), tf.constant(LABELS)),
        ([(REFERENCES[:7], LABELS[:7]), [REFERENCES[7:], LABELS[7:]]],),
        (((REFERENCES[:7], LABELS[:7]), (REFERENCES[7:], LABELS[7:])),),
        (tf.data.Dataset.from_tensor_slices((REFERENCES, LABELS)).batch(16),),
    ],
    ids=["arrays", "tuple", "lists", "tensors", "batches", "tuple of batches", "dataset"],
)
def test_forms_of_data(data):
    layer = ks.KNNClassifier(4)
    layer.adapt(*data)
    np.testing.assert_allclose(tf.convert_to_tensor(layer.references), REFERENCES, rtol=1e-6)
    np.testing.assert_array_equal(tf.convert_to_tensor(layer.labels), LABELS)


def test_adapt_reads_a_batch_at_a_time():
    log = []

    def batches():
        for start in range(0, 50, 20):
            log.append(f"read {start}")
            yield REFERENCES[start : start + 20], LABELS[start : start + 20]

    def encoder(inputs, training):
        log.append(f"embed {len(inputs)}")
        return 2 * inputs

    layer = ks.KNNClassifier(4)
    layer.adapt(batches(), encoder=encoder)
    assert log == ["read 0", "embed 20", "read 20", "embed 20", "read 40", "embed 10"]
    np.testing.assert_array_equal(tf.convert_to_tensor(layer.references), 2 * REFERENCES)
    with pytest.raises(ValueError, match=r"embeddings must have shape \[n, 3\] as those before, got \(30, 2\)"):
        layer.adapt([(REFERENCES[:20], LABELS[:20]), (REFERENCES[20:, :2], LABELS[20:])])


def test_an_encoder_gets_batches_of_arrays():
    sizes = []

    def encoder(inputs, training):
        sizes.append((len(inputs), training))
        return 2 * inputs

    layer = ks.KNNClassifier(4)
    layer.adapt(REFERENCES, LABELS, encoder=encoder, batch_size=20)
    assert sizes == [(20, False), (20, False), (10, False)]
    np.testing.assert_allclose(tf.convert_to_tensor(layer.references), 2 * REFERENCES, rtol=1e-6)


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (([(REFERENCES, LABELS)], lambda inputs: inputs), TypeError, "labels must be integers .*pass .* as encoder="),
        ((REFERENCES,), ValueError, "labels must be given with inputs, or data be batches"),
        ((REFERENCES, LABELS[:7]), ValueError, r"labels must have shape \[n\], one per input, got \(7,\) .* \(50, 3\)"),
        (((REFERENCES, LABELS), LABELS), ValueError, "labels must be given once"),
        (([(REFERENCES, LABELS, LABELS)],), ValueError, r"each batch of data must be \(inputs, labels\), got 3 parts"),
        (([REFERENCES],), ValueError, r"each batch of data must be \(inputs, labels\), got .*ndarray"),
        (
            (tf.data.Dataset.from_tensor_slices((REFERENCES, LABELS)),),
            ValueError,
            r"as many labels \[batch\] as inputs, got shapes \(\) and \(3,\); call dataset.batch",
        ),
    ],
)
def test_bad_data(data, error, message):
    with pytest.raises(error, match=message):
        ks.KNNClassifier(4).adapt(*data)


def test_output_shapes():
    layer = head(k=3)
    shapes = layer.compute_output_shape((None, 3))
    assert shapes == {"probabilities": (None, 4), "neighbors": (None, 3), "distances": (None, 3)}
    found = layer(keras.Input((3,)))
    assert {name: tuple(value.shape) for name, value in found.items()} == shapes
    assert tf.as_dtype(found["neighbors"].dtype) == tf.int32


@pytest.mark.slow
def test_encoder_and_head_saved_and_exported(tmp_path):
    images = RNG.normal(size=(30, 4, 4, 1)).astype("float32")
    encoder = keras.Sequential([keras.Input((4, 4, 1)), keras.layers.Flatten(), keras.layers.Dense(3)])
    layer = ks.KNNClassifier(3, num_classes=6, block_size=8)
    layer.adapt([(images, np.arange(30) % 5)], encoder=encoder)
    model = keras.Model(encoder.inputs, layer(encoder.outputs[0]))
    here = model.predict(images[:7], verbose=0)
    assert here["probabilities"].shape == (7, 6)
    np.testing.assert_array_equal(here["neighbors"][:, 0], np.arange(7))
    model.save(tmp_path / "model.keras")
    model.export(str(tmp_path / "exported"))
    loaded = keras.models.load_model(tmp_path / "model.keras").predict(images[:7], verbose=0)
    (name,) = signature_inputs(tmp_path / "exported", "serving_default")
    (answer,) = predict_offline(tmp_path / "exported", [{name: images[:7]}])
    for found in (loaded, answer.outputs):
        np.testing.assert_array_equal(found["neighbors"], here["neighbors"])
        for name in ("probabilities", "distances"):
            np.testing.assert_allclose(found[name], here[name], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("case", KNN_CLASSIFIER.cases, ids=str)
def test_config_holds_the_sizes(case):
    made = case.make()
    again = ks.KNNClassifier.from_config(head(k=3, num_classes=7).get_config())
    assert [tuple(weight.shape) for weight in again.weights] == [(50, 3), (50,)]
    assert again.num_classes == 7
    assert [tuple(weight.shape) for weight in made.weights] == [(20, 2), (20,)]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"votes": "distance", "distance": "dot"}, ValueError, "votes must be 'count' with distance='dot'"),
        ({"num_references": 5}, TypeError, "dimension must be an integer, got None"),
        ({"num_references": 5, "dimension": 2}, ValueError, "num_classes must be given with num_references, got None"),
        ({"num_references": 2, "dimension": 2, "num_classes": 2}, ValueError, "k must be at most .*, 2, got 3"),
    ],
)
def test_bad_arguments(arguments, error, message):
    with pytest.raises(error, match=message):
        ks.KNNClassifier(**{"k": 3, **arguments})


@pytest.mark.parametrize(
    ("embeddings", "labels", "error", "message"),
    [
        (REFERENCES[:0], LABELS[:0], ValueError, r"embeddings must have shape \[n, d\], .*, got \(0, 3\)"),
        (REFERENCES[0], LABELS[:3], ValueError, r"embeddings must have shape \[n, d\], .*, got \(3,\)"),
        (np.int32(REFERENCES), LABELS, TypeError, "embeddings must be floating-point, got dtype int32"),
        (np.where(LABELS[:, None] == 2, np.nan, REFERENCES), LABELS, ValueError, "embeddings must be finite, got "),
        (
            REFERENCES,
            LABELS[:49],
            ValueError,
            r"labels must have shape \[n\] = \(50,\), one per embedding, got \(49,\)",
        ),
        (REFERENCES, None, TypeError, r"labels must be integers \[n\], got None"),
        (REFERENCES, 3, ValueError, r"labels must have shape \[n\] = \(50,\), one per embedding, got \(\)"),
        (REFERENCES, LABELS * 1.0, TypeError, "labels must be integers, got dtype float64"),
        (REFERENCES, LABELS - 1, ValueError, "labels must be at least 0 and below num_classes = 4, got -1 to 2"),
        (REFERENCES, LABELS + 1, ValueError, "labels must be at least 0 and below num_classes = 4, got 1 to 4"),
        (REFERENCES[:3], LABELS[:3], ValueError, "k must be at most the number of references, 3, got 4"),
    ],
)
def test_bad_references(embeddings, labels, error, message):
    with pytest.raises(error, match=message):
        ks.KNNClassifier(4, num_classes=4).set_references(embeddings, labels)


def test_an_index_without_labels():
    index = ks.KNNClassifier(2)
    with pytest.raises(TypeError, match=r"got None. For an index without classes pass zeros"):
        index.set_references(REFERENCES)
    index.set_references(REFERENCES, np.zeros(len(REFERENCES), int))  # as the message says
    np.testing.assert_array_equal(index(REFERENCES)["neighbors"][:, 0], np.arange(len(REFERENCES)))


def test_bad_use():
    with pytest.raises(ValueError, match="call set_references or adapt first"):
        ks.KNNClassifier(4)(QUERIES)
    with pytest.raises(ValueError, match=r"embeddings must have shape \[batch, 3\], got \(.*, 2\)"):
        head()(QUERIES[:, :2])
    with pytest.raises(ValueError, match=r"the shape of the references before, \(50, 3\), got \(40, 3\)"):
        head().set_references(REFERENCES[:40], LABELS[:40])
    with pytest.raises(ValueError, match="data must hold at least one batch, got none"):
        ks.KNNClassifier(4).adapt([])
