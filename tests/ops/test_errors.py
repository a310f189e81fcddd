"""Every wrong argument: the type of the exception, and a message that names the argument and what was received."""

import numpy as np
import pytest
import tensorflow as tf
from support.cases.operators import FEW

from keras_softsort import ops

S = tf.constant([[0.5, -1.0, 2.0], [1.0, 0.0, 3.0]])
SORTS = {case.operator.__name__: case.of for case in FEW}
EVERY = pytest.mark.parametrize("op", SORTS.values(), ids=SORTS)
MATRICES = pytest.mark.parametrize("op", [ops.neural_sort, ops.soft_sort], ids=["neural_sort", "soft_sort"])


@EVERY
@pytest.mark.parametrize(
    ("tau", "error", "message"),
    [
        (0, ValueError, "tau must be positive and finite, got 0"),
        (0.0, ValueError, r"tau must be positive and finite, got 0\.0"),
        (-1, ValueError, "tau must be positive and finite, got -1"),
        (np.nan, ValueError, "tau must be positive and finite, got nan"),
        (np.inf, ValueError, "tau must be positive and finite, got inf"),
        (np.float32(-2), ValueError, r"tau must be positive and finite, got .*-2\.0"),
        (True, TypeError, "tau must be a number, got True"),
        ("a", TypeError, "tau must be .*, got .*(string|'a')"),
        (None, TypeError, "tau must be a tensor or convertible to one, got None"),
        (
            [1.0] * 3,
            ValueError,
            r"tau must be a scalar or have the shape of the leading axes, \(2,\), got shape \(3,\)",
        ),
        (tf.ones([3, 2]), ValueError, r"tau must be a scalar or have the shape .*, \(2,\), got shape \(3, 2\)"),
        (tf.constant(1), TypeError, "tau must be floating-point, got dtype int32"),
    ],
    ids=repr,
)
def test_tau(op, tau, error, message):
    with pytest.raises(error, match=message):
        op(S, tau)


@EVERY
@pytest.mark.parametrize(
    ("scores", "error", "message"),
    [
        (tf.constant([1, 2]), TypeError, "scores must be floating-point, got dtype int32"),
        ([True, False], TypeError, "scores must be floating-point, got dtype bool"),
        (tf.ragged.constant([[1.0], [1.0, 2.0]]), TypeError, "scores must be a dense tensor, got RaggedTensor"),
        (tf.sparse.from_dense(S), TypeError, "scores must be a dense tensor, got SparseTensor"),
        (1.5, ValueError, r"scores must have shape \[\.\.\., n\], got a scalar"),
    ],
    ids=["int", "bool", "ragged", "sparse", "scalar"],
)
def test_scores(op, scores, error, message):
    with pytest.raises(error, match=message):
        op(scores)


@EVERY
def test_scores_of_unknown_rank(op):
    with pytest.raises(ValueError, match="scores must have a known rank"):
        tf.function(op).get_concrete_function(tf.TensorSpec(None))


@EVERY
@pytest.mark.parametrize(
    ("mask", "error", "message"),
    [
        (tf.ones([2, 3]), TypeError, "mask must be bool .*got dtype float32"),
        (np.ones([2, 3], np.int32), TypeError, "mask must be bool .*got dtype int32"),
        (tf.ones([3], tf.bool), ValueError, r"mask must have the shape of scores, \(2, 3\), got \(3,\)"),
        (tf.ones([3, 2], tf.bool), ValueError, r"mask must have the shape of scores, \(2, 3\), got \(3, 2\)"),
        (tf.ones([1, 3], tf.bool), ValueError, r"mask must have the shape of scores, \(2, 3\), got \(1, 3\)"),
    ],
    ids=["float", "int", "rank", "transposed", "broadcast"],
)
def test_mask(op, mask, error, message):
    with pytest.raises(error, match=message):
        op(S, mask=mask)


@pytest.mark.parametrize("shape", [[1, 3], [2, 1], [3, 2], [6, 1]], ids=str)
@MATRICES
def test_mask_of_another_shape_known_only_when_run(op, shape):
    # A transposed mask has as many entries: a reshape would take it and mask the wrong items.
    unknown = [tf.TensorSpec([None, None]), tf.TensorSpec([None, None], tf.bool)]
    run = tf.function(lambda scores, mask: op(scores, mask=mask), input_signature=unknown)
    assert run(S, tf.ones([2, 3], tf.bool)).shape == (2, 3, 3)
    with pytest.raises(tf.errors.InvalidArgumentError, match="mask must have the same batch and list size"):
        run(S, tf.ones(shape, tf.bool))


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("top_k", lambda k, scores=S: ops.neural_sort(scores, top_k=k)),
        ("top_k", lambda k, scores=S: ops.soft_sort(scores, top_k=k)),
        ("k", lambda k, scores=S: ops.soft_top_k(scores, k)),
    ],
    ids=["neural_sort", "soft_sort", "soft_top_k"],
)
def test_number_of_rows(name, call):
    with pytest.raises(ValueError, match=f"^{name} must be at most the list size, 3, got 4"):
        call(4)
    unknown = tf.function(lambda scores: call(4, scores), input_signature=[tf.TensorSpec([None, None])])
    unknown(tf.zeros([2, 4]))
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"{name} must be at most the list size, got 4"):
        unknown(S)


@pytest.mark.parametrize(
    ("q", "error", "message"),
    [
        (-0.1, ValueError, r"q must lie in \[0, 1\], got -0\.1"),
        (1.5, ValueError, r"q must lie in \[0, 1\], got 1\.5"),
        ([0.5, 2.0], ValueError, r"q must lie in \[0, 1\], got \[0\.5, 2\.0\]"),
        (np.nan, ValueError, r"q must lie in \[0, 1\], got nan"),
        ([], ValueError, r"q must be .*non-empty.*got shape \(0,\)"),
        ([[0.5]], ValueError, r"q must be .*got shape \(1, 1\)"),
        ("median", TypeError, "q must be a number or .*got 'median'"),
        (tf.constant(0.5), TypeError, "q must be .*got a tensor"),
    ],
    ids=repr,
)
def test_quantile(q, error, message):
    with pytest.raises(error, match=message):
        ops.soft_quantile(S, q)


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        (tf.ones([2, 3], tf.int32), TypeError, "values must be floating-point, got dtype int32"),
        (tf.ones([2, 3], tf.float64), TypeError, "values must have the dtype of scores, float32, got float64"),
        (tf.ones([2, 4]), ValueError, r"values must have shape .*got \(2, 4\) and \(2, 3\)"),
        (tf.ones([3]), ValueError, r"values must have shape .*got \(3,\) and \(2, 3\)"),
        (tf.ones([1, 3]), ValueError, r"values must have shape .*got \(1, 3\) and \(2, 3\)"),
        (tf.ones([3, 2, 4]), ValueError, r"values must have shape .*got \(3, 2, 4\) and \(2, 3\)"),
        (tf.ones([2, 3, 4, 5]), ValueError, r"values must have shape .*got \(2, 3, 4, 5\) and \(2, 3\)"),
        (tf.ragged.constant([[1.0], [2.0]]), TypeError, "values must be a dense tensor, got RaggedTensor"),
    ],
    ids=["int", "double", "size", "rank", "broadcast", "transposed", "too_many_axes", "ragged"],
)
def test_values(values, error, message):
    with pytest.raises(error, match=message):
        ops.soft_values(S, values=values)


@pytest.mark.parametrize(
    ("permutation", "error", "message"),
    [
        (tf.ones([3]), ValueError, r"permutation must have shape \[\.\.\., r, n\], got \(3,\)"),
        (tf.ones([2, 4, 3]), ValueError, "the number of ranks of permutation must be at most the list size, 3, got 4"),
        (tf.eye(2, dtype=tf.float32) > 0, TypeError, "permutation must be floating-point, got dtype bool"),
    ],
    ids=["rank", "too_many_ranks", "bool"],
)
def test_harden(permutation, error, message):
    with pytest.raises(error, match=message):
        ops.harden(permutation)


def test_harden_more_ranks_than_items_known_only_when_run():
    run = tf.function(ops.harden, input_signature=[tf.TensorSpec([None, None])])
    np.testing.assert_array_equal(run(tf.ones([2, 2])), np.eye(2))
    with pytest.raises(tf.errors.InvalidArgumentError, match="ranks of permutation must be at most the list size"):
        run(tf.ones([3, 2]))
