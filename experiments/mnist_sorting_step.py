"""Time the parts of a training step of `mnist_sorting.py`, beside the machine's fastest matrix product.

Each part is timed by itself, as a traced function, with the shapes of a batch of 20 lists. The candidates of the table
"variants" compute the same step in other ways.

    python experiments/mnist_sorting_step.py
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "benchmarks" / "tools"))

import harness
import mnist_sorting
import tensorflow as tf
from _shared.handwritten_numbers import OnEachItem
from tensorflow import keras

import keras_softsort as ks

HEIGHT, WIDTH = 28, 112


def timed(runs: dict[str, Callable], repeats: int) -> dict[str, float]:
    return dict(zip(runs, harness.alternating_medians(list(runs.values()), repeats), strict=True))


def convolution(images: int, height: int, width: int, inputs: int, outputs: int) -> tuple[dict[str, Callable], float]:
    """Forward, and both gradients, of a 5 x 5 convolution; GFLOP of each."""
    pixels = tf.random.normal([images, height, width, inputs])
    window = tf.random.normal([5, 5, inputs, outputs])
    slopes = tf.random.normal([images, height, width, outputs])
    arguments = {"strides": [1, 1, 1, 1], "padding": "SAME"}
    runs = {
        "forward": tf.function(lambda: tf.nn.conv2d(pixels, window, **arguments)),
        "gradient of the filters": tf.function(
            lambda: tf.raw_ops.Conv2DBackpropFilter(
                input=pixels, filter_sizes=window.shape, out_backprop=slopes, **arguments
            )
        ),
        "gradient of the input": tf.function(
            lambda: tf.raw_ops.Conv2DBackpropInput(
                input_sizes=pixels.shape, filter=window, out_backprop=slopes, **arguments
            )
        ),
    }
    if inputs == 1:
        del runs["gradient of the input"]  # not needed: the images are the input
    return runs, 2e-9 * images * height * width * 25 * inputs * outputs


def between(images: int, height: int, width: int, channels: int) -> Callable:
    """Bias, ReLU and pooling with their gradients."""
    pixels = tf.random.normal([images, height, width, channels])
    bias = tf.zeros([channels])

    @tf.function
    def run() -> tf.Tensor:
        with tf.GradientTape() as tape:
            tape.watch([pixels, bias])
            result = tf.nn.max_pool2d(tf.nn.relu(tf.nn.bias_add(pixels, bias)), 2, 2, "VALID")
        return tape.gradient(result, [pixels, bias])

    return run


def parts(lists: int, list_size: int, repeats: int) -> Iterator[harness.Row]:
    images = lists * list_size
    square = tf.random.normal([2048, 2048])
    first, first_flops = convolution(images, HEIGHT, WIDTH, 1, 32)
    second, second_flops = convolution(images, HEIGHT // 2, WIDTH // 2, 32, 64)
    runs = {"matrix product, 2048 x 2048": tf.function(lambda: square @ square)}
    flops: dict[str, float | None] = {"matrix product, 2048 x 2048": 2e-9 * 2048**3}
    for name, found, flop in (("first", first, first_flops), ("second", second, second_flops)):
        for part, run in found.items():
            runs[f"{name} convolution, {part}"], flops[f"{name} convolution, {part}"] = run, flop
    runs["first bias, ReLU and pooling, both ways"] = between(images, HEIGHT, WIDTH, 32)
    runs["second bias, ReLU and pooling, both ways"] = between(images, HEIGHT // 2, WIDTH // 2, 64)
    runs["sort and loss, both ways"] = sort_and_loss(lists, list_size)
    runs["whole step"] = step(lists, list_size)
    flops["whole step"] = 2 * first_flops + 3 * second_flops
    for name, seconds in timed(runs, repeats).items():
        flop = flops.get(name)
        yield {
            "part": name,
            "ms": 1000 * seconds,
            "GFLOP": None if flop is None else float(f"{flop:.3g}"),
            "GFLOP/s": None if flop is None else round(flop / seconds),
        }


def sort_and_loss(lists: int, list_size: int) -> Callable:
    scores, numbers = tf.random.normal([lists, list_size]), tf.random.normal([lists, list_size])
    layer, loss = ks.NeuralSortLayer(1.0), ks.PermutationCrossEntropyLoss()

    @tf.function
    def run() -> tf.Tensor:
        with tf.GradientTape() as tape:
            tape.watch(scores)
            value = loss(numbers, layer(scores))
        return tape.gradient(value, scores)

    return run


def pooled_first(image_shape: tuple[int, ...]) -> keras.Model:
    """The network with each ReLU after its pooling, which gives equal values from a quarter of the numbers."""
    conv, pool, relu = keras.layers.Conv2D, keras.layers.MaxPooling2D, keras.layers.ReLU
    layers = [conv(32, 5, padding="same"), pool(), relu(), conv(64, 5, padding="same"), pool(), relu()]
    dense = [keras.layers.Flatten(), keras.layers.Dense(64, activation="relu"), keras.layers.Dense(1)]
    return keras.Sequential([keras.Input(image_shape), *layers, *dense])


def step(lists: int, list_size: int, jit: bool = False, pool_first: bool = False) -> Callable:
    shape = (HEIGHT, WIDTH, 1)
    if pool_first:
        each = keras.Input((list_size, *shape))
        model = keras.Model(each, ks.NeuralSortLayer(1.0)(OnEachItem(pooled_first(shape))(each)))
    else:
        model = mnist_sorting.network("neural_sort", shape, list_size, 1.0)
    optimizer, loss = keras.optimizers.Adam(1e-4), ks.PermutationCrossEntropyLoss()
    optimizer.build(model.trainable_variables)
    images, numbers = tf.random.normal([lists, list_size, *shape]), tf.random.normal([lists, list_size])

    @tf.function(jit_compile=jit)
    def run() -> tf.Tensor:
        with tf.GradientTape() as tape:
            value = loss(numbers, model(images, training=True))
        optimizer.apply_gradients(
            zip(tape.gradient(value, model.trainable_variables), model.trainable_variables, strict=True)
        )
        return value

    return run


def variants(lists: int, list_size: int, repeats: int) -> Iterator[harness.Row]:
    """Other ways to compute the step."""
    runs = {
        "as it is": step(lists, list_size),
        "ReLU behind the pooling": step(lists, list_size, pool_first=True),
        "compiled by XLA": step(lists, list_size, jit=True),
    }
    times = timed(runs, repeats)
    for name, seconds in times.items():
        yield {"step": name, "ms": 1000 * seconds, "/ as it is": seconds / times["as it is"]}


def main(arguments: list[str] | None = None) -> dict:
    parser = harness.new_parser(__doc__)
    parser.add_argument("--lists", type=int, default=20)
    parser.add_argument("--list-size", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args(arguments)
    sizes = options.lists, options.list_size, options.repeats
    return harness.publish("mnist_sorting_step", {"parts": parts(*sizes), "variants": variants(*sizes)}, options.json)


if __name__ == "__main__":
    main()
