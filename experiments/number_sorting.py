"""Learn to sort numbers, given only the sorted lists (Mena et al. 2018, section 5.1).

One small network reads every number by itself and gives a score for each position (1 -> 32 ReLU -> N, weights shared by
the numbers). `GumbelSinkhornLayer` turns the N x N scores into random soft permutations P, and the squared error
between P^T x and the sorted list, a mean over the samples, trains the network: no rank or comparison is ever shown.
Tests use the exact matching of the scores without noise (`SinkhornLayer(hard=True)`).

Training lists are fresh draws from U(0, 1); tests are also on intervals that training never saw. "Raw" figures give
them to the network as they are. For "rescaled" ones the same trained network is given each list moved and stretched
to [0, 1] by its own smallest and largest number.

A matching does not change when a constant is added to all scores of one number or of one position. So where no ReLU
switches, and scores are `slope[position] * x + constant[position]`, a list is sorted if slopes rise with the position.
Hidden biases start at 1, with every ReLU on in [0, 1]: that learns long lists fast, but units of negative weight switch
off farther out, and raw lists from there come out wrong. With `--hidden-bias 0` only units of positive weight live,
which are on for all positive numbers: raw lists fare well on any interval, but long lists are learned less exactly.
With `--no-hidden-bias` no unit can switch, and errors are the same on every interval, up to the digits of float32.

    python experiments/number_sorting.py    # N = 5, 10, 15, one minute
    python experiments/number_sorting.py --sizes 80 100 120 --noise-scale 1 --restarts 6 --test-lists 100
"""

from __future__ import annotations

import argparse
import time

from _shared import command_line


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Options of the command line."""
    quick = {"sizes": [5], "steps": 20, "test_lists": 20, "picture_size": 5}
    parser = command_line.new_parser(__doc__, "number_sorting", quick)
    add, at_least, positive = parser.add_argument, command_line.at_least, command_line.positive
    add("--sizes", type=at_least(2), nargs="+", default=[5, 10, 15], help="numbers in a list")
    add("--seeds", type=int, nargs="+", default=[0], help="one training of each size per seed")
    add("--tau", type=positive, default=1.0, help="temperature of Sinkhorn, in units of the scores")
    add("--noise-scale", type=float, default=0.1, help="factor of the Gumbel noise")
    add("--samples", type=at_least(1), default=5, help="samples per list in a step")
    add("--iterations", type=at_least(1), default=10, help="of Sinkhorn")
    add("--steps", type=at_least(1), default=500, help="training steps")
    add("--batch-size", type=at_least(1), default=10, help="lists per step")
    add("--learning-rate", type=positive, default=0.1, help="of Adam, at the start")
    add(
        "--restarts",
        type=at_least(1),
        default=1,
        help="trainings of which the one with the least training error counts",
    )
    add("--hidden-bias", type=float, default=1.0, help="initial value of the hidden biases")
    add("--no-hidden-bias", action="store_true", help="no hidden biases: errors are then the same on every interval")
    add("--test-lists", type=at_least(1), default=1000, help="lists of each interval")
    add("--picture-size", type=at_least(2), default=10, help="list size of the picture")
    add("--no-baselines", dest="baselines", action="store_false", help="train only our model")
    return command_line.parse(parser, arguments, quick, needs=["matplotlib"])


if __name__ == "__main__":
    OPTIONS = parse()  # a wrong argument fails here, before the seconds that TensorFlow takes to import
    command_line.import_tensorflow()

import numpy as np
import tensorflow as tf
from _shared.pictures.matchings import draw_matchings
from tensorflow import keras

import keras_softsort as ks

INTERVALS = ((0, 1), (0, 10), (0, 1000), (1, 2), (10, 11), (100, 101), (1000, 1001))  # training: the first
HIDDEN = 32
NO_ERROR = 1e-12  # of the squared error: at most a few numbers are out of order, and they differ by less than 1e-4


def sorters(size: int, options: argparse.Namespace) -> tuple[keras.Model, keras.Model, keras.Model]:
    """Three views of one network: lists to softly sorted samples, to the soft matrix, to the hard one (rank, item)."""
    numbers = keras.Input((size,))
    scores = reader(size, options)(numbers)
    noisy = ks.GumbelSinkhornLayer(
        options.tau,
        num_iterations=options.iterations,
        noise_scale=options.noise_scale,
        num_samples=options.samples,
    )
    position_first = keras.layers.Permute((2, 1))
    soft = position_first(ks.SinkhornLayer(options.tau, num_iterations=options.iterations)(scores))
    hard = position_first(ks.SinkhornLayer(options.tau, num_iterations=1, hard=True)(scores))
    trained = keras.Model(numbers, PutInOrder()([noisy(scores), numbers]))
    return trained, keras.Model(numbers, soft), keras.Model(numbers, hard)


class NewAxis(keras.layers.Layer):
    """`[batch, n]` to `[batch, n, 1]`: each number by itself for the layers that follow."""

    def call(self, numbers: tf.Tensor) -> tf.Tensor:
        """Append an axis."""
        return numbers[..., tf.newaxis]


class PutInOrder(keras.layers.Layer):
    """Lists `[batch, item]` in the order of soft permutations `[batch, sample, item, position]`: P^T x."""

    def call(self, inputs: tuple[tf.Tensor, tf.Tensor]) -> tf.Tensor:
        """`[batch, sample, position]`."""
        permutations, numbers = inputs
        return tf.einsum("bsip,bi->bsp", permutations, numbers)


def reader(outputs: int, options: argparse.Namespace) -> keras.Sequential:
    """Lists of numbers `[batch, n]` to `outputs` scores for each number, `[batch, n, outputs]`."""
    bias = keras.initializers.Constant(options.hidden_bias)
    has_bias = not options.no_hidden_bias
    hidden = keras.layers.Dense(HIDDEN, activation="relu", use_bias=has_bias, bias_initializer=bias)
    return keras.Sequential([NewAxis(), hidden, keras.layers.Dense(outputs)])


def training_lists(size: int, options: argparse.Namespace, seed: int) -> tf.data.Dataset:
    """A batch of fresh lists for every step, and each list sorted, once for every sample of the layer."""

    def batch(step: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        numbers = tf.random.stateless_uniform([options.batch_size, size], [seed, step])
        return numbers, tf.repeat(tf.sort(numbers)[:, tf.newaxis], options.samples, axis=1)

    return tf.data.Dataset.range(options.steps).map(batch).prefetch(8)


def training_error(hard: keras.Model, size: int, options: argparse.Namespace, seed: int) -> float:
    """The squared error of exact matchings on 100 more lists of the training interval: 0 if all are sorted.

    As the training does, it takes nothing but sorted lists, no rank.
    """
    numbers = np.random.default_rng([seed, options.steps]).uniform(size=[100, size]).astype(np.float32)
    matched = np.einsum("bpi,bi->bp", hard.predict(numbers, batch_size=100, verbose=0), numbers)
    return float(np.mean((matched - np.sort(numbers)) ** 2))


def fit(model: keras.Model, data: tf.data.Dataset, options: argparse.Namespace, callbacks: tuple = ()) -> None:
    """Squared errors, Adam, a learning rate that falls to 0 along a cosine."""
    rate = keras.optimizers.schedules.CosineDecay(options.learning_rate, options.steps)
    model.compile(keras.optimizers.Adam(rate), loss="mse", jit_compile=True)
    model.fit(data, verbose=0, callbacks=list(callbacks), shuffle=False)


def test_lists(size: int, interval: tuple[int, int], count: int) -> np.ndarray:
    """`count` lists of an interval; the same ones for every network."""
    return np.random.default_rng(1_000_003).uniform(*interval, [count, size]).astype(np.float32)


def rescaled(lists: np.ndarray) -> np.ndarray:
    """Each list moved and stretched to [0, 1]."""
    low, high = lists.min(axis=1, keepdims=True), lists.max(axis=1, keepdims=True)
    return (lists - low) / (high - low)


def errors(lists: np.ndarray, scores: np.ndarray) -> dict[str, float]:
    """Shares of wrong elements and of lists with any error, and Kendall's tau, of the order of `scores`."""
    element, whole = ks.ElementwiseAccuracy(direction="ASCENDING"), ks.PermutationAccuracy(direction="ASCENDING")
    kendall = ks.KendallTau(direction="ASCENDING")
    for start in range(0, len(lists), 100):
        for metric in (element, whole, kendall):
            metric.update_state(lists[start : start + 100], scores[start : start + 100])
    return {
        "element": 1 - float(element.result()),
        "list": 1 - float(whole.result()),
        "kendall": float(kendall.result()),
    }


def test(hard: keras.Model, size: int, options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Errors of the model on every interval, raw and rescaled."""
    given, true = {}, {}
    for low, high in INTERVALS:
        lists = test_lists(size, (low, high), options.test_lists)
        for kind, shown in (("raw", lists), ("rescaled", rescaled(lists))):
            given[f"U({low},{high}) {kind}"], true[f"U({low},{high}) {kind}"] = shown, lists
    # Many lists at once: a matching takes many small steps, in which all lists of a batch go together.
    places = hard.predict(np.concatenate(list(given.values())), batch_size=500, verbose=0).argmax(axis=1)
    found = np.split(places.astype(np.float32), len(given))
    return {name: errors(true[name], each) for name, each in zip(given, found, strict=True)}


def baselines(size: int, options: argparse.Namespace, seed: int) -> dict[str, dict[str, float]]:
    """A random order, and the same network with one output, trained on the rank of every number."""
    lists = test_lists(size, INTERVALS[0], options.test_lists)
    random_scores = np.random.default_rng(seed).uniform(size=lists.shape).astype(np.float32)
    regressor = reader(1, options)
    ranks = training_lists(size, options, seed).map(
        lambda numbers, _: (numbers, tf.argsort(tf.argsort(numbers))[..., tf.newaxis] / size)
    )
    fit(regressor, ranks, options)
    predicted = regressor.predict(lists, verbose=0)[..., 0]
    return {"random order": errors(lists, random_scores), "given every rank": errors(lists, predicted)}


def run_one(size: int, seed: int, options: argparse.Namespace) -> tuple[dict[str, dict[str, float]], list[tuple], int]:
    """Train and test one network; the soft matrices of one list as training went on, and the hard one; trainings."""
    shown = test_lists(size, INTERVALS[0], 1)
    hard, snapshots, trainings = train_best(size, seed, shown, options)
    results = test(hard, size, options)
    if options.baselines:
        results |= baselines(size, options, seed)
    return results, [*snapshots, ("exact matching", hard.predict(shown, verbose=0)[0])], trainings


def train(size: int, seed: int, shown: np.ndarray, options: argparse.Namespace) -> tuple[keras.Model, list[tuple]]:
    """The trained network with exact matchings, and the soft matrices of the shown list after some steps."""
    keras.utils.set_random_seed(seed)
    trained, soft, hard = sorters(size, options)
    steps = {1, options.steps // 50, options.steps // 10, options.steps}
    snapshots = []

    def look(step: int, logs: dict | None = None) -> None:
        if step + 1 in steps and size == options.picture_size:
            snapshots.append((f"step {step + 1}", soft(shown).numpy()[0]))

    fit(trained, training_lists(size, options, seed), options, (keras.callbacks.LambdaCallback(on_batch_end=look),))
    return hard, snapshots


def train_best(
    size: int, seed: int, shown: np.ndarray, options: argparse.Namespace
) -> tuple[keras.Model, list[tuple], int]:
    """The best of up to `--restarts` trainings by their error on training lists, and how many there were.

    A training without errors, or with some only between numbers that are nearly equal, is the last.
    """
    best, least, restart = None, float("inf"), 0
    for restart in range(options.restarts):
        found = train(size, seed + 1_000_000 * restart, shown, options)
        error = training_error(found[0], size, options, seed) if options.restarts > 1 else 0.0
        if best is None or error < least:
            best, least = found, error
        if options.restarts > 1:
            print(f"  training {restart + 1}: squared error of its exact matchings {error:.1e}", flush=True)
        if error < NO_ERROR:
            break
    return *best, restart + 1


def report(results: dict[str, list[dict[str, float]]], size: int) -> None:
    """Print means over seeds, and the range of the share of lists with an error."""
    print(f"\nN = {size}{'wrong elements':>33}{'lists with an error':>21}{'(range)':>16}{'Kendall tau':>13}")
    for name, seeds in results.items():
        element, lists, kendall = (np.array([one[key] for one in seeds]) for key in ("element", "list", "kendall"))
        spread = f"({lists.min():.3f}-{lists.max():.3f})"
        print(f"{name:22}{element.mean():17.5f}{lists.mean():21.4f}{spread:>16}{kendall.mean():13.5f}")


def main(options: argparse.Namespace) -> dict:
    """Train every size with every seed; print, draw, save."""
    started = time.monotonic()
    print("Learning to sort numbers, only from sorted lists")
    results: dict[int, dict[str, list[dict[str, float]]]] = {}
    trainings: dict[int, list[int]] = {}
    shown: list[tuple] = []
    for size in options.sizes:
        results[size], trainings[size] = {}, []
        for seed in options.seeds:
            print(f"N = {size}, seed {seed}: {options.steps} steps of {options.batch_size} lists", flush=True)
            found, snapshots, count = run_one(size, seed, options)
            trainings[size].append(count)
            shown = snapshots if size == options.picture_size and not shown else shown
            for name, result in found.items():
                results[size].setdefault(name, []).append(result)
        report(results[size], size)
    seconds = time.monotonic() - started
    print("\nraw: the network is given the numbers as they are, which it may never have seen in training")
    print("rescaled: each list is first moved and stretched to [0, 1], the interval of training")
    print(f"{options.test_lists} test lists of each interval, seeds {options.seeds}; {seconds:.0f} s in all")
    if shown:
        numbers = test_lists(options.picture_size, INTERVALS[0], 1)[0]
        print(f"Picture: {draw_matchings(numbers, shown, options.output / 'number_sorting.png')}")
    return command_line.save_report(options, "number_sorting", results=results, trainings=trainings)


if __name__ == "__main__":
    main(OPTIONS)
