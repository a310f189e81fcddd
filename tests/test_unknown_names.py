"""Arguments and values that other libraries have: errors say what they are called here."""

import inspect
import pickle

import numpy as np
import pytest

import keras_softsort as ks
from keras_softsort._internal.unknown_names import OTHER_NAMES, other_name, with_named_errors
from keras_softsort._keras.options import FixedOptions, KeepsOptions

pytestmark = pytest.mark.default_stack_only
MODULES = (ks.ops, ks.layers, ks.losses, ks.metrics, ks.linalg, ks.distributions, ks.callbacks, ks.data, ks.trees)
X = [[0.5, 2.0, 1.0]]
VALID = {
    **{name: {"k": 1} for name in ("DkNNLayer", "DkNNLoss", "SoftTopKLayer", "KNNClassifier")},
    **{"SoftQuantileLayer": {"q": 0.5}, "SetLoss": {"pair_cost": np.subtract, "matched_loss": np.subtract}},
    "metric": {"name": "ndcg"},
    **{"DocumentInteractionAttention": {"num_heads": 1, "head_size": 1}, "Bilinear": {"units": 1}},
}


def is_result(each):
    return isinstance(each, type) and issubclass(each, tuple)


def public():
    """Every public function and class, by name."""
    named = {name: getattr(module, name) for module in MODULES for name in module.__all__}
    return {name: each for name, each in named.items() if callable(each) and not is_result(each)}


def arguments_of(function):
    """The arguments of a function, and whether the package refuses all others."""
    if isinstance(function, type) and issubclass(function, KeepsOptions):
        return list(function._all_arguments()), issubclass(function, FixedOptions)
    parameters = inspect.signature(function).parameters.values()
    kinds = {each.kind for each in parameters}
    return [each.name for each in parameters], inspect.Parameter.VAR_KEYWORD not in kinds


# `ScoreLoss` takes no arguments by name, and `per_segment` those of another function.
FUNCTIONS = {name: each for name, each in public().items() if name not in {"ScoreLoss", "per_segment"}}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_names_of_other_libraries(name):
    function, valid = FUNCTIONS[name], VALID.get(name, {})
    known, _ = arguments_of(function)
    for other in OTHER_NAMES.keys() - {*known}:
        hint = other_name(other, known)
        if hint:
            with pytest.raises(TypeError, match=f"^{name} has no argument '{other}'; use ") as raised:
                function(**valid, **{other: 1})
            assert str(raised.value).endswith(f"; use {hint}")
            assert hint.split(",")[0].split("=")[0] in {*known, "soft_values"}


@pytest.mark.parametrize("name", [name for name, each in FUNCTIONS.items() if arguments_of(each)[1]])
def test_names_of_nobody(name):
    with pytest.raises(TypeError, match=rf"^{name} has no argument 'nobody'; it has \['"):
        FUNCTIONS[name](**VALID.get(name, {}), nobody=1)


def test_every_name_is_that_of_an_argument():
    known = [arguments_of(each)[0] for each in FUNCTIONS.values()]
    assert [other for other in OTHER_NAMES if not any(other_name(other, each) for each in known)] == []
    unused = [
        (other, needed) for other, hints in OTHER_NAMES.items() for needed, hint in hints if not hint or not needed
    ]
    assert unused == []
    assert len(FUNCTIONS) > 100


TORCHSORT = "use tau, with method='projection' and direction='ASCENDING'"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ks.soft_rank(X, regularization_strength=2.0), f"soft_rank .* 'regularization_strength'; {TORCHSORT}"),
        (lambda: ks.SoftRankLayer(regularization_strength=2.0), f"SoftRankLayer .* {TORCHSORT}"),
        (
            lambda: ks.soft_sort(X, regularization="kl"),
            "soft_sort .*; use soft_values, with .*'projection_kl' for 'kl'",
        ),
        (lambda: ks.soft_rank(X, steepness=10.0), "soft_rank .* 'steepness'; use tau, which is 1 / steepness"),
        (lambda: ks.ops.ranknet_loss(X, X, sigma=1.0), "ranknet_loss .* 'sigma'; use tau, which is 1 / sigma"),
        (lambda: ks.ops.ndcg(X, X, topn=3), "ndcg has no argument 'topn'; use k"),
        (lambda: ks.neural_sort(X, k=2), "neural_sort has no argument 'k'; use top_k"),
        (lambda: ks.soft_rank(X, dim=-1), "soft_rank has no argument 'dim'; use axis"),
        (lambda: ks.sinkhorn(X, reg=0.1), "sinkhorn has no argument 'reg'; use tau, and minus the costs as logits"),
        (lambda: ks.ops.transport_cost(X, X, epsilon=1), "transport_cost has no argument 'epsilon'; use tau"),
        (lambda: ks.SinkhornLayer(n_iters=5), "SinkhornLayer has no argument 'n_iters'; use num_iterations"),
        (lambda: ks.ops.gumbel_sinkhorn(X, noise_factor=1), "gumbel_sinkhorn .* 'noise_factor'; use noise_scale"),
        (lambda: ks.PlackettLuce(X, topk=2), "PlackettLuce has no argument 'topk'; use top_k"),
        (
            lambda: ks.soft_rank(X, descending=True),
            "soft_rank .* 'descending'; use direction='DESCENDING', the default",
        ),
        (lambda: ks.soft_rank(X, methods="soft_sort"), "soft_rank has no argument 'methods'; use method"),
        # No lambda weight: elsewhere sigma may be a standard deviation.
        (lambda: ks.soft_rank(X, sigma=1.0), r"soft_rank has no argument 'sigma'; it has \['scores', 'tau'"),
    ],
)
def test_messages(call, message):
    with pytest.raises(TypeError, match=f"^{message}"):
        call()


@pytest.mark.parametrize("value", ["ascending", "Ascending", "ascend"])
def test_a_value_that_is_near(value):
    with pytest.raises(ValueError, match=f"direction must be one of .*, got '{value}'; use 'ASCENDING'$"):
        ks.soft_rank(X, direction=value)
    with pytest.raises(ValueError, match=r"direction must be one of .*, got 'up'$"):
        ks.soft_rank(X, direction="up")


def test_keras_own_arguments_of_layers_are_taken():
    layer = ks.SoftRankLayer(name="ranks", dtype="float64", trainable=False)
    assert (layer.name, layer.trainable, layer.compute_dtype) == ("ranks", False, "float64")


@pytest.mark.parametrize("name", [name for name in ks.ops.__all__ if not isinstance(getattr(ks.ops, name), type)])
def test_a_function_stays_itself(name):
    function = getattr(ks.ops, name)
    assert pickle.loads(pickle.dumps(function)) is function
    if not hasattr(function, "formula"):  # the signature of a formula is another one: see `test_operators.py`
        assert inspect.signature(function) == inspect.signature(inspect.unwrap(function))
    assert function.__name__ == name


def test_a_function_that_takes_any_name_is_not_wrapped():
    def any_name(scores, **options):
        return scores, options

    assert with_named_errors(any_name, "any_name") is any_name
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'second'"):
        ks.ops.kendall_tau(X)
