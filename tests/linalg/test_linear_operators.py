"""The linear operators: TensorFlow's own harness, products against the dense matrix, composite tensors."""

import numpy as np
import pytest
import tensorflow as tf
from support.cases import objects
from support.gradients import check_gradients
from support.oracles import sorting as oracles
from tensorflow.python.ops.linalg import linear_operator_test_util as harness

import keras_softsort as ks

RNG = np.random.default_rng(17)
SCORES = RNG.normal(size=(2, 3, 5))
MASK = RNG.random(size=(2, 3, 5)) < 0.7
X = RNG.normal(size=(2, 3, 5, 2))
OPERATORS = {"neural_sort": ks.linalg.LinearOperatorNeuralSort, "soft_sort": ks.linalg.LinearOperatorSoftSort}
EACH = pytest.mark.parametrize("make", OPERATORS.values(), ids=OPERATORS)


class _Harness(harness.SquareLinearOperatorDerivedClassTest):
    """One batch of lists, of unknown rank when traced."""

    # The matrices are not self-adjoint, and what solves with them is TensorFlow's own.
    SKIPPED = ("cholesky", "eigvalsh", "cond", "solve", "solve_with_broadcast", "operator_solve_with_same_type")

    @staticmethod
    def dtypes_to_test():
        return [tf.float64]

    @staticmethod
    def use_placeholder_options():
        return [True]

    @staticmethod
    def adjoint_arg_options():
        return [False, True] if objects.EVERYTHING else [False]

    @staticmethod
    def operator_shapes_infos():
        return [harness.OperatorShapesInfo((2, 1, 4, 4))]

    @classmethod
    def skip_these_tests(cls):
        return list(cls.SKIPPED)

    def operator_and_matrix(self, shapes_info, dtype, use_placeholder, ensure_self_adjoint_and_pd=False):
        scores = np.random.default_rng(2).normal(size=shapes_info.shape[:-1])
        given = tf.constant(scores, dtype)
        placeholder = tf.compat.v1.placeholder_with_default(given, shape=None)
        return self.operator(placeholder), tf.constant(self.matrix(scores), dtype)


# TensorFlow says the first of every operator that is not its own, and the second is of its tests.
allow_saving = pytest.mark.filterwarnings(
    "ignore:Encoding a StructuredValue", "ignore:It is deprecated to return a value:DeprecationWarning"
)


@allow_saving
@pytest.mark.nightly  # TensorFlow's tests of linear operators; those below are ours
class NeuralSortHarnessTest(_Harness):
    def operator(self, scores):
        return ks.linalg.LinearOperatorNeuralSort(scores, 0.7)

    def matrix(self, scores):
        return oracles.permutation(scores, 0.7, method="neural_sort")


@allow_saving
@pytest.mark.nightly  # the same base class as NeuralSort's
class SoftSortHarnessTest(_Harness):
    def operator(self, scores):
        return ks.linalg.LinearOperatorSoftSort(scores, 0.4, direction="ASCENDING")

    def matrix(self, scores):
        return oracles.permutation(scores, 0.4, method="soft_sort", direction="ASCENDING")


# It adds to a class and returns nothing.
harness.add_tests(NeuralSortHarnessTest)
harness.add_tests(SoftSortHarnessTest)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "mask", "adjoint"),
    [
        pytest.param(OPERATORS["neural_sort"], MASK, False, marks=pytest.mark.nightly),
        (OPERATORS["neural_sort"], None, True),
        (OPERATORS["soft_sort"], MASK, True),
    ],
)
def test_products_are_those_of_the_matrix_in_unknown_ranks(make, mask, adjoint):
    operator = make(SCORES, 0.5, mask=mask)
    expected = (
        np.matmul(operator.to_dense(), X) if not adjoint else np.matmul(tf.linalg.adjoint(operator.to_dense()), X)
    )
    np.testing.assert_allclose(operator.matmul(X, adjoint=adjoint), expected, rtol=1e-10, atol=1e-12)

    @tf.function(input_signature=[tf.TensorSpec(None, tf.float64)] * 2 + [tf.TensorSpec(None, tf.bool)])
    def unknown(scores, x, keep):
        return make(scores, 0.5, mask=None if mask is None else keep).matmul(x, adjoint=adjoint)

    np.testing.assert_allclose(unknown(SCORES, X, MASK), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.slow
@EACH
def test_temperature_of_each_list(make):
    tau = np.float64([[0.2, 1.0, 3.0]])
    for given in (tau, tau[..., np.newaxis].repeat(2, axis=0)):
        operator = make(SCORES, tf.constant(given))
        for row in range(3):
            alone = make(SCORES[:, row], float(tau[0, row]))
            np.testing.assert_allclose(operator.to_dense()[:, row], alone.to_dense(), rtol=1e-12)
            np.testing.assert_allclose(operator[1, row].matmul(X[1, row]), alone.matmul(X[:, row])[1], rtol=1e-10)
    check_gradients(lambda s, t: make(s, t).matmul(X), SCORES, tau)


@pytest.mark.slow
@EACH
def test_function_and_condition_take_and_return_an_operator(make):
    traces = []

    @tf.function
    def run(operator, flag):
        traces.append(None)
        chosen = tf.cond(flag, lambda: operator, lambda: make(2 * operator.scores, operator.tau, mask=operator.mask))
        return chosen, chosen.matmul(X)

    for shift in (0, 1):
        operator = make(SCORES + shift, tf.constant(0.5, tf.float64), mask=MASK)
        chosen, product = run(operator, tf.constant(True))
        assert type(chosen) is type(operator)
        np.testing.assert_allclose(product, operator.matmul(X), rtol=1e-12)
        doubled = make(2 * (SCORES + shift), 0.5, mask=MASK).matmul(X)
        np.testing.assert_allclose(run(operator, tf.constant(False))[1], doubled, rtol=1e-10)
    assert len(traces) == 1


@EACH
def test_nests_and_slices(make):
    variable = tf.Variable(SCORES)
    operator = make(variable, 0.5, mask=MASK, name="mine")
    flat = tf.nest.flatten(operator, expand_composites=True)
    assert any(part is variable for part in flat)
    again = tf.nest.pack_sequence_as(operator, flat, expand_composites=True)
    np.testing.assert_array_equal(again.to_dense(), operator.to_dense())
    for index in (0, (slice(None), 2), (1, tf.newaxis)):
        np.testing.assert_allclose(operator[index].to_dense(), operator.to_dense().numpy()[index], rtol=1e-12)
    np.testing.assert_allclose(operator[..., 1].to_dense(), operator.to_dense()[:, 1], rtol=1e-12)
    assert operator[0].batch_shape == (3,)


@EACH
def test_gradient_of_an_operator_is_one(make):
    with tf.GradientTape() as tape:
        operator = make(tf.constant(SCORES), tf.constant(0.5, tf.float64), mask=MASK)
        tape.watch(operator)
        value = tf.reduce_sum(operator.matmul(X) ** 2)
    gradient = tape.gradient(value, operator)
    assert gradient.scores.shape == SCORES.shape
    assert np.all(np.any(gradient.scores != 0, axis=-1))
    assert gradient.tau != 0
    np.testing.assert_array_equal(gradient.mask, MASK)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"scores": None}, TypeError, "scores must be a tensor or convertible to one, got None"),
        ({"tau": np.float32(np.nan)}, ValueError, "tau must be positive and finite, got .*nan"),
        ({"tau": [1.0, 2.0]}, ValueError, "tau must be a scalar or have the shape of the leading axes"),
    ],
    ids=str,
)
def test_errors(arguments, error, message):
    with pytest.raises(error, match=f"^{message}"):
        ks.linalg.LinearOperatorNeuralSort(**{"scores": [0.0, 1.0], "tau": 1.0, **arguments})


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("cls", [ks.LinearOperatorNeuralSort, ks.LinearOperatorSoftSort])
def test_products_with_what_has_too_few_axes(cls, traced):
    operator = cls(tf.zeros([4]), 1.0)
    matmul, matvec = (tf.function(each) if traced else each for each in (operator.matmul, operator.matvec))
    for x in (tf.zeros([4]), np.zeros(4, "float32"), tf.Variable(0.0)):
        with pytest.raises(ValueError, match=r"x must have shape \[\.\.\., n, d\].*matvec.*, got \((4,)?\)"):
            matmul(x)
    with pytest.raises(ValueError, match=r"x must have shape \[\.\.\., n\], got \(\)"):
        matvec(tf.zeros([]))
    with pytest.raises(TypeError, match="x must be a tensor or convertible to one, got None"):
        operator.matmul(None)
    np.testing.assert_allclose(operator @ tf.ones([4, 2]), np.ones([4, 2]))
    np.testing.assert_allclose(operator.matmul(tf.ones([4, 2])), matmul(tf.ones([4, 2])))
    np.testing.assert_allclose(matvec(tf.ones([4])), np.ones([4]))
