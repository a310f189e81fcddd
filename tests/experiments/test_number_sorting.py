"""Restarts of `experiments/number_sorting.py`: chosen by an error that needs no rank."""

import importlib
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytestmark = [pytest.mark.default_stack_only, pytest.mark.nightly]

sys.path.insert(0, str(Path(__file__).parents[2] / "experiments"))
number_sorting = importlib.import_module("number_sorting")


def options(*arguments, folder):
    return number_sorting.parse([*arguments, "--output", str(folder)])


@pytest.mark.parametrize(
    ("errors", "chosen"), [([3.0, 1.0, 2.0], 1), ([3.0, 0.0, -1.0], 1), ([0.0, -1.0, -1.0], 0), ([3.0, 4e-18, -1.0], 1)]
)
def test_restart_of_least_training_error_counts_and_none_follows_one_without_errors(
    errors, chosen, monkeypatch, tmp_path
):
    monkeypatch.setattr(number_sorting, "train", lambda size, seed, shown, options: (seed // 1_000_000, []))
    monkeypatch.setattr(number_sorting, "training_error", lambda hard, size, options, seed: errors[hard])
    best, _, trainings = number_sorting.train_best(5, 2, None, options("--restarts", "3", folder=tmp_path))
    assert best == chosen
    assert trainings == (3 if errors[2] == 2 else chosen + 1)


def test_one_training_is_not_measured(monkeypatch, tmp_path):
    monkeypatch.setattr(number_sorting, "train", lambda size, seed, shown, options: ("only", []))
    monkeypatch.setattr(number_sorting, "training_error", None)
    assert number_sorting.train_best(5, 0, None, options(folder=tmp_path))[0] == "only"


def test_training_error_is_that_of_the_matched_list(tmp_path):
    def matching(order):
        return SimpleNamespace(predict=lambda lists, **_: np.eye(lists.shape[1])[order(lists)])

    def swapped(lists):
        order = np.argsort(lists)
        order[:, :2] = order[:, 1::-1]
        return order

    settings = options("--steps", "7", folder=tmp_path)
    numbers = np.sort(np.random.default_rng([3, 7]).uniform(size=[100, 4]).astype(np.float32))
    assert number_sorting.training_error(matching(np.argsort), 4, settings, 3) == 0
    expected = 2 * np.mean((numbers[:, 1] - numbers[:, 0]) ** 2) / 4
    assert number_sorting.training_error(matching(swapped), 4, settings, 3) == pytest.approx(expected, rel=1e-5)
