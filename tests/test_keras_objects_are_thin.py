"""Layers and losses hold options, shapes and masks; what they compute is a call of a pure function in `ops`."""

import ast
import importlib.util
from pathlib import Path

import pytest

pytestmark = pytest.mark.default_stack_only

ROOT = Path(importlib.util.find_spec("keras_softsort").origin).parent
FOLDERS = ("layers", "losses")
SOURCES = sorted(path.relative_to(ROOT).as_posix() for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
# Names of TensorFlow that compute nothing: types, shapes, dtypes, masks, the choice between tensors, random state.
ALLOWED = {
    *("DType", "Module", "RaggedTensor", "Tensor", "TensorShape", "TensorSpec", "Variable"),
    *("as_dtype", "bool", "float32", "float64", "int32", "int64", "int32.max", "uint64"),
    *("autograph.experimental.do_not_convert", "function", "init_scope", "executing_eagerly", "name_scope"),
    *("broadcast_to", "cast", "concat", "constant", "convert_to_tensor", "identity", "reshape", "squeeze", "stack"),
    *("expand_dims", "newaxis", "nest.map_structure", "ones", "ones_like", "zeros", "zeros_like", "where"),
    *("rank", "shape", "size", "get_static_value", "control_dependencies", "is_tensor", "logical_and"),
    *("logical_not", "logical_or", "reduce_any"),
    *("bitwise.bitwise_xor", "random.uniform", "raw_ops.RngReadAndSkip", "unstack", "VariableAggregation"),
    *("VariableAggregation.ONLY_FIRST_REPLICA", "distribute.get_replica_context"),
    *("compat.v1.add_to_collection", "custom_gradient", "ensure_shape"),
    "distribute.get_strategy.experimental_local_results",
}
ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.MatMult, ast.Pow, ast.FloorDiv, ast.Mod)


def offenders(source):
    """The functions of TensorFlow that compute, and the products, powers and quotients, that `source` holds."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute):
            name = dotted(node)
            if name and name.startswith("tf.") and not is_prefix(name[3:]):
                names.add(name)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ARITHMETIC) and not is_text(node):
            names.add(ast.unparse(node))
    return names


def dotted(node):
    if isinstance(node, ast.Name):
        return node.id
    return f"{dotted(node.value)}.{node.attr}" if isinstance(node, ast.Attribute) else ""


def is_prefix(name):
    """Whether `name` is allowed, or the beginning of an allowed one."""
    return any(allowed == name or allowed.startswith(f"{name}.") for allowed in ALLOWED)


def is_text(node):
    """Whether a sum joins strings or tuples, or counts in Python integers."""
    constants = [side.value for side in (node.left, node.right) if isinstance(side, ast.Constant)]
    return any(isinstance(value, (str, int)) for value in constants) or isinstance(node.left, ast.JoinedStr)


@pytest.mark.parametrize("path", SOURCES)
def test_no_arithmetic(path):
    assert offenders((ROOT / path).read_text()) == set()


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("x = tf.reduce_sum(y)", {"tf.reduce_sum"}),
        ("x = tf.math.log(y)", {"tf.math.log", "tf.math"}),
        ("x = scores * weights", {"scores * weights"}),
        ("x = tf.where(mask, y, tf.zeros_like(y))", set()),
        ("x: int | None = size + 1", set()),
    ],
)
def test_the_check_itself(source, found):
    assert offenders(source) == found
