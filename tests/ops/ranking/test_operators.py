"""The decorators that make operators of formulas for lists."""

import ast
import inspect
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import keras_softsort as ks
from keras_softsort._internal import arguments
from keras_softsort.losses._list_loss import OperatorLoss
from keras_softsort.ops.core import tracing
from keras_softsort.ops.ranking.lists import Derivatives, finite, finite_with_gain
from keras_softsort.ops.ranking.operators import SEED, list_operator, logit_operator

SCORES, LABELS = tf.constant([[0.3, 0.9, 0.4]]), tf.constant([[0.0, 2.0, 1.0]])

SIGNATURES = {
    "approx_mrr_loss": "(scores, labels, *, tau=0.1, mask=None, weights=None)",
    "approx_ndcg_loss": "(scores, labels, *, tau=0.1, k=None, gain='exponential', discount='log2', "
    "normalization='ideal', mask=None, weights=None)",
    "approx_rank_mse_loss": "(scores, labels, *, tau=1.0, discount='log2', mask=None, weights=None)",
    "calibrated_softmax_loss": "(scores, labels, *, tau=1.0, virtual_label=0.0, lambda_weight=None, mask=None, "
    "weights=None)",
    "circle_loss": "(scores, labels, *, tau=0.015625, margin=0.25, mask=None, weights=None)",
    "click_em_loss": "(logits, labels, *, exam_loss_weight=1.0, rel_loss_weight=1.0, normalization='list', mask=None, "
    "weights=None)",
    "coupled_rank_distil_loss": "(scores, labels, *, seed, tau=1.0, k=None, num_samples=8, mask=None, weights=None)",
    "dual_learning_loss": "(logits, labels, *, max_weight=20.0, mask=None, weights=None)",
    "gumbel_approx_ndcg_loss": "(scores, labels, *, seed, tau=0.1, k=None, gain='exponential', discount='log2', "
    "normalization='ideal', num_samples=8, noise_scale=1.0, mask=None, weights=None)",
    "list_net_loss": "(scores, labels, *, tau=1.0, label_tau=1.0, mask=None, weights=None)",
    "mean_squared_loss": "(scores, labels, *, normalization='list', mask=None, weights=None)",
    "mixture_em_loss": "(logits, labels, *, alpha=1.0, mask=None, weights=None)",
    "neural_ndcg_loss": "(scores, labels, *, tau=1.0, k=None, gain='exponential', discount='log2', "
    "normalization='ideal', method='neural_sort', power=1.0, num_iterations=50, hard=False, stochastic=False, "
    "num_samples=8, noise_scale=1.0, seed=None, mask=None, weights=None)",
    "neural_sort_cross_entropy_loss": "(scores, labels, *, tau=1.0, label_tau=None, stochastic=False, num_samples=8, "
    "noise_scale=1.0, seed=None, mask=None, weights=None)",
    "ordinal_loss": "(logits, labels, *, use_fraction_label=False, normalization='list', mask=None, weights=None)",
    "pairwise_hinge_loss": "(scores, labels, *, tau=1.0, lambda_weight=None, normalization='auto', mask=None, "
    "weights=None)",
    "pairwise_mse_loss": "(scores, labels, *, tau=1.0, lambda_weight=None, normalization='auto', mask=None, "
    "weights=None)",
    "pairwise_soft_zero_one_loss": "(scores, labels, *, tau=1.0, lambda_weight=None, normalization='auto', mask=None, "
    "weights=None)",
    "pl_rank_loss": "(scores, labels, *, seed, k=None, gain='exponential', discount='log2', normalization='ideal', "
    "num_samples=32, mask=None, weights=None)",
    "plackett_luce_loss": "(scores, labels, *, tau=1.0, k=None, ties='breslow', discount=None, mask=None, "
    "weights=None)",
    "ranknet_lambdas": "(scores, labels, *, tau=1.0, ties='ignore', lambda_weight=None, mask=None)",
    "ranknet_loss": "(scores, labels, *, tau=1.0, lambda_weight=None, ties='ignore', normalization='auto', mask=None, "
    "weights=None)",
    "sigmoid_cross_entropy_loss": "(scores, labels, *, normalization='list', mask=None, weights=None)",
    "softmax_loss": "(scores, labels, *, tau=1.0, lambda_weight=None, poly_epsilon=0.0, mask=None, weights=None)",
    "spearman_loss": "(scores, labels, *, tau=1.0, method='neural_sort', power=1.0, mask=None, weights=None)",
    "unique_softmax_loss": "(scores, labels, *, tau=1.0, gain='exponential', mask=None, weights=None)",
    "yeti_logistic_loss": "(scores, labels, *, seed, tau=1.0, lambda_weight=None, normalization='auto', num_samples=8, "
    "noise_scale=1.0, mask=None, weights=None)",
}


@pytest.mark.parametrize(("name", "signature"), SIGNATURES.items(), ids=SIGNATURES)
def test_public_signatures(name, signature):
    found = inspect.signature(getattr(ks.ops, name))
    plain = [each.replace(annotation=each.empty) for each in found.parameters.values()]
    assert str(inspect.Signature(plain)) == signature
    assert {each.annotation == each.empty for each in found.parameters.values()} == {False}
    assert found.return_annotation == "tf.Tensor"


def in_order(options):
    if options["low"] > options["high"]:
        raise ValueError(f"low must be at most high, {options['high']}, got {options['low']}")


@list_operator(finite, in_order, tau=2.0, low=arguments.positive_number, high=arguments.positive_number, seed=SEED)
def operator(lists, *, seed, low=1.0, high=2.0, **shared):
    """Return the sum of the scores in temperatures, between two bounds."""
    assert not shared
    return tf.clip_by_value(tf.reduce_sum(lists.weighted(lists.scores) / lists.tau, axis=1), low, high)


def test_the_signature_has_the_shared_arguments():
    found = inspect.signature(operator)
    assert [*found.parameters] == ["scores", "labels", "seed", "tau", "low", "high", "mask", "weights"]
    assert found.parameters["tau"].default == 2.0
    assert found.parameters["weights"].default is None
    assert [name for name, each in found.parameters.items() if each.kind is each.KEYWORD_ONLY] == [*found.parameters][
        2:
    ]
    assert operator.__doc__.startswith("Return the sum")


def test_arguments_that_an_operator_does_not_take():
    @list_operator(finite, takes_weights=False)
    def plain(lists, **shared):
        return tf.reduce_sum(lists.scores, axis=1)

    assert [*inspect.signature(plain).parameters] == ["scores", "labels", "mask"]
    with pytest.raises(TypeError, match="plain has no argument 'weights'"):
        plain(SCORES, LABELS, weights=1.0)


def test_the_formula_gets_flat_lists_and_the_call_its_shape():
    scores = np.float32([[[1.0, 2.0, np.nan], [4.0, 0.5, 0.25]]])
    mask = np.array([[[True, True, False], [True, True, True]]])
    losses = operator(
        scores, np.zeros_like(scores), seed=[1, 2], tau=1.0, high=99.0, mask=mask, weights=[[[2.0], [1.0]]]
    )
    np.testing.assert_allclose(losses, [[6.0, 4.75]])


def test_results_of_items_keep_their_shape():
    @list_operator(finite)
    def twice(lists, **shared):
        return 2 * lists.scores

    found = twice([[[1.0, np.inf], [3.0, 4.0]]], np.zeros([1, 2, 2]), mask=[[[True, True], [False, True]]])
    np.testing.assert_array_equal(found, [[[np.nan, np.nan], [0.0, 8.0]]])


def test_lists_without_meaning_are_nan():
    @list_operator(finite_with_gain)
    def total(lists, **shared):
        assert lists.scores.shape[0] is None or np.isfinite(lists.scores).all()
        return tf.reduce_sum(lists.scores, axis=1)

    np.testing.assert_array_equal(total([[1.0, 2.0], [1.0, np.inf]], np.zeros([2, 2])), [3.0, np.nan])
    np.testing.assert_array_equal(total([[1.0, 2.0], [1.0, 3.0]], [[0.0, -1.0], [0.0, 1.0]]), [np.nan, 4.0])


def test_meaning_may_depend_on_options():
    @list_operator(lambda scores, labels, least: scores >= least, least=arguments.number)
    def total(lists, *, least, **shared):
        return tf.reduce_sum(lists.scores, axis=1)

    np.testing.assert_array_equal(total([[1.0, 2.0]], [[0.0, 0.0]], least=0), [3.0])
    np.testing.assert_array_equal(total([[1.0, 2.0]], [[0.0, 0.0]], least=1.5), [np.nan])


def test_logits_of_items():
    @logit_operator(finite, count=2)
    def total(lists, **shared):
        return tf.reduce_sum(lists.scores, axis=[1, 2])

    assert [*inspect.signature(total).parameters] == ["logits", "labels", "mask", "weights"]
    np.testing.assert_array_equal(total(logits=[[[1.0, 2.0], [3.0, 4.0]]], labels=LABELS[:, :2]), [10.0])
    with pytest.raises(ValueError, match=r"logits must have shape \[\.\.\., n, 2\], got \(1, 1, 3\)"):
        total([[[1.0, 2.0, 3.0]]], [[1.0]])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"low": -1}, "low must be positive and finite, got -1"),
        ({"low": 3}, r"low must be at most high, 2\.0, got 3"),
        ({"high": 0.5}, r"low must be at most high, 0\.5, got 1\.0"),
        ({"tau": -1}, "tau must be positive and finite, got -1"),
        ({"seed": [1.5, 2]}, "seed must hold two integers, got dtype float32"),
        ({"temperature": 1.0}, "operator has no argument 'temperature'; use tau"),
        ({"scores": SCORES}, "operator: multiple values for argument 'scores'"),
    ],
    ids=str,
)
def test_calls_are_checked(options, message):
    with pytest.raises((TypeError, ValueError), match=f"^{message}$"):
        operator(SCORES, LABELS, **{"seed": [1, 2], **options})


def test_arguments_that_are_missing():
    with pytest.raises(TypeError, match=r"^operator: missing a required argument: 'labels'$"):
        operator(SCORES, seed=[1, 2])
    with pytest.raises(TypeError, match=r"^operator: missing a required.* argument: 'seed'$"):
        operator(SCORES, LABELS)


def test_rules_of_arguments_that_there_are_not():
    with pytest.raises(TypeError, match=r"rules must be of arguments of operator, got \['margin'\]"):
        list_operator(finite, margin=arguments.number)(operator.formula)


def test_the_object_gets_plain_values():
    assert operator.check(low=Fraction(1, 2), high=1, tau=np.float32(2), seed=3, power="any") == {
        **{"low": 0.5, "high": 1.0, "tau": 2.0, "seed": 3},
        "power": "any",  # has no rule here
    }
    for options, message in [
        ({"tau": SCORES}, "tau must be a number"),
        ({"seed": 1.5}, "seed must be an integer or None"),
        ({"low": 3}, "low must be at most high"),
    ]:
        with pytest.raises((TypeError, ValueError), match=message):
            operator.check(**{"low": 1.0, "high": 2.0, **options})
    assert operator.seeds == {"seed": SEED}


@pytest.fixture
def op_by_op():
    """Eager calls without a trace, in which sizes are unknown and options are in another order."""
    with tracing.eager_calls_traced(False):
        yield


@pytest.mark.parametrize(
    ("rule", "stochastic", "is_drawn"),
    [
        (SEED, False, True),
        (SEED._replace(only_if="stochastic"), False, False),
        (SEED._replace(only_if="stochastic"), True, True),
        (arguments.optional_integer, True, False),
    ],
)
def test_a_loss_draws_the_seeds_that_its_operator_declares(op_by_op, rule, stochastic, is_drawn):
    seen = []

    @list_operator(finite, seed=rule)
    def noisy(lists, *, seed=None, stochastic=False, **shared):
        seen.append(seed)
        return tf.reduce_sum(lists.scores, axis=-1)

    class Noisy(OperatorLoss, operator=noisy):
        def __init__(self, seed=None, stochastic=False, **kwargs):
            super().__init__(locals(), **kwargs)

    Noisy(stochastic=stochastic)(LABELS, SCORES)
    assert [tf.is_tensor(seed) and seed.shape == [2] for seed in seen] == [is_drawn]


def test_a_seed_is_not_read_without_noise():
    @list_operator(finite, seed=SEED._replace(only_if="stochastic"))
    def noisy(lists, *, seed=None, stochastic=False, **shared):
        assert (seed is None) is not stochastic
        return tf.reduce_sum(lists.scores, axis=-1)

    noisy(SCORES, LABELS, seed="beans")
    noisy(SCORES, LABELS, seed=[1, 2], stochastic=True)
    with pytest.raises(TypeError, match="seed must hold two integers"):
        noisy(SCORES, LABELS, seed=[0.5, 2], stochastic=True)


def test_derivatives_take_the_arguments_of_their_operator(op_by_op):
    @operator.derivatives
    def slopes(lists, **options):
        assert [*options] == ["seed", "low", "high"]
        return Derivatives(options["low"] * lists.scores / lists.tau, tf.ones_like(lists.scores))

    assert inspect.signature(slopes) == inspect.signature(operator)
    assert slopes.__name__ == "slopes"
    found = slopes(SCORES[0], LABELS[0], seed=[1, 2], low=0.5, tau=0.5, mask=[True, False, True])
    np.testing.assert_allclose(found.slopes, [0.3, 0.0, 0.4])
    np.testing.assert_array_equal(found.curvatures, [1.0, 0.0, 1.0])
    with pytest.raises(ValueError, match="low must be positive"):
        slopes(SCORES, LABELS, seed=[1, 2], low=0)


FOLDER = Path(inspect.getfile(logit_operator)).parent
# `per_segment` takes any function of lists, and a permutation is no list of scores.
OTHERS = {"lists.py", "permutation_cross_entropy.py", "segments.py"}


def functions_with_shared_arguments(path):
    """The functions in a file that have `mask` and `weights` among their arguments."""
    functions = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)]
    names = {each.name: {arg.arg for arg in (*each.args.args, *each.args.kwonlyargs)} for each in functions}
    return [name for name, arguments in names.items() if arguments >= {"mask", "weights"}]


def test_shared_arguments_are_written_once():
    """An argument of all ranking losses is added in one file of the folder."""
    found = {
        path.name: names for path in sorted(FOLDER.glob("*.py")) if (names := functions_with_shared_arguments(path))
    }
    # Not yet written as formulas.
    for name in ("pl_rank.py", "plackett_luce.py", "softmax.py"):
        found.pop(name, None)
    assert found.keys() == OTHERS, f"use list_operator, which has the shared arguments: {found}"
    assert len(found["permutation_cross_entropy.py"]) == 1
