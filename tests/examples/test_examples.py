"""Every example is one file that learns from real data, beats chance, and draws a picture."""

import ast
import importlib
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py"))
TINY = {
    "jigsaw": {"steps": 2},
    "knn_digits": {"epochs": 2},
    "learning_to_rank": {"count": 2, "epochs": 2},
    "ranking_trees": {"splits": 1, "rounds": 3, "count": 5},
    "serve_ranker": {"epochs": 2, "requests": 2},
    "sort_digits": {"steps": 3},
}


@pytest.fixture
def example(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return importlib.import_module


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`shuffle=True` was passed:UserWarning")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "sort_digits" else [pytest.mark.nightly]) for name in NAMES]
)
def test_runs_prints_and_draws(name, example, tmp_path, capsys):
    results = example(name).main(**TINY[name], output=tmp_path)
    assert len(results) >= 2  # ours, and a baseline
    assert f"Picture: {tmp_path / name}.png" in capsys.readouterr().out
    assert (tmp_path / f"{name}.png").stat().st_size > 10_000


@pytest.mark.parametrize("name", NAMES)
def test_is_one_file_that_can_be_copied(name):
    """An example imports no file of the repository and no private module of the package."""
    tree = ast.parse((EXAMPLES / f"{name}.py").read_text())
    imports = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
    modules = [each.name for node in imports for each in node.names if isinstance(node, ast.Import)]
    modules += [node.module for node in imports if isinstance(node, ast.ImportFrom)]
    assert not {module.partition(".")[0] for module in modules} & {"_shared", "harness", *NAMES}
    assert not [module for module in modules if "._" in module or module.startswith("keras_softsort.ops.")]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_help_says_how_long_it_takes(name, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [f"examples/{name}.py", "--help"])
    with pytest.raises(SystemExit, match=r"^0$"):
        runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    text = capsys.readouterr().out
    assert f"python examples/{name}.py" in text
    assert "on two CPU cores; downloads nothing" in text


@pytest.mark.slow
@pytest.mark.nightly
def test_sorting_is_learned_in_a_few_hundred_steps(example, tmp_path):
    results = example("sort_digits").main(steps=300, output=tmp_path)
    assert results["NeuralSort"] > 0.25 > 10 * results["chance"]


def test_numbers_of_the_lists_and_their_ranks(example):
    module = example("sort_digits")
    images, numbers = module.sample_lists("test", 4, seed=0)
    assert images.shape == (4, module.SIZE, *module.SHAPE)
    assert (numbers >= 0).all()
    assert (numbers < 100).all()
    np.testing.assert_array_equal(module.ranks(np.array([[7.0, 91, 7, 3]])), [[2.5, 1, 2.5, 4]])


@pytest.mark.slow
def test_puzzles_are_cut_from_other_photographs_and_solved_by_true_neighbors(example):
    module = example("jigsaw")
    train, test = ([sizes[0] for sizes in module.photographs(split)] for split in ("train", "test"))
    assert not [1 for one in train for other in test if one.shape == other.shape and np.allclose(one, other)]
    pieces, positions = module.puzzles("test", 6, seed=0)
    assert pieces.shape == (6, module.N, module.PIECE, module.PIECE, 3)
    truth = np.argsort(positions, axis=1)
    neighbor = module.neighbors(positions)
    np.testing.assert_array_equal(neighbor.sum(axis=(2, 3)), module.K * (module.K - 1))
    for puzzle in range(6):
        grid = truth[puzzle].reshape(module.K, module.K)
        assert neighbor[puzzle, 0, grid[:, :-1], grid[:, 1:]].all()
        assert neighbor[puzzle, 1, grid[:-1], grid[1:]].all()
    exact, soft = module.search(5 * neighbor)
    np.testing.assert_array_equal(exact, truth)
    np.testing.assert_array_equal(soft.argmax(axis=-1), truth)
    np.testing.assert_allclose(soft.sum(axis=-1), 1, atol=0.02)  # after 20 iterations


def test_a_network_of_neighbors_treats_both_directions_alike(example):
    """Below in a puzzle is to the right in the mirrored one, whose pieces have rows and columns exchanged."""
    module = example("jigsaw")
    pieces, _ = module.puzzles("test", 2, seed=0)
    fit = module.scorer()
    right, below = np.moveaxis(fit(pieces).numpy(), 1, 0)
    mirrored = fit(pieces.swapaxes(2, 3)).numpy()
    np.testing.assert_allclose(mirrored, np.stack([below, right], axis=1), atol=1e-4)
    assert np.abs(right - below).max() > 0.01


@pytest.mark.slow
@pytest.mark.nightly
def test_what_is_learned_adds_to_borders(example, tmp_path):
    results = example("jigsaw").main(output=tmp_path)
    assert results["learned"] > results["search by borders"] > results["greedy by borders"] > 0.3  # chance is 0.11


def test_the_page_has_every_example():
    page = (EXAMPLES / "README.md").read_text()
    for name in NAMES:
        assert f"`python examples/{name}.py`" in page
        assert f"](../docs/pictures/{name}.png)" in page


def test_help_of_workers_has_defaults_and_wrong_arguments_are_refused():
    script = str(EXAMPLES / "several_machines" / "train.py")
    # Importing TensorFlow is an error: a wrong argument is refused before.
    check = """
import os, runpy, sys
sys.modules.update(tensorflow=None, keras_softsort=None)
sys.argv = sys.argv[1:]
sys.path[0] = os.path.dirname(sys.argv[0])
runpy.run_path(sys.argv[0], run_name="__main__")
"""

    def outcome(*arguments):
        done = subprocess.run(
            [sys.executable, "-c", check, script, *arguments], capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout + done.stderr

    code, text = outcome("--help")
    assert code == 0
    assert "steps per epoch (default: 100)" in text
    assert "It downloads nothing" in text
    code, text = outcome("train", "--features", "0", "--output", "x")
    assert code == 2
    assert "argument --features: must be an integer of at least 1, got '0'" in text
