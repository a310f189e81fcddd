"""A method with logits or a matrix of its own: every operator, next to the truth, and tied items of every method."""

import numpy as np
import pytest
import tensorflow as tf
from support import odd_even, sigmoid_ranks
from support.cases.op_case import OpCase
from support.gradients import central_differences, fixed_weights
from support.oracles import sorting as oracles

from keras_softsort import ops
from keras_softsort.ops.sorting import methods
from keras_softsort.ops.sorting.methods import Method

# By operator, options other than the method.
OPERATORS = {
    "soft_rank": {"direction": "ASCENDING"},
    "soft_values": {},
    "soft_top_k": {"k": 3},
    "soft_quantile": {"q": (0.0, 0.55, 1.0)},
}


# Each is a registration, and the rows of its oracle.
OWN = {
    "odd_even": (Method("odd_even", matrix=odd_even.odd_even), odd_even.rows),
    "sigmoid_ranks": (Method("sigmoid_ranks", sigmoid_ranks.sigmoid_ranks_logits), sigmoid_ranks.rows),
}


@pytest.fixture(autouse=True)
def own_methods(monkeypatch):
    for name, (method, rows) in OWN.items():
        monkeypatch.setitem(methods.METHODS, name, method)
        monkeypatch.setitem(oracles.ROWS, name, rows)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "mode"),
    [
        *((name, "op_by_op") for name in OPERATORS),
        ("soft_values", "unknown_shape"),
        pytest.param("soft_rank", "xla", marks=pytest.mark.nightly),
        *(pytest.param(name, "eager", marks=pytest.mark.nightly) for name in OPERATORS),
    ],
)
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("method", OWN)
def test_operators(method, name, mode, masked):
    options = (*OPERATORS[name].items(), ("method", method))
    case = OpCase(getattr(ops, name), getattr(oracles, name), options, masked)
    value, gradients = case.outcome(mode)
    arrays, mask = case.arguments()
    wanted = case.truth(*arrays, mask)
    slopes = central_differences(lambda *given: case.truth(*given, mask), arrays, fixed_weights(wanted.shape))
    np.testing.assert_allclose(value, wanted, rtol=1e-9, atol=1e-11)
    for found, slope in zip(gradients, slopes, strict=True):
        np.testing.assert_allclose(found, slope, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("method", OWN)
def test_a_list_that_is_not_finite_changes_no_other(method):
    scores = tf.constant([[0.3, np.nan, 1.0], [0.3, 0.2, 1.0]])
    found = ops.soft_rank(scores, method=method)
    assert np.all(np.isnan(found[0]))
    np.testing.assert_allclose(found[1], ops.soft_rank(scores[1], method=method), rtol=1e-6)


def check_ties(method):
    """Tied items have equal ranks: each gets what its tie gets in the mean."""
    scores = np.array([[0.5, -1.0, 0.5, 2.0, 0.5], [1.0, 1.0, 1.0, 1.0, 9.0], [0.2, 0.1, 0.2, 0.1, -3.0]])
    mask = np.array([[True] * 5, [True] * 4 + [False], [True] * 5])
    for tau in (0.01, 1.0, 30.0):
        ranks = ops.soft_rank(tf.constant(scores), tau, method=method, mask=mask).numpy()
        for row, found, valid in zip(scores, ranks, mask, strict=True):
            for score in np.unique(row[valid]):
                tied = found[valid & (row == score)]
                np.testing.assert_allclose(
                    tied,
                    np.full_like(tied, tied.mean()),
                    rtol=1e-9,
                    err_msg=f"tied items must have equal ranks, but items of score {score} in {row} have the ranks "
                    f"{tied} by method {method!r} at tau = {tau}; a matrix shares the mean of their columns among them",
                )


@pytest.mark.parametrize("method", [*methods.names("ranks"), *OWN])
def test_tied_items_have_equal_ranks(method):
    check_ties(method)


def test_unequal_ranks_of_ties_are_found(monkeypatch):
    monkeypatch.setitem(methods.METHODS, "untied", Method("untied", matrix=odd_even.without_ties))
    with pytest.raises(AssertionError, match=r"tied items must have equal ranks, but items of score .* 'untied'"):
        check_ties("untied")
