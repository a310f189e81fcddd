"""Train with the programs of `export_dknn.py` on the device of this machine, by jax.

It does what `dknn_published.py` does: the same batches of an epoch, and the same accuracies on validation images, the
last ones of the file. `--images` holds JPEG files as `_shared/labelled_images.py` says. The results are written after
each epoch.

    python experiments/run_dknn.py FOLDER --images cifar10_jpeg.npz --json benchmarks/results/dknn_gpu.json
"""

from __future__ import annotations

import functools
import itertools
import sys
import time
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

sys.path += [str(Path(__file__).parents[1] / "benchmarks" / name) for name in ("tools", "accelerators")]

import harness
import jax
import numpy as np
import run_hlo
from _shared import published_dknn
from PIL import Image


def decoded(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Images, as bytes, and their classes."""
    with np.load(path) as file:
        data, offsets, classes = file["jpeg_train"].tobytes(), file["offset_train"], file["y_train"]
    pixels = [np.asarray(Image.open(BytesIO(data[start:end]))) for start, end in itertools.pairwise(offsets)]
    return np.stack(pixels), classes.reshape(-1).astype("int32")


class Training:
    """The programs of a method, and its state."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.start, self.step, self.outputs = (
            compiled(folder / f"{name}.hlo") for name in ("start", "step", "outputs")
        )
        self.is_dknn = (folder / "votes.hlo").exists()
        if self.is_dknn:
            self.votes = compiled(folder / "votes.hlo")
        self.random = np.random.default_rng(seed)
        self.state = self.start(np.array([seed, 0], "int32"))

    def train(self, pixels: jax.Array, classes: jax.Array, count: int) -> float:
        """An epoch of the first `count` images: each is a query once and a candidate once. The mean loss."""
        size = self.step.sizes[2]
        orders = [self.random.permutation(count) for _ in range(1 + self.is_dknn)]
        batches = np.concatenate([each.reshape(-1, size // len(orders)) for each in orders], axis=1).astype("int32")
        losses = []
        for chosen in batches:
            loss, *self.state = self.step(pixels, classes, chosen, self._seed(), *self.state)
            losses.append(loss)
        return float(np.mean(jax.device_get(losses)))

    def accuracy(self, pixels: jax.Array, classes: np.ndarray, count: int) -> float:
        """On the images after the first `count`."""
        found = self._outputs_of(pixels, np.arange(count, len(classes)))
        if self.is_dknn:
            references = jax.numpy.concatenate(self._outputs_of(pixels, np.arange(count)))
            found = [self.votes(each, references, classes[:count])[0] for each in found]
        return float(np.mean(np.argmax(np.concatenate(jax.device_get(found)), axis=1) == classes[count:]))

    def _outputs_of(self, pixels: jax.Array, chosen: np.ndarray) -> list[jax.Array]:
        """Embeddings or logits, in parts."""
        parts = chosen.astype("int32").reshape(-1, self.outputs.sizes[1])
        weights = self.state[: len(self.outputs.sizes) - 3]
        return [self.outputs(pixels, each, self._seed(), *weights)[0] for each in parts]

    def _seed(self) -> np.ndarray:
        return self.random.integers(0, 2**31 - 1, 2, dtype="int32")


class Program:
    """The program of a file, and the first sizes of its inputs."""

    def __init__(self, path: Path) -> None:
        exported = run_hlo.converted(path.read_bytes(), run_hlo.PLATFORM)
        self.function = jax.jit(exported.call)
        self.sizes = [each.shape[0] if each.shape else None for each in exported.in_avals]

    def __call__(self, *inputs: jax.Array | np.ndarray) -> list[jax.Array]:
        """The results on the device."""
        return self.function(*inputs)


compiled = functools.cache(Program)  # once for all seeds


def main() -> None:
    parser = harness.new_parser(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--images", type=Path, required=True, help="a file of images as JPEG")
    parser.add_argument("--methods", nargs="+", choices=published_dknn.TITLES, default=list(published_dknn.TITLES))
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--validation-count", type=int, default=5000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], help="a training of each method with each")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="no epoch starts later than that")
    parser.add_argument("--picture", type=Path, help="also draw the curves")
    options = parser.parse_args()
    started = time.monotonic()
    pixels, classes = decoded(options.images)
    count = len(classes) - options.validation_count
    on_device = jax.device_put(pixels), jax.device_put(classes)
    found: list[harness.Row] = []

    def rows() -> Iterator[harness.Row]:
        for method, seed in itertools.product(options.methods, options.seeds):
            training = Training(options.folder / method, seed)
            for epoch in range(1, options.epochs + 1):
                begun = time.monotonic()
                if begun - started > options.seconds:
                    break
                loss = training.train(*on_device, count)
                accuracy = training.accuracy(on_device[0], classes, count)
                row = published_dknn.row(method, seed, epoch, accuracy, time.monotonic() - begun)
                found.append(row | {"loss": round(loss, 4)})
                yield found[-1]

    device = {"device": jax.devices()[0].device_kind, "jax": jax.__version__}
    tables = {"device": [device], "epochs": rows(), "beside": published_dknn.beside(found)}
    harness.publish("dknn_gpu", tables, options.json)
    if options.picture:
        published_dknn.draw(found, options.picture)


if __name__ == "__main__":
    main()
