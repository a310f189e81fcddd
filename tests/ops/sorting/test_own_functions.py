"""Ranks, sorted scores and memberships that a method computes without a matrix, each against its truth.

The methods are those of the registry. `tests/support/oracles/methods.py` has their truths.
"""

import contextlib
import dataclasses

import numpy as np
import pytest
import tensorflow as tf
from support.gradients import central_differences, fixed_weights, tape_gradients
from support.oracles import methods as oracles
from support.oracles.projection import each_list

from keras_softsort import ops
from keras_softsort.ops.sorting import methods
from keras_softsort.ops.sorting.methods import Method

OPERATORS = {"ranks": ops.soft_rank, "sorted_scores": ops.soft_values, "membership": ops.soft_top_k_membership}


@dataclasses.dataclass(frozen=True)
class Own:
    """A function that a method has of its own."""

    field: str
    method: str
    k: int = 1

    def __str__(self):
        return f"{self.field}-{self.method}"

    def call(self, scores, tau, **options):
        counted = (self.k,) if self.field == "membership" else ()
        return OPERATORS[self.field](scores, *counted, tau, method=self.method, **options)

    def truth(self, scores, tau, mask, direction="DESCENDING"):
        """The result for lists of any number of valid items, and 0 at the others."""
        oracle = oracles.truth(self.field, self.method)
        sign = 1 if direction == "DESCENDING" else -1

        def of_list(x):
            counted = (min(self.k, len(x)),) if self.field == "membership" else ()
            found = oracle(sign * x, tau, *counted) if len(x) else np.zeros(0)
            return sign * found if self.field == "sorted_scores" else found

        return each_list(of_list, scores, mask, packed=self.field == "sorted_scores")


def own_functions():
    """Each function that a registered method has of its own."""
    found = [(field, name, methods.METHODS[name]) for field in OPERATORS for name in methods.names(capability(field))]
    return [Own(field, name) for field, name, method in found if getattr(method, field) is not None]


def capability(field):
    """The capability, as operators name it, that the function `field` of a method provides."""
    return "values" if field == "sorted_scores" else field


def lists(size):
    """Scores [8, n] and a mask. The lists have ties, blocks, outliers, and from no valid item to n of them."""
    rng = np.random.default_rng(size)
    scores = rng.normal(size=[8, size])
    scores[1] = np.round(scores[1] * 2) / 2
    scores[2] = np.linspace(-2, 2, size) ** 3
    scores[3] = -np.exp(np.linspace(0, 3, size))
    scores[4] = 3.0
    mask = rng.random([8, size]) < 0.8
    mask[0], mask[6], mask[7] = True, np.arange(size) == size // 2, False
    scores[6][~mask[6]] = np.nan
    return scores, mask


def check_values(own, size, tau, direction="DESCENDING"):
    scores, mask = lists(size)
    found = own.call(tf.constant(scores), tau, mask=mask, direction=direction).numpy()
    if own.field == "membership":  # masked items share what valid ones leave of k
        np.testing.assert_allclose(found.sum(axis=1), own.k, rtol=1e-11)
        found = np.where(mask, found, 0)
    wanted = own.truth(scores, tau, mask, direction)
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-11, err_msg=f"{own}, n = {size}, tau = {tau}")


def slopes_of_sorted(function, scores, mask, weights, step=1e-5):
    """Central differences where tied items move together and share their slope: alone, they have no derivative."""
    result = np.zeros(scores.shape)
    for index in np.ndindex(scores.shape[:-1]):
        for value in np.unique(scores[index][mask[index]]):
            tied = np.zeros(scores.shape, bool)
            tied[index] = mask[index] & (scores[index] == value)
            ends = [np.sum(weights * function(scores + sign * step * tied)) for sign in (1, -1)]
            result[tied] = (ends[0] - ends[1]) / (2 * step * tied.sum())
    return result


def check_gradients(own, size, tau):
    scores, mask = lists(size)
    is_sorted = own.field == "sorted_scores"
    weights = np.where(np.sort(mask)[:, ::-1] if is_sorted else mask, fixed_weights(scores.shape), 0)
    tensors = [tf.constant(scores), tf.constant(tau, tf.float64)]
    _, (found, of_tau) = tape_gradients(lambda s, t: own.call(s, t, mask=mask), tensors, weights)
    wanted, slope = central_differences(lambda s, t: own.truth(s, float(t), mask), [scores, tau], weights)
    if is_sorted:
        wanted = slopes_of_sorted(lambda moved: own.truth(moved, tau, mask), scores, mask, weights)
    # A distribution function of Laplace has a kink in its slope at ties.
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5, err_msg=f"{own}, tau = {tau}")
    np.testing.assert_allclose(of_tau, slope, rtol=1e-5, atol=1e-7, err_msg=f"{own}, tau = {tau}")


EACH = pytest.mark.parametrize("own", own_functions(), ids=str)


@pytest.mark.slow
@EACH
def test_values_are_the_truth(own):
    for size in (1, 2, 17, 100):
        for tau, direction in ((0.02, "DESCENDING"), (0.3, "ASCENDING"), (3.0, "DESCENDING"), (50.0, "ASCENDING")):
            for k in (1, 2, 5) if own.field == "membership" and size > 5 else (1,):
                check_values(dataclasses.replace(own, k=k), size, tau, direction)


@pytest.mark.slow
@EACH
@pytest.mark.parametrize("tau", [0.37, 2.9])
def test_gradients_are_slopes_of_the_truth(own, tau):
    check_gradients(dataclasses.replace(own, k=2), 7, tau)


@pytest.mark.parametrize("method", methods.names("ranks"))
def test_ranks_are_exact_without_a_temperature(method):
    """Needs no truth of the method."""
    scores = np.random.default_rng(0).normal(size=[3, 9])
    mask = np.arange(9) < [[9], [4], [1]]
    exact = [
        [1 + np.sum(x[m] > each) if valid else 0 for each, valid in zip(x, m, strict=True)]
        for x, m in zip(scores, mask, strict=True)
    ]
    found = ops.soft_rank(tf.constant(scores), 1e-9, method=method, mask=mask)
    np.testing.assert_allclose(found, exact, atol=1e-6)


# The term and the factor of ranks that are 1/2 plus a sum of sigmoids over all pairs. Traces know a method by its name.
SIGMOIDS = {"right_sigmoid": (0.5, 1.0), "wrong_sigmoid": (7.5, 3.0)}


@pytest.fixture(params=SIGMOIDS)
def sigmoid(request):
    """A method of ranks alone, by the right formula and by a wrong one."""
    term, factor = SIGMOIDS[request.param]

    def ranks(lists):
        pairs = tf.sigmoid((lists.scores[:, None, :] - lists.scores[:, :, None]) / lists.tau[:, :, None])
        valid = tf.cast(lists.mask, lists.scores.dtype)
        return valid * (term + factor * tf.reduce_sum(pairs * valid[:, None, :], axis=2))

    methods.register(Method(request.param, ranks=ranks))
    yield Own("ranks", request.param)
    del methods.METHODS[request.param]


def test_a_method_without_truth_is_found(sigmoid):
    assert sigmoid in own_functions()
    message = rf"'{sigmoid.method}' has ranks of its own and no truth: .* to RANKS in tests/support"
    with pytest.raises(LookupError, match=message):
        check_values(sigmoid, 7, 1.0)


def test_a_wrong_formula_is_found(sigmoid, monkeypatch):
    def truth(x, tau):
        return 0.5 + np.sum(1 / (1 + np.exp((x[:, None] - x) / tau)), axis=1)

    monkeypatch.setitem(oracles.RANKS, sigmoid.method, truth)
    is_wrong = sigmoid.method == "wrong_sigmoid"
    for check in (check_values, check_gradients):
        with pytest.raises(AssertionError, match=str(sigmoid)) if is_wrong else contextlib.nullcontext():
            check(sigmoid, 7, 1.0)
