"""Ranking losses as objectives of LightGBM and XGBoost."""

import functools
import importlib
import pickle

import lightgbm
import numpy as np
import pytest
import tensorflow as tf
from support.readme import README, fenced_blocks

import keras_softsort as ks
from keras_softsort import trees
from keras_softsort._targets.lists import Lists
from keras_softsort.trees import _rows

pytestmark = pytest.mark.default_stack_only

xgboost = pytest.importorskip("xgboost")
sklearn = pytest.importorskip("sklearn")
importlib.import_module("sklearn.model_selection")

SETTINGS = {"num_leaves": 7, "min_data_in_leaf": 5, "verbose": -1, "num_threads": 1, "seed": 0}


def flat_lists(seed, count=40, largest=20, features=6):
    """Features, labels and sizes of lists."""
    random = np.random.default_rng(seed)
    sizes = random.integers(1, largest + 1, count)
    x = random.normal(size=(sizes.sum(), features))
    utility = x[:, 0] + np.sin(2 * x[:, 1]) + random.normal(size=len(x))
    return x, np.digitize(utility, [0.0, 1.0, 2.0]).astype(float), sizes


def dataset(seed=0, weighted=False, **options):
    x, labels, sizes = flat_lists(seed, **options)
    weights = np.repeat(np.random.default_rng(seed).uniform(0.5, 2, len(sizes)), sizes) if weighted else None
    return lightgbm.Dataset(x, labels, group=sizes, weight=weights)


def ndcg_loss():
    return ks.RankNetLoss(lambda_weight="ndcg", normalization="none")


@functools.cache
def ndcg_objective():
    """One for all tests, which then share its traces."""
    return trees.objective(ndcg_loss())


# Losses with a hessian in closed form.
CLOSED = {
    "RankNet": ks.RankNetLoss(),
    "RankNet, tau": ks.RankNetLoss(tau=0.5, normalization="none"),
    "RankNet, ties": ks.RankNetLoss(ties="half", normalization="list"),
    "NDCG": ks.RankNetLoss(tau=2.0, lambda_weight="ndcg"),
    "NDCG@3": ks.RankNetLoss(lambda_weight=ks.LambdaWeight("ndcg", k=3), normalization="pairs"),
    "MAP": ks.RankNetLoss(lambda_weight="map"),
    "LambdaLoss": ks.RankNetLoss(lambda_weight=ks.LambdaWeight("ndcg", smooth_fraction=0.5)),
    "MSE of pairs": ks.PairwiseMSELoss(tau=2.0),
    "softmax": ks.SoftmaxLoss(),
    "softmax, tau": ks.SoftmaxLoss(tau=0.5, lambda_weight="dcg"),
    "ListNet": ks.ListNetLoss(tau=0.5, label_tau=2.0),
    "ListMLE": ks.PlackettLuceLoss(),
    "ListMLE, k": ks.PlackettLuceLoss(k=3, ties="first", tau=0.5),
    "ListMLE, discount": ks.PlackettLuceLoss(discount="log2"),
}


@pytest.mark.parametrize(
    ("dtype", "weighted"),
    [
        ("float32", True),
        ("float64", False),
        pytest.param("float32", False, marks=pytest.mark.nightly),
        pytest.param("float64", True, marks=pytest.mark.nightly),
    ],
)
@pytest.mark.parametrize("name", CLOSED)
def test_closed_forms_are_those_of_float64_differences(name, weighted, dtype):
    random = np.random.default_rng(3)
    scores, labels = random.normal(size=(3, 6)), random.integers(0, 4, (3, 6)).astype(float)
    mask = np.arange(6) < np.array([[6], [4], [0]])
    weights = tf.constant(mask * random.uniform(0.5, 2, (3, 6))) if weighted else None
    lists = Lists(tf.constant(labels * mask), tf.constant(mask), weights)
    # The lists, and with each of their items a little above and below, in one batch.
    steps = 1e-5 * np.concatenate([np.zeros([1, 6]), np.eye(6), -np.eye(6)])
    moved = tf.constant((scores + steps[:, np.newaxis]).reshape(-1, 6))
    with tf.GradientTape() as tape:
        tape.watch(moved)
        copies = Lists(*(None if each is None else tf.tile(each, [len(steps), 1]) for each in lists))
        total = tf.reduce_sum(CLOSED[name].list_losses(copies, moved))
    slopes, *others = np.reshape(tape.gradient(total, moved), [len(steps), 3, 6])
    differences = [(others[i] - others[6 + i])[:, i] / 2e-5 for i in range(6)]
    found = CLOSED[name].list_derivatives(
        lists._replace(labels=tf.cast(lists.labels, dtype), weights=tf.cast(weights, dtype) if weighted else None),
        tf.constant(scores, dtype),
    )
    tolerance = {"float32": 2e-6, "float64": 1e-7}[dtype]
    np.testing.assert_allclose(found.slopes, slopes, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(found.curvatures, np.stack(differences, axis=1), rtol=tolerance, atol=tolerance)
    assert not np.any(np.where(mask, 0, found.curvatures))


def test_every_closed_form_is_tried():
    tried = {type(loss) for loss in CLOSED.values()}
    have = {
        cls
        for cls in map(vars(ks.losses).get, ks.losses.__all__)
        if isinstance(cls, type) and getattr(cls, "_derivatives", None) is not None
    }
    assert have == tried


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("cls", [ks.RankNetLoss, ks.MeanSquaredLoss])
def test_half_precision_is_computed_in_float32(cls, dtype):
    arguments = [1.0, 0, 2], [0.1, 0.2, 0.3], None, [3]
    np.testing.assert_array_equal(trees.objective(cls(dtype=dtype))(*arguments), trees.objective(cls())(*arguments))


class OwnLoss(ks.losses.ScoreLoss):
    def __init__(self, tau=1.0, **kwargs):
        super().__init__({"tau": tau}, **kwargs)

    def score_losses(self, scores, labels, *, mask, weights):
        return tf.reduce_sum(weights * tf.square(scores / self.tau - labels), axis=-1)


@pytest.mark.parametrize("dtype", [None, "float16", "float64"])
def test_an_own_loss_has_its_temperature_in_the_dtype_of_the_computation(dtype):
    loss = OwnLoss(2.0, dtype=dtype)
    made = trees.objective(loss)
    scores, labels = np.array([0.1, 0.2, 0.3]), np.array([1.0, 0, 2])
    for tau in (2.0, 0.5):
        loss.tau = tau
        gradient, _ = made(labels, scores, None, [3])
        np.testing.assert_allclose(gradient, 2 * (scores / tau - labels) / tau, rtol=1e-6)


def test_long_lists_have_the_derivatives_of_all_their_tiles():
    random = np.random.default_rng(0)
    scores, labels = random.normal(size=(1, 150)), random.integers(0, 5, (1, 150)).astype(float)
    found = ks.RankNetLoss(normalization="none").list_derivatives(Lists(tf.constant(labels)), tf.constant(scores))
    shares = 1 / (1 + np.exp(scores[0][:, None] - scores[0]))
    pairs = labels[0][:, None] > labels[0]
    slopes, curvatures = pairs * shares, pairs * shares * (1 - shares)
    np.testing.assert_allclose(found.slopes[0], slopes.sum(0) - slopes.sum(1), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.curvatures[0], curvatures.sum(0) + curvatures.sum(1), rtol=1e-12)


def test_list_mle_keeps_its_derivatives_at_any_range_of_scores():
    scores = np.array([[500.0, -400.0, 0.0, 1.0]])
    lists = Lists(tf.constant([[3.0, 2.0, 1.0, 0.0]], tf.float64))
    found = ks.PlackettLuceLoss().list_derivatives(lists, tf.constant(scores))
    half = 1 / (1 + np.exp(-1.0))
    # The first choice is certain, the second is certainly another item, and the third is between the last two.
    np.testing.assert_allclose(found.slopes[0], [0, -1, (1 - half) + (1 - half) - 1, 2 * half], atol=1e-12)
    np.testing.assert_allclose(found.curvatures[0], [0, 0, 2 * half * (1 - half), 2 * half * (1 - half)], atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_the_trees_are_those_of_lambdarank(seed, weighted):
    built_in = {"objective": "lambdarank", "lambdarank_norm": False, "lambdarank_truncation_level": 1000}
    # Leaves of a few rows only have splits of nearly the same gain, between which rounding decides.
    large = {**SETTINGS, "num_leaves": 15, "min_data_in_leaf": 20}
    ours, theirs = (
        lightgbm.train({**large, **params}, dataset(seed, weighted, count=140, largest=40), 20)
        for params in ({"objective": ndcg_objective()}, built_in)
    )
    x = flat_lists(seed + 100)[0]
    expected = theirs.predict(x)
    assert expected.std() > 0.1
    np.testing.assert_allclose(ours.predict(x), expected, atol=2e-5)


# So short that an objective is traced for one size.
SHORT = flat_lists(1, largest=8)


def numbers(objective, weighted=False):
    x, labels, sizes = SHORT
    weights = np.random.default_rng(9).uniform(0.5, 2, len(x)) if weighted else None
    return objective(labels, x[:, 2], weights, sizes)


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("make", [ndcg_loss, ks.ApproxNDCGLoss, ks.SpearmanLoss])
def test_the_gradient_is_that_of_the_loss(make, weighted):
    x, labels, sizes = SHORT
    weights = np.random.default_rng(9).uniform(0.5, 2, len(x)) if weighted else None
    gradient, _ = numbers(trees.objective(make()), weighted=weighted)
    of_groups = type(make()).from_config({**make().get_config(), "lists": "groups", "reduction": "sum"})
    scores = tf.constant(x[:, 2])
    with tf.GradientTape() as tape:
        tape.watch(scores)
        loss = of_groups((np.repeat(np.arange(len(sizes)), sizes), labels), scores, weights)
    np.testing.assert_allclose(gradient, tape.gradient(loss, scores), rtol=1e-4, atol=1e-6)
    assert gradient.dtype == np.float32


def test_other_losses_have_the_absolute_gradient_as_hessian():
    gradient, hessian = numbers(trees.objective(ks.ApproxNDCGLoss()))
    least = 0.05 * abs(gradient).mean()
    np.testing.assert_allclose(hessian, np.maximum(abs(gradient), least), rtol=1e-6)
    assert (abs(gradient) < least).any()
    poly = trees.objective(ks.SoftmaxLoss(poly_epsilon=1.0))
    np.testing.assert_allclose(*map(abs, numbers(poly)), atol=0.1)


@pytest.mark.slow
def test_hessian_can_be_the_absolute_gradient():
    exact, absolute = numbers(ndcg_objective()), numbers(trees.objective(ndcg_loss(), hessian="absolute"))
    np.testing.assert_allclose(exact[0], absolute[0], rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(
        absolute[1], np.maximum(abs(exact[0]), 0.05 * abs(exact[0]).mean()), rtol=1e-5, atol=1e-7
    )
    assert not np.allclose(exact[1], absolute[1])


def test_hessians_are_above_zero_without_pairs():
    _, hessian = ndcg_objective()(np.ones(5), np.zeros(5), None, [2, 3])
    assert (hessian > 0).all()


def test_unit_scale_divides_by_the_mean_hessian():
    plain, scaled = numbers(ndcg_objective()), numbers(trees.objective(ndcg_loss(), unit_scale=True))
    for before, after in zip(plain, scaled, strict=True):
        np.testing.assert_allclose(after, before / plain[1].mean(), rtol=1e-5)


def test_normalize_lists_multiplies_by_the_logarithm():
    (gradient, hessian), sizes = numbers(ndcg_objective()), SHORT[2]
    normal = numbers(trees.objective(ndcg_loss(), normalize_lists=True))
    totals = np.array([abs(each).sum() for each in np.split(gradient, np.cumsum(sizes)[:-1])])
    factors = np.repeat(np.log2(1 + totals) / np.maximum(totals, 1e-30), sizes)
    np.testing.assert_allclose(normal[0], factors * gradient, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(normal[1][gradient != 0], (factors * hessian)[gradient != 0], rtol=1e-5)


def test_the_dtype_of_the_loss_is_that_of_the_computation():
    exact = trees.objective(ks.RankNetLoss(dtype="float64"))
    labels, scores = np.array([1.0, 0.0]), np.array([1e9 + 1, 1e9])
    assert abs(exact(labels, scores, None, [2])[0][1] - 1 / (1 + np.e)) < 1e-6
    assert trees.objective(ks.RankNetLoss())(labels, scores, None, [2])[0][1] == 0.5


@pytest.mark.parametrize("options", [{}, {"hessian": "absolute"}, {"unit_scale": True}], ids=str)
def test_normalized_hessians_of_lists_without_a_gradient_are_not_zero(options):
    objective = trees.objective(ks.RankNetLoss(), normalize_lists=True, **options)
    gradient, hessian = objective(np.array([1.0, 1, 1, 2, 0]), np.zeros(5), None, [3, 2])
    assert not gradient[:3].any()
    assert hessian.min() >= np.float32(1e-16)
    _, alone = objective(np.ones(3), np.zeros(3), None, [3])
    assert alone.min() >= np.float32(1e-16)


def test_normalized_lists_of_tiny_gradients_keep_their_digits():
    weights = np.array([1e-12, 1e-12])
    gradient, _ = trees.objective(ks.RankNetLoss(), normalize_lists=True)(np.array([1.0, 0]), np.zeros(2), weights, [2])
    np.testing.assert_allclose(gradient, np.array([-0.5, 0.5]) * 1e-12 / np.log(2), rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [[2, 1, 0], [2, 0, 1], [0, 0, 2, 0, 1]], ids=str)
def test_empty_groups_change_nothing(sizes):
    labels, scores, sizes = np.array([0.0, 1, 0]), np.array([0.1, 0.2, 0.3]), np.array(sizes)
    rows, lists = np.array([1.0, 2, 3]), np.where(sizes > 0, np.cumsum(sizes), 7)  # weights
    objective, evaluate = trees.objective(ks.RankNetLoss()), trees.metric("ndcg")
    for weights in (rows, None):
        np.testing.assert_array_equal(
            objective(labels, scores, weights, sizes), objective(labels, scores, weights, [2, 1])
        )
        assert evaluate(labels, scores, weights, sizes) == evaluate(labels, scores, weights, [2, 1])
    # XGBoost has a weight per list. Its own count of groups may be that of the rows.
    matrix = xgboost.DMatrix(np.zeros([3, 1]), labels, group=sizes, weight=lists)
    expected = objective(labels, scores, np.repeat(lists, sizes), [2, 1])
    np.testing.assert_array_equal(objective(scores, matrix), expected)


def test_every_row_is_valid():
    gradient, _ = trees.objective(ks.RankNetLoss())(np.array([-1.0, -2.0]), np.zeros(2), None, [2])
    np.testing.assert_allclose(gradient, [-0.5, 0.5])


@pytest.mark.slow
def test_other_folds_need_no_new_trace():
    objective = trees.objective(ks.RankNetLoss())
    for seed in range(10):
        x, labels, sizes = flat_lists(seed, count=5 + seed)
        objective(labels, x[:, 0], None, sizes)
    assert objective._trace.cache_info().currsize <= 4  # for 8, 12, 16 and 24 items


@pytest.mark.slow
def test_a_second_training_and_an_estimator_give_the_same_trees():
    objective = ndcg_objective()
    first, second = (lightgbm.train({**SETTINGS, "objective": objective}, dataset(), 5) for _ in range(2))
    x, labels, sizes = flat_lists(0)
    ranker = lightgbm.LGBMRanker(
        objective=objective, n_estimators=5, num_leaves=7, min_child_samples=5, n_jobs=1, random_state=0, verbose=-1
    )
    for each in (ranker, sklearn.base.clone(ranker), pickle.loads(pickle.dumps(ranker))):
        fitted = each.fit(x, labels, group=sizes)
        np.testing.assert_allclose(fitted.predict(x), first.predict(x), atol=1e-12)
    np.testing.assert_array_equal(second.predict(x), first.predict(x))


@pytest.mark.slow
def test_a_pickled_objective_keeps_its_options():
    weight = ks.LambdaWeight("ndcg", k=3)
    options = {"hessian": "absolute", "unit_scale": True, "normalize_lists": True}
    objective = trees.objective(ks.RankNetLoss(lambda_weight=weight), **options)
    again = pickle.loads(pickle.dumps(objective))
    assert {name: getattr(again, name) for name in options} == options
    for before, after in zip(numbers(objective), numbers(again), strict=True):
        np.testing.assert_array_equal(before, after)


def ranker_of_rows():
    """The class of the guide, which takes a query id per row."""
    blocks = fenced_blocks((README.parent / "docs" / "guides" / "ranking-trees.md").read_text())
    source = next(block for block in blocks if "class RankerOfRows" in block).partition("\nfeatures = ")[0]
    names = {"__name__": "page"}
    exec(source, names)
    return names["RankerOfRows"]


def test_ranker_of_rows_with_ids_that_do_not_ascend(monkeypatch):
    """`np.unique` would count the rows in the order of the ids."""
    ranker, found = ranker_of_rows(), []
    monkeypatch.setattr(lightgbm.LGBMRanker, "fit", lambda self, x, y, group: found.append(list(group)))
    for queries in ([7, 7, 7, 2, 9, 9], [1], ["b", "b", "a"]):
        ranker().fit(None, None, np.array(queries))
    assert found == [[3, 1, 2], [1], [2, 1]]


def test_grid_search_by_query():
    x, labels, sizes = flat_lists(0)
    queries = np.repeat(np.arange(len(sizes))[::-1], sizes)
    search = sklearn.model_selection.GridSearchCV(
        ranker_of_rows()(objective=ndcg_objective(), n_estimators=3, verbose=-1, n_jobs=1),
        {"num_leaves": [3, 7]},
        cv=sklearn.model_selection.GroupKFold(2),
        scoring="neg_mean_squared_error",
        n_jobs=1,
    )
    search.fit(x, labels, groups=queries, queries=queries)
    assert search.best_params_["num_leaves"] in (3, 7)


@pytest.mark.parametrize(
    "params",
    [{"boosting": "dart"}, {"data_sample_strategy": "goss"}, {"bagging_fraction": 0.5, "bagging_freq": 1}],
    ids=["dart", "goss", "bagging"],
)
def test_ways_of_boosting(params):
    booster = lightgbm.train({**SETTINGS, "objective": ndcg_objective(), **params}, dataset(), 5)
    x, labels, sizes = flat_lists(0)
    learned, nothing = (
        trees.metric("ndcg")(labels, scores, None, sizes)[1] for scores in (booster.predict(x), np.zeros(len(x)))
    )
    assert learned > nothing + 0.05


def test_bagging_by_query_is_an_error_because_lightgbm_learns_nothing():
    params = {**SETTINGS, "bagging_fraction": 0.5, "bagging_freq": 1, "bagging_by_query": True}
    with pytest.raises(ValueError, match="bagging_by_query must be False"):
        lightgbm.train({**params, "objective": ndcg_objective()}, dataset(), 5)

    def squared_error(scores, data):
        return scores - data.get_label(), np.ones_like(scores)

    # If this fails, LightGBM has learned it, and the error can go.
    booster = lightgbm.train({**params, "objective": squared_error}, dataset(), 5)
    assert np.ptp(booster.predict(flat_lists(0)[0])) < 1e-6


@pytest.mark.slow
def test_cross_validation_by_query():
    params = {**SETTINGS, "objective": ndcg_objective(), "metric": "ndcg", "eval_at": [5]}
    found = lightgbm.cv(params, dataset(), 3, nfold=3, feval=trees.metric("spearman"))
    assert {len(values) for values in found.values()} == {3}
    assert {name.removeprefix("valid ").removesuffix("-mean") for name in found if "mean" in name} == {
        "ndcg@5",
        "spearman",
    }


@pytest.mark.slow
def test_early_stopping_by_spearman():
    train = dataset()
    valid = dataset(7).set_reference(train)
    booster = lightgbm.train(
        {**SETTINGS, "objective": ndcg_objective(), "metric": "none", "learning_rate": 0.5},
        train,
        100,
        valid_sets=[valid],
        feval=trees.metric("spearman"),
        callbacks=[lightgbm.early_stopping(3, verbose=False)],
    )
    assert booster.current_iteration() < 100
    x, labels, sizes = flat_lists(7)
    expected = trees.metric("spearman")(labels, booster.predict(x), None, sizes)[1]
    assert abs(booster.best_score["valid_0"]["spearman"] - expected) < 1e-6


def test_saved_models_load_without_the_objective(tmp_path):
    booster = lightgbm.train({**SETTINGS, "objective": ndcg_objective()}, dataset(), 3)
    booster.save_model(tmp_path / "model.txt")
    x = flat_lists(0)[0]
    loaded = lightgbm.Booster(model_file=tmp_path / "model.txt")
    np.testing.assert_array_equal(loaded.predict(x), booster.predict(x))
    of_xgboost = xgboost.train({"max_depth": 2}, matrix(), 3, obj=ndcg_objective())
    of_xgboost.save_model(tmp_path / "model.json")
    again = xgboost.Booster(model_file=tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict(xgboost.DMatrix(x)), of_xgboost.predict(xgboost.DMatrix(x)))


def matrix(seed=0, by="group", weights=None):
    x, labels, sizes = flat_lists(seed)
    groups = {"group": sizes} if by == "group" else {"qid": np.repeat(np.arange(len(sizes)), sizes)}
    return xgboost.DMatrix(x, labels, weight=weights, **groups)


def test_xgboost_by_sizes_and_by_query_ids():
    x = flat_lists(0)[0]
    by_sizes, by_ids = (
        xgboost.train({"max_depth": 2}, matrix(by=by), 5, obj=ndcg_objective()).predict(xgboost.DMatrix(x))
        for by in ("group", "qid")
    )
    np.testing.assert_array_equal(by_sizes, by_ids)
    assert by_sizes.std() > 0.05


@pytest.mark.slow
def test_xgboost_weighs_lists():
    x, labels, sizes = flat_lists(0)
    weights = np.random.default_rng(0).uniform(0.5, 2, len(sizes)).astype(np.float32)
    found = ndcg_objective()(x[:, 2], matrix(weights=weights))
    expected = ndcg_objective()(labels, x[:, 2], np.repeat(weights, sizes), sizes)
    for each, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(each, other, rtol=1e-5)


@pytest.mark.nightly
def test_early_stopping_of_xgboost_by_spearman():
    stop = xgboost.callback.EarlyStopping(rounds=3, maximize=True, metric_name="spearman", data_name="valid")
    booster = xgboost.train(
        {"max_depth": 2, "disable_default_eval_metric": True},
        matrix(),
        100,
        obj=ndcg_objective(),
        custom_metric=trees.metric("spearman"),
        evals=[(matrix(7), "valid")],
        callbacks=[stop],
        verbose_eval=False,
    )
    assert booster.best_iteration < 99


def test_the_estimator_of_xgboost_refuses_functions():
    x, labels, sizes = flat_lists(0)
    with pytest.raises(ValueError, match="custom objective"):
        xgboost.XGBRanker(objective=ndcg_objective(), n_estimators=2).fit(x, labels, group=sizes)


@tf.keras.utils.register_keras_serializable(package="trees")
class Hinge(ks.losses.ScoreLoss):
    """A loss of a user's own."""

    def score_losses(self, scores, labels, *, mask, weights):
        pairs = (labels[:, :, None] > labels[:, None, :]) & mask[:, :, None] & mask[:, None, :]
        costs = tf.nn.relu(1 - (scores[:, :, None] - scores[:, None, :]))
        return tf.reduce_sum(weights[:, :, None] * tf.where(pairs, costs, 0), axis=[1, 2])


def test_a_loss_of_ones_own():
    objective = pickle.loads(pickle.dumps(trees.objective(Hinge())))
    gradient, hessian = objective(np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.5, -3.0]), None, [3])
    np.testing.assert_array_equal(gradient, [-1.0, 1.0, 0.0])
    np.testing.assert_allclose(hessian, [1.0, 1.0, 0.05 * 2 / 3], rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: trees.objective("ndcg"), TypeError, "loss must be a ranking loss of scores"),
        (lambda: trees.objective(ks.ClickEMLoss()), TypeError, "loss must be a ranking loss of scores"),
        (lambda: trees.objective(ndcg_loss(), hessian="exact"), ValueError, "hessian must be one of"),
        (lambda: trees.objective(ndcg_loss(), unit_scale=1), TypeError, "unit_scale must be"),
        (lambda: trees.objective(ndcg_loss(), normalize_lists="a"), TypeError, "normalize_lists must be"),
        (lambda: ndcg_objective()([1.0, 0.0], [0.0, 0.0]), ValueError, "group must be given"),
        (lambda: ndcg_objective()([1.0, 0.0], [0.0, 0.0], None, [3]), ValueError, "add up to the 2 rows, got a sum"),
        (lambda: ndcg_objective()([1.0, np.nan], [0.0, 0.0], None, [2]), ValueError, "labels must be numbers"),
        (lambda: ndcg_objective()([1.0, 0.0], [0.0, 0.0], [1, -1], [2]), ValueError, "at least 0, got -1"),
        (lambda: ndcg_objective()([1.0, 0.0, 0.0], [0.0] * 3, [1, 1], [3]), ValueError, "the 3 rows or 1 lists, got 2"),
        (lambda: ndcg_objective()([1.0, 0.0], [0.0], None, [2]), ValueError, "one score for each label"),
        (lambda: ndcg_objective()([1.0, 0.0], [0.0] * 2, None, [3, -1]), ValueError, "at least 0, got -1 in group 1"),
        (
            lambda: ndcg_objective()([1.0, 0.0], [0.0] * 2, None, [1.5, 0.5]),
            ValueError,
            "group must hold integers.* 1.5",
        ),
        (lambda: ndcg_objective()(["a", "b"], [0.0, 0.0], None, [2]), TypeError, "labels must hold numbers, got .*'a'"),
        (lambda: ndcg_objective()([1.0, 0.0], ["a", "b"], None, [2]), TypeError, "scores must hold numbers, got .*'a'"),
        (lambda: ndcg_objective()([1.0, 0.0], [0.0] * 2, ["a", "b"], [2]), TypeError, "weights must hold numbers, got"),
        (lambda: ndcg_objective()([1.0, 0.0], [0.0, 0.0], None, ["a"]), TypeError, "group must hold numbers, got"),
        (lambda: trees.metric("map@3"), ValueError, r"name must be .*got 'map@3': pass metric\('map', k=3\)"),
        (lambda: trees.metric("auc"), ValueError, "name must be one of"),
        (lambda: trees.metric("map", gain="linear"), TypeError, "gain"),
        (lambda: trees.metric("ndcg", lists="rows"), TypeError, "metric has no argument 'lists'"),
        (lambda: trees.metric("ndcg@5"), ValueError, r"name must be .*got 'ndcg@5': pass metric\('ndcg', k=5\)"),
        (lambda: trees.metric("kendall", 5), ValueError, "k must be None with name='kendall'"),
        (lambda: trees.metric("ndcg", 0), ValueError, "k must be"),
        (lambda: trees.metric("ndcg")([1.0, 0.0], [0.0, 0.0]), ValueError, "group must be given"),
    ],
)
def test_bad_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_data_sets_without_groups():
    x, labels, _ = flat_lists(0)
    with pytest.raises(ValueError, match="group must be given"):
        lightgbm.train({**SETTINGS, "objective": ndcg_objective()}, lightgbm.Dataset(x, labels), 1)
    with pytest.raises(ValueError, match="group must be given"):
        xgboost.train({}, xgboost.DMatrix(x, labels), 1, obj=ndcg_objective())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "k", "title", "metric"),
    [
        ("spearman", None, "spearman", ks.SpearmanCorrelation),
        ("kendall", None, "kendall", ks.KendallTau),
        ("ndcg", None, "ndcg", ks.NDCG),
        ("ndcg", 3, "ndcg@3", functools.partial(ks.NDCG, 3)),
        ("dcg", 3, "dcg@3", functools.partial(ks.DCG, 3)),
        ("err", 3, "err@3", functools.partial(ks.ExpectedReciprocalRank, 3)),
        ("map", None, "map", ks.MeanAveragePrecision),
        ("mrr", 2, "mrr@2", functools.partial(ks.MRR, 2)),
        ("precision", 2, "precision@2", functools.partial(ks.Precision, 2)),
        ("recall", 2, "recall@2", functools.partial(ks.Recall, 2)),
        ("hits", 1, "hits@1", functools.partial(ks.Hits, 1)),
        ("arp", None, "arp", ks.AverageRelevancePosition),
        ("ordered_pairs", None, "ordered_pairs", ks.OrderedPairAccuracy),
    ],
)
def test_metrics_are_those_of_the_package(name, k, title, metric):
    x, labels, sizes = flat_lists(2, count=4)
    weights = np.repeat(np.random.default_rng(0).uniform(0.5, 2, len(sizes)), sizes)
    found = trees.metric(name, k)(labels, x[:, 0], weights, sizes)
    expected = metric(padding=None)
    lists = (np.split(each, np.cumsum(sizes)[:-1]) for each in (labels, x[:, 0], weights))
    for part, scores, own in zip(*lists, strict=True):
        if len(part) > 1:
            expected.update_state(part[None], scores[None], own[None])
    assert found[0] == title
    assert found[2] is (name != "arp")
    of_xgboost = trees.metric(name, k)(x[:, 0], xgboost.DMatrix(x, labels, group=sizes))
    assert (of_xgboost[0], len(of_xgboost)) == (title, 2)
    if name in ("spearman", "kendall", "ordered_pairs"):  # others also count lists of one row
        assert abs(found[1] - float(expected.result())) < 1e-6


def test_options_of_a_metric():
    labels, scores = [2.0, 0.0, 1.0, 0.0], [1.0, 1.0, 1.0, 0.0]
    for options in ({"gain": "linear"}, {"ties": "mean"}, {"discount": "reciprocal"}):
        found = trees.metric("ndcg", 2, **options)(labels, scores, None, [4])[1]
        wanted = ks.ops.ndcg(tf.constant(scores), labels, k=2, **{"ties": "position", **options})
        assert found == pytest.approx(float(wanted))
        assert found != pytest.approx(trees.metric("ndcg", 2)(labels, scores, None, [4])[1])


@pytest.mark.slow
def test_metrics_equal_those_of_the_libraries():
    """Also where predictions are tied, as they are in the first rounds, and for lists without relevant rows."""
    x, labels, sizes = flat_lists(3)
    labels[: sizes[0]] = 0
    ours = [trees.metric("ndcg", 3, no_relevant="one"), trees.metric("map", 3, divisor="at_most_k", no_relevant="one")]
    data = lightgbm.Dataset(x, labels, group=sizes)
    params = {**SETTINGS, "objective": "lambdarank", "metric": ["ndcg", "map"], "eval_at": [3], "num_leaves": 3}
    named = [lambda *args, each=each: ("ours_" + each(*args)[0], *each(*args)[1:]) for each in ours]
    lightgbm.train(params, data, 4, [data], feval=named, callbacks=[lightgbm.record_evaluation(record := {})])
    for name in ("ndcg@3", "map@3"):
        assert record["training"][f"ours_{name}"] == pytest.approx(record["training"][name], abs=1e-6), name
    matrix = xgboost.DMatrix(x, labels >= 2, group=sizes)  # its map and pre take no grades
    params = {"objective": "rank:ndcg", "max_depth": 1, "eval_metric": ["ndcg@3", "map@3", "pre@3"]}
    for each, name in zip([*ours, trees.metric("precision", 3)], params["eval_metric"], strict=True):
        xgboost.train(
            params,
            matrix,
            4,
            evals=[(matrix, "train")],
            custom_metric=lambda *args, each=each: ("ours", each(*args)[1]),
            evals_result=(record := {}),
            verbose_eval=False,
        )
        assert record["train"]["ours"] == pytest.approx(record["train"][name], abs=1e-6), name


def test_ndcg_counts_lists_of_one_row():
    found = trees.metric("ndcg", 2)([2.0, 0.0, 1.0, 3.0], [0.3, 0.9, 0.4, 0.0], None, [3, 1])[1]
    best = 3 + 1 / np.log2(3)
    assert abs(found - ((0 + 1 / np.log2(3)) / best + 1) / 2) < 1e-6


def test_an_operator_of_its_own_has_no_derivatives_of_a_base_class():
    class Other(ks.RankNetLoss, operator=ks.ops.yeti_logistic_loss):
        pass

    class Same(ks.RankNetLoss):
        pass

    assert Other._derivatives is None
    assert Same._derivatives is ks.RankNetLoss._derivatives


@pytest.mark.parametrize("sizes", [[3000] * 3 + [2, 5, 1], [1500], [1024] * 2, [20] * 6000])
def test_blocks_of_long_lists_are_not_empty(sizes):
    counts = np.array(sizes, np.int64)
    blocks = _rows.padded_rows(counts.tobytes())
    assert all(len(block) for block in blocks)
    rows = [row[row < counts.sum()].tolist() for block in blocks for row in block]
    ends = np.cumsum(counts)
    wanted = [list(range(end - count, end)) for count, end in zip(counts, ends, strict=True)]
    assert sorted(rows) == wanted
    assert len(blocks) <= len(sizes)
