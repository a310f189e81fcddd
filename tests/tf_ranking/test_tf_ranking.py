"""Losses by name, pipelines and the scorer, where TF-Ranking is installed."""

import importlib

import numpy as np
import pytest
import tensorflow as tf
from support.oracles import sorting as oracles

import keras_softsort as ks

tfr = pytest.importorskip("tensorflow_ranking")
tf_ranking = importlib.import_module("keras_softsort.tf_ranking")

LABELS = [[3.0, 1.0, 2.0], [1.0, 0.0], [0.0, 2.0, 1.0, 4.0]]
FEATURES = [[[0.1], [0.4], [-1.0]], [[2.0], [1.0]], [[0.3], [0.2], [0.9], [0.7]]]


def test_every_loss_of_scores_has_a_name():
    ours = {cls for cls in map(vars(ks.losses).get, ks.losses.__all__) if issubclass(cls, ks.losses.ListLoss)}
    others = {ks.losses.ListLoss, ks.losses.ScoreLoss, ks.PermutationCrossEntropyLoss}
    assert set(tf_ranking.LOSSES.values()) == ours - others
    assert not set(tf_ranking.LOSSES) & set(tfr.keras.losses.RankingLossKey.all_keys())
    for name, cls in tf_ranking.LOSSES.items():
        assert type(tf_ranking.get_loss(name)) is cls


@pytest.mark.parametrize("name", ["MultiTaskPipeline", "SimplePipeline", "SoftRankScorer", "get_loss"])
def test_public_name_has_an_example(name):
    assert {"LOSSES", name} <= set(tf_ranking.__all__)
    assert ">>> " in getattr(tf_ranking, name).__doc__.partition("Example:\n")[2]


def test_our_losses_get_their_arguments():
    default = tf_ranking.get_loss("ranknet_loss")
    assert default.get_config() == ks.RankNetLoss().get_config()
    made = tf_ranking.get_loss("ranknet_loss", "sum", "ndcg", "mine", ragged=True, tau=2.0)
    assert made.get_config() == ks.RankNetLoss(2.0, lambda_weight="ndcg", reduction="sum", name="mine").get_config()
    assert tf_ranking.get_loss("ranknet_loss", reduction=None).reduction == "none"


def test_their_losses_get_their_arguments():
    weight = tfr.keras.losses.NDCGLambdaWeight(topn=3)
    key = tfr.keras.losses.RankingLossKey.PAIRWISE_LOGISTIC_LOSS
    made = tf_ranking.get_loss(key, "sum", weight, "mine", ragged=True, temperature=2.0)
    theirs = tfr.keras.losses.PairwiseLogisticLoss("sum", "mine", weight, temperature=2.0, ragged=True)
    assert type(made) is type(theirs)
    assert made.get_config() == theirs.get_config()
    for key in tfr.keras.losses.RankingLossKey.all_keys():
        arguments = {"ordinal_size": 2} if key == "ordinal_loss" else {}
        assert not tf_ranking.get_loss(key, **arguments).get_config()["ragged"]
        if key != "calibrated_softmax_loss":
            assert tf_ranking.get_loss(key, ragged=True, **arguments).get_config()["ragged"]


def test_a_weighted_sum_of_losses():
    labels, scores = tf.constant([[2.0, 0.0, 1.0], [0.0, 1.0, -1.0]]), tf.constant([[0.1, 0.4, 0.2], [1.0, 0.3, 9.0]])
    made = tf_ranking.get_loss("ranknet_loss:0.1, approx_mrr_loss , plackett_luce_loss:2", "sum", name="mine")
    parts = {"ranknet_loss": 0.1, "approx_mrr_loss": 1, "plackett_luce_loss": 2}
    wanted = sum(weight * tf_ranking.get_loss(name, "sum")(labels, scores) for name, weight in parts.items())
    assert float(made(labels, scores)) == pytest.approx(float(wanted), rel=1e-6)
    assert made.name == "mine"
    # By which Keras tells whether to divide by the number of replicas.
    assert made.reduction == tf_ranking.get_loss("ranknet_loss", "sum").reduction == "sum"
    assert tf_ranking.get_loss("ranknet_loss:1").reduction == tf_ranking.get_loss("ranknet_loss").reduction


@pytest.mark.parametrize(
    ("name", "options", "error", "message"),
    [
        ("lambdarank", {}, ValueError, r"loss must be one of \[.*'ranknet_loss', .*'softmax_loss', .*got 'lambdarank'"),
        ({"ranknet_loss": 1.0}, {}, ValueError, "loss must be one of .* got {'ranknet_loss': 1.0}"),
        ("ranknet_loss:much", {}, ValueError, "loss must have a number after each colon, got 'ranknet_loss:much'"),
        ("ranknet_loss,err", {}, ValueError, "loss must be one of .* got 'err'"),
        ("softmax_loss", {"ragged": 1}, TypeError, "ragged must be True or False, got 1"),
        ("spearman_loss", {"lambda_weight": "ndcg"}, TypeError, "has no argument 'lambda_weight'"),
        ("ranknet_loss", {"lambda_weight": "err"}, ValueError, "lambda_weight must be one of"),
        ("ranknet_loss", {"reduction": "auto_"}, ValueError, "reduction must be one of"),
    ],
    ids=["name", "dict", "weight", "part", "ragged", "no_lambda_weight", "lambda_weight", "reduction"],
)
def test_errors_of_get(name, options, error, message):
    with pytest.raises(error, match=message):
        tf_ranking.get_loss(name, **options)


class OneWeight(tfr.keras.model.AbstractModelBuilder):
    """Ragged scores that are one weight times the feature."""

    def build(self):
        inputs = tf.keras.Input((None, 1), ragged=True)
        dense = tf.keras.layers.Dense(1, use_bias=False, kernel_initializer="ones")
        self.model = tf.keras.Model(inputs, tf.squeeze(dense(inputs), axis=2))
        return self.model


BUILDERS = (OneWeight(), tfr.keras.pipeline.NullDatasetBuilder(None, None))


def hparams(folder, loss, **more):
    training = {"num_epochs": 1, "steps_per_epoch": 1, "validation_steps": 1, "learning_rate": 0.5}
    return tfr.keras.pipeline.PipelineHparams(str(folder), loss=loss, optimizer="SGD", **{**training, **more})


def test_losses_of_simple_pipelines(tmp_path):
    named = tf_ranking.SimplePipeline(*BUILDERS, hparams(tmp_path, "spearman_loss", loss_reduction="sum"))
    assert type(named.build_loss()) is ks.SpearmanLoss
    assert named.build_loss().reduction == "sum"
    loss = ks.RankNetLoss(lambda_weight="ndcg")
    assert tf_ranking.SimplePipeline(*BUILDERS, hparams(tmp_path, loss)).build_loss() is loss
    with pytest.raises(ValueError, match=r"loss must be one of .* got None"):
        tf_ranking.SimplePipeline(*BUILDERS, hparams(tmp_path, None)).build_loss()


def test_losses_of_multi_task_pipelines(tmp_path):
    own = ks.ApproxNDCGLoss(tau=0.3)
    losses = {"ours": "ranknet_loss", "object": own, "theirs": "softmax_loss"}
    pipeline = tf_ranking.MultiTaskPipeline(*BUILDERS, hparams(tmp_path, losses, loss_reduction="sum"), ragged=True)
    built = pipeline.build_loss()
    assert list(built) == list(losses)
    assert built["object"] is own
    assert isinstance(built["ours"], ks.RankNetLoss)
    assert isinstance(built["theirs"], tfr.keras.losses.SoftmaxLoss)
    assert built["ours"].reduction == built["theirs"].reduction == "sum"
    assert built["theirs"].get_config()["ragged"]
    with pytest.raises(TypeError, match="loss must be a dictionary of losses by task, got 'softmax_lo"):
        tf_ranking.MultiTaskPipeline(*BUILDERS, hparams(tmp_path, "softmax_loss")).build_loss()


@pytest.mark.parametrize("ragged", [False, True])
def test_metrics_of_pipelines_are_theirs(tmp_path, ragged):
    given = (*BUILDERS, hparams(tmp_path, "softmax_loss"))
    ours, theirs = tf_ranking.SimplePipeline(*given, ragged=ragged), tfr.keras.pipeline.SimplePipeline(*given)
    for which in ("build_metrics", "build_weighted_metrics"):
        configs = [metric.get_config() for metric in getattr(ours, which)()]
        wanted = [{**metric.get_config(), "ragged": ragged} for metric in getattr(theirs, which)()]
        assert configs == wanted
    tasks = tf_ranking.MultiTaskPipeline(*BUILDERS, hparams(tmp_path, {"a": "softmax_loss"}), ragged=ragged)
    assert all(metric.get_config()["ragged"] is ragged for metric in tasks.build_metrics()["a"])
    with pytest.raises(TypeError, match="ragged must be True or False, got None"):
        tf_ranking.SimplePipeline(*given, ragged=None)


def test_a_ragged_pipeline_makes_the_step_of_padded_lists(tmp_path):
    features = tf.ragged.constant(FEATURES, ragged_rank=1, dtype=tf.float32)
    labels = tf.ragged.constant(LABELS, dtype=tf.float32)
    data = tfr.keras.pipeline.NullDatasetBuilder(*[tf.data.Dataset.from_tensors((features, labels))] * 2)
    builder = OneWeight()
    settings = hparams(tmp_path, "keras_softsort_approx_ndcg_loss", steps_per_execution=1, learning_rate=20.0)
    pipeline = tf_ranking.SimplePipeline(builder, data, settings, ragged=True)
    metrics = pipeline.build_metrics
    pipeline.build_metrics, pipeline.build_callbacks = lambda: metrics()[-1:], list
    pipeline.train_and_validate()

    padded, weight, loss = labels.to_tensor(-1.0), tf.Variable(1.0), ks.ApproxNDCGLoss()
    with tf.GradientTape() as tape:
        value = loss(padded, weight * features.to_tensor(9.0)[:, :, 0])
    moved = weight - 20 * tape.gradient(value, weight)
    after = moved * features.to_tensor()[:, :, 0]
    wanted = {"loss": value, "val_loss": loss(padded, after), "weight": moved}
    wanted["val_metric/ndcg"] = tfr.keras.metrics.NDCGMetric()(padded, after)
    logs = builder.model.history.history
    found = {name: logs[name][0] if name in logs else float(builder.model.weights[0][0, 0]) for name in wanted}
    assert found == pytest.approx({name: float(number) for name, number in wanted.items()}, rel=1e-5)
    assert abs(found["weight"] - 1) > 0.05
    assert found["val_metric/ndcg"] < 0.999
    assert (tmp_path / "export/latest_model/saved_model.pb").exists()


def feature(name):
    return lambda context, example, mask: example[name][:, :, 0]


MASK = np.array([[True, False, True, True], [True, True, True, True], [False] * 4])
BM25 = np.float32([[[0.3], [np.nan], [0.9], [-0.4]], [[0.1], [0.6], [0.2], [0.5]], [[0.1], [0.3], [7.0], [1.0]]])


@pytest.mark.parametrize("options", [{}, {"tau": 0.2, "method": "soft_sort", "feature_name": "place"}], ids=str)
def test_soft_rank_feature(options):
    scorer = tf_ranking.SoftRankScorer(feature("bm25"), feature(options.get("feature_name", "soft_rank")), **options)
    found = scorer({}, {"bm25": tf.constant(BM25)}, tf.constant(MASK))
    options = {name: value for name, value in options.items() if name != "feature_name"}
    scores = np.where(MASK, BM25[:, :, 0], 0)
    wanted = oracles.soft_rank(scores, mask=MASK, **options) / np.maximum(MASK.sum(axis=1, keepdims=True), 1)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    assert (found.numpy()[~MASK] == 0).all()


def test_both_scorers_see_everything():
    context, examples, mask = {"query": tf.ones([3, 1])}, {"bm25": tf.constant(BM25)}, tf.constant(MASK)
    seen = []

    def spy(result):
        def scorer(*given):
            seen.append(given)
            return result(*given)

        return scorer

    scorer = tf_ranking.SoftRankScorer(spy(feature("bm25")), spy(lambda *given: {"task": given[2]}))
    assert scorer(context, examples, mask)["task"] is mask
    assert seen[0] == (context, examples, mask)
    assert seen[1][0] is context
    assert seen[1][2] is mask
    assert set(seen[1][1]) == {"bm25", "soft_rank"}
    assert seen[1][1]["soft_rank"].shape == (3, 4, 1)
    assert set(examples) == {"bm25"}


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"tau": 0}, ValueError, "tau must be positive and finite, got 0"),
        ({"tau": "1"}, TypeError, "tau must be a number, got '1'"),
        ({"method": "bubble"}, ValueError, "method must be one of .* got 'bubble'"),
        ({"feature_name": "bm25"}, ValueError, "feature_name must not be that of an example feature, got 'bm25'"),
    ],
    ids=["tau", "tau_type", "method", "feature_name"],
)
def test_errors_of_the_scorer(options, error, message):
    with pytest.raises(error, match=message):
        tf_ranking.SoftRankScorer(None, None, **options)({}, {"bm25": tf.constant(BM25)}, tf.constant(MASK))


class TwoHeads(tfr.keras.model.UnivariateScorer):
    def _score_flattened(self, context_features, example_features):
        inputs = tf.concat([example_features[name] for name in sorted(example_features)], axis=1)
        return {task: tf.keras.layers.Dense(1)(inputs) for task in ("click", "buy")}


def test_multi_task_model_with_soft_ranks(tmp_path):
    spec = {"bm25": tf.io.FixedLenFeature([1], tf.float32, default_value=[0.0])}
    first = tfr.keras.model.DNNScorer(hidden_layer_dims=[3], output_units=1, use_batch_norm=False, dropout=None)
    model = tfr.keras.model.ModelBuilder(
        tfr.keras.model.FeatureSpecInputCreator({}, spec),
        tfr.keras.model.PreprocessorWithSpec(),
        tf_ranking.SoftRankScorer(first, TwoHeads()),
        mask_feature_name="mask",
    ).build()
    losses = {"click": "plackett_luce_loss", "buy": ks.SpearmanLoss()}
    settings = hparams(tmp_path, losses)
    model.compile("sgd", loss=tf_ranking.MultiTaskPipeline(*BUILDERS, settings).build_loss(), run_eagerly=True)

    bm25 = np.nan_to_num(BM25[:2])
    labels = np.where(MASK[:2], [[1.0, 2.0, 3.0, 0.0]], -1).astype(np.float32)
    outcomes = []
    for width, junk in [(0, 0.0), (3, 5.0)]:
        x = np.pad(bm25, [(0, 0), (0, width), (0, 0)], constant_values=junk)
        y, mask = np.pad(labels, [(0, 0), (0, width)], constant_values=-1), np.pad(MASK[:2], [(0, 0), (0, width)])
        scores = model({"bm25": x, "mask": mask}, training=False)
        logs = model.test_on_batch({"bm25": x, "mask": mask}, {"click": y, "buy": y}, return_dict=True)
        wanted = {"click": ks.PlackettLuceLoss()(y, scores["click"]), "buy": ks.SpearmanLoss()(y, scores["buy"])}
        assert logs["loss"] == pytest.approx(sum(float(value) for value in wanted.values()), rel=1e-5)
        outcomes.append(np.stack([scores[task].numpy()[:, :4][MASK[:2]] for task in ("click", "buy")]))
    np.testing.assert_allclose(outcomes[1], outcomes[0], rtol=1e-5)
    with tf.GradientTape() as tape:
        clicks = tf.reduce_sum(tf.square(model({"bm25": bm25, "mask": MASK[:2]})["click"]))
    found = tape.gradient(clicks, [weight for weight in model.trainable_weights if weight.shape == (3, 1)])
    assert np.abs(found[0]).max() > 0  # the last layer of the first scorer, which soft ranks alone connect
