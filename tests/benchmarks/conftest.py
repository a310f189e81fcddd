"""Fixtures of the tests of scripts in `benchmarks`."""

import importlib
from pathlib import Path

import pytest
import tensorflow as tf

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def script(monkeypatch):
    """Import a script of `benchmarks` by its name."""
    for folder in ("tools", "operators", "precision", "pipelines"):
        monkeypatch.syspath_prepend(str(BENCHMARKS / folder))
    return importlib.import_module


@pytest.fixture
def without_tracing():
    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)
