"""Find and name all digits of a scene: a network predicts a set of boxes, trained by `SetLoss`.

Each of the network's slots predicts a box and a class, or "no digit". The data do not say which slot should find which
digit: `SetLoss` matches slots to digits with the smallest cost, and each slot learns from its match. The baseline has
the same network, loss and training, but targets in a fixed order: slot i learns the i-th digit from the left. Scenes
are made from scikit-learn's handwritten digits. Test scenes only hold images that training never saw.

    python experiments/digit_detector.py                        # two minutes
"""

from __future__ import annotations

import argparse

from _shared import command_line


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Options of the command line."""
    quick = {"scenes": 300, "test_scenes": 50, "epochs": 1}
    parser = command_line.new_parser(__doc__, "digit_detector", quick)
    add, at_least, positive = parser.add_argument, command_line.at_least, command_line.positive
    add("--most", type=at_least(1), default=5, help="digits of a scene, at most")
    add("--slots", type=at_least(1), default=8, help="boxes that the network predicts")
    add("--scenes", type=at_least(1), default=20000, help="training scenes")
    add("--test-scenes", type=at_least(8), default=1000, help="scenes of unseen digits")
    add("--epochs", type=at_least(1), default=6, help="passes over the training scenes")
    add("--batch-size", type=at_least(1), default=64, help="scenes per step")
    add("--learning-rate", type=positive, default=2e-3, help="of Adam, at the start")
    add("--no-digit-weight", type=positive, default=0.3, help="of the loss of slots without a digit")
    add("--seeds", type=int, nargs="+", default=[0], help="one training of each method per seed")
    options = command_line.parse(parser, arguments, quick)
    if options.slots < options.most:
        parser.error(f"--slots must be at least --most {options.most}, got {options.slots}")
    return options


if __name__ == "__main__":
    OPTIONS = parse()  # a wrong argument fails here, before the seconds that TensorFlow takes to import
    command_line.import_tensorflow()

import numpy as np
import tensorflow as tf
from _shared import digit_scenes
from _shared.digit_scenes import CANVAS, CLASSES, NO_DIGIT, Scenes
from _shared.exports import export_difference
from _shared.pictures.boxes import draw_boxes
from tensorflow import keras

import keras_softsort as ks

register = keras.utils.register_keras_serializable(package="experiments")
METHODS = ("matched set", "left to right")
BOX_WEIGHT = 5.0


@register
def is_digit(targets: tf.Tensor) -> tf.Tensor:
    """Padding has the class -1."""
    return targets[..., 4] >= 0


@register
def pair_cost(targets: tf.Tensor, slots: tf.Tensor) -> tf.Tensor:
    """`[batch, m, n]`: the distance of boxes minus the probability of the digit's class."""
    distance = tf.reduce_sum(tf.abs(targets[:, :, None, :4] - slots[:, None, :, :4]), axis=-1)
    one_hot = tf.one_hot(tf.cast(targets[..., 4], tf.int32), CLASSES + 1)
    return BOX_WEIGHT * distance - tf.matmul(one_hot, tf.nn.softmax(slots[..., 4:]), transpose_b=True)


@register
def fixed_order(targets: tf.Tensor, slots: tf.Tensor) -> tf.Tensor:
    """`[batch, m, n]`: 0 for the i-th target and the i-th slot, else 1."""
    diagonal = tf.eye(tf.shape(targets)[1], tf.shape(slots)[1], batch_shape=tf.shape(slots)[:1])
    return 1 - diagonal


@register
def matched_loss(targets: tf.Tensor, slots: tf.Tensor) -> tf.Tensor:
    """`[batch, m]`: the distance of boxes plus the cross-entropy of the class."""
    distance = tf.reduce_sum(tf.abs(targets[..., :4] - slots[..., :4]), axis=-1)
    classes = tf.cast(targets[..., 4], tf.int32)
    return BOX_WEIGHT * distance + tf.nn.sparse_softmax_cross_entropy_with_logits(classes, slots[..., 4:])


@register
class NoDigit:
    """`[batch, n]`: the weighted cross-entropy with "no digit"."""

    def __init__(self, weight: float) -> None:
        self.weight = weight

    def __call__(self, slots: tf.Tensor) -> tf.Tensor:
        """The loss of slots `[batch, n, 4 + classes]`."""
        return -self.weight * tf.nn.log_softmax(slots[..., 4:])[..., NO_DIGIT]

    def get_config(self) -> dict:
        """The constructor's arguments."""
        return {"weight": self.weight}


def train(method: str, scenes: Scenes, seed: int, options: argparse.Namespace) -> keras.Model:
    """The network, trained by matched targets or by targets in their order."""
    keras.utils.set_random_seed(seed)
    model = detector(options.slots)
    loss = ks.SetLoss(
        pair_cost if method == "matched set" else fixed_order,
        matched_loss,
        NoDigit(options.no_digit_weight),
        target_mask=is_digit,
    )
    steps = options.epochs * -(-len(scenes.images) // options.batch_size)
    rate = keras.optimizers.schedules.CosineDecay(options.learning_rate, steps)
    model.compile(keras.optimizers.Adam(rate), loss=loss, jit_compile=False)  # XLA is slower at convolutions here
    print(f"\n{method}, seed {seed}: {steps} steps of {options.batch_size} scenes", flush=True)
    verbose = command_line.progress()
    model.fit(scenes.images, scenes.targets, batch_size=options.batch_size, epochs=options.epochs, verbose=verbose)
    return model


@register
class SlotPool(keras.layers.Layer):
    """Features `[batch, y, x, channels]` and logits `[batch, slots, y * x]` to the features that each slot looks at.

    Returns the mean features `[batch, slots, channels]` and the mean position `[batch, slots, 2]` under the softmax of
    the logits.
    """

    def call(self, features: tf.Tensor, logits: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Mean features and positions."""
        size, channels = features.shape[1], features.shape[3]
        centers = (tf.range(size, dtype=features.dtype) + 0.5) / size
        positions = tf.reshape(tf.stack(tf.meshgrid(centers, centers), axis=-1), [1, size * size, 2])
        weights = tf.nn.softmax(logits)
        flat = tf.reshape(features, [-1, size * size, channels])
        return tf.matmul(weights, flat), tf.matmul(weights, tf.repeat(positions, tf.shape(weights)[0], axis=0))


def detector(slots: int) -> keras.Model:
    """Images to `[batch, slots, 4 + 11]`: boxes in units of the canvas, and logits of the classes."""
    images = keras.Input((CANVAS, CANVAS, 1), dtype="uint8")
    hidden = keras.layers.Rescaling(1 / 255)(images)
    for filters, size, strides in ((32, 5, 2), (64, 3, 2), (64, 3, 1)):
        hidden = keras.layers.Conv2D(filters, size, strides=strides, padding="same", activation="relu")(hidden)
    # The positions at which a slot looks depend on the whole scene.
    scene = keras.layers.Conv2D(64, 3, strides=2, padding="same", activation="relu")(hidden)
    scene = keras.layers.Dense(256, activation="relu")(keras.layers.Flatten()(scene))
    logits = keras.layers.Reshape((slots, 100))(keras.layers.Dense(slots * 100)(scene))
    found, positions = SlotPool()(hidden, logits)
    found = keras.layers.Dense(128, activation="relu")(found)
    shifts = keras.layers.Rescaling(0.2)(keras.layers.Dense(2, activation="tanh")(found))
    sizes = keras.layers.Dense(2, activation="sigmoid")(found)
    classes = keras.layers.Dense(CLASSES + 1)(found)
    return keras.Model(images, keras.layers.Concatenate()([keras.layers.Add()([positions, shifts]), sizes, classes]))


def table(results: dict[str, list[dict]]) -> str:
    """A line for each method: means over seeds, and their standard deviation."""
    columns = next(iter(results.values()))[0].keys()
    lines = [f"{'':16}" + "".join(f"{column.replace('_', ' '):>18}" for column in columns)]
    for name, measured in results.items():
        cells = [[one[column] for one in measured] for column in columns]
        spread = [f" +- {np.std(cell, ddof=1):.3f}" if len(cell) > 1 else "" for cell in cells]
        texts = [f"{np.mean(cell):.3f}{more}" for cell, more in zip(cells, spread, strict=True)]
        lines.append(f"{name:16}" + "".join(f"{text:>18}" for text in texts))
    return "\n".join(lines)


def main(options: argparse.Namespace) -> dict:
    """Train both ways, print, export, draw."""
    print("Learning to find the digits of a scene")
    digits, unseen = digit_scenes.load(0, 1297), digit_scenes.load(1297, 1797)
    test = digit_scenes.draw_scenes(unseen, options.test_scenes, options.most, seed=1_000_003)
    many = np.sum(test.targets[..., 4] >= 0, axis=1) >= 3
    chosen = np.argsort(~many, kind="stable")[:8]
    results: dict[str, list[dict]] = {name: [] for name in METHODS}
    shown, models = {}, {}
    for seed in options.seeds:
        scenes = digit_scenes.draw_scenes(digits, options.scenes, options.most, seed)
        for name in METHODS:
            models[name] = train(name, scenes, seed, options)
            predictions = models[name].predict(test.images, verbose=0)
            results[name].append(digit_scenes.measure(test.targets, predictions))
            shown[name] = predictions[chosen]
    print(f"\n{options.test_scenes} scenes of unseen digits; a box is right with its class and an IoU of 0.5:")
    print(table(results))
    difference = export_difference(models["matched set"], test.images[:16], options.output / "detector")
    print(f"\nExported to {options.output / 'detector'}; run without XLA: differs by {difference:.1e} from the model.")
    pictured = Scenes(*(part[chosen] for part in test))
    print(f"Picture: {draw_boxes(pictured, shown, options.output / 'digit_detector.png')}")
    return command_line.save_report(options, "digit_detector", results=results, export_difference=difference)


if __name__ == "__main__":
    main(OPTIONS)
