"""The data, the checkpoints and the validation of `experiments/knn_images.py`."""

import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[2] / "experiments"))
import knn_images
from _shared import labelled_images

pytestmark = [pytest.mark.default_stack_only, pytest.mark.nightly]


def jpeg_files(images, quality=95):
    """The three arrays of one part of a file of JPEG images."""
    files = [tf.io.encode_jpeg(image, quality=quality).numpy() for image in images]
    return np.frombuffer(b"".join(files), np.uint8), np.cumsum([0, *map(len, files)]), files


def test_jpeg_files_are_decoded(tmp_path, rng):
    parts = {}
    for part, count in (("train", 5), ("test", 3)):
        data, offsets, files = jpeg_files(rng.integers(0, 256, size=(count, 8, 6, 3)).astype("uint8"))
        parts[part] = np.stack([tf.io.decode_jpeg(file).numpy() for file in files])
        parts |= {f"jpeg_{part}": data, f"offset_{part}": offsets, f"y_{part}": np.arange(count)[:, None]}
    arrays = {name: parts[name] for name in parts if "_" in name}
    np.savez(tmp_path / "cifar100_jpeg.npz", **arrays)
    for images, part in zip(labelled_images.load("cifar100", str(tmp_path)), ("train", "test"), strict=True):
        np.testing.assert_array_equal(images.pixels, parts[part].astype("float32") / 255)
        np.testing.assert_array_equal(images.classes, np.arange(len(parts[part])))
    with pytest.raises(ValueError, match="the last offset must be the number of bytes"):
        labelled_images.decode_jpegs(arrays["jpeg_test"][:-1], arrays["offset_test"])


def test_missing_data_says_where_it_belongs(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no cifar10 in .*: expected .*/cifar10.npz .* or .*/cifar10_jpeg.npz"):
        labelled_images.load("cifar10", str(tmp_path))
    np.savez(tmp_path / "mnist.npz", x_train=np.zeros((1, 2, 2)))
    with pytest.raises(ValueError, match=r"mnist.npz must hold .*'x_train', 'y_train'.* got \['x_train'\]"):
        labelled_images.load("mnist", str(tmp_path))


def test_a_failed_download_says_where_data_belongs(monkeypatch):
    def no_network():
        raise OSError("no network")

    monkeypatch.setattr(tf.keras.datasets.mnist, "load_data", no_network)
    with pytest.raises(FileNotFoundError, match=r"mnist could not be downloaded .*put mnist.npz .* by --data-dir"):
        labelled_images.load("mnist", None)


def test_split():
    images = labelled_images.Images(np.arange(5.0), np.arange(5))
    first, last = labelled_images.split(images, 2)
    np.testing.assert_array_equal(first.classes, [0, 1, 2])
    np.testing.assert_array_equal(last.pixels, [3, 4])
    with pytest.raises(ValueError, match="the validation count must be at least 0 and below 5, got 5"):
        labelled_images.split(images, 5)


def options_in(folder, *more):
    sizes = {"train-count": 120, "epochs": 3, "queries": 20, "candidates": 20, "k": 3, "steps-per-epoch": 2}
    arguments = [part for name, value in sizes.items() for part in (f"--{name}", str(value))]
    options = knn_images.parse([*arguments, "--measure-every", "1", "--output", str(folder), *more])
    options.validation_count = 20
    return options


def trained(folder, accuracies, *more):
    """The curve and the weights of a small model, with `accuracies` for those on the validation images."""
    images, _ = labelled_images.load("sklearn", None)
    train = labelled_images.Images(*(part[:100] for part in images))
    options = options_in(folder, *more)
    tf.keras.utils.set_random_seed(0)
    layers = tf.keras.layers
    model = tf.keras.Sequential([tf.keras.Input((8, 8, 1)), layers.Flatten(), layers.Dropout(0.3), layers.Dense(2)])
    model.compile(knn_images.optimizer(options, 0.05), loss=knn_images.ks.DkNNLoss(3, 16.0, num_queries=20))
    batches = labelled_images.queries_and_candidates(train, 20, 20, shift=1, flip=False, seed=0)
    left = iter(accuracies)

    def measure():
        value = next(left)
        if value is None:
            raise KeyboardInterrupt
        return value

    curve = knn_images.fit(model, batches, measure, options, "run")
    return curve, model.get_weights()


@pytest.fixture
def without_tracing():
    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


def test_residual_network_of_18_layers():
    model = labelled_images.encoder((28, 28, 1), [2, 2, 2, 2], 64, None, residual=True)
    sizes = [layer.kernel_size for layer in model.layers if isinstance(layer, tf.keras.layers.Conv2D)]
    assert sizes.count((3, 3)) == 17  # and the linear layer of the classifier
    assert sizes.count((1, 1)) == 3
    assert model.output_shape == (None, 512)
    assert len(labelled_images.encoder((28, 28, 1), [2, 2, 2, 2], 64, None).layers) < 10


@pytest.mark.parametrize("chosen", [[], ["--separate-batches"]])
def test_queries_and_candidates_are_normalized_together_or_by_themselves(chosen, tmp_path, monkeypatch, rng):
    images = labelled_images.Images(rng.random([8, 32, 32, 3], np.float32), np.arange(8) % 2)
    models = []
    monkeypatch.setattr(knn_images, "fit", lambda model, *_: models.append(model))
    network = ["--dataset", "cifar10", "--width", "2", "--queries", "3", "--candidates", "5", "--k", "2"]
    options = options_in(tmp_path, *network, *chosen)
    encoder = knn_images.train_dknn(images, images, options, 0).encoder
    unknown_batch = [tf.TensorSpec([None, 32, 32, 3])]
    found = tf.function(lambda each: models[0](each, training=True), unknown_batch)(images.pixels)
    parts = [images.pixels[:3], images.pixels[3:]] if chosen else [images.pixels]
    np.testing.assert_allclose(found, np.concatenate([encoder(part, training=True) for part in parts]), rtol=1e-4)


@pytest.mark.filterwarnings("ignore:Even though the `tf.config:UserWarning")
@pytest.mark.usefixtures("without_tracing")
@pytest.mark.parametrize(
    ("dataset", "shape", "form"),
    [
        ("cifar10", (32, 32, 3), []),
        ("cifar100", (32, 32, 3), []),
        ("cifar100", (32, 32, 3), ["--stochastic"]),
        ("fashion_mnist", (28, 28), []),
    ],
)
def test_protocol_of_residual_networks_runs_on_images_of_the_shape(dataset, shape, form, tmp_path, rng):
    count = {"train": 30, "test": 6}
    arrays = {f"x_{part}": rng.integers(0, 256, (n, *shape), np.uint8) for part, n in count.items()}
    arrays |= {f"y_{part}": np.arange(n)[:, None] % 10 for part, n in count.items()}
    np.savez(tmp_path / f"{dataset}.npz", **arrays)
    network = ["--residual", "--blocks", "2", "2", "2", "2", "--width", "2", "--shift", "4", "--flip", "--tau", "80"]
    small = ["--queries", "4", "--candidates", "8", "--k", "3", "--epochs", "1", "--steps-per-epoch", "1"]
    more = ["--data-dir", str(tmp_path), "--validation-count", "5", "--measure-every", "1", *form]
    options = knn_images.parse([*network, *small, *more, "--dataset", dataset, "--output", str(tmp_path)])
    train, validation, test = knn_images.load(options)
    for method in (knn_images.train_dknn, *([] if form else [knn_images.train_cross_entropy])):
        found = method(train, validation, options, 0)
        assert found.encoder.output_shape == (None, 16)
        assert 0 <= found.accuracy(test) <= 1
        assert [point["epoch"] for point in found.curve] == [1]


def test_a_resumed_run_equals_one_without_interruption(tmp_path):
    whole, weights = trained(tmp_path / "a", [0.1, 0.5, 0.3])
    with pytest.raises(KeyboardInterrupt):
        trained(tmp_path / "b", [0.1, None])
    resumed, found = trained(tmp_path / "b", [0.5, 0.3], "--resume")
    assert [point["accuracy"] for point in resumed] == [0.1, 0.5, 0.3]
    assert [point["loss"] for point in resumed] == pytest.approx([point["loss"] for point in whole], rel=1e-6)
    np.testing.assert_allclose(found[0], weights[0], rtol=1e-5, atol=1e-7)
    # The best epoch is returned. Only the best and the last one are kept.
    names = sorted(path.name for path in (tmp_path / "b/checkpoints/run").iterdir())
    assert names == ["best_2.weights.h5", "epoch_3.npz", "state.json"]
    with np.load(tmp_path / "b/checkpoints/run/epoch_3.npz") as last:
        assert not np.allclose(found[0], last["0"])
    again, same = trained(tmp_path / "b", [], "--resume")  # nothing is left to do
    assert again == resumed
    np.testing.assert_array_equal(same[0], found[0])
    with pytest.raises(ValueError, match=r"holds a run with other options, \['tau'\]"):
        trained(tmp_path / "b", [], "--resume", "--tau", "3")


@pytest.mark.filterwarnings("ignore:Even though the `tf.config:UserWarning")
@pytest.mark.usefixtures("without_tracing")
def test_it_runs_and_reports_accuracies_on_test_images(tmp_path):
    report = knn_images.main(options_in(tmp_path, "--methods", "dknn", "cross_entropy", "--seeds", "0"))
    assert set(report["results"]) == set(knn_images.TRAINED.values())
    assert all(0.05 < accuracy <= 1 for (accuracy,) in report["results"].values())
    assert [point["epoch"] for point in report["curves"][knn_images.TRAINED["dknn"]][0]] == [1, 2, 3]
    assert (tmp_path / "knn_images.png").exists()
