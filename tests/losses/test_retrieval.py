"""RetrievalLoss: labels, towers, padding, weights, and a memory that trains and is saved, but not by evaluation."""

import numpy as np
import pytest
import tensorflow as tf
from support import models
from support.processes import json_from

import keras_softsort as ks
from keras_softsort._internal import advice

keras = tf.keras
RNG = np.random.default_rng(6)
LABELS = np.array([0, 1, 2, 0, 1, 0, 0, 1])
EMBEDDINGS = RNG.normal(size=(8, 3))
TOWERS = RNG.normal(size=(5, 2, 3))


def loss(**options):
    return ks.RetrievalLoss(**{"reduction": models.NO_REDUCTION, "tau": 0.3, **options})


def test_value_is_minus_the_metric():
    for options in ({}, {"metric": "precision", "k": 2, "distance": "dot", "tau": 0.5}):
        wanted = ks.ops.retrieval_loss(EMBEDDINGS, labels=LABELS, **{"tau": 0.3, **options})
        np.testing.assert_allclose(loss(**options)(LABELS, EMBEDDINGS), wanted, rtol=1e-12)
    found = ks.RetrievalLoss(tau=0.3)(LABELS[:, None], EMBEDDINGS)
    assert float(found) == pytest.approx(np.mean(loss()(LABELS, EMBEDDINGS)))
    one_hot = loss()(np.eye(3)[LABELS], EMBEDDINGS)
    np.testing.assert_allclose(one_hot, loss()(LABELS, EMBEDDINGS), rtol=1e-12)


def test_padding_and_weights():
    order, weights = [0, 8, 1, 2, 3, 4, 9, 5, 6, 7], np.arange(10.0)
    labels = np.concatenate([LABELS, [-1, -2]])[order]
    embeddings = np.concatenate([EMBEDDINGS, [[np.nan] * 3, [9.0] * 3]])[order]
    found, wanted = loss()(labels, embeddings).numpy(), loss()(LABELS, EMBEDDINGS).numpy()
    np.testing.assert_allclose(found[labels >= 0], wanted, rtol=1e-12)
    assert np.all(found[labels < 0] == 0)
    assert float(ks.RetrievalLoss(tau=0.3)(labels, embeddings)) == pytest.approx(wanted.mean())
    np.testing.assert_allclose(loss()(labels, embeddings, weights), found * weights, rtol=1e-12)


def test_two_towers():
    queries, candidates = TOWERS[:, 0], TOWERS[:, 1]
    by_row = ks.ops.retrieval_loss(queries, candidates, tau=0.3)
    np.testing.assert_allclose(loss()(np.arange(5), TOWERS), by_row, rtol=1e-12)
    ids, others = np.array([3, 3, 7, 8, -1]), np.array([3, 9, 7, 8, 8])
    for labels in (np.stack([ids, others], axis=1), np.stack([ids, others], axis=1)[..., None]):
        wanted = -ks.ops.retrieval_loss(
            queries, candidates, labels=ids, candidate_labels=others, mask=ids >= 0, tau=0.3
        )
        np.testing.assert_allclose(loss()(labels, TOWERS), -wanted, rtol=1e-12)
    # The third axis of labels is Keras 2's; a shared label of -1 masks both towers.
    shared = loss()(ids[:, None], TOWERS)
    wanted = -ks.ops.retrieval_loss(queries[:4], candidates[:4], labels=ids[:4], candidate_labels=ids[:4], tau=0.3)
    np.testing.assert_allclose(shared[:4], -wanted, rtol=1e-12)


def gradient(function, embeddings):
    tensor = tf.constant(embeddings)
    with tf.GradientTape() as tape:
        tape.watch(tensor)
        value = function(tensor)
    return value, tape.gradient(value, tensor)


@pytest.mark.slow
@pytest.mark.parametrize("towers", [False, True])
def test_a_memory_adds_the_candidates_of_past_batches(towers):
    batches, labels = RNG.normal(size=(4, 5, 2, 3)), RNG.integers(0, 3, size=(4, 5))
    labels[2, 1] = -1
    own = loss(memory_size=8)
    seen, known = np.zeros((0, 3)), np.zeros(0, int)
    for batch, classes in zip(batches, labels, strict=True):
        candidates = batch[:, 1]
        value, _ = gradient(lambda inputs, y=classes: own(y, inputs), batch if towers else candidates)
        wanted = -ks.ops.retrieval_loss(
            batch[:, 0] if towers else candidates,
            np.concatenate([candidates, seen]),
            labels=classes,
            candidate_labels=np.concatenate([classes, known]),
            mask=classes >= 0,
            candidate_mask=np.concatenate([classes, known]) >= 0,
            exclude_self=not towers,
            tau=0.3,
        )
        np.testing.assert_allclose(value, -wanted, rtol=1e-12)
        # Without a gradient nothing is remembered.
        own(classes, batch if towers else candidates)
        seen, known = np.concatenate([candidates, seen])[:8], np.concatenate([classes, known])[:8]


@pytest.mark.slow
def test_memory_keeps_labels_that_are_not_whole():
    labels = np.float32([0.25, 0.25, 0.75, 0.75])
    own = loss(memory_size=4)
    values = [gradient(lambda inputs: own(labels, inputs), EMBEDDINGS[:4])[0] for _ in range(2)]
    whole = loss(memory_size=4)
    wanted = [gradient(lambda inputs: whole(np.array([0, 0, 1, 1]), inputs), EMBEDDINGS[:4])[0] for _ in range(2)]
    np.testing.assert_allclose(values, wanted)
    np.testing.assert_array_equal(own._memory.labels, labels)


@pytest.mark.slow
def test_memory_has_no_gradient_and_passes_that_of_the_batch():
    own = loss(memory_size=8)
    gradient(lambda inputs: own(LABELS, inputs), EMBEDDINGS)
    later = EMBEDDINGS[::-1].copy()
    _, found = gradient(lambda inputs: own(LABELS, inputs), later)

    def plain(inputs):
        both, labels = tf.concat([inputs, EMBEDDINGS], axis=0), np.concatenate([LABELS, LABELS])
        return -ks.ops.retrieval_loss(inputs, both, labels=LABELS, candidate_labels=labels, tau=0.3, exclude_self=True)

    _, wanted = gradient(lambda inputs: -plain(inputs), later)
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


# With XLA by the battery, too.
@pytest.mark.slow
@pytest.mark.default_stack_only
@pytest.mark.parametrize("jit_compile", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_memory_of_a_model_is_saved(tmp_path, jit_compile):
    x, y = RNG.normal(size=(16, 5)).astype("float32"), RNG.integers(0, 3, size=16)

    def compiled():
        model = keras.Sequential([keras.Input((5,)), keras.layers.Dense(3)])
        model.compile("sgd", loss=ks.RetrievalLoss(memory_size=12, tau=0.3), jit_compile=jit_compile)
        return model

    model = compiled()
    fresh = model.evaluate(x, y, verbose=0)
    model.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0)
    value = model.evaluate(x, y, verbose=0)
    assert model.evaluate(x, y, verbose=0) == pytest.approx(value, rel=1e-6)
    assert value != pytest.approx(fresh, rel=1e-3)
    labels = model.loss._memory.labels.numpy()
    np.testing.assert_array_equal(labels, np.concatenate([y[8:], y[:4]]))
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded.loss._memory.labels, labels)
    assert loaded.evaluate(x, y, verbose=0) == pytest.approx(value, rel=1e-6)
    model.save_weights(tmp_path / "model.weights.h5")
    again = compiled()
    again.load_weights(tmp_path / "model.weights.h5")
    assert again.evaluate(x, y, verbose=0) == pytest.approx(value, rel=1e-6)


LARGE = """
import json, resource
import numpy as np, tensorflow as tf
import keras_softsort as ks

def step(n):
    embeddings = tf.constant(np.random.default_rng(0).normal(size=(n, 16)), tf.float32)
    with tf.GradientTape() as tape:
        tape.watch(embeddings)
        value = ks.RetrievalLoss()(np.arange(n) % (n // 32), embeddings)  # 32 of each class
    return bool(np.all(np.isfinite(tape.gradient(value, embeddings))))

step(128)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([step(4096), (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024]))
"""


@pytest.mark.nightly
def test_memory_of_a_large_batch():
    """A matrix of similarities is 64 MiB; the comparisons with all relevant candidates would be 31 such matrices."""
    finite, growth = json_from(LARGE)
    assert finite
    assert growth < 20 * 64


@pytest.mark.slow
def test_training_two_towers_by_fit():
    """Queries and candidates share what identifies them; a linear tower each finds it."""
    rng = np.random.default_rng(0)
    what = rng.normal(size=(128, 3))
    sides = [np.concatenate([what, rng.normal(size=(128, 3))], axis=1).astype("float32") for _ in range(2)]
    inputs = [keras.Input((6,)), keras.Input((6,))]
    towers = [keras.layers.Reshape((1, 4))(keras.layers.Dense(4)(each)) for each in inputs]
    model = keras.Model(inputs, keras.layers.Concatenate(axis=1)(towers))
    model.compile(keras.optimizers.Adam(0.05), loss=ks.RetrievalLoss("mrr", tau=0.1, memory_size=16))
    losses = model.fit(sides, np.arange(128), batch_size=32, epochs=30, verbose=0).history["loss"]
    assert losses[0] > -0.3
    assert losses[-1] < losses[0] - 0.2


def test_precision_needs_k():
    with pytest.raises(ValueError, match="k must be given with metric='precision', got None"):
        ks.RetrievalLoss("precision")


@pytest.mark.parametrize(
    ("arguments", "labels", "embeddings", "message"),
    [
        ({}, LABELS, EMBEDDINGS[0], r"y_pred must be embeddings \[batch, d\], or \[batch, 2, d\] .*, got \(3,\)"),
        ({}, LABELS[:5], TOWERS[:, :1], r"y_pred must be embeddings .*, got \(5, 1, 3\)"),
        ({}, np.zeros((5, 3), int), TOWERS, r"y_true must have shape \[batch\] or \[batch, 2\] .*, got \(5, 3\)"),
        ({}, LABELS[:4], EMBEDDINGS, r"y_true must have shape .* with batch 8 .*, got \(4,\)"),
        ({"k": 9}, LABELS, EMBEDDINGS, "k must be at most the number of candidates, got 9 for 8"),
        ({"memory_size": 4}, np.eye(3)[LABELS], EMBEDDINGS, r"y_true must have shape \[batch\] with memory_size"),
    ],
)
def test_bad_calls(arguments, labels, embeddings, message):
    with pytest.raises(ValueError, match=message):
        loss(**arguments)(labels, embeddings)


@pytest.mark.parametrize("labels", [np.ones(12, int), np.ones((12, 1)), np.array([3] * 10 + [-1] * 2)])
@pytest.mark.parametrize("towers", [False, True])
def test_one_label_for_all_is_seen_once(labels, towers, monkeypatch):
    monkeypatch.setattr(advice, "_given", set())
    embeddings = RNG.normal(size=(12, 2, 3) if towers else (12, 3))
    with pytest.warns(UserWarning, match=r"all 1[02] queries and all candidates have the label [13].*clicked item"):
        found = ks.RetrievalLoss()(labels, embeddings)
    assert float(found) == pytest.approx(-1)
    ks.RetrievalLoss()(labels, embeddings)  # pytest makes a warning an error


@pytest.mark.parametrize(
    "labels", [np.ones(8, int), np.arange(12), [[1, 0]] * 12, [1] * 11 + [0], [-1] * 12, [1.0] * 11 + [np.nan]]
)
def test_labels_that_differ_and_small_batches_give_no_warning(labels, monkeypatch):
    monkeypatch.setattr(advice, "_given", set())
    ks.RetrievalLoss()(np.array(labels), RNG.normal(size=(len(labels), 3)))
    ks.ops.retrieval_loss(RNG.normal(size=(12, 3)), RNG.normal(size=(12, 3)))
