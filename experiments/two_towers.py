"""Losses of two towers: recall@10 and NDCG@10 of held-out likes, in lists of all movies that a user has not seen.

MovieLens 100K; a rating of 4 or 5 is a like. The likes of each user with at least ten are ordered by time: the last
20 % are for the test, the 10 % before them for validation, and the others for training. A tower is a table of
embeddings of 32 numbers, and a score is a cosine over tau. All methods have the same towers, 15 epochs of batches of
256 likes, and a grid of two learning rates of Adam times two temperatures. With a seed of its own the best by recall@10
of the validation likes is chosen. They are measured after each epoch, and the embeddings of the best one are kept. A
user's movies of training are left out of the lists, and in the test those of validation, too.

"index" measures how well the squared Euclidean distance, the default of an index, finds the same embeddings.

`--data-dir` holds `ml-100k.inter`; see `movielens.py`. The run can be stopped and resumed: rows that the file of
`--json` has are not computed again.

    python experiments/two_towers.py --data-dir FOLDER --json benchmarks/results/two_towers.json
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.append(str(Path(__file__).parents[1] / "benchmarks" / "tools"))

import harness
import numpy as np
import tensorflow as tf
from experiment_tables import with_deviation
from tensorflow import keras

import keras_softsort as ks

BATCH, DIMENSION, K, TUNING_SEED = 256, 32, 10, 100
RATES, TAUS = (0.01, 0.03), (0.07, 0.15)
KEY = ("method", "part", "rate", "tau", "seed")
MEASURES = (f"recall@{K}", f"NDCG@{K}")


class Likes(NamedTuple):
    """The likes to train on, as numbers of users and movies `[n, 2]`, and three parts as tables `[users, movies]`."""

    pairs: np.ndarray
    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray


class Method(NamedTuple):
    """A loss of the embeddings, or the candidates of a softmax of the scores."""

    loss: Callable[[], Any] = ks.SoftmaxLoss
    in_batch: bool = False
    sampled: int = 0
    log_q: bool = False
    all_items: bool = False


METHODS = {
    "popular items": None,
    'RetrievalLoss("mrr")': Method(lambda: ks.RetrievalLoss("mrr")),
    'RetrievalLoss("average_precision")': Method(lambda: ks.RetrievalLoss("average_precision")),
    "softmax, in-batch": Method(in_batch=True),
    "softmax, in-batch, logQ": Method(in_batch=True, log_q=True),
    "softmax, 256 sampled items": Method(sampled=256),
    "softmax, in-batch and 256 sampled items, logQ": Method(in_batch=True, sampled=256, log_q=True),
    "softmax, all items": Method(all_items=True),
}


def read(folder: Path) -> Likes:
    """The likes of users with at least ten, split by time."""
    rows = np.loadtxt(folder / "ml-100k.inter", skiprows=1).astype(int)  # user, movie, stars, time
    rows = rows[rows[:, 2] >= 4]
    rows = rows[np.lexsort([rows[:, 1], rows[:, 3], rows[:, 0]])]
    users, counts = np.unique(rows[:, 0], return_counts=True)
    rows = rows[np.isin(rows[:, 0], users[counts >= 10])]
    pairs = np.stack([np.unique(rows[:, i], return_inverse=True)[1] for i in (0, 1)], axis=1)
    _, starts, counts = np.unique(pairs[:, 0], return_index=True, return_counts=True)
    place = (np.arange(len(pairs)) - np.repeat(starts, counts)) / np.repeat(counts, counts)
    parts = [pairs[(place >= start) & (place < end)] for start, end in ((0, 0.7), (0.7, 0.8), (0.8, 1))]
    tables = np.zeros([3, *(1 + pairs.max(axis=0))], bool)
    for table, part in zip(tables, parts, strict=True):
        table[tuple(part.T)] = True
    return Likes(parts[0], *tables)


class Trainer:
    """Two towers with the loss of one method, traced once, and trained from the start for each setting and seed."""

    def __init__(self, likes: Likes, method: Method, options: argparse.Namespace) -> None:
        self.likes, self.method, self.options = likes, method, options
        self.num_items = likes.train.shape[1]
        self.towers = [keras.layers.Embedding(count, DIMENSION) for count in likes.train.shape]
        for tower in self.towers:
            tower.build()
        self.variables = [tower.trainable_weights[0] for tower in self.towers]
        self.optimizer, self.loss, self.tau = keras.optimizers.Adam(), method.loss(), tf.Variable(1.0)
        self.optimizer.build(self.variables)
        share = np.bincount(likes.pairs[:, 1], minlength=self.num_items) / len(likes.pairs)
        # Movies without a like in training never come from the batch.
        expected = np.maximum(BATCH * share + method.sampled / self.num_items, 1e-6)
        self.log_q = tf.constant(np.log(expected) if method.log_q else np.zeros(self.num_items), tf.float32)

    def cost(self, user: tf.Tensor, item: tf.Tensor) -> tf.Tensor:
        """The loss of a batch of likes: users and items [batch]."""
        if self.method.loss is not ks.SoftmaxLoss:
            return self.loss(
                item, tf.stack([tower(ids) for tower, ids in zip(self.towers, (user, item), strict=True)], 1)
            )
        if self.method.all_items:
            candidates, labels = tf.range(self.num_items), tf.one_hot(item, self.num_items)
        else:
            candidates, labels = self.candidates(user, item)
        users, items = (
            tf.math.l2_normalize(tower(ids), axis=1) for tower, ids in zip(self.towers, (user, candidates), strict=True)
        )
        return self.loss(labels, users @ tf.transpose(items) / self.tau - tf.gather(self.log_q, candidates))

    def candidates(self, user: tf.Tensor, item: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Candidates [n], and labels [batch, n]: 1, 0, and -1 for accidental hits."""
        sampled = tf.random.uniform([self.method.sampled], maxval=self.num_items, dtype=tf.int32)
        candidates = tf.concat([item, sampled], axis=0)
        own = tf.eye(BATCH, BATCH + self.method.sampled)
        is_user, is_item = (tf.cast(x[:, None] == y, tf.float32) for x, y in ((user, user), (item, candidates)))
        labels = 2 * own - tf.cast(is_user @ is_item > 0, tf.float32)
        if not self.method.in_batch:  # only a user's own item and the sampled ones
            labels = tf.where((tf.range(BATCH + self.method.sampled) < BATCH) & (own == 0), -1.0, labels)
        return candidates, labels

    @tf.function(jit_compile=True)
    def steps(self, batches: tf.Tensor) -> None:
        """Train on the likes [steps, batch, 2]."""
        for pairs in batches:
            with tf.GradientTape() as tape:
                cost = self.cost(pairs[:, 0], pairs[:, 1])
            gradients = tape.gradient(cost, [each.value for each in self.variables])
            self.optimizer.apply([tf.convert_to_tensor(each) for each in gradients], self.variables)

    def best_embeddings(self, rate: float, tau: float, seed: int) -> tuple[float, list[np.ndarray]]:
        """The recall of the validation likes and the embeddings of users and items, in the best epoch."""
        keras.utils.set_random_seed(seed)
        random, count = np.random.default_rng(seed), len(self.likes.pairs)
        for variable in self.variables:
            variable.assign(random.uniform(-0.05, 0.05, variable.shape))
        for variable in self.optimizer.variables:
            variable.assign(tf.zeros_like(variable))
        self.optimizer.learning_rate = rate
        if self.method.loss is ks.SoftmaxLoss:
            self.tau.assign(tau)
        else:
            self.loss.tau = tau
        best: tuple[float, list[np.ndarray]] = (-1.0, [])
        for _ in range(self.options.epochs):
            order = random.permutation(count)[: count // BATCH * BATCH]
            self.steps(tf.constant(self.likes.pairs[order].reshape(-1, BATCH, 2), tf.int32))
            embeddings = [variable.numpy() for variable in self.variables]
            found = recall(cosines(*embeddings), self.likes.validation, self.likes.train)
            best = max(best, (found, embeddings), key=lambda each: each[0])
        return best


def cosines(users: np.ndarray, items: np.ndarray) -> np.ndarray:
    users, items = (each / np.linalg.norm(each, axis=1, keepdims=True) for each in (users, items))
    return users @ items.T


def negative_distances(users: np.ndarray, items: np.ndarray) -> np.ndarray:
    """Minus the squared Euclidean distances."""
    return 2 * users @ items.T - (users**2).sum(axis=1, keepdims=True) - (items**2).sum(axis=1)


def recall(scores: np.ndarray, relevant: np.ndarray, known: np.ndarray) -> float:
    """The mean recall of all users with relevant movies, of lists of the movies that are not known."""
    counted = relevant.any(axis=1)
    relevant, scores = relevant[counted], np.where(known, -np.inf, scores)[counted]
    first = np.argpartition(-scores, K - 1, axis=1)[:, :K]
    return float(np.mean(np.take_along_axis(relevant, first, axis=1).sum(axis=1) / relevant.sum(axis=1)))


def measured(scores: np.ndarray, relevant: np.ndarray, known: np.ndarray) -> dict[str, float]:
    """Both measures as the package computes them; ties count as the mean of their orders."""
    counted = relevant.any(axis=1)
    scores, labels, mask = scores[counted].astype("float32"), relevant[counted].astype("float32"), ~known[counted]
    found = (ks.ops.recall(scores, labels, k=K, mask=mask), ks.ops.ndcg(scores, labels, k=K, mask=mask))
    return {name: float(tf.reduce_mean(values)) for name, values in zip(MEASURES, found, strict=True)}


def run(key: tuple, likes: Likes, trainer: Trainer | None) -> harness.Row:
    """Train, and measure on the validation likes or on those of the test."""
    _, part, rate, tau, seed = key
    began, seen = time.monotonic(), likes.train | likes.validation
    if trainer is None:
        return measured(np.broadcast_to(likes.train.sum(axis=0), seen.shape), likes.test, seen)
    validated, embeddings = trainer.best_embeddings(rate, tau, seed)
    if part == "tuning":
        return {MEASURES[0]: validated, "seconds": time.monotonic() - began}
    found = measured(cosines(*embeddings), likes.test, seen)
    other = measured(negative_distances(*embeddings), likes.test, seen)
    return found | {f"{name}, default index": other[name] for name in MEASURES} | {"seconds": time.monotonic() - began}


def runs(options: argparse.Namespace, known: list[harness.Row], found: list[harness.Row]) -> Iterator[harness.Row]:
    """A row per training; those of `known` as they are."""
    likes, by_key = read(options.data_dir), {tuple(row[name] for name in KEY): row for row in known}
    for name in options.methods:
        method, trainer = METHODS[name], None
        tuned: list[harness.Row] = []
        settings = [] if method is None else list(itertools.product(options.rates, options.taus))
        plan = [("tuning", setting, TUNING_SEED) for setting in settings]
        plan += [("test", None, seed) for seed in (options.seeds if settings else [0])]
        for part, setting, seed in plan:
            best = max(tuned, key=lambda row: row[MEASURES[0]], default={"rate": 0.0, "tau": 0.0})
            key = (name, part, *(setting or (best["rate"], best["tau"])), seed)
            if key not in by_key:
                if method is not None and trainer is None:
                    trainer = Trainer(likes, method, options)
                by_key[key] = dict(zip(KEY, key, strict=True)) | run(key, likes, trainer)
            (tuned if part == "tuning" else found).append(by_key[key])
            yield by_key[key]


def of_methods(found: list[harness.Row]) -> Iterator[harness.Row]:
    """The chosen setting of each method, and its measures over the seeds."""
    for name, own in by_method(found).items():
        setting = {each: own[0][each] or None for each in ("rate", "tau")}
        yield {"method": name} | setting | {each: with_deviation([row[each] for row in own]) for each in MEASURES}


def of_indexes(found: list[harness.Row]) -> Iterator[harness.Row]:
    """The recall with the distance of the loss, and with the default distance of an index."""
    for name, own in by_method(found).items():
        if own[0]["rate"]:
            default = with_deviation([row[f"{MEASURES[0]}, default index"] for row in own])
            cosine = with_deviation([row[MEASURES[0]] for row in own])
            yield {"embeddings of": name, '`distance="cosine"`': cosine, "default distance": default}


def by_method(found: list[harness.Row]) -> dict[str, list[harness.Row]]:
    return {name: own for name in METHODS if (own := [row for row in found if row["method"] == name])}


def main(arguments: list[str] | None = None) -> dict:
    parser = harness.new_parser(__doc__)
    parser.add_argument("--data-dir", type=Path, required=True, help="folder of ml-100k.inter")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS), metavar="METHOD")
    parser.add_argument("--rates", nargs="+", type=float, default=list(RATES), help="learning rates to choose from")
    parser.add_argument("--taus", nargs="+", type=float, default=list(TAUS), help="temperatures to choose from")
    parser.add_argument("--seeds", nargs="+", type=int, default=list(range(5)))
    parser.add_argument("--epochs", type=int, default=15)
    options = parser.parse_args(arguments)
    known: list[harness.Row] = []
    if options.json is not None and options.json.exists():
        known = json.loads(options.json.read_text())["tables"]["runs"]
    found: list[harness.Row] = []
    tables = {"runs": runs(options, known, found), "methods": of_methods(found), "index": of_indexes(found)}
    return harness.publish("two_towers", tables, options.json)


if __name__ == "__main__":
    main()
