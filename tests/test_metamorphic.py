"""Relations between the results of every public operator, loss and metric of scores: they need no truth.

The objects come from the files of cases. An operator that breaks a relation by its formula says so in its case, by the
field that the failing check names. The oracle of a loss says so of the loss.
"""

import numpy as np
import pytest
import tensorflow as tf
from support.cases import of_scores, relations
from support.cases.facts import outliers

import keras_softsort as ks
from keras_softsort.ops.core import tracing

pytestmark = [pytest.mark.default_stack_only]

TAU = 0.5
SCORES = np.float32(of_scores.SCORES)
nightly = pytest.mark.nightly
each = pytest.mark.parametrize("subject", relations.ALL, ids=str)
# Spans of the scores of a list, in temperatures. In the last of three lists, most weights underflow.
SPANS = {"near": [1e-7, 1e-3, 1], "far": [1e3, 1e10, 1e30]}
# Losses and metrics are tried each time, operators nightly.
QUICK = [*relations.LOSSES, *relations.METRICS]
some_each_time = pytest.mark.parametrize(
    "subject", [*QUICK, *(pytest.param(each, marks=nightly) for each in relations.OPERATORS)], ids=str
)


def check(subject, found, wanted, field, what, *, rtol=1e-5, atol=2e-6):
    """The results and gradients are close, or the message names the field that states the exception."""
    for name, one, other in zip(("result", "gradient"), found, wanted, strict=True):
        if one is not None:
            np.testing.assert_allclose(
                one,
                other,
                rtol=rtol,
                atol=atol,
                err_msg=f"{what} must not change the {name} of {subject}. If it does so by its formula, set `{field}` "
                "in its file of tests/support/cases; the oracle of a loss tells it (facts.py)",
            )


@nightly
@each
@pytest.mark.parametrize("offset", [1e4, -1e3])
def test_a_common_offset_changes_nothing(subject, offset):
    if subject.draws_noise or subject.breaks("depends_on_offset"):
        pytest.skip("depends on the offset by its formula, or rounds sums of scores and noise")
    found = subject.run(SCORES + np.float32(offset))
    check(subject, found, subject.run(SCORES), "depends_on_offset", f"adding {offset} to all scores")


@nightly
@each
@pytest.mark.parametrize("power", [10, -10])
def test_the_unit_of_scores_and_temperature_changes_nothing(subject, power):
    if subject.draws_noise or subject.breaks("depends_on_unit"):
        pytest.skip("depends on the unit by its formula")
    unit = np.float32(2.0**power)
    value, gradient = subject.run(SCORES * unit, TAU * unit)
    found = value, None if gradient is None else gradient * unit
    check(subject, found, subject.run(SCORES), "depends_on_unit", f"scores and tau times {unit}")


@nightly
@each
@pytest.mark.parametrize("size", [1e8, -1e8, 1e30, -1e30])
def test_one_outlier_does_to_the_others_what_a_moderate_one_does(subject, size):
    found, wanted = (subject.run(np.float32(outliers(each))) for each in (size, np.sign(size) * 200 * TAU))
    # A list without an outlier has the result of a batch without any.
    for one, other in zip(found, subject.run(SCORES), strict=True):
        if one is not None:
            np.testing.assert_allclose(one[2], other[2], rtol=1e-6, atol=1e-6, err_msg="a list without an outlier")
    others = np.ones(SCORES.shape, bool)
    others[0, 0] = others[1, 3] = False
    of_others = [None if each is None else each[others] for each in (found[1], wanted[1])]
    what = f"an outlier of {size} instead of {200 * TAU}"
    if not subject.breaks("grows_in_gradient"):
        check(subject, (None, of_others[0]), (None, of_others[1]), "grows_in_gradient", what, rtol=1e-4)
    if not subject.breaks("grows_with_scores"):
        check(subject, (found[0], None), (wanted[0], None), "grows_with_scores", what, rtol=1e-4)


@nightly
@each
def test_a_list_of_equal_scores(subject):
    """0.1 is no binary number, so that a mean of such scores is rounded."""
    scores = np.full([3, 6], 0.1, np.float32)
    value, gradient = subject.run(scores)
    if subject.draws_noise:
        pytest.skip("draws noise, which differs between types")
    wanted = subject.run(scores.astype(np.float64))
    check(subject, (value, gradient), wanted, "draws_noise", "float32 instead of float64", atol=1e-5)
    if subject.depends_on_order_of_ties:
        return
    message = f"equal items must share evenly in {subject}, or `depends_on_order_of_ties` must be set in its case"
    if subject.is_loss:
        labels = of_scores.LABELS
        if gradient is not None:
            for row, label in zip(gradient, labels, strict=True):
                for own in np.unique(label):
                    np.testing.assert_allclose(
                        row[label == own], row[label == own][0], rtol=1e-5, atol=1e-6, err_msg=message
                    )
    else:
        np.testing.assert_allclose(value, np.broadcast_to(value[..., :1], value.shape), rtol=1e-5, err_msg=message)


@some_each_time
def test_a_list_without_valid_items(subject):
    mask = np.ones([3, 6], bool)
    mask[1] = False
    value, gradient = subject.run(SCORES, mask=mask)
    alone, slopes = subject.run(SCORES)
    message = f"a list without valid items must change no other list in {subject}"
    np.testing.assert_allclose(value[::2], alone[::2], rtol=1e-6, atol=1e-6, err_msg=message)
    if subject.is_loss:
        assert value[1] == 0, f"a list without valid items must cost 0 by {subject}, got {value[1]}"
    assert np.all(np.isfinite(value)), f"the result of {subject} must be finite for a list without valid items"
    if gradient is not None:
        np.testing.assert_allclose(gradient[::2], slopes[::2], rtol=1e-5, atol=1e-6, err_msg=message)
        np.testing.assert_array_equal(gradient[1], 0, err_msg=f"{subject}, the gradient of a list without valid items")


def op_by_op(subject, scores):
    """The results of calls without a graph, which no optimizer changes."""
    with tracing.eager_calls_traced(subject.takes_many_operations):
        return subject.run(scores)


@nightly
@each
def test_nan_stays_in_its_list_and_is_not_optimized_away(subject):
    scores = SCORES.copy()
    scores[1, 2] = np.nan
    with tracing.eager_calls_traced(True):
        found = subject.run(scores)
    wanted = op_by_op(subject, scores)
    check(subject, (found[0], None), (wanted[0], None), "draws_noise", "tracing a call with a list that holds NaN")
    others = [None if each is None else each[::2] for each in found]
    wanted = [None if each is None else each[::2] for each in op_by_op(subject, SCORES)]
    check(subject, others, wanted, "draws_noise", "NaN in another list")


@nightly
@each
@pytest.mark.parametrize("mode", ["eager", "unknown_shape", "xla"])
def test_execution_modes_agree(subject, mode):
    if subject.draws_noise and mode == "xla":
        pytest.skip("XLA draws other noise")
    wanted = op_by_op(subject, SCORES)
    if mode == "eager":
        with tracing.eager_calls_traced(True):
            found = subject.run(SCORES)
    else:

        def both(scores):
            with tf.GradientTape() as tape:
                tape.watch(scores)
                result = subject.function(scores, tf.constant(TAU), None)
                total = tf.reduce_sum(result * of_scores.weights(result)) if result.dtype.is_floating else result
            return result, total if subject.forward_only else tape.gradient(total, scores)

        options = {"jit_compile": True} if mode == "xla" else {"input_signature": [tf.TensorSpec([None, None])]}
        value, gradient = tf.function(both, autograph=False, **options)(tf.constant(SCORES))
        found = value.numpy(), None if subject.forward_only else gradient.numpy()
    check(subject, found, wanted, "draws_noise", f"mode {mode}")


@some_each_time
def test_the_gradient_of_the_temperature_is_the_slope(subject):
    """Also where the scores of a list are hundreds or thousands of temperatures apart, and weights underflow."""
    if subject.forward_only or subject.straight_through:
        pytest.skip("has no gradient, or another one")
    # Multiples of them are at no kink of hinges and projections.
    scores, tau, step = tf.constant(SCORES * [[1], [1e2], [1e3]], tf.float64), tf.constant(0.53, tf.float64), 1e-5

    def totals(tau):
        result = subject.function(scores, tau, None)
        return tf.unstack(tf.reduce_sum(tf.reshape(result * of_scores.weights(result), [3, -1]), axis=1))

    with tracing.eager_calls_traced(subject.takes_many_operations), tf.GradientTape(persistent=True) as tape:
        tape.watch(tau)
        values = totals(tau)
        above, below = totals(tau * (1 + step)), totals(tau * (1 - step))
    found = [tape.gradient(value, tau) for value in values]
    if found[0] is None:
        pytest.skip("takes no temperature")
    for i in range(3):
        wanted, rounding = (above[i] - below[i]) / (2 * step * tau), 1e-9 * tf.abs(values[i])
        np.testing.assert_allclose(
            found[i], wanted, rtol=1e-6, atol=1e-8 + rounding, err_msg=f"{subject}, the gradient of tau of list {i}"
        )


@pytest.mark.parametrize("spans", SPANS)
@some_each_time
def test_forms_for_devices_agree(subject, spans):
    scores = np.float32(SCORES * np.float64(SPANS[spans])[:, np.newaxis] * TAU)
    results = {}
    for name in tracing.TARGETS:
        with tracing.eager_calls_traced(subject.takes_many_operations), tracing.lowering_for(name):
            results[name] = subject.function(tf.constant(scores), tf.constant(TAU), None).numpy()
    for name in tracing.TARGETS[1:]:
        for i in range(3):
            size = np.max(np.abs(results["cpu"][i]), initial=1, where=np.isfinite(results["cpu"][i]))
            message = f"list {i} of {subject} in the form for a {name}"
            np.testing.assert_allclose(
                results[name][i], results["cpu"][i], rtol=1e-4, atol=2e-6 * size, err_msg=message
            )


def test_every_operator_is_tried():
    operators = {name for name in ks.ops.__all__ if not isinstance(getattr(ks.ops, name), type)}
    missing = operators - {subject.name for subject in relations.ALL}
    assert not missing, (
        f"{sorted(missing)} stand in no relation: give each an OfScores in OF_SCORES of its file of "
        "tests/support/cases (a Loss or Metric of scores there is enough)"
    )


# Operators that take milliseconds for a long list, with the arguments for scores and labels.
LONG = {
    "ndcg": ks.ops.ndcg,
    "dcg": ks.ops.dcg,
    "average_relevance_position": ks.ops.average_relevance_position,
    "mean_average_precision": lambda s, y: ks.ops.mean_average_precision(s, y, min_label=2.0),
    "ordered_pair_accuracy": ks.ops.ordered_pair_accuracy,
    "precision": lambda s, y: ks.ops.precision(s, y, k=4000),
    "recall": lambda s, y: ks.ops.recall(s, y, k=4000),
    "softmax_loss": ks.ops.softmax_loss,
    "plackett_luce_loss": ks.ops.plackett_luce_loss,
    "list_net_loss": ks.ops.list_net_loss,
    "soft_rank by LapSum": lambda s, _: ks.soft_rank(s, method="lapsum"),
    "soft_rank by projection": lambda s, _: ks.soft_rank(s, method="projection"),
    "membership by LapSum": lambda s, _: ks.ops.soft_top_k_membership(s, 1000),
}


@pytest.mark.parametrize("name", LONG)
@nightly
@pytest.mark.parametrize("size", [5000, 100_000])
def test_long_lists_keep_their_digits(name, size, rng):
    scores, labels = rng.normal(size=size).astype(np.float32), rng.integers(0, 4, size).astype(np.float32)
    found, wanted = (
        LONG[name](tf.constant(scores, dtype), tf.constant(labels, dtype)) for dtype in ("float32", "float64")
    )
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6, err_msg=f"{name} of {size} items in float32")
