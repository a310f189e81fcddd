"""The contract of losses of scores: the oracle's value and gradient in every mode, padding, weights, edges, errors."""

import inspect
import re

import numpy as np
import pytest
import tensorflow as tf
from support import models, modes, rules
from support.cases import objects
from support.data.graded_lists import LABELS, SCORES, WEIGHTS
from support.gradients import central_differences, fixed_weights

import keras_softsort as ks

pytestmark = pytest.mark.default_stack_only

NONE = models.NO_REDUCTION
# Losses with an oracle. Files of their own compare the mean over samples of the others.
LOSSES = {cls: loss for cls, loss in objects.SUBJECTS.items() if loss.takes == "scores" and loss.oracle}
CASES = {name: (loss, arguments) for loss in LOSSES.values() for name, arguments in loss.values.items()}
# The first case of each loss goes through the modes.
FIRST = {next(iter(loss.values)): loss for loss in LOSSES.values()}
IN_MODES = [
    *(each for case, loss in FIRST.items() for each in modes.of_first([case], quick=loss.quick_modes)),
    *((case, "op_by_op") for case in CASES if case not in FIRST),
]
nightly = pytest.mark.nightly
# The first case of each loss, and at night the others, without further cases of what takes long.
QUICK_CASES = [
    pytest.param(case, marks=[] if case in FIRST else [nightly])
    for case, (loss, _) in CASES.items()
    if case in FIRST or not loss.basic
]
each_loss = pytest.mark.parametrize("cls", LOSSES)
each_quick_case = pytest.mark.parametrize("case", QUICK_CASES)


WITH_TAU = [cls for cls in LOSSES if "tau" in inspect.signature(cls).parameters]


def few(cls):
    """Arguments with few samples or iterations, for checks that do not depend on their number."""
    return LOSSES[cls].call


def value_and_gradient(cls, labels, scores, weights=None, mask=None, **arguments):
    return models.value_and_gradient(cls(reduction=NONE, **arguments), labels, scores, weights, mask)


@pytest.mark.slow
@pytest.mark.parametrize(("case", "mode"), IN_MODES)
def test_value_and_gradient(case, mode):
    subject, arguments = CASES[case]
    loss, weights, base = subject.cls(reduction=NONE, **arguments), fixed_weights(len(LABELS)), SCORES.copy()
    if subject.has_frozen_scores:
        base[1, 1] = base[1, 2]  # tied, as ranks must be
    value, (gradient,) = modes.run(mode, lambda a, y: loss(y, a, WEIGHTS), [tf.constant(base)], weights, LABELS)

    def wanted(scores):
        return subject.truth(LABELS, scores, WEIGHTS, frozen=base, **arguments)

    np.testing.assert_allclose(value, wanted(base), rtol=1e-9, atol=1e-12, err_msg=rules.ORACLE)
    (slopes,) = central_differences(wanted, [base], weights)
    message = f"Set `has_frozen_scores` of the case of {subject.cls.__name__} if its gradient holds a part constant"
    np.testing.assert_allclose(gradient, slopes, rtol=1e-5, atol=1e-7, err_msg=message)


@pytest.mark.parametrize(
    ("case", "how"),
    [
        *((case, "labels") for case in CASES),
        *(pytest.param(case, "keras mask", marks=[] if case in FIRST else [nightly]) for case in CASES),
    ],
)
def test_padding_anywhere_changes_neither_value_nor_gradient(case, how):
    subject, arguments = CASES[case]
    value, gradient = value_and_gradient(subject.cls, LABELS, SCORES, **arguments)
    np.testing.assert_array_equal(gradient[LABELS < 0], 0, err_msg=rules.PADDING)
    # Under a Keras mask what the labels hold is padding too.
    places, fill = [1, 3, 4, 6, 8], -1 if how == "labels" else np.nan
    labels, mask = np.full((len(LABELS), 9), fill), np.zeros((len(LABELS), 9), bool)
    scores = np.tile([7.0, 0, np.inf, 0, 0, -np.inf, 0, np.nan, 0], (len(LABELS), 1))
    labels[:, places], scores[:, places], mask[:, places] = LABELS, SCORES, True
    wide, slopes = value_and_gradient(subject.cls, labels, scores, mask=None if how == "labels" else mask, **arguments)
    np.testing.assert_allclose(wide, value, rtol=1e-13, err_msg=rules.PADDING)
    np.testing.assert_allclose(slopes[:, places], gradient, rtol=1e-11, atol=1e-14, err_msg=rules.PADDING)
    np.testing.assert_array_equal(slopes[~mask], 0, err_msg=rules.PADDING)


@pytest.mark.parametrize("case", [case for case, (_, arguments) in CASES.items() if arguments.get("ties") != "first"])
def test_the_order_of_the_items_is_no_matter(case):
    subject, arguments = CASES[case]
    # With ties, but where those are ranked in the order of the items.
    scores = SCORES if "lambda_weight" in arguments else np.round(SCORES)
    value, gradient = value_and_gradient(subject.cls, LABELS, scores, **arguments)
    order = [3, 0, 4, 2, 1]
    shuffled, slopes = value_and_gradient(subject.cls, LABELS[:, order], scores[:, order], **arguments)
    np.testing.assert_allclose(shuffled, value, rtol=1e-10, atol=1e-12, err_msg=rules.ORDER)
    np.testing.assert_allclose(slopes, gradient[:, order], rtol=1e-9, atol=1e-12, err_msg=rules.ORDER)


@each_quick_case
def test_nothing_relevant_costs_nothing(case):
    subject, arguments = CASES[case]
    lists = [[[-1.0, -1.0, -1.0]], np.zeros((2, 0)), np.zeros((0, 3))]
    if case in FIRST and not subject.facts.costs_without_relevance:
        lists.append([[0.0, 0.0, 0.0], [-1.0, 0.0, -1.0], [-1.0, -1.0, -1.0]])
        arguments = few(subject.cls)
    for labels in lists:
        value, gradient = value_and_gradient(subject.cls, labels, np.ones(np.shape(labels)), **arguments)
        message = f"lists of labels {labels} must cost 0 by {case}, as by its oracle"
        np.testing.assert_array_equal(value, np.zeros(len(labels)), err_msg=message)
        np.testing.assert_array_equal(gradient, np.zeros(np.shape(labels)), err_msg=message)


@pytest.mark.parametrize("tau", [1e-30, pytest.param(1.0, marks=nightly), 1e6])
@pytest.mark.parametrize("cls", WITH_TAU)
def test_scores_and_temperatures_of_any_size(cls, tau):
    """They are finite where the powers with which the oracle grows are within float32."""
    growth, limit = LOSSES[cls].facts.growth, 1e37
    for scale in (1e-6, 1e4, 1e30):  # one after the other, since some losses ask for the range of all scores of a batch
        scores = np.float32(scale * SCORES)
        value, gradient = value_and_gradient(cls, np.float32(LABELS), scores, **{**few(cls), "tau": tau})
        assert not np.isnan(value).any(), f"{rules.SIZES} Got the losses {value}"
        assert np.isfinite(value).all() or (scale / tau) ** growth > limit, (
            f"{rules.SIZES} Got the losses {value}, and the oracle grows with the power {growth} of scores"
        )
        assert np.isfinite(gradient).all() or (scale / tau) ** max(growth - 1, 0) / tau > limit, (
            f"{rules.SIZES} Got the gradient {gradient}"
        )


@pytest.mark.parametrize("tau", [1e-30, 1.0])
@pytest.mark.parametrize("cls", WITH_TAU)
def test_equal_scores(cls, tau):
    arguments = {**few(cls), "tau": tau}
    value, gradient = value_and_gradient(cls, np.float32(LABELS), np.ones(LABELS.shape, "float32"), **arguments)
    assert np.isfinite(value).all(), f"{rules.EQUAL_SCORES} Got the losses {value} with tau={tau}"
    if tau == 1.0:
        assert np.isfinite(gradient).all(), f"{rules.EQUAL_SCORES} Got {gradient}"
        assert np.abs(gradient[0]).max() > 1e-3, f"{rules.EQUAL_SCORES} Got {gradient[0]}"


@each_quick_case
def test_what_is_no_number_spoils_its_own_list_alone(case):
    subject, arguments = CASES[case]
    clean, slopes = value_and_gradient(subject.cls, LABELS[:3], SCORES[:3], **arguments)
    others = np.arange(3) != 1
    # An item of score -inf cannot be chosen in Plackett-Luce orders, which its own tests are about.
    impossible = [] if subject.cls is ks.PlackettLuceLoss else [("score", -np.inf)]
    for where, what in [("label", np.nan), ("score", np.nan), ("score", np.inf), *impossible]:
        labels, scores = LABELS[:3].copy(), SCORES[:3].copy()
        (labels if where == "label" else scores)[1, 2] = what
        value, gradient = value_and_gradient(subject.cls, labels, scores, **arguments)
        np.testing.assert_array_equal(np.isnan(value), ~others, err_msg=rules.NOT_FINITE)
        np.testing.assert_allclose(value[others], clean[others], rtol=1e-12, err_msg=rules.NOT_FINITE)
        np.testing.assert_allclose(gradient[others], slopes[others], rtol=1e-12, err_msg=rules.NOT_FINITE)
        assert np.isnan(gradient[1]).any(), f"{rules.NOT_FINITE} Got the gradient {gradient[1]} of that list"


@each_loss
def test_reductions_and_weights_of_lists(cls):
    values, _ = value_and_gradient(cls, LABELS, SCORES, **few(cls))
    # Two traces, with and without a gradient, which may round differently.
    np.testing.assert_allclose(cls(**few(cls)).call(LABELS, SCORES), values, rtol=1e-14)
    weights = np.arange(7.0)
    weighted = cls(reduction="sum", **few(cls))(LABELS, SCORES, weights[:, np.newaxis])
    assert float(weighted) == pytest.approx(np.sum(weights * values), rel=1e-12), rules.WEIGHTS
    assert float(cls(**few(cls))(LABELS, SCORES)) == pytest.approx(values.mean(), rel=1e-12)


@each_quick_case
def test_weights_of_as_many_lists_as_items(case):
    # Weights of lists [batch], broadcast against [batch, n], would become weights of items.
    subject, arguments = CASES[case]
    each = np.float64([1.0, 0.0, 3.0, 0.5, 2.0])
    loss, labels, scores = subject.cls(reduction=NONE, **arguments), LABELS[:5], SCORES[:5]
    for weights in (np.float64(2.5), each, each[:, np.newaxis]):
        per_item = np.broadcast_to(weights[:, np.newaxis] if weights.ndim == 1 else weights, (5, 5))
        wanted = subject.truth(labels, scores, per_item, **arguments)
        np.testing.assert_allclose(loss(labels, scores, weights), wanted, rtol=1e-9, atol=1e-12, err_msg=rules.WEIGHTS)


@each_loss
def test_ragged_labels_and_weights(cls):
    labels = tf.ragged.constant([[3.0, 1.0, 2.0], [1.0, 1.0, 0.0, 2.0], []], ragged_rank=1)
    weights = tf.ragged.constant([[1.0, 2.0, 0.5], [1.0, 1.0, 3.0, 0.0], []], ragged_rank=1)
    for given, dense in [(None, None), (weights, weights.to_tensor(7.0))]:
        found, _ = value_and_gradient(cls, labels, SCORES[:3, :4], given, **few(cls))
        wanted, _ = value_and_gradient(cls, labels.to_tensor(-1.0), SCORES[:3, :4], dense, **few(cls))
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


@each_quick_case
def test_dtypes(case):
    subject, arguments = CASES[case]
    for dtype, computed in [("float16", "float32"), ("bfloat16", "float32"), ("float64", "float64")]:
        scores = tf.cast(SCORES, dtype)
        with tf.GradientTape() as tape:
            tape.watch(scores)
            value = subject.cls(reduction="sum", **arguments)(np.float32(LABELS), scores)
        wanted = np.sum(subject.truth(LABELS, tf.cast(scores, tf.float64).numpy(), **arguments))
        assert value.dtype == computed
        assert float(value) == pytest.approx(wanted, rel=1e-5)
        assert tape.gradient(value, scores).dtype == dtype


@each_loss
def test_bad_predictions(cls):
    with pytest.raises(ValueError, match=r"y_pred must be scores \[batch, n\] or .*, got shape \(3, 4, 4\)"):
        cls()(np.ones((3, 4)), np.ones((3, 4, 4)))
    with pytest.raises(ValueError, match=r"y_true must have shape \[batch, n\], \(3, 4\) .* got \(3, 5\)"):
        cls()(np.ones((3, 5)), np.ones((3, 4)))
    with pytest.raises(ValueError, match=r"y_pred must hold one list per row, got shape \(3,\)"):
        cls()(np.ones(3), np.ones(3))
    for shape in ((3, 5), (3, 4, 2)):
        with pytest.raises(ValueError, match=rf"sample_weight must have shape.*got {re.escape(str(shape))}"):
            cls()(np.ones((3, 4)), np.ones((3, 4)), sample_weight=np.ones(shape))
    with pytest.raises(TypeError, match="y_pred must be floating-point, got dtype int"):
        cls()(np.ones((1, 2)), np.ones((1, 2), int))


@pytest.mark.parametrize("stochastic", [False, True])
@pytest.mark.parametrize("make", [ks.NeuralNDCGLoss, ks.NeuralSortCrossEntropyLoss])
def test_only_a_stochastic_loss_draws_a_seed(make, stochastic):
    labels, scores = tf.constant([[2.0, 0.0, 1.0]]), tf.constant([[0.1, 0.4, 0.3]])
    drawn = []
    for loss in (None, make(stochastic=stochastic)):
        tf.random.set_seed(7)
        if loss is not None:
            loss(labels, scores)
        drawn.append(float(tf.random.uniform([])))
    assert (drawn[0] != drawn[1]) == stochastic
