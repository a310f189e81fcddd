"""Learn to fill a slate: choose items one after another, each choice depending on the earlier ones, one reward for all.

The shop is a simulator over real wines (`_shared/wine_shop.py`). A network scores the candidates for the next place,
seeing the shopper's ideal and what is on the slate already. The same network is trained in four ways:

    gumbel hard   Gumbel-Softmax choices, exact ones in the forward pass, the soft ones' gradient (straight-through)
    gumbel soft   soft choices in the reward and on the slate: a biased reward, a low-variance gradient
    reinforce     score-function gradient of the reward of sampled slates
    rloo          the same, relative to the mean reward of the other samples for the same shopper

The first two differentiate the reward, so they need it as a formula; the last two see only its values. All see the same
number of sampled slates per step. Tests are on shoppers and wines that training never saw, without noise, beside
baselines: a random slate; the best-liked wines in order; a determinantal point process with greedy MAP inference; a
greedy choice by the true gain in reward; beam search; exchanges that improve these; and the best of all slates, where
these can be tried, or else the best that are known and a number that the reward of no slate exceeds
(`_shared/slate_search.py`; far from tight on long slates).

    python experiments/recommender_slate.py                      # 3 seeds, under two minutes
    python experiments/recommender_slate.py --steps 1000 --seeds 0 1 2 3 4
    python experiments/recommender_slate.py --places 30 --candidates 60 --looks-on 0.95 --test-visits 100
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

from _shared import command_line

MOST_CANDIDATES = 89  # half of the wines: the other half is for training


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Options of the command line."""
    quick = {"seeds": [0], "steps": 4, "test_every": 2, "test_visits": 20, "batch_size": 4}
    parser = command_line.new_parser(__doc__, "recommender_slate", quick)
    add, at_least = parser.add_argument, command_line.at_least
    add("--seeds", type=int, nargs="+", default=[0, 1, 2], help="one training of each method per seed")
    add("--steps", type=at_least(1), default=400, help="training steps")
    add("--batch-size", type=at_least(1), default=32, help="shoppers per step")
    add("--samples", type=at_least(2), default=4, help="slates drawn for each shopper in a step")
    add("--candidates", type=at_least(2), default=10, help=f"wines to choose from, at most {MOST_CANDIDATES}")
    add("--places", type=at_least(1), default=4, help="wines on a slate")
    add("--history", choices=("sum", "attention"), default="sum", help="how the wines on the slate are summed up")
    add("--looks-on", type=command_line.fraction, default=0.8, help="probability to look at the next place")
    add("--tau", type=command_line.positive, default=0.5, help="temperature of Gumbel-Softmax, in units of the scores")
    add("--learning-rate", type=command_line.positive, default=3e-3, help="of Adam")
    add("--beam", type=at_least(1), default=32, help="partial slates that beam search keeps")
    add("--test-visits", type=at_least(1), default=500, help="unseen shoppers")
    add("--test-every", type=at_least(1), default=20, help="steps between points of the curves")
    options = command_line.parse(parser, arguments, quick)
    if options.candidates > MOST_CANDIDATES:
        parser.error(f"--candidates must be at most {MOST_CANDIDATES}, got {options.candidates}")
    if options.places > options.candidates:
        parser.error(f"--places must be at most --candidates {options.candidates}, got {options.places}")
    return options


if __name__ == "__main__":
    OPTIONS = parse()  # a wrong argument fails here, before the seconds that TensorFlow takes to import
    command_line.import_tensorflow()

import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp
from _shared import slate_search
from _shared.pictures.slates import draw_slates
from _shared.slate_network import SEEN, Network, look_at, new_network
from _shared.wine_shop import Visits, draw_visits, likenesses, likings, rewards, wines
from tensorflow import keras

import keras_softsort as ks

METHODS = ("gumbel hard", "gumbel soft", "reinforce", "rloo")
ESTIMATORS = {"reinforce": "score_function", "rloo": "rloo"}
TEST_SEED = 1_000_003
Pick = Callable[[int, tf.Tensor, tf.Tensor], tf.Tensor]


def gumbel_pick(seed: tf.Tensor, tau: float, hard: bool) -> Pick:
    """Random choices, exact or soft."""

    def pick(place: int, logits: tf.Tensor, available: tf.Tensor) -> tf.Tensor:
        own = tf.random.experimental.stateless_fold_in(seed, place)
        return ks.gumbel_softmax(logits, tau, hard=hard, mask=available, seed=own)

    return pick


def loss_of(method: str, network: Network, visits: Visits, seed: tf.Tensor, options: argparse.Namespace) -> tf.Tensor:
    """Minus the expected reward, with the method's gradient."""
    if method in ESTIMATORS:

        def cost(orders: tf.Tensor) -> tf.Tensor:
            slates = tf.one_hot(tf.reshape(orders, [-1, options.places]), options.candidates)
            found = rewards(repeated(visits, orders.shape[0]), slates, options.looks_on)
            return -tf.reshape(found, [orders.shape[0], -1])

        policy = SlatePolicy(network, visits, options.places)
        return tf.reduce_mean(
            ks.expected_cost(policy, cost, num_samples=options.samples, seed=seed, estimator=ESTIMATORS[method])
        )
    several = repeated(visits, options.samples)
    pick = gumbel_pick(seed, options.tau, hard=method == "gumbel hard")
    slates, _ = fill(network, several, options.places, pick)
    return -tf.reduce_mean(rewards(several, slates, options.looks_on))


def fill(network: Network, visits: Visits, places: int, pick: Pick) -> tuple[tf.Tensor, tf.Tensor]:
    """Slates `[visits, place, candidate]` by `pick(place, logits, available)`, and the log-probability of each."""
    available = tf.ones(tf.shape(visits.candidates)[:2], tf.bool)
    from_ideal = tf.square(visits.candidates - visits.ideals[:, tf.newaxis])
    seen = tf.zeros_like(from_ideal[..., :1]) + tf.zeros(SEEN)
    total = tf.ones_like(seen)
    slate: list[tf.Tensor] = []
    log_probs = 0.0
    for place in range(places):
        filled = tf.zeros_like(seen[..., :1]) + tf.one_hot(place, places)
        logits = network.score(tf.concat([from_ideal, seen, filled], axis=-1))[..., 0]
        logits = tf.where(available, logits, logits.dtype.min)
        row = pick(place, logits, available)
        log_probs += tf.reduce_sum(tf.stop_gradient(row) * tf.nn.log_softmax(logits), axis=-1)
        taken = tf.argmax(row, axis=-1, output_type=tf.int32)[:, tf.newaxis]
        available = tf.logical_and(available, tf.not_equal(tf.range(tf.shape(logits)[1]), taken))
        shown = tf.einsum("bn,bnf->bf", row, visits.candidates)[:, tf.newaxis]
        seen, total = look_at(network, tf.square(visits.candidates - shown), seen, total)
        slate.append(row)
    return tf.stack(slate, axis=1), log_probs


def best_pick(_: int, logits: tf.Tensor, available: tf.Tensor) -> tf.Tensor:
    """The candidate of the largest score."""
    return tf.one_hot(tf.argmax(logits, axis=-1), tf.shape(available)[1])


def repeated(visits: Visits, count: int) -> Visits:
    """The visits `count` times one after another: samples first, then visits."""
    return Visits(*(tf.tile(each, [count, 1, 1][: each.shape.rank]) for each in visits))


class SlatePolicy(tfp.distributions.Distribution):
    """Orders `[visits, places]` that the network draws, as a distribution for `expected_cost`."""

    def __init__(self, network: Network, visits: Visits, places: int) -> None:
        parameters = dict(locals())
        self.network, self.visits, self.places = network, visits, places
        kind = tfp.distributions.NOT_REPARAMETERIZED
        super().__init__(tf.int32, kind, validate_args=False, allow_nan_stats=True, parameters=parameters)

    def _batch_shape(self) -> tf.TensorShape:
        return self.visits.ideals.shape[:1]

    def _event_shape(self) -> tf.TensorShape:
        return tf.TensorShape([self.places])

    def _sample_n(self, n: int, seed: tf.Tensor) -> tf.Tensor:
        slates, _ = fill(self.network, repeated(self.visits, n), self.places, gumbel_pick(seed, 1.0, hard=True))
        return tf.reshape(tf.argmax(slates, axis=-1, output_type=tf.int32), [n, -1, self.places])

    def _log_prob(self, value: tf.Tensor) -> tf.Tensor:
        count, size = value.shape[0], self.visits.candidates.shape[1]
        rows = tf.one_hot(tf.reshape(value, [-1, self.places]), size)
        _, log_probs = fill(self.network, repeated(self.visits, count), self.places, lambda place, *_: rows[:, place])
        return tf.reshape(log_probs, [count, -1])


def train(method: str, seed: int, test: Visits, options: argparse.Namespace) -> tuple[np.ndarray, list[float]]:
    """Slates `[visits, places]` for the test visits, and their mean reward over training."""
    keras.utils.set_random_seed(seed)
    items, random = split_wines(options)[0], np.random.default_rng(seed)
    network = new_network(items.shape[1], options.places, options.history == "attention")
    optimizer = keras.optimizers.Adam(options.learning_rate)
    optimizer.build(network.variables)

    @tf.function
    def train_step(visits: Visits, step_seed: tf.Tensor) -> None:
        with tf.GradientTape() as tape:
            loss = loss_of(method, network, visits, step_seed, options)
        gradients = tape.gradient(loss, network.variables)
        # With one place nothing is looked at that is on the slate, so `look` has no gradient.
        gradients = [
            tf.zeros(variable.shape) if gradient is None else gradient
            for gradient, variable in zip(gradients, network.variables, strict=True)
        ]
        optimizer.apply_gradients(zip(gradients, network.variables, strict=True))

    @tf.function
    def test_slates() -> tuple[tf.Tensor, tf.Tensor]:
        slates, _ = fill(network, test, options.places, best_pick)
        return tf.argmax(slates, axis=-1), tf.reduce_mean(rewards(test, slates, options.looks_on))

    curve = [float(test_slates()[1])]
    for step in range(1, options.steps + 1):
        visits = Visits(*map(tf.constant, draw_visits(items, options.batch_size, options.candidates, random)))
        train_step(visits, tf.constant([seed, step]))
        if step % options.test_every == 0:
            curve.append(float(test_slates()[1]))
    return test_slates()[0].numpy(), curve


def split_wines(options: argparse.Namespace) -> tuple[np.ndarray, np.ndarray]:
    """Wines for training and for testing, enough of each for the candidates of a visit."""
    return wines(max(60, options.candidates))


def baselines(test: Visits, options: argparse.Namespace) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """Slates `[visits, places]` of those who know the simulator and of one who knows nothing; the mean rewards.

    Where not all slates can be tried, the best ones that are known stand in for the best, and the rewards also hold an
    upper bound.
    """
    liking, likeness = likings(test).numpy(), likenesses(test).numpy()
    seen = options.looks_on ** np.arange(options.places)
    random = np.random.default_rng(TEST_SEED).permuted(np.tile(np.arange(liking.shape[1]), [len(liking), 1]), axis=1)
    slates = {
        "random": random[:, : options.places],
        "best liked first": np.argsort(-liking, axis=1)[:, : options.places],
        "determinantal, greedy MAP": slate_search.determinantal_slates(liking, likeness, options.places),
        "greedy by true gain": slate_search.beam_search(liking, likeness, seen, width=1),
        f"beam search, {options.beam} wide": slate_search.beam_search(liking, likeness, seen, options.beam),
    }
    known = {}
    if slate_search.can_enumerate(liking.shape[1], options.places):
        slates["best of all slates"] = slate_search.best_slates(liking, likeness, seen)
    else:
        known["upper bound of all slates"] = float(slate_search.upper_bounds(liking, likeness, seen).mean())
        for start in ("random", "greedy by true gain", f"beam search, {options.beam} wide"):
            slates[f"{start}, exchanges"] = slate_search.with_exchanges(slates[start], liking, likeness, seen)
        slates["best slates known"] = slate_search.best_of(list(slates.values()), liking, likeness, seen)
    found = {name: slate_search.rewards(each, liking, likeness, seen) for name, each in slates.items()}
    return slates, known | {name: float(each.mean()) for name, each in found.items()}


def train_all(test: Visits, options: argparse.Namespace) -> tuple[dict[str, np.ndarray], dict[str, list[list[float]]]]:
    """Slates of the first seed, and the curve of every seed, by method."""
    started = time.monotonic()
    slates: dict[str, np.ndarray] = {}
    curves: dict[str, list[list[float]]] = {}
    for method in METHODS:
        for seed in options.seeds:
            found, curve = train(method, seed, test, options)
            slates.setdefault(method, found)
            curves.setdefault(method, []).append(curve)
            print(f"{method:12} seed {seed}: reward {curve[-1]:.4f} ({time.monotonic() - started:.0f} s)", flush=True)
    return slates, curves


def report(known: dict[str, float], curves: dict[str, list[list[float]]], options: argparse.Namespace) -> None:
    """Print a line for each baseline and method."""
    top, best = list(known.items())[-1]
    heading = f"Reward on {options.test_visits} unseen shoppers and unseen wines"
    print(f"\n{heading}{'(range of seeds)':>26}{'of the ' + top.split()[0]:>13}")
    for name, reward in known.items():
        print(f"{name:34}{reward:8.4f}{'':25}{reward / best:10.1%}")
    for method, found in curves.items():
        last = np.array([curve[-1] for curve in found])
        print(f"{method:34}{last.mean():8.4f}   ({last.min():.4f} to {last.max():.4f}){last.mean() / best:12.1%}")


def main(options: argparse.Namespace) -> dict:
    """Train every method with every seed beside the baselines; print, draw, save."""
    started = time.monotonic()
    print(f"Filling slates of {options.places} out of {options.candidates} wines: {options.steps} steps of", end=" ")
    print(f"{options.batch_size} shoppers, {options.samples} slates each", flush=True)
    random = np.random.default_rng(TEST_SEED)
    visits = draw_visits(split_wines(options)[1], options.test_visits, options.candidates, random)
    test = Visits(*map(tf.constant, visits))
    fixed, known = baselines(test, options)
    learned, curves = train_all(test, options)
    report(known, curves, options)

    shown = {"best liked first": fixed["best liked first"][0], "learned (rloo)": learned["rloo"][0]}
    *_, (name, best) = fixed.items()  # of all slates, or of those that are known
    shown[name] = best[0]
    steps = np.arange(len(curves["rloo"][0])) * options.test_every
    one = Visits(*(each[0] for each in visits))
    reached = {name: known[name] for name in fixed if not name.endswith("exchanges")}
    picture = draw_slates((steps, curves), reached, (one, shown), options.output / "recommender_slate.png")
    print(f"\nPicture: {picture}; {time.monotonic() - started:.0f} s in all")
    return command_line.save_report(options, "recommender_slate", baselines=known, curves=curves)


if __name__ == "__main__":
    main(OPTIONS)
