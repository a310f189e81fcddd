"""Fixtures of the tests of `experiments`."""

import importlib
from pathlib import Path

import pytest
import tensorflow as tf

ROOT = Path(__file__).parents[2]


@pytest.fixture
def script(monkeypatch):
    """Import a script of `experiments`, or a part of `benchmarks/tools`, by its name."""
    for folder in ("benchmarks/tools", "experiments"):
        monkeypatch.syspath_prepend(str(ROOT / folder))
    return importlib.import_module


@pytest.fixture
def without_tracing():
    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)
