"""Ranking metrics of lists against NumPy, in every mode, with ties, masks and weights."""

import numpy as np
import pytest
import tensorflow as tf
from sklearn import metrics as sklearn_metrics
from support import modes
from support.oracles import ranking_metrics as oracle

import keras_softsort as ks
from keras_softsort.ops.core.tracing import lowering_for

OF_TOPICS = ("alpha_dcg", "precision_ia")
OF_GAINS = ("ndcg", "dcg")
WITHOUT_K = ("average_relevance_position", "ordered_pair_accuracy")
WITHOUT_TIES = ("alpha_dcg", "expected_reciprocal_rank")
OF_GRADES = (*OF_GAINS, "expected_reciprocal_rank")
NAMES = (*OF_GRADES, *OF_TOPICS, *WITHOUT_K, "precision", "recall", "hits", "mrr", "mean_average_precision")
TIES = ("position", "mean")


def lists(name, count=24, size=7, seed=0):
    """Scores with many ties, labels, masks and weights, some of them 0."""
    rng = np.random.default_rng(seed)
    shape = (count, size)
    labels = rng.integers(0, 2, (*shape, 3)) if name in OF_TOPICS else rng.integers(0, 4, shape)
    weights = rng.integers(0, 4, shape) / 2
    return rng.integers(0, 4, shape).astype(float), labels.astype(float), rng.random(shape) < 0.8, weights


def choices(name):
    """Options away from the defaults, one set after another."""
    found = [{}] if name in WITHOUT_K else [{"k": 1}, {"k": 3}, {"k": 20}, {}]
    if name not in WITHOUT_TIES:
        found = [{**each, "ties": ties} for each in found for ties in TIES]
    if name in OF_GAINS:
        found += [{"gain": "linear", "discount": "reciprocal"}]
        found += [{"gain": lambda y: y * (y + 1.0), "discount": lambda r: 1.0 / (r + 2.0)}]
    if name == "alpha_dcg":
        found += [{"alpha": 0.2, "discount": "reciprocal"}, {"discount": lambda r: 1.0 / (r + 2.0)}]
    if name in ("precision", "recall", "hits", "mrr", "mean_average_precision"):
        found += [{"min_label": 2.5, "k": 3}]
    if name == "mean_average_precision":
        found += [{"divisor": "at_most_k", "k": k, "ties": ties} for k in (1, 3, 20, None) for ties in TIES]
    if name == "expected_reciprocal_rank":
        found += [{"max_label": 3.0, "k": 3}, {"max_label": 7.5}]
    if name == "ordered_pair_accuracy":
        found += [{"keep_zero_weights": True, "no_pairs": 0.25}, {"no_pairs": np.nan}]
    if name == "precision_ia":
        found += [{"min_label": 0.0}]
    return found


def expected(name, scores, labels, mask, weights, **options):
    masks = [None] * len(scores) if mask is None else mask
    weighted = [None] * len(scores) if weights is None else weights
    return [
        oracle.metric(name, *each[:2], mask=each[2], weights=each[3], **options)
        for each in zip(scores, labels, masks, weighted, strict=True)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_values(name):
    scores, labels, mask, weights = lists(name, count=12)
    for options in choices(name):
        for each in ((mask, weights), (mask, None), (None, weights), (None, None)):
            found = getattr(ks.ops, name)(tf.constant(scores), labels, mask=each[0], weights=each[1], **options)
            wanted = expected(name, scores, labels, *each, **options)
            np.testing.assert_allclose(found, wanted, atol=1e-12, err_msg=str((options, each)))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_items_that_were_not_retrieved(name):
    """They have the score -inf. They take no rank, and count among the relevant ones."""
    scores, labels, mask, weights = lists(name, count=8)
    scores[scores == 0] = -np.inf
    scores[3] = -np.inf
    for options in choices(name):
        for each in ((mask, weights), (None, None)):
            found = getattr(ks.ops, name)(tf.constant(scores), labels, mask=each[0], weights=each[1], **options)
            wanted = expected(name, scores, labels, *each, **options)
            np.testing.assert_allclose(found, wanted, atol=1e-12, err_msg=str((options, each)))


@pytest.mark.parametrize("mode", modes.OP_MODES)
@pytest.mark.parametrize("name", NAMES)
def test_modes(name, mode):
    scores, labels, mask, weights = lists(name, count=6)

    def run(scores, labels, mask, weights):
        return getattr(ks.ops, name)(scores, labels, mask=mask, weights=weights)

    numbers = [tf.constant(each, tf.bool if each is mask else tf.float32) for each in (scores, labels, mask, weights)]
    inputs = [tf.reshape(each, [2, 3, *each.shape[1:]]) for each in numbers]
    if mode == "unknown_shape":
        signature = [tf.TensorSpec([None] * each.shape.rank, each.dtype) for each in inputs]
        run = tf.function(run, input_signature=signature, autograph=False)
    elif mode != "eager":
        run = tf.function(run, jit_compile=True if mode == "xla" else None, autograph=False)
    found = run(*inputs)
    assert (found.shape, found.dtype) == ([2, 3], tf.float32)
    wanted = expected(name, scores, labels, mask, weights)
    np.testing.assert_allclose(np.ravel(found), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_ties_are_compared_by_pairs_on_a_gpu(name):
    scores, labels, mask, weights = lists(name, count=6)
    with lowering_for("gpu"):
        found = tf.function(getattr(ks.ops, name), autograph=False)(
            tf.constant(scores), tf.constant(labels), mask=mask, weights=weights
        )
    np.testing.assert_allclose(found, expected(name, scores, labels, mask, weights), atol=1e-12)


def test_every_label_with_a_gain_is_a_topic_of_alpha_dcg():
    scores, labels, mask, weights = lists("alpha_dcg")
    shares = labels * np.random.default_rng(1).choice([0.25, 0.5, 1.0], labels.shape)
    for each in ((mask, weights), (None, None)):
        found = ks.ops.alpha_dcg(tf.constant(scores), shares, mask=each[0], weights=each[1])
        np.testing.assert_allclose(found, expected("alpha_dcg", scores, shares, *each), atol=1e-12)
    halves = ks.ops.alpha_dcg(tf.constant([2.0, 1.0]), [[0.5], [0.5]])
    np.testing.assert_allclose(halves, 0.5 + 0.5 * np.sqrt(0.5) / np.log2(3), rtol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_no_number(name):
    """A NaN score or a label that is not finite fails its own list only; masked ones and infinite scores do not."""
    scores, labels, mask, _ = lists(name, count=4)
    mask[:, 0], labels[:, 0] = True, 1.0
    function = getattr(ks.ops, name)
    wanted = function(tf.constant(scores), labels, mask=mask).numpy()
    spoilt = np.where(mask, scores, np.nan)
    hidden = np.where(mask if labels.ndim == 2 else mask[..., None], labels, np.nan)
    np.testing.assert_array_equal(function(tf.constant(spoilt), hidden, mask=mask), wanted)
    spoilt[1, 0], hidden[2, 0] = np.nan, np.inf
    found = function(tf.constant(spoilt), hidden, mask=mask).numpy()
    np.testing.assert_array_equal(np.isnan(found), [False, True, True, False])
    assert found[0] == wanted[0]
    ends = np.float64([[-np.inf, np.inf, 0.0, 5.0]])
    some = np.float64([[1, 0, 1, 1]]) if labels.ndim == 2 else np.float64([[[1], [0], [1], [1]]])
    valid = np.array([[True, True, True, False]])
    found = function(tf.constant(ends), some, mask=valid)
    np.testing.assert_allclose(found, expected(name, np.float64([[-np.inf, 9, 0, 5]]), some, valid, None))


@pytest.mark.parametrize("mode", modes.OP_MODES)
@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("ndcg", (1 + 1 / np.log2(3) + 1 / 2 + 1 / np.log2(5)) / 4),
        ("dcg", (1 + 1 / np.log2(3) + 1 / 2 + 1 / np.log2(5)) / 4),
        ("mrr", (1 + 1 / 2 + 1 / 3 + 1 / 4) / 4),
        ("mean_average_precision", (1 + 1 / 2 + 1 / 3 + 1 / 4) / 4),
        ("precision", 1 / 4),
        ("recall", 1.0),
        ("hits", 1.0),
        ("average_relevance_position", 2.5),
        ("ordered_pair_accuracy", 0.5),
    ],
)
def test_a_constant_model_is_as_good_as_chance(name, wanted, mode):
    """Wherever the only relevant item stands in the list."""

    def run(labels):
        return getattr(ks.ops, name)(tf.zeros_like(labels), labels)

    labels = tf.eye(4)
    if mode == "unknown_shape":
        run = tf.function(run, input_signature=[tf.TensorSpec([None, None])], autograph=False)
    elif mode != "eager":
        run = tf.function(run, jit_compile=True if mode == "xla" else None, autograph=False)
    np.testing.assert_allclose(run(labels), np.full(4, wanted), rtol=1e-6)
    if name in ("recall", "hits"):
        np.testing.assert_allclose(getattr(ks.ops, name)(tf.zeros([4, 4]), labels, k=1), np.full(4, 0.25), rtol=1e-6)


@pytest.mark.parametrize("name", ["ndcg", "dcg", "average_relevance_position"])
def test_a_negative_label_has_no_gain(name):
    found = getattr(ks.ops, name)(tf.constant([[1.0, 2.0], [2.0, 1.0]]), [[0.0, -1.0], [0.0, 1.0]])
    np.testing.assert_array_equal(np.isnan(found), [True, False])


def test_scikit_learn():
    rng = np.random.default_rng(1)
    scores, labels = rng.integers(0, 4, (8, 9)).astype(float), rng.integers(0, 4, (8, 9)).astype(float)
    binary = (labels >= 2).astype(float)
    for k in (None, 4):
        found = ks.ops.ndcg(tf.constant(scores), labels, k=k, gain="linear")
        assert np.mean(found) == pytest.approx(sklearn_metrics.ndcg_score(labels, scores, k=k))
        found = ks.ops.dcg(tf.constant(scores), labels, k=k, gain="linear")
        assert np.mean(found) == pytest.approx(sklearn_metrics.dcg_score(labels, scores, k=k))
    areas = ks.ops.ordered_pair_accuracy(tf.constant(scores), binary)
    wanted = [sklearn_metrics.roc_auc_score(*each) for each in zip(binary, scores, strict=True)]
    np.testing.assert_allclose(areas, wanted)
    untied = rng.permuted(np.tile(np.arange(9.0), (8, 1)), axis=1)
    precisions = ks.ops.mean_average_precision(tf.constant(untied), binary)
    wanted = [sklearn_metrics.average_precision_score(*each) for each in zip(binary, untied, strict=True)]
    np.testing.assert_allclose(precisions, wanted)


def test_large_labels_do_not_overflow():
    scores, labels = tf.constant([[1.0, 2.0, 3.0]]), tf.constant([[500.0, 499.0, 0.0]])
    wanted = ks.ops.ndcg(tf.cast(scores, tf.float64), tf.cast(labels, tf.float64))
    np.testing.assert_allclose(ks.ops.ndcg(scores, labels), wanted, rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: ks.ops.recall(s, s, weights=-1.0), "weights must not be negative"),
        (lambda s: ks.ops.hits(s, s[:, :2]), "labels must have the shape of scores"),
        (lambda s: ks.ops.alpha_dcg(s, s), r"labels must have shape \[\.\.\., n, topics\] with scores \(2, 3\)"),
        (lambda s: ks.ops.alpha_dcg(s, s[..., None], alpha=1.0), "alpha must be at least 0 and below 1"),
        (lambda s: ks.ops.mrr(s, s, min_label=np.nan), "min_label must be finite"),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call(tf.constant([[1.0, 2.0, 3.0], [0.0, 1.0, 5.0]]))


def test_the_largest_label_may_be_of_any_size():
    assert ks.ops.expected_reciprocal_rank([3.0, 2.0], [1.0, 2.0], max_label=1100) == 0
