"""Losses, scorers and LambdaMART on two small data sets, over many splits, each tuned on validation lists.

- `wards`: scikit-learn's diabetes data (`benchmarks/tools/ranking_data.py`), split anew by patients for each split.
- `letor`: `rank.train` and `rank.test`, the sample that LightGBM ships, in the folder `--letor`. Each split holds out
  other training queries for validation; the test queries stay.

Every method is trained on the training lists, stopped by NDCG@5 on the validation lists, and trained again on both with
that many epochs or trees. Results in `--json` are not run again, so that a run may be stopped by `--seconds` and
continued.

    python experiments/ranking_methods.py --json benchmarks/results/learning_to_rank.json --letor data
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

sys.path.append(str(Path(__file__).parents[1] / "benchmarks" / "tools"))

import harness
import lightgbm
import numpy as np
import tensorflow as tf
from _shared import ranking_splits as data

import keras_softsort as ks

keras = tf.keras
BATCH, RATE = 16, 2e-3


def cross_entropy() -> Callable[[tf.Tensor, tf.Tensor], tf.Tensor]:
    """The binary cross-entropy of an item with its share of the highest label, 4."""
    loss = ks.SigmoidCrossEntropyLoss()
    return lambda labels, scores: loss(labels / 4, scores)


LOSSES: dict[str, Callable[[], Any]] = {
    "RankNet": ks.RankNetLoss,
    "LambdaRank": lambda: ks.RankNetLoss(lambda_weight="ndcg"),
    "Softmax": ks.losses.SoftmaxLoss,
    "ListMLE": ks.PlackettLuceLoss,
    "NeuralNDCG": lambda: ks.NeuralNDCGLoss(tau=1.0),
    "ApproxNDCG": lambda: ks.ApproxNDCGLoss(tau=0.1),
    "PL-Rank": ks.PLRankLoss,
    "Hinge": ks.PairwiseHingeLoss,
    "MSE of pairs": ks.PairwiseMSELoss,
    "Soft zero-one": ks.PairwiseSoftZeroOneLoss,
    "Yeti": ks.YetiLogisticLoss,
    "Unique softmax": ks.UniqueSoftmaxLoss,
    "Gumbel ApproxNDCG": ks.GumbelApproxNDCGLoss,
    "ApproxMRR": ks.ApproxMRRLoss,
    "Mean squared": ks.MeanSquaredLoss,
    "ListNet": ks.ListNetLoss,
    "Sigmoid cross-entropy": cross_entropy,
    "NeuralSort cross-entropy": lambda: ks.NeuralSortCrossEntropyLoss(tau=1.0),
    "Spearman": lambda: ks.SpearmanLoss(tau=1.0),
}


class Method(NamedTuple):
    """A loss, a scorer, and how features are encoded."""

    loss: str
    make: Callable[[int], Any] = lambda count: ks.models.dnn_scorer(count, dropout=0.2, mask_name="mask")
    encoding: str = "standardized"
    members: int = 1
    rate: float = RATE


def linear(count: int) -> Any:
    return ks.models.dnn_scorer(count, hidden_units=(), mask_name="mask")


def small(count: int) -> Any:
    return ks.models.dnn_scorer(count, hidden_units=(16,), dropout=0.2, mask_name="mask")


def listwise(count: int) -> Any:
    attention = ks.DocumentInteractionAttention(2, 16, dropout=0.2)
    return ks.models.dnn_scorer(count, dropout=0.2, attention=attention, mask_name="mask")


def additive(count: int) -> Any:
    return ks.models.gam_scorer(count, dropout=0.1, mask_name="mask")


BASE = "Softmax"
METHODS = {
    "linear scorer": Method(BASE, linear),
    "linear scorer, rate 0.02": Method(BASE, linear, rate=0.02),
    "listwise attention": Method(BASE, listwise),
    "mean of 5 networks": Method(BASE, members=5),
    "periodic embedding": Method(BASE, encoding="periodic"),
    "piecewise-linear embedding": Method(BASE, encoding="piecewise"),
    "GAM scorer": Method(BASE, additive),
    "rate 0.0002": Method(BASE, rate=2e-4),
    "one hidden layer of 16": Method(BASE, small),
    **{name: Method(name) for name in LOSSES},
    "quantile features": Method(BASE, encoding="quantile"),
}
# Too wide for sparse features, or of no use where they are many.
WARDS_ONLY = {
    "linear scorer",
    "periodic embedding",
    "piecewise-linear embedding",
    "GAM scorer",
    "one hidden layer of 16",
}


class Trainer:
    """A scorer that is traced once and trained many times, from new weights."""

    def __init__(self, method: Method, count: int, make_loss: Callable[[], Any] | None = None) -> None:
        self.method, self.count = method, count
        keras.utils.set_random_seed(0)  # also the seeds of dropout, which `restart` leaves alone
        self.model = method.make(count)
        self.optimizer = keras.optimizers.Adam(method.rate)
        self.optimizer.build(self.model.trainable_variables)
        loss = (make_loss or LOSSES[method.loss])()

        @tf.function(reduce_retracing=True)
        def epoch(features: tf.Tensor, labels: tf.Tensor, mask: tf.Tensor, order: tf.Tensor) -> None:
            for batch in order:
                with tf.GradientTape() as tape:
                    inputs = {"features": tf.gather(features, batch), "mask": tf.gather(mask, batch)}
                    cost = loss(tf.gather(labels, batch), self.model(inputs, training=True))
                gradients = tape.gradient(cost, self.model.trainable_variables)
                self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables, strict=True))

        self.epoch = epoch
        self.score = tf.function(lambda x, mask: self.model({"features": x, "mask": mask}), reduce_retracing=True)

    def restart(self, seed: int) -> None:
        """New weights, and an optimizer that has seen nothing."""
        keras.utils.set_random_seed(seed)
        fresh = self.method.make(self.count)
        self.model.set_weights(fresh.get_weights())
        for variable in self.optimizer.variables:
            if "learning_rate" not in variable.path:
                variable.assign(tf.zeros_like(variable))

    def scores(self, lists: data.Lists) -> np.ndarray:
        """The scores of all items, `[lists, n]`."""
        return self.score(lists.features, lists.mask).numpy()

    def fit(self, lists: data.Lists, epochs: int, seed: int) -> Iterator[int]:
        """Train from new weights; yield after each epoch."""
        self.restart(seed)
        random = np.random.default_rng(seed)
        tensors = [tf.constant(each) for each in (lists.features, lists.labels, lists.mask)]
        steps = len(lists.labels) // BATCH
        for number in range(1, epochs + 1):
            self.epoch(*tensors, random.permutation(len(lists.labels))[: steps * BATCH].reshape(steps, BATCH))
            yield number


def run_network(trainer: Trainer, split: data.Split, seed: int, epochs: int) -> dict[str, Any]:
    """The best epoch on validation lists, and the measures on test lists after training on all others so long.

    Members of an ensemble differ in their seeds; their scores are added after each epoch.
    """
    encoding, members = trainer.method.encoding, range(1000 * seed, 1000 * seed + trainer.method.members)
    train, valid, _ = data.encoded(split, encoding)
    scores = sum(np.stack([trainer.scores(valid) for _ in trainer.fit(train, epochs, one)]) for one in members)
    curve = [float(data.ndcg(valid, after, 5).mean()) for after in scores]
    best = int(np.argmax(curve))
    both, _, test = data.encoded(split, encoding, refit=True)
    scores = sum(np.stack([trainer.scores(test) for _ in trainer.fit(both, epochs, one)]) for one in members)
    last = float(data.ndcg(test, scores[-1], 5).mean())
    return {"valid": max(curve), "epochs": best + 1, "NDCG@5 of the last epoch": last} | data.measures(
        test, scores[best]
    )


def run_trees(split: data.Split, seed: int, trials: int) -> dict[str, Any]:
    """LightGBM's LambdaMART: the best of `trials` settings on validation lists; the first is the default."""
    random, best = np.random.default_rng(seed), (-1.0, {}, 0)
    train, valid = dataset(split.train), dataset(split.valid)
    for trial in range(trials):
        options = data.random_trees(random) if trial else {"subsample": 0.9, "subsample_freq": 1}
        booster = lightgbm.train(
            settings(seed, options),
            train,
            num_boost_round=300,
            valid_sets=[valid],
            callbacks=[lightgbm.early_stopping(50, verbose=False)],
        )
        reached = booster.best_score["valid_0"]["ndcg@5"]
        if reached > best[0]:
            best = (reached, options, booster.best_iteration)
    reached, options, trees = best
    booster = lightgbm.train(settings(seed, options), dataset(split.both()), num_boost_round=trees)
    scores = split.test.padded(booster.predict(split.test.flat()[0]))
    return {"valid": reached, "trees": trees, "options": options} | data.measures(split.test, scores)


def dataset(lists: data.Lists) -> Any:
    features, labels, sizes = lists.flat()
    return lightgbm.Dataset(features, labels, group=sizes, params={"verbose": -1, "feature_pre_filter": False})


def settings(seed: int, options: dict[str, Any]) -> dict[str, Any]:
    common = {"objective": "lambdarank", "metric": "ndcg", "eval_at": [5], "verbose": -1, "num_threads": 1}
    return {**common, "seed": seed, **options}


REFERENCE = "LambdaMART, tuned"
TREES = {"LambdaMART, default settings": 1, REFERENCE: 25}
COLUMNS = ("NDCG@1", "NDCG@3", "NDCG@5", "NDCG@10", "MRR")


def pending(runs: Sequence[dict], sets: dict[str, Any], counts: dict[str, int], names: Sequence[str]) -> Iterator:
    """The remaining runs, method by method, so that each is traced once."""
    done = {(run["data"], run["method"], run["split"]) for run in runs}
    for title, make in sets.items():
        for name in names:
            count = 0 if title != "wards" and name in WARDS_ONLY else counts[title]
            todo = [split for split in range(count) if (title, name, split) not in done]
            if todo:
                yield title, name, make, todo


def tables_of(runs: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """For each data set a table of the splits that all methods have been run on, and one of those run on more.

    Means over splits, the spread of NDCG@5, and how often a method beats LambdaMART.
    """
    tables = {}
    for name in dict.fromkeys(run["data"] for run in runs):
        own = [run for run in runs if run["data"] == name]
        splits = {method: {r["split"] for r in own if r["method"] == method} for method in {r["method"] for r in own}}
        shared, longest = set.intersection(*splits.values()), max(splits.values(), key=len)
        tables[name] = _rows([run for run in own if run["split"] in shared])
        if len(longest) > len(shared):
            tables[f"{name}-{len(longest)}"] = _rows([run for run in own if splits[run["method"]] == longest])
    return tables


def _rows(runs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    methods = {
        name: {r["split"]: r for r in runs if r["method"] == name} for name in dict.fromkeys(r["method"] for r in runs)
    }
    networks = [by_split for by_split in methods.values() if "epochs" in next(iter(by_split.values()))]
    splits = set.intersection(*(set(by_split) for by_split in networks)) if networks else set()
    if len(networks) > 1 and splits:
        # The network that is best on the validation lists of the split: nothing of the test is used.
        methods["network chosen by validation"] = {
            split: max((by_split[split] for by_split in networks), key=lambda run: run["valid"])
            for split in sorted(splits)
        }
    reference = methods.get(REFERENCE, {})
    rows = []
    for name, by_split in methods.items():
        found = list(by_split.values())
        row: dict[str, Any] = {"method": name, "splits": len(found)}
        row |= {column: float(np.mean([run[column] for run in found])) for column in COLUMNS}
        row["std of NDCG@5"] = float(np.std([run["NDCG@5"] for run in found]))
        shared = [split for split in by_split if split in reference]
        gains = [by_split[split]["NDCG@5"] - reference[split]["NDCG@5"] for split in shared]
        row["minus tuned LambdaMART"] = f"{np.mean(gains):+.3f}" if gains and name != REFERENCE else ""
        row["ahead in"] = f"{sum(gain > 0 for gain in gains)} of {len(gains)}" if gains and name != REFERENCE else ""
        rows.append(row)
    return sorted(rows, key=lambda row: -row["NDCG@5"])


def main(arguments: list[str] | None = None) -> dict:
    parser = harness.new_parser(__doc__)
    add: Callable[..., argparse.Action] = parser.add_argument
    add("--letor", type=Path, help="folder of rank.train and rank.test with their .query files; else wards only")
    add("--splits", type=int, default=10, help="of wards")
    add("--letor-splits", type=int, default=5)
    add("--epochs", type=int, default=30, help="at most, of a network")
    add("--methods", nargs="+", choices=[*METHODS, *TREES], default=[*TREES, *METHODS], metavar="METHOD")
    add("--seconds", type=float, default=float("inf"), help="start no further run after so long")
    options = parser.parse_args(arguments)
    started = time.monotonic()
    path = options.json
    runs = json.loads(path.read_text())["runs"] if path and path.exists() else []
    sets: dict[str, Any] = {"wards": data.wards}
    if options.letor:
        sets["letor"] = lambda split: data.letor(options.letor, split)
    counts = {"wards": options.splits, "letor": options.letor_splits}
    result: dict[str, Any] = {"benchmark": "ranking_methods", "command": harness.shown_command()}
    result |= harness.environment()
    for title, name, make, splits in pending(runs, sets, counts, options.methods):
        trainer = None
        for number in splits:
            if time.monotonic() - started > options.seconds:
                break
            split = make(number)
            if name in TREES:
                found = run_trees(split, number, TREES[name])
            else:
                trainer = trainer or Trainer(METHODS[name], data.width(split, METHODS[name].encoding))
                found = run_network(trainer, split, number, options.epochs)
            runs.append({"data": title, "method": name, "split": number, **found})
            print(title, name, number, f"{found['NDCG@5']:.3f}", f"{time.monotonic() - started:.0f} s", flush=True)
            result |= {"runs": runs, "tables": tables_of(runs)}
            if path:
                path.write_text(harness.as_json(result) + "\n")
    result |= {"runs": runs, "tables": tables_of(runs)}
    for rows in result["tables"].values():
        print(*harness.table(rows), "", sep="\n")
    return result


if __name__ == "__main__":
    main()
