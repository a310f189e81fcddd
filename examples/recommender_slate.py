"""Learn to fill a slate: choose items one after another, each choice depending on the earlier ones, one reward for all.

The shop is a simulator over real wines (`wine_shop.py`). A network scores the candidates for the next place, seeing
the shopper's ideal and what is on the slate already. The same network is trained in four ways:

    gumbel hard   Gumbel-Softmax choices, exact ones in the forward pass, the soft ones' gradient (straight-through)
    gumbel soft   soft choices in the reward and on the slate: a biased reward, a low-variance gradient
    reinforce     score-function gradient of the reward of sampled slates
    rloo          the same, relative to the mean reward of the other samples for the same shopper

The first two differentiate the reward, so they need to know it as a formula; the last two see its values alone. All
see as many sampled slates a step. Tests are on shoppers and wines that training never saw, without noise, beside a
random slate, the best-liked wines in order, a greedy choice by the true gain in reward, and the best slate there is.

    python examples/recommender_slate.py                      # 3 seeds, under two minutes
    python examples/recommender_slate.py --steps 1000 --seeds 0 1 2 3 4
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp
from pictures import draw_slates
from tensorflow import keras
from wine_shop import Visits, best_slates, draw_visits, likings, rewards, wines

import keras_softsort as ks

METHODS = ("gumbel hard", "gumbel soft", "reinforce", "rloo")
ESTIMATORS = {"reinforce": "score_function", "rloo": "rloo"}
TEST_SEED = 1_000_003
Pick = Callable[[int, tf.Tensor, tf.Tensor], tf.Tensor]


def scorer(features: int, places: int) -> keras.Model:
    """What is known of each candidate for the next place, `[visits, n, inputs]`, to its score `[visits, n]`."""
    known = keras.Input((None, features * places + places))
    hidden = keras.layers.Dense(64, activation="relu")(known)
    hidden = keras.layers.Dense(64, activation="relu")(hidden)
    return keras.Model(known, keras.layers.Dense(1)(hidden)[..., 0])


def known_of(visits: Visits, slate: list[tf.Tensor], places: int) -> tf.Tensor:
    """How each candidate differs from the ideal and from the wine at each filled place, and how many are filled."""
    shown = [visits.ideals, *(tf.einsum("bn,bnf->bf", row, visits.candidates) for row in slate)]
    differences = [tf.square(visits.candidates - each[:, tf.newaxis]) for each in shown]
    empty = [tf.zeros_like(visits.candidates)] * (places - len(shown))
    filled = tf.zeros_like(visits.candidates[..., :1]) + tf.one_hot(len(slate), places)
    return tf.concat([*differences, *empty, filled], axis=-1)


def fill(model: keras.Model, visits: Visits, places: int, pick: Pick) -> tuple[tf.Tensor, tf.Tensor]:
    """Slates `[visits, place, candidate]` by `pick(place, logits, available)`, and the log-probability of each."""
    available = tf.ones(tf.shape(visits.candidates)[:2], tf.bool)
    slate: list[tf.Tensor] = []
    log_probs = 0.0
    for place in range(places):
        logits = model(known_of(visits, slate, places), training=True)
        logits = tf.where(available, logits, logits.dtype.min)
        row = pick(place, logits, available)
        log_probs += tf.reduce_sum(tf.stop_gradient(row) * tf.nn.log_softmax(logits), axis=-1)
        taken = tf.argmax(row, axis=-1, output_type=tf.int32)[:, tf.newaxis]
        available = tf.logical_and(available, tf.not_equal(tf.range(tf.shape(logits)[1]), taken))
        slate.append(row)
    return tf.stack(slate, axis=1), log_probs


def gumbel_pick(seed: tf.Tensor, tau: float, hard: bool) -> Pick:
    """Random choices, exact or soft."""

    def pick(place: int, logits: tf.Tensor, available: tf.Tensor) -> tf.Tensor:
        own = tf.random.experimental.stateless_fold_in(seed, place)
        return ks.gumbel_softmax(logits, tau, hard=hard, mask=available, seed=own)

    return pick


def best_pick(_: int, logits: tf.Tensor, available: tf.Tensor) -> tf.Tensor:
    """The candidate of the largest score."""
    return tf.one_hot(tf.argmax(logits, axis=-1), tf.shape(available)[1])


def repeated(visits: Visits, count: int) -> Visits:
    """Each visit `count` times in a row: samples first, then visits."""
    return Visits(*(tf.tile(each, [count, 1, 1][: each.shape.rank]) for each in visits))


class SlatePolicy(tfp.distributions.Distribution):
    """Orders `[visits, places]` that the network draws: what `expected_cost` needs to know of a policy."""

    def __init__(self, model: keras.Model, visits: Visits, places: int) -> None:
        parameters = dict(locals())
        self.model, self.visits, self.places = model, visits, places
        kind = tfp.distributions.NOT_REPARAMETERIZED
        super().__init__(tf.int32, kind, validate_args=False, allow_nan_stats=True, parameters=parameters)

    def _batch_shape(self) -> tf.TensorShape:
        return self.visits.ideals.shape[:1]

    def _event_shape(self) -> tf.TensorShape:
        return tf.TensorShape([self.places])

    def _sample_n(self, n: int, seed: tf.Tensor) -> tf.Tensor:
        slates, _ = fill(self.model, repeated(self.visits, n), self.places, gumbel_pick(seed, 1.0, hard=True))
        return tf.reshape(tf.argmax(slates, axis=-1, output_type=tf.int32), [n, -1, self.places])

    def _log_prob(self, value: tf.Tensor) -> tf.Tensor:
        count, size = value.shape[0], self.visits.candidates.shape[1]
        rows = tf.one_hot(tf.reshape(value, [-1, self.places]), size)
        _, log_probs = fill(self.model, repeated(self.visits, count), self.places, lambda place, *_: rows[:, place])
        return tf.reshape(log_probs, [count, -1])


def loss_of(method: str, model: keras.Model, visits: Visits, seed: tf.Tensor, options: argparse.Namespace) -> tf.Tensor:
    """Minus the expected reward, with the method's gradient."""
    if method in ESTIMATORS:

        def cost(orders: tf.Tensor) -> tf.Tensor:
            slates = tf.one_hot(tf.reshape(orders, [-1, options.places]), options.candidates)
            return -tf.reshape(rewards(repeated(visits, orders.shape[0]), slates), [orders.shape[0], -1])

        policy = SlatePolicy(model, visits, options.places)
        return tf.reduce_mean(
            ks.expected_cost(policy, cost, num_samples=options.samples, seed=seed, estimator=ESTIMATORS[method])
        )
    several = repeated(visits, options.samples)
    pick = gumbel_pick(seed, options.tau, hard=method == "gumbel hard")
    slates, _ = fill(model, several, options.places, pick)
    return -tf.reduce_mean(rewards(several, slates))


def train(method: str, seed: int, test: Visits, options: argparse.Namespace) -> tuple[keras.Model, list[float]]:
    """A network, and its reward on test visits as training went on."""
    keras.utils.set_random_seed(seed)
    items, random = wines()[0], np.random.default_rng(seed)
    model = scorer(items.shape[1], options.places)
    optimizer = keras.optimizers.Adam(options.learning_rate)
    optimizer.build(model.trainable_variables)

    @tf.function
    def train_step(visits: Visits, step_seed: tf.Tensor) -> None:
        with tf.GradientTape() as tape:
            loss = loss_of(method, model, visits, step_seed, options)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))

    @tf.function
    def test_reward() -> tf.Tensor:
        return tf.reduce_mean(rewards(test, fill(model, test, options.places, best_pick)[0]))

    curve = [float(test_reward())]
    for step in range(1, options.steps + 1):
        visits = Visits(*map(tf.constant, draw_visits(items, options.batch_size, options.candidates, random)))
        train_step(visits, tf.constant([seed, step]))
        if step % options.test_every == 0:
            curve.append(float(test_reward()))
    return model, curve


def baselines(test: Visits, options: argparse.Namespace) -> dict[str, np.ndarray]:
    """Slates `[visits, places]` of those who know the simulator, and of one who knows nothing."""
    count, size = len(test.ideals), options.candidates
    random = np.random.default_rng(TEST_SEED).permuted(np.tile(np.arange(size), [count, 1]), axis=1)
    greedy = np.zeros([count, 0], np.int64)
    for _ in range(options.places):
        gains = np.full([count, size], -np.inf)
        for item in range(size):
            longer = np.concatenate([greedy, np.full([count, 1], item)], axis=1)
            free = np.all(greedy != item, axis=1)
            gains[free, item] = rewards(test, tf.one_hot(longer, size)).numpy()[free]
        greedy = np.concatenate([greedy, gains.argmax(axis=1)[:, np.newaxis]], axis=1)
    return {
        "random": random[:, : options.places],
        "best liked first": np.argsort(-likings(test), axis=1)[:, : options.places],
        "greedy by true gain": greedy,
        "best of all slates": best_slates(test, options.places),
    }


def run(options: argparse.Namespace) -> dict:
    """Every method with every seed beside the baselines; print, draw, save."""
    started = time.monotonic()
    visits = draw_visits(wines()[1], options.test_visits, options.candidates, np.random.default_rng(TEST_SEED))
    test = Visits(*map(tf.constant, visits))
    fixed = baselines(test, options)
    known = {name: float(tf.reduce_mean(rewards(test, tf.one_hot(s, options.candidates)))) for name, s in fixed.items()}
    curves: dict[str, list[list[float]]] = {}
    shown = {name: fixed[name][0] for name in ("best liked first", "best of all slates")}
    print(f"{options.steps} steps of {options.batch_size} shoppers, {options.samples} slates each")
    for method in METHODS:
        for seed in options.seeds:
            model, curve = train(method, seed, test, options)
            curves.setdefault(method, []).append(curve)
            print(f"{method:12} seed {seed}: reward {curve[-1]:.4f} ({time.monotonic() - started:.0f} s)", flush=True)
            if method == "rloo" and seed == options.seeds[0]:
                slates, _ = fill(model, test, options.places, best_pick)
                shown[f"learned ({method})"] = np.argmax(slates[0], axis=-1)

    best = known["best of all slates"]
    print(
        f"\nReward on {options.test_visits} unseen shoppers and unseen wines{'(range of seeds)':>26}{'of the best':>13}"
    )
    for name, reward in known.items():
        print(f"{name:34}{reward:8.4f}{'':25}{reward / best:10.1%}")
    for method, found in curves.items():
        last = np.array([curve[-1] for curve in found])
        print(f"{method:34}{last.mean():8.4f}   ({last.min():.4f} to {last.max():.4f}){last.mean() / best:12.1%}")
    options.output.mkdir(parents=True, exist_ok=True)
    one = Visits(*(each[0] for each in visits))
    picture = draw_slates(
        (np.arange(len(curves["rloo"][0])) * options.test_every, curves),
        known,
        (one, shown),
        options.output / "recommender_slate.png",
    )
    report = {"options": {k: str(v) for k, v in vars(options).items()}, "baselines": known, "curves": curves}
    (options.output / "recommender_slate.json").write_text(json.dumps(report, indent=2) + "\n")
    print(f"\nPicture: {picture}; {time.monotonic() - started:.0f} s in all")
    return report


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--steps", type=int, default=400, help="training steps")
    parser.add_argument("--batch-size", type=int, default=32, help="shoppers a step")
    parser.add_argument("--samples", type=int, default=4, help="slates drawn for each shopper in a step")
    parser.add_argument("--candidates", type=int, default=10, help="wines to choose from")
    parser.add_argument("--places", type=int, default=4, help="wines on a slate")
    parser.add_argument("--tau", type=float, default=0.5, help="temperature of Gumbel-Softmax")
    parser.add_argument("--learning-rate", type=float, default=3e-3)
    parser.add_argument("--test-visits", type=int, default=500)
    parser.add_argument("--test-every", type=int, default=20, help="steps between points of the curves")
    parser.add_argument("--output", type=Path, default=Path("output/recommender_slate"))
    return parser.parse_args(arguments)


if __name__ == "__main__":
    run(parse())
