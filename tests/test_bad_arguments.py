"""Wrong values of the arguments of public names: each error names the argument, what it must be, and what it got."""

import inspect
import re

import numpy as np
import pytest
import tensorflow as tf
from support.cases import collect

import keras_softsort as ks

pytestmark = pytest.mark.default_stack_only

NOT_FLOATING = np.array([[1, 2, 3]])
COUNT, POSITIVE, FLAG, NAME = (0, 1.5), (0, "a"), (1,), ("bubble", ["bubble"])
FLOATING, MASK, REAL = (NOT_FLOATING, "a"), (np.ones([2, 3]),), ("a",)
# Wrong values by the name of the argument, which means the same everywhere.
WRONG = {
    **dict.fromkeys(["k", "top_k", "num_samples", "num_queries", "num_classes", "dimension", "units"], COUNT),
    **dict.fromkeys(["block_size", "num_references", "num_heads", "head_size", "num_layers"], COUNT),
    "memory_size": (-1, 1.5),
    "num_iterations": (-1, 1.5),
    "tau": (*POSITIVE, None),
    **dict.fromkeys(["label_tau", "power", "eps", "input_noise_stddev"], POSITIVE),
    "marginal_penalty": POSITIVE,
    **dict.fromkeys(["noise_scale", "tolerance"], (-1.0, "a")),
    "smooth_fraction": (2.0, "a"),
    "q": (2.0, "a"),
    **dict.fromkeys(["dropout", "margin"], (1.0, "a")),
    "poly_epsilon": (np.inf, "a"),
    "version": (3,),
    **dict.fromkeys(["hard", "stochastic", "learn_tau", "approximate", "return_residual"], FLAG),
    "implicit_gradient": FLAG,
    **dict.fromkeys(["exclude_self", "neighbors_only", "keep_zero_weights"], FLAG),
    "max_label": POSITIVE,
    **dict.fromkeys(["max_cost", "min_score"], ("a", np.inf)),
    "no_pairs": ("a", np.inf),
    **dict.fromkeys(["direction", "scale", "method", "returns", "ties", "lambda_weight", "gain", "discount"], NAME),
    **dict.fromkeys(["normalization", "distance", "objective", "target", "lists", "padding", "reduction"], NAME),
    **dict.fromkeys(["votes", "statistic", "dtype", "metric", "estimator", "no_relevant", "divisor", "average"], NAME),
    **dict.fromkeys(["pair_cost", "matched_loss", "unmatched_loss", "target_mask", "prediction_mask"], (3,)),
    "distribution": ("normal",),
    "function": ("softmax_loss",),
    "exclude": ("a", np.array([0.5, 1.0]), np.arange(7), np.array([0, 3]), np.array([-2, 0])),
    "segments": (np.array([0.5, 1.0, 1.0]), np.array([1, 2])),
    **dict.fromkeys(["scores", "logits", "cost", "permutation", "embeddings", "queries", "candidates"], FLOATING),
    **dict.fromkeys(["values", "x", "y"], FLOATING),
    **dict.fromkeys(["row_sums", "column_sums", "x_weights", "y_weights"], ("a", np.ones(7), -np.ones(3))),
    **dict.fromkeys(["mask", "row_mask", "column_mask", "candidate_mask", "x_mask", "y_mask"], MASK),
    **dict.fromkeys(["labels", "candidate_labels", "weights", "min_label", "first", "second"], REAL),
    "seed": (1.5, "a"),
    "axis": (1.5,),
    **dict.fromkeys(["virtual_label", "exam_loss_weight", "rel_loss_weight"], (-1.0, "a")),
    "max_weight": (0.5, "a"),
    "alpha": (-1.0, "a"),
    **dict.fromkeys(["use_fraction_label", "skip_nan"], FLAG),
    "class_loss": (3,),
    "unmatched_weight": (-1.0, "a"),
    "layer_axis": ("a",),
    **dict.fromkeys(["references", "distances"], FLOATING),
    "neighbors": (np.array([0.5]),),
}
# Keras' and TensorFlow Probability's own, and what goes to the caller's functions as it is.
NOT_OURS = {"name", "options", "validate_args", "allow_nan_stats", "kwargs", "targets", "predictions"}
# Keras makes the dtype of a metric, and its error; TensorFlow Probability takes the seed of a distribution.
THEIRS = {("expected_cost", "seed"), *((name, "dtype") for name in ks.metrics.__all__)}

LISTS, MATRICES = np.array([[0.5, -1.0, 2.0], [1.0, 0.0, 3.0]]), np.eye(3)[np.newaxis].repeat(2, axis=0)
LABELS = np.array([[2.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
VALID = {
    "scores": LISTS,
    "logits": LISTS,
    "labels": LABELS,
    "permutation": MATRICES,
    "cost": MATRICES,
    "k": 1,
    "q": 0.5,
    "tau": 1.0,
    "seed": [1, 2],
    "queries": LISTS,
    "first": LISTS,
    "second": LISTS,
    "candidates": LISTS,
    "embeddings": LISTS,
    "num_heads": 1,
    "head_size": 2,
    "units": 1,
    "metric": "ndcg",
    **dict.fromkeys(["pair_cost", "matched_loss"], np.subtract),
}
# Public name -> further arguments that make a call valid, or an argument matter.
MORE = {
    **collect.by_name("VALID"),
    "expected_cost": {
        "distribution": ks.distributions.PlackettLuce(LISTS),
        "cost": lambda orders: np.float32(orders[..., 0]),
        "num_samples": 2,
    },
}
# (public name, argument) -> other arguments with which the argument matters.
ONLY_WITH = {("LambdaWeight", "min_label"): {"metric": "map"}}


def public():
    """Every public function and class that takes arguments in one call."""
    modules = (ks.layers, ks.losses, ks.metrics, ks.ops, ks.linalg, ks.distributions)
    named = {name: getattr(module, name) for module in modules for name in module.__all__}
    bases = {ks.layers.TemperatureLayer, ks.losses.ListLoss, ks.losses.ScoreLoss}
    return {name: each for name, each in named.items() if callable(each) and each not in bases and not is_result(each)}


def is_result(each):
    return isinstance(each, type) and issubclass(each, tuple)


def arguments_of(function):
    """The names of all arguments, of a class with those that its bases take through `**kwargs`."""
    if not isinstance(function, type):
        return list(inspect.signature(function).parameters)
    names = []
    for base in function.__mro__:
        if base.__module__.startswith("keras_softsort") and "__init__" in vars(base):
            parameters = list(inspect.signature(base.__init__).parameters.values())[1:]
            names += [each.name for each in parameters if each.kind is not each.VAR_KEYWORD]
            if not any(each.kind is each.VAR_KEYWORD for each in parameters):
                break
    return list(dict.fromkeys(names))


def valid_arguments(name, function):
    required = [
        each.name
        for each in inspect.signature(function).parameters.values()
        if each.default is each.empty and each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL)
    ]
    own = MORE.get(name, {})
    return {**{each: VALID[each] for each in required if each not in own}, **own}


def complaint(function, arguments, name, wrong):
    """The fault of the error that `wrong` as the argument `name` raises, or None."""
    try:
        function(**{**arguments, **ONLY_WITH.get((getattr(function, "__name__", ""), name), {}), name: wrong})
    except (TypeError, ValueError) as error:
        text = str(error)
    else:
        return f"{name}={wrong!r} is taken"
    return None if re.search(rf"\b{name}\b.* must .*got ", text) else f"{name}={wrong!r}: {text}"


@pytest.mark.parametrize("name", public())
def test_errors(name):
    function = public()[name]
    arguments = valid_arguments(name, function)
    function(**arguments)
    tried = [
        (argument, wrong)
        for argument in arguments_of(function)
        for wrong in WRONG.get(argument, ())
        if (name, argument) not in THEIRS
    ]
    assert [text for each in tried if (text := complaint(function, arguments, *each))] == []


OPERATORS = [name for name in ks.ops.__all__ if not isinstance(getattr(ks.ops, name), type)]


@pytest.mark.parametrize("name", OPERATORS)
def test_keras_tensors(name):
    """Every operator says where a Keras tensor can be used, for each argument that may be one."""
    function = getattr(ks.ops, name)
    valid = valid_arguments(name, function)
    tensors = [each for each, value in valid.items() if isinstance(value, np.ndarray)]
    assert tensors
    for argument in tensors:
        with pytest.raises(
            TypeError,
            match=rf"^{argument} must be a tensor, got a Keras tensor .*keras\.layers\.Lambda, .*SoftRankLayer for",
        ):
            function(**{**valid, argument: tf.keras.Input(np.shape(valid[argument])[1:])})


# Arguments that are tensors with axes, and a scalar of their dtype.
SCALARS = {
    **dict.fromkeys(["scores", "logits", "labels", "permutation", "cost", "first", "second", "x", "y"], 4.0),
    **dict.fromkeys(["queries", "candidates", "embeddings", "values", "candidate_labels", "segments"], 4.0),
    **dict.fromkeys(["row_sums", "column_sums", "x_weights", "y_weights", "references", "distances"], 4.0),
    **dict.fromkeys(["mask", "row_mask", "column_mask", "candidate_mask", "x_mask", "y_mask"], True),
    **dict.fromkeys(["neighbors", "seed"], 1),
}
MAY_BE_SCALAR = {("soft_values", "values")}


@pytest.mark.parametrize("name", OPERATORS)
def test_scalars(name):
    """A scalar as a tensor with axes: each error names the argument, eagerly and traced."""
    function = getattr(ks.ops, name)
    valid, known = valid_arguments(name, function), arguments_of(function)
    found = []
    for argument in [each for each in known if each in SCALARS and (name, each) not in MAY_BE_SCALAR]:
        for call in (function, tf.function(function, autograph=False)):
            scalar = tf.constant(SCALARS[argument])
            found.append(complaint(call, {**valid, **ONLY_WITH.get((name, argument), {})}, argument, scalar))
    assert [text for text in found if text] == []
    scalars = {each: SCALARS[each] for each in valid if each in SCALARS and each != "seed"}
    if scalars:
        with pytest.raises((TypeError, ValueError), match=f"^({'|'.join(scalars)})\\b.* must .*got "):
            function(**{**valid, **scalars})


# A number for each argument that takes one.
NUMBERS = {
    **dict.fromkeys(["k", "top_k"], 1),
    **dict.fromkeys(["num_samples", "num_queries", "num_iterations", "block_size"], 2),
    **dict.fromkeys(["power", "poly_epsilon", "noise_scale", "max_weight", "unmatched_weight"], 1.0),
    **dict.fromkeys(["label_tau", "eps", "tolerance", "margin", "virtual_label", "alpha"], 0.5),
    **dict.fromkeys(["exam_loss_weight", "rel_loss_weight", "marginal_penalty", "min_label"], 0.5),
}


@pytest.mark.slow
@pytest.mark.traced_eagerly
@pytest.mark.parametrize("name", OPERATORS)
def test_numbers_of_numpy(name):
    """NumPy's numbers are options as Python's are: also `np.float64`, which is a float and yet an array to a trace."""
    function = getattr(ks.ops, name)
    known = set(arguments_of(function))
    given = {**valid_arguments(name, function), **({"seed": [1, 2]} if "seed" in known else {})}
    plain = {argument: NUMBERS[argument] for argument in NUMBERS if argument in known}
    of_numpy = {
        argument: np.int64(number) if isinstance(number, int) else np.float64(number)
        for argument, number in plain.items()
    }
    wanted, found = (function(**{**given, **numbers}) for numbers in (plain, of_numpy))
    tf.nest.map_structure(np.testing.assert_array_equal, found, wanted)


def test_every_argument_has_wrong_values():
    takers = {argument: name for name, function in public().items() for argument in arguments_of(function)}
    missing = [f'"{name}": ("a",),  # of {takers[name]}' for name in sorted(takers.keys() - WRONG.keys() - NOT_OURS)]
    assert not missing, "\n".join(
        ["add to WRONG in tests/test_bad_arguments.py, with all kinds of wrong values:", *missing]
    )
    unknown = sorted(WRONG.keys() - takers.keys())
    assert not unknown, f"remove from WRONG in tests/test_bad_arguments.py what is no argument: {unknown}"
    assert len(public()) > 50
