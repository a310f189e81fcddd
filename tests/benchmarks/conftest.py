"""Fixtures of the tests of scripts in `benchmarks`."""

import importlib
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def script(monkeypatch):
    """Import a script of `benchmarks/training` by its name."""
    for folder in ("tools", "training"):
        monkeypatch.syspath_prepend(str(BENCHMARKS / folder))
    return importlib.import_module
