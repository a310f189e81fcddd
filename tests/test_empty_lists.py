"""Lists without items, of known and of unknown size, in graphs and under XLA: finite results, never an error."""

import pytest
import tensorflow as tf
from support.cases import objects

from keras_softsort import ops
from keras_softsort.ops.sorting import methods

pytestmark = [pytest.mark.traced_eagerly, pytest.mark.default_stack_only]
SEED = [1, 2]
METHODS = {capability: methods.names(capability) for capability in methods.CAPABILITIES}


def matrices(scores):
    """A matrix [2, n, n] of scores, not by a product: TensorFlow's own gradient of an empty one may end the process."""
    return tf.repeat(scores[:, :, tf.newaxis], scores.shape[1] or tf.shape(scores)[1], axis=2)


# Functions of scores [2, 0], by a name that begins with that of the operator.
SORTING = {
    "neural_sort": ops.neural_sort,
    "neural_sort, hard": lambda s: ops.neural_sort(s, hard=True),
    "neural_sort, masked": lambda s: ops.neural_sort(s, mask=tf.ones_like(s, tf.bool)),
    "soft_sort": ops.soft_sort,
    "harden": lambda s: ops.harden(matrices(s)),
    "soft_quantile": lambda s: ops.soft_quantile(s, [0.0, 0.5]),
    **{f"soft_rank, {m}": lambda s, m=m: ops.soft_rank(s, method=m) for m in METHODS["ranks"]},
    **{f"soft_values, {m}": lambda s, m=m: ops.soft_values(s, method=m) for m in METHODS["values"]},
}
OTHERS = {
    "gumbel_softmax": lambda s: ops.gumbel_softmax(s, seed=SEED),
    "gumbel_sinkhorn": lambda s: ops.gumbel_sinkhorn(matrices(s), seed=SEED),
    "sinkhorn": lambda s: ops.sinkhorn(matrices(s)),
    "sinkhorn, tolerance": lambda s: ops.sinkhorn(matrices(s), tolerance=1e-3),
    "sinkhorn, sums": lambda s: ops.sinkhorn(matrices(s), row_sums=tf.ones_like(s), marginal_penalty=1.0),
    "transport_cost": lambda s: ops.transport_cost(s[..., tf.newaxis], s[..., tf.newaxis]),
    "sinkhorn_divergence": lambda s: ops.sinkhorn_divergence(s[..., tf.newaxis], s[..., tf.newaxis]),
    "linear_assignment": lambda s: ops.linear_assignment(matrices(s)),
    "match": lambda s: ops.match(matrices(s)),
    "ranknet_lambdas": lambda s: ops.ranknet_lambdas(s, tf.zeros_like(s)),
    "kendall_tau": lambda s: ops.kendall_tau(s, tf.zeros_like(s)),
    "spearman_correlation": lambda s: ops.spearman_correlation(s, tf.zeros_like(s)),
}
RANKING = {loss.operator: loss for loss in objects.SUBJECTS.values() if loss.takes in {"scores", "permutation"}}
LOSSES = {name: lambda s, loss=loss: loss.of(s, tf.zeros_like(s)) for name, loss in RANKING.items()}
OF_LOGITS = {loss.operator: loss for loss in objects.SUBJECTS.values() if loss.takes == "logits"}
for name, loss in OF_LOGITS.items():
    LOSSES[name] = lambda s, loss=loss: loss.of(tf.stack([s, s], axis=-1), tf.zeros_like(s))
OF_LABELS = ("ndcg", "dcg", "precision", "recall", "hits", "mrr", "mean_average_precision")
OF_LABELS += ("average_relevance_position", "expected_reciprocal_rank", "ordered_pair_accuracy")
METRICS = {name: lambda s, name=name: getattr(ops, name)(s, tf.zeros_like(s)) for name in OF_LABELS}
for name in ("alpha_dcg", "precision_ia"):
    METRICS[name] = lambda s, name=name: getattr(ops, name)(s, tf.stack([s, s], axis=-1))
FUNCTIONS = {**SORTING, **OTHERS, **LOSSES, **METRICS}
# Operators of other inputs than lists of scores, and those that choose at least one item.
NOT_LISTS = {
    "soft_top_k",
    "soft_top_k_membership",
    "dknn_loss",
    "soft_neighbor_membership",
    "retrieval_loss",
    "set_loss",
    "per_segment",
    "nearest_neighbors",
    "neighbor_votes",
}


def test_every_operator_is_tried():
    operators = {name for name in ops.__all__ if not isinstance(getattr(ops, name), type)}
    assert operators == {name.partition(",")[0] for name in FUNCTIONS} | NOT_LISTS


def value_and_gradient(function):
    def run(scores):
        with tf.GradientTape() as tape:
            tape.watch(scores)
            value = function(scores)
        return value, tape.gradient(value, scores, unconnected_gradients="zero")

    return run


def check(results, shape):
    value, gradient = results
    assert gradient.shape == shape
    for each in tf.nest.flatten(value):
        if each.dtype.is_floating:
            assert bool(tf.reduce_all(tf.math.is_finite(each)))


# One way to call each operator; the others run at night.
FIRST = {name.partition(",")[0]: name for name in reversed(FUNCTIONS)}.values()
# Losses and metrics have their shapes from their decorators. The others of them run at night.
ONE_OF_EACH_KIND = {"ranknet_loss", "mixture_em_loss", "permutation_cross_entropy_loss", "ndcg", "alpha_dcg"}
SHAPED = [name for name in FIRST if objects.EVERYTHING or name not in {*LOSSES, *METRICS} - ONE_OF_EACH_KIND]


@pytest.mark.nightly
def test_static_shapes():
    """In a graph, empty lists have the static shapes of other lists, with 0 for the list size."""
    wrong = {}
    for name in SHAPED:
        with tf.Graph().as_default():
            empty, one, two = (
                [each.shape.as_list() for each in tf.nest.flatten(FUNCTIONS[name](tf.zeros(shape)))]
                for shape in ((2, 0), (2, 1), (2, 4))
            )
        expected = [
            [0 if b != a else a for a, b in zip(few, many, strict=True)] for few, many in zip(one, two, strict=True)
        ]
        if empty != expected:
            wrong[name] = empty, expected
    assert wrong == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name if name in FIRST else pytest.param(name, marks=pytest.mark.nightly) for name in FUNCTIONS]
)
@pytest.mark.parametrize("shape", [(2, 0), pytest.param((0, 3), marks=pytest.mark.nightly)], ids=str)
@pytest.mark.parametrize(
    "mode", ["eager", *(pytest.param(mode, marks=pytest.mark.nightly) for mode in ("traced", "unknown_shape", "xla"))]
)
def test_operators(name, shape, mode):
    run, options = value_and_gradient(FUNCTIONS[name]), {}
    if mode == "unknown_shape":
        options["input_signature"] = [tf.TensorSpec([None, None], tf.float32)]
    if mode != "eager":
        run = tf.function(run, autograph=False, jit_compile=mode == "xla" or None, **options)
    check(run(tf.zeros(shape)), shape)


@pytest.mark.slow
@pytest.mark.parametrize("case", objects.first_of_class(objects.LAYERS), ids=str)
def test_layers(case):
    layer, scores = case.layers(), tf.zeros([2, 0])

    def run(scores):
        for each in layer:
            scores = each(scores)
        return scores

    if case.arguments.get("k") or case.arguments.get("top_k"):
        with pytest.raises(ValueError, match=r"(k|top_k) must be at most the list size|must be"):
            tf.function(run, autograph=False)(scores)
        return
    check(value_and_gradient(tf.function(run, autograph=False))(scores), (2, 0))
    check(value_and_gradient(tf.function(run, autograph=False, jit_compile=True))(scores), (2, 0))


@pytest.mark.slow
@pytest.mark.parametrize("case", objects.first_of_class(objects.METRICS), ids=str)
def test_metrics(case):
    metric = case.make()
    metric.update_state(tf.zeros([2, 0, 3] if case.subject.takes_topics else [2, 0]), tf.zeros([2, 0]))
    assert float(metric.result()) == 0
