"""Every experiment runs on tiny settings, and refuses bad arguments before TensorFlow is imported."""

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from support import models

pytestmark = [pytest.mark.default_stack_only, pytest.mark.nightly]

FOLDER = Path(__file__).parents[2] / "experiments"
# They print a report and draw a picture; the other scripts of the folder print tables.
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if "command_line.new_parser" in path.read_text())
TINY = {
    "digit_detector": ["--scenes", "2", "--batch-size", "2", "--test-scenes", "8", "--most", "2", "--slots", "2"],
    "jigsaw": ["--steps", "2"],
    "median": ["--steps", "2", "--test-lists", "20", "--no-baselines"],
    "number_sorting": ["--steps", "2", "--test-lists", "5"],
    "ranknet_gradients": ["--wards", "2", "--sizes", "5"],
    "recommender_slate": [
        *("--steps", "1", "--test-every", "1", "--test-visits", "4", "--candidates", "6"),
        *("--history", "attention"),
    ],
    "digits": ["--steps", "2", "--test-lists", "20"],
    "clicks_to_ranker": ["--seeds", "1", "--steps", "1", "--wards", "5", "--sessions", "50"],
    "travel_choices": [],
    "tabular_ranks": ["--seeds", "1", "--epochs", "1"],
}
BAD = {
    "digit_detector": [(["--slots", "3"], "--slots must be at least --most 5, got 3")],
    "jigsaw": [(["--pieces", "1"], "--pieces: must be at least 2, got 1")],
    "knn_images": [(["--k", "101"], "--k must be at most --candidates 100, got 101")],
    "median": [
        (["--list-size", "4"], "--list-size must be odd"),
        (["--tau", "0"], "--tau: must be positive and finite, got 0"),
    ],
    "recommender_slate": [
        (["--places", "12"], "--places must be at most --candidates 10, got 12"),
        (["--candidates", "90"], "--candidates must be at most 89, got 90"),
    ],
    "digits": [
        (["--steps", "0"], "--steps: must be at least 1, got 0"),
        (["--list-size", "1"], "--list-size: must be at least 2, got 1"),
        (["--steps", "many"], "--steps: expected an integer, got 'many'"),
        (["--dataset", "mnist", "--data-dir", "nowhere"], "--data-dir: expected a file nowhere/mnist.npz"),
        (["--operator", "lapsum"], "--operator lapsum forms no permutation: it needs --loss ranks"),
        (["--loss", "ranks", "--stochastic"], "--stochastic needs --loss order"),
    ],
}
CHECK = """
import contextlib, io, json, os, runpy, sys
sys.modules.update({"tensorflow": None, "keras_softsort": None})  # importing them is an error
found = []
for path, arguments in json.loads(sys.argv[1]):
    sys.argv, output = [path, *arguments], io.StringIO()
    sys.path[0] = os.path.dirname(path)
    try:
        with contextlib.redirect_stderr(output), contextlib.redirect_stdout(output):
            runpy.run_path(path, run_name="__main__")
    except SystemExit as end:
        found.append([end.code, output.getvalue()])
print(json.dumps(found))
"""


@pytest.fixture
def experiment(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module


@pytest.fixture
def eager_training(experiment, monkeypatch):
    """Train without tracing, which takes longer than a few steps. Exports are traced."""
    exports = experiment("_shared.exports")
    real_export = exports.export

    def export(model, folder):
        tf.config.run_functions_eagerly(False)
        real_export(model, folder)

    monkeypatch.setattr(exports, "export", export)
    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


def check_run(module, name, arguments, folder, printed):
    module.main(module.parse(["--quick", "--output", str(folder), *arguments]))
    text = printed.readouterr()
    # Keras 2 has no way to export in silence.
    assert not models.IS_KERAS_3 or "Captures:" not in text.out + text.err
    assert "Picture: " in text.out
    assert [path.stem for path in folder.glob("*.png")] == [name]
    assert json.loads((folder / f"{name}.json").read_text())["options"]["quick"] == "True"


@pytest.mark.filterwarnings("ignore:Even though the `tf.config.experimental_run_functions_eagerly`:UserWarning")
@pytest.mark.parametrize("name", [name for name in NAMES if name != "knn_images"])
@pytest.mark.usefixtures("eager_training")
def test_runs_on_tiny_settings(name, experiment, tmp_path, capfd, monkeypatch):
    module = experiment(name)
    if name == "jigsaw":  # no process of its own for the export
        monkeypatch.setattr(module, "agrees_in_new_process", lambda solver, pieces, folder: True)
    if name == "number_sorting":
        monkeypatch.setattr(module, "INTERVALS", module.INTERVALS[:2])
    check_run(module, name, TINY[name], tmp_path, capfd)


@pytest.mark.parametrize("name", NAMES)
def test_quick_runs(name, experiment, tmp_path, capfd):
    check_run(experiment(name), name, [], tmp_path, capfd)


@pytest.mark.parametrize("quick", [False, True])
def test_pictures_of_quick_runs_say_so(quick, experiment, tmp_path):
    style = experiment("_shared.pictures.style")
    experiment("median").parse(["--output", str(tmp_path), *["--quick"] * quick])
    figure = style.plt.figure()
    style.save(figure, tmp_path / "picture.png")
    assert [text.get_text() for text in figure.texts] == ["quick run, not trained"] * quick


def outcomes(calls: list) -> list:
    """The exit code and the messages of each call of an experiment, in a process that cannot import TensorFlow."""
    calls = [(str(FOLDER / f"{name}.py"), arguments) for name, arguments in calls]
    command = [sys.executable, "-c", CHECK, json.dumps(calls)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def test_bad_arguments_are_refused_before_tensorflow_is_imported():
    calls = [(name, arguments, message) for name, cases in BAD.items() for arguments, message in cases]
    for (name, arguments, message), (code, text) in zip(calls, outcomes([each[:2] for each in calls]), strict=True):
        assert code == 2, (name, arguments)
        assert message in text, (name, arguments, text)


def test_help_states_defaults_and_what_quick_sets():
    for name, (code, text) in zip(NAMES, outcomes([(name, ["--help"]) for name in NAMES]), strict=True):
        assert code == 0, name
        assert "(default: " in text, name
        assert "--quick" in text, name


def test_missing_extra_is_named(experiment, monkeypatch, tmp_path, capsys):
    module = experiment("digits")
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "sklearn" else find_spec(name))
    with pytest.raises(SystemExit):
        module.parse(["--output", str(tmp_path)])
    assert 'scikit-learn not installed. From the clone: pip install ".[examples]"' in capsys.readouterr().err


@pytest.mark.skipif(os.geteuid() == 0, reason="root can write everywhere")
def test_output_folder_that_cannot_be_written(experiment, tmp_path, capsys):
    tmp_path.chmod(0o500)
    with pytest.raises(SystemExit):
        experiment("median").parse(["--output", str(tmp_path)])
    assert "cannot write to the folder" in capsys.readouterr().err


@pytest.mark.parametrize("chosen", [[], ["--dropout", "0.1"]])
@pytest.mark.parametrize("name", ["median", "digits"])
@pytest.mark.filterwarnings("ignore:Even though the `tf.config.experimental_run_functions_eagerly`:UserWarning")
@pytest.mark.usefixtures("eager_training")
def test_networks_that_read_numbers_have_the_dropout_chosen(name, chosen, experiment, tmp_path, monkeypatch):
    keras, rates, module = tf.keras, [], experiment(name)
    monkeypatch.setattr(keras.layers, "Dropout", lambda rate: rates.append(rate) or keras.layers.Identity())
    monkeypatch.setattr(module, "export_difference", lambda *_: 0.0)
    settings = ["--steps", "1", "--test-lists", "3", "--batch-size", "1", "--output", str(tmp_path)]
    module.main(module.parse([*settings, *chosen]))
    rate = float(chosen[1]) if chosen else 0.3
    assert rates == [rate] * 6  # two in the model, in the baseline and in the ceiling


class TestDigitScenes:
    """Scenes, and the measures of boxes on them."""

    @pytest.fixture
    def scenes(self, experiment):
        module = experiment("_shared.digit_scenes")
        return module, module.draw_scenes(module.load(1700, 1797), 12, 4, seed=0)

    def test_boxes_are_where_ink_is(self, scenes):
        module, (images, targets) = scenes
        assert images.shape == (12, module.CANVAS, module.CANVAS, 1)
        for image, target in zip(images[..., 0], targets, strict=True):
            real = target[target[:, 4] >= 0]
            assert (target[len(real) :] == [0, 0, 0, 0, -1]).all()
            assert 1 <= len(real) <= 4
            inked = np.zeros_like(image, bool)
            for x, y, width, height, _ in module.CANVAS * real:
                box = (
                    slice(round(y - height / 2), round(y + height / 2)),
                    slice(round(x - width / 2), round(x + width / 2)),
                )
                assert image[box].max() > 200
                inked[box] = True
            assert not image[~inked].any()

    def test_measures(self, scenes):
        module, (_, targets) = scenes
        truth = np.concatenate([targets[..., :4], np.eye(11, dtype="float32")[targets[..., 4].astype(int)]], axis=-1)
        assert set(module.measure(targets, truth[:, ::-1]).values()) == {1.0}
        digits = np.sum(targets[..., 4] >= 0)
        twice = np.concatenate([truth, truth], axis=1)  # every box once more
        assert module.measure(targets, twice)["precision"] == 0.5
        moved = truth.copy()
        moved[0, 0, 0] += moved[0, 0, 2] / 2  # the IoU is 1/3
        assert module.measure(targets, moved)["recall"] == pytest.approx(1 - 1 / digits)
        named = truth.copy()
        named[1, 0, 4:] = np.roll(named[1, 0, 4:], 1)
        assert module.measure(targets, named)["scenes_right"] == pytest.approx(11 / 12)


class TestPuzzles:
    """Measures of reassembled images."""

    def test_a_soft_permutation_of_ones_is_measured_as_its_order(self, experiment, rng):
        puzzles = experiment("_shared.puzzles")
        pieces, truth = puzzles.shuffled(rng.random((5, 4, 3, 3, 1), np.float32), seed=0)
        order = np.concatenate([truth[:2], puzzles.shuffled(pieces, seed=1)[1][2:]])
        permutation = np.eye(4, dtype=np.float32)[order].swapaxes(1, 2)
        expected = puzzles.measure(pieces, order, truth)
        assert puzzles.measure_soft(pieces, permutation, truth) == pytest.approx(expected, abs=1e-6)
        uniform = puzzles.measure_soft(pieces, np.full_like(permutation, 0.25), truth)
        mean = np.abs(pieces.mean(axis=1, keepdims=True) - puzzles.in_order(pieces, truth)).mean()
        assert uniform["l1"] == pytest.approx(mean, rel=1e-5)
        assert uniform["wrong"] == np.mean(truth != 0)


class TestSlateSearch:
    """Slates of the simulated shop, against all slates."""

    @pytest.fixture
    def shop(self, experiment):
        search, wines = experiment("_shared.slate_search"), experiment("_shared.wine_shop")
        visits = wines.draw_visits(wines.wines()[1], 12, 7, np.random.default_rng(0))
        return search, wines, visits, wines.likings(visits).numpy(), wines.likenesses(visits).numpy()

    @pytest.mark.parametrize("places", [1, 3, 7])
    def test_search_lies_between_greedy_and_the_bound(self, shop, places):
        search, wines, visits, liking, likeness = shop
        seen = 0.8 ** np.arange(places)
        slates = {
            "greedy": search.beam_search(liking, likeness, seen, 1),
            "beam": search.beam_search(liking, likeness, seen, 1000),
            "best": search.best_slates(liking, likeness, seen),
        }
        for slate in slates.values():
            assert slate.shape == (12, places)
            assert all(len(set(one)) == places for one in slate.tolist())
        reward = {name: search.rewards(slate, liking, likeness, seen) for name, slate in slates.items()}
        one_hot = np.eye(7, dtype=np.float32)[slates["best"]]
        np.testing.assert_allclose(wines.rewards(visits, one_hot, 0.8), reward["best"], rtol=1e-4)
        assert np.all(reward["greedy"] <= reward["beam"] + 1e-6)
        assert np.all(reward["beam"] <= reward["best"] + 1e-6)
        assert np.all(reward["best"] <= search.upper_bounds(liking, likeness, seen) + 1e-6)
        found = search.with_exchanges(slates["greedy"][:, ::-1], liking, likeness, seen)
        assert np.all(np.sort(found) < 7)
        assert all(len(set(one)) == places for one in found.tolist())
        improved = search.rewards(found, liking, likeness, seen)
        assert np.all(reward["greedy"] * 0.95 <= improved)
        assert np.all(improved <= reward["best"] + 1e-6)
        several = search.best_of([slates["greedy"], slates["best"], found], liking, likeness, seen)
        np.testing.assert_allclose(search.rewards(several, liking, likeness, seen), reward["best"])
        if places < 7:  # wide enough for all partial slates
            np.testing.assert_allclose(reward["beam"], reward["best"], rtol=1e-6)

    def test_determinantal_slates_maximize_the_determinant_place_by_place(self, shop):
        search, _, _, liking, likeness = shop
        slates = search.determinantal_slates(liking, likeness, 5)
        for slate, quality, like in zip(slates, liking, likeness.astype(np.float64), strict=True):
            kernel = quality[:, None] * like * quality
            for place in range(5):
                free = [item for item in range(7) if item not in slate[:place]]
                sets = [[*slate[:place], item] for item in free]
                determinants = [np.linalg.det(kernel[np.ix_(one, one)]) for one in sets]
                assert slate[place] == free[int(np.argmax(determinants))]

    def test_attention_takes_a_mean_where_a_sum_grows(self, experiment):
        module = experiment("_shared.slate_network")
        difference = tf.random.stateless_uniform([2, 5, 13], [1, 2])
        for attends in (False, True):
            network = module.new_network(13, 4, attends)
            values = network.look(difference)[..., : module.SEEN]
            seen, total = tf.zeros_like(values), tf.ones_like(values)
            for _ in range(50):
                seen, total = module.look_at(network, difference, seen, total)
            if attends:  # relative to the weight of 1 that an empty slate has
                np.testing.assert_allclose(seen, values * (1 - 1 / total), rtol=1e-4, atol=1e-6)
                assert np.all(total > 2)
            else:
                np.testing.assert_allclose(seen, 50 * values, rtol=1e-4, atol=1e-6)

    @pytest.mark.usefixtures("eager_training")
    def test_thirty_places_of_sixty_candidates(self, experiment, tmp_path):
        module = experiment("recommender_slate")
        arguments = ["--places", "30", "--candidates", "60", "--test-visits", "3", "--steps", "1", "--batch-size", "2"]
        options = module.parse(["--quick", *arguments, "--output", str(tmp_path)])
        visits = module.draw_visits(module.split_wines(options)[1], 3, 60, np.random.default_rng(0))
        test = module.Visits(*map(tf.constant, visits))
        slates, known = module.baselines(test, options)
        assert known["greedy by true gain"] <= known["beam search, 32 wide"] * (1 + 1e-6)
        assert known["beam search, 32 wide"] <= known["beam search, 32 wide, exchanges"]
        assert list(known)[-1] == "best slates known"
        assert max(known[name] for name in slates) == known["best slates known"] <= known["upper bound of all slates"]
        learned, curve = module.train("gumbel hard", 0, test, options)
        for slate in [learned, *slates.values()]:
            assert slate.shape == (3, 30)
            assert all(len(set(one)) == 30 for one in slate.tolist())
        assert len(curve) == 1
