"""The ends of every range: empty and one-item lists, huge scores, extreme temperatures, ties; how calls are traced."""

import ast
import pathlib

import numpy as np
import pytest
import tensorflow as tf
from support.cases.op_case import MATRICES
from support.gradients import fixed_weights, tape_gradients

from keras_softsort import ops
from keras_softsort.ops.core import order, tracing
from keras_softsort.ops.sorting import methods
from keras_softsort.ops.sorting._dense.rows import SoftmaxRows
from keras_softsort.ops.sorting._matrix_free.products import MatrixFree

BOTH = pytest.mark.parametrize("op", MATRICES)


def value_and_gradients(op, scores, tau, **options):
    scores, tau = tf.constant(scores), tf.constant(tau, tf.float32)
    weights = fixed_weights((*scores.shape, scores.shape[-1]))

    value, (of_scores, of_tau) = tape_gradients(lambda s, t: getattr(ops, op)(s, t, **options), [scores, tau], weights)
    return value.numpy(), of_scores.numpy(), of_tau.numpy()


@pytest.mark.parametrize("method", MATRICES)
@pytest.mark.parametrize(("masked", "leading"), [(False, ()), (True, (2,))], ids=str)
def test_empty_lists(method, masked, leading):
    scores = tf.zeros([*leading, 0])
    mask = tf.zeros(scores.shape, tf.bool) if masked else None
    matrix = getattr(ops, method)
    assert matrix(scores, mask=mask).shape == (*leading, 0, 0)
    assert matrix(scores, mask=mask, hard=True).shape == (*leading, 0, 0)
    assert ops.soft_values(scores, method=method, mask=mask).shape == (*leading, 0)
    assert ops.soft_values(scores, method=method, mask=mask, values=tf.zeros([*leading, 0, 3])).shape == (
        *leading,
        0,
        3,
    )
    assert ops.soft_rank(scores, method=method, mask=mask).shape == (*leading, 0)
    quantiles = ops.soft_quantile(scores, [0.0, 0.5], method=method, mask=mask)
    np.testing.assert_array_equal(quantiles, np.zeros([*leading, 2]))


def test_empty_batches_and_empty_matrices():
    assert ops.neural_sort(tf.zeros([0, 4])).shape == (0, 4, 4)
    assert ops.soft_rank(tf.zeros([2, 0, 4]), method="soft_sort").shape == (2, 0, 4)
    assert ops.harden(tf.zeros([2, 0, 0])).shape == (2, 0, 0)
    assert ops.harden(tf.zeros([0, 3, 3])).shape == (0, 3, 3)


@BOTH
def test_one_item(op):
    value, of_scores, of_tau = value_and_gradients(op, [[-3.5], [1e30]], 1e-30)
    np.testing.assert_array_equal(value, [[[1]], [[1]]])
    np.testing.assert_array_equal(of_scores, [[0], [0]])
    assert of_tau == 0
    score = tf.constant([7.5])
    np.testing.assert_array_equal(ops.soft_rank(score, method=op), [1])
    np.testing.assert_array_equal(ops.soft_values(score, method=op), [7.5])
    np.testing.assert_array_equal(ops.soft_quantile(score, [0.0, 0.3, 1.0], method=op), [7.5] * 3)
    np.testing.assert_array_equal(ops.soft_top_k(score, 1, method=op).values, [7.5])


@pytest.mark.parametrize("garbage", [1e30, np.nan])
@pytest.mark.parametrize("method", MATRICES)
def test_all_masked(method, garbage):
    scores = tf.constant([[garbage, 1.0, garbage], [3.0, 1.0, 2.0]])
    mask = tf.constant([[False] * 3, [True] * 3])

    def run(scores):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(scores)
            results = {
                "matrix": getattr(ops, method)(scores, 0.01, mask=mask),
                "values": ops.soft_values(scores, 0.01, method=method, mask=mask),
                "ranks": ops.soft_rank(scores, 0.01, method=method, mask=mask),
                "top": ops.soft_top_k(scores, 2, 0.01, method=method, mask=mask).values,
                "quantile": ops.soft_quantile(scores, 0.5, 0.01, method=method, mask=mask),
            }
        return results, {name: tape.gradient(result, scores)[0] for name, result in results.items()}

    results, gradients = run(scores)
    np.testing.assert_allclose(results["matrix"][0], np.full([3, 3], 1 / 3), rtol=1e-6)
    for name in ("values", "ranks", "top", "quantile"):
        np.testing.assert_array_equal(results[name][0], np.zeros_like(results[name][0]), err_msg=name)
    for name, gradient in gradients.items():
        np.testing.assert_array_equal(gradient, [0, 0, 0], err_msg=name)
    np.testing.assert_allclose(results["values"][1], [3, 2, 1], rtol=1e-6)


@pytest.mark.parametrize("scale", [1e6, 1e30])
@BOTH
def test_huge_scores(op, scale):
    scores = np.array([[1.0, -2.0, 3.0, 0.5]], np.float32) * np.float32(scale)
    value, of_scores, of_tau = value_and_gradients(op, scores, 1.0)
    np.testing.assert_array_equal(value, np.eye(4)[[[2, 0, 3, 1]]])
    np.testing.assert_array_equal(of_scores, np.zeros([1, 4]))
    assert of_tau == 0


@pytest.mark.parametrize("number", [True, False])
@BOTH
def test_extreme_temperatures(op, number):
    scores = tf.constant([1.0, -2.0, 3.0, 0.5])
    matrix = getattr(ops, op)
    low, high = (1e-30, 1e30) if number else (tf.constant(1e-30), tf.constant(1e30))
    np.testing.assert_array_equal(matrix(scores, low), np.eye(4)[[2, 0, 3, 1]])
    np.testing.assert_array_equal(matrix(scores, high), np.full([4, 4], 0.25))
    for tau in (1e-30, 1e30):
        _, of_scores, of_tau = value_and_gradients(op, [1.0, -2.0, 3.0, 0.5], tau)
        assert np.all(np.isfinite(of_scores)), tau
        assert np.isfinite(of_tau), tau


@pytest.mark.parametrize("tau", [1e-300, tf.constant(1e-300, tf.float64)], ids=["number", "tensor"])
@BOTH
def test_a_positive_temperature_below_the_range_of_the_scores_is_no_zero(op, tau):
    found = getattr(ops, op)(tf.constant([1.0, -2.0, 3.0, 0.5]), tau)
    np.testing.assert_array_equal(found, np.eye(4)[[2, 0, 3, 1]])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dtype", "compiled"),
    [
        ("float16", False),
        ("float32", False),
        ("float64", False),
        ("float32", True),
        *(pytest.param(dtype, True, marks=pytest.mark.nightly) for dtype in ("float16", "float64")),
    ],
)
@BOTH
def test_tied_items_have_the_same_weight_to_the_last_bit(op, compiled, dtype):
    scores = tf.cast([0.1, 2.3, 0.1, -1.7, 2.3, 0.1, 0.7], dtype)
    function = tf.function(getattr(ops, op), jit_compile=True) if compiled else getattr(ops, op)
    found = function(scores, 0.9).numpy()
    for group in ([0, 2, 5], [1, 4]):
        np.testing.assert_array_equal(found[:, group], found[:, group[:1]].repeat(len(group), axis=1))
    ranks = ops.soft_rank(scores, 0.9, method=op).numpy()
    assert ranks[0] == ranks[2] == ranks[5]
    assert ranks[1] == ranks[4] != ranks[0]


@BOTH
def test_a_list_of_ties_alone_is_uniform(op):
    value, of_scores, of_tau = value_and_gradients(op, [5.0] * 4, 0.01)
    np.testing.assert_array_equal(value, np.full([4, 4], 0.25))
    assert np.all(np.isfinite(of_scores))
    assert of_tau == 0


@pytest.mark.parametrize("bad", [np.nan, -np.inf])
@pytest.mark.parametrize("method", MATRICES)
def test_a_list_that_is_no_number_gives_nan_in_every_result_and_no_other_list_does(method, bad):
    scores = tf.constant([[2.0, bad, 1.0], [2.0, 4.0, 1.0]])

    def run(scores):
        matrix = getattr(ops, method)(scores)
        return [
            matrix,
            getattr(ops, method)(scores, hard=True),
            ops.harden(matrix),
            ops.soft_values(scores, method=method),
            ops.soft_values(scores, method=method, values=tf.ones_like(scores)),
            ops.soft_rank(scores, method=method),
            *ops.soft_top_k(scores, 2, method=method),
            ops.soft_quantile(scores, [0.5], method=method),
        ]

    for poisoned, clean in zip(run(scores), run(tf.constant([[2.0, 4.0, 1.0]] * 2)), strict=True):
        assert np.all(np.isnan(poisoned[0]))
        np.testing.assert_array_equal(poisoned[1], clean[1])


@pytest.mark.parametrize("tau", [0.0, -1.0, np.nan])
@BOTH
def test_a_tensor_temperature_that_is_not_positive_gives_nan(op, tau):
    found = getattr(ops, op)(tf.constant([1.0, 2.0]), tf.constant(tau))
    assert np.all(np.isnan(found))


@BOTH
def test_every_form_of_a_temperature_agrees(op):
    scores, matrix = tf.constant([1.0, -2.0, 3.0, 0.5]), getattr(ops, op)
    wanted = matrix(scores, 0.75)
    variable = tf.Variable(0.5)
    assert np.max(np.abs(wanted - matrix(scores, variable))) > 1e-3
    variable.assign(0.75)
    forms = [
        np.float32(0.75),
        np.float64(0.75),
        np.array(0.75),
        tf.constant(0.75),
        tf.constant(0.75, tf.float64),
        variable,
    ]
    for tau in forms:
        np.testing.assert_array_equal(matrix(scores, tau), wanted, err_msg=repr(tau))
    np.testing.assert_array_equal(matrix(scores, 2), matrix(scores, 2.0))


@pytest.mark.slow
@pytest.mark.traced_eagerly
def test_eager_calls_trace_once_per_algorithm():
    def traces(size, tau, **options):
        before = tracing.number_of_traces()
        ops.soft_values(tf.zeros([1, 1, 1, size]), tau, **options)  # of a rank that no other test traces
        return tracing.number_of_traces() - before

    masked = {"mask": tf.ones([1, 1, 1, 7], tf.bool)}
    traces(7, 0.5)
    assert [traces(size, 0.5) for size in (2, 16, 32)] == [0, 0, 0]
    assert [traces(7, tau) for tau in (0.75, tf.constant(2.0), tf.Variable(3.0))] == [0, 0, 0]
    # Long lists have another algorithm.
    assert [traces(size, 0.5) for size in (200, 1023, 1024, 2000, 7)] == [0, 0, 1, 0, 0]
    assert [traces(7, 0.5, **masked) for _ in range(2)] == [1, 0]


@pytest.mark.traced_eagerly
def test_other_quantiles_need_no_new_trace():
    def traces(q):
        before = tracing.number_of_traces()
        found = ops.soft_quantile(tf.constant([[[0.0, 1.0, 2.0]]]), q, 1e-3)
        np.testing.assert_allclose(found, [[np.multiply(2, q)]], atol=1e-6)
        return tracing.number_of_traces() - before

    traces([0.5])
    assert [traces([0.25]), traces([0.0, 0.75, 1.0])] == [0, 0]


@pytest.mark.slow
@pytest.mark.traced_eagerly
def test_an_eager_trace_holds_one_algorithm(monkeypatch):
    """Only the algorithm chosen for the list size is traced."""
    made = []
    for algorithm in (SoftmaxRows, MatrixFree):
        original = algorithm.multiply_transposed
        monkeypatch.setattr(
            algorithm, "multiply_transposed", lambda *args, a=algorithm, f=original: made.append(a) or f(*args)
        )
    ops.soft_rank(tf.zeros([1, 1, 3]), direction="ASCENDING")
    assert set(made) == {SoftmaxRows}
    made.clear()
    ops.soft_rank(tf.zeros([1, 1, 2000]), direction="ASCENDING")
    assert set(made) == {MatrixFree}


@pytest.mark.slow
def test_nothing_in_the_package_asks_for_xla():
    """TensorFlow Serving refuses a graph that demands it. `tests/serving` look at the graphs themselves."""
    for path in pathlib.Path(ops.__file__).parents[1].rglob("*.py"):
        calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        assert not [call for call in calls for option in call.keywords if option.arg == "jit_compile"], path


@pytest.mark.nightly
def test_traced_graphs_do_not_demand_xla():
    @tf.function(input_signature=[tf.TensorSpec([None, None]), tf.TensorSpec([None, None], tf.bool)])
    def model(scores, mask):
        with tf.GradientTape() as tape:
            tape.watch(scores)
            results = [
                *(getattr(ops, op)(scores, mask=mask, hard=True) for op in MATRICES),
                *(getattr(ops, op)(scores, mask=mask) for op in MATRICES),
                ops.harden(ops.neural_sort(scores)),
                ops.soft_values(scores, mask=mask),
                ops.soft_rank(scores, mask=mask),
                *ops.soft_top_k(scores, 1, mask=mask),
                ops.soft_quantile(scores, 0.5, mask=mask),
            ]
            loss = tf.add_n([tf.reduce_sum(result) for result in results])
        return tape.gradient(loss, scores)

    graph = model.get_concrete_function().graph.as_graph_def()
    demands = [node.attr["_XlaMustCompile"].b for node in graph.node if "_XlaMustCompile" in node.attr]
    demands += [f.attr["_XlaMustCompile"].b for f in graph.library.function if "_XlaMustCompile" in f.attr]
    nodes = [*graph.node, *(node for f in graph.library.function for node in f.node_def)]
    demands += [node.attr["_XlaMustCompile"].b for node in nodes if "_XlaMustCompile" in node.attr]
    assert len(graph.node) > 100
    assert not any(demands)
    assert not [node.op for node in nodes if "PyFunc" in node.op or "Random" in node.op]


@pytest.mark.parametrize("method", methods.names("ranks"))
def test_a_mask_keeps_the_order_of_the_lowest_numbers(method):
    scores, valid = tf.constant([[-3e38, -2e38, -2.5e38]]), [[True] * 3 + [False]]
    for hard in (True, False):
        np.testing.assert_array_equal(ops.soft_rank(scores, method=method, hard=hard), [[3, 1, 2]])
        padded = ops.soft_rank(tf.pad(scores, [[0, 0], [0, 1]]), method=method, hard=hard, mask=valid)
        np.testing.assert_array_equal(padded, [[3, 1, 2, 0]])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_masked_items_are_below_the_lowest_number_of_each_dtype(dtype):
    values = tf.cast(tf.constant([[-np.inf, float(tf.as_dtype(dtype).min), 0.0, 1.0]], tf.float64), dtype)
    keys = tf.cast(order.masked_last(values, tf.constant([[True, True, True, False]])), tf.float64).numpy()[0]
    assert np.isfinite(keys).all()
    assert keys[3] < keys[0] == keys[1] < keys[2] == 0
