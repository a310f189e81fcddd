"""What tests of the scripts in `benchmarks` share."""

import importlib
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def script(monkeypatch):
    """A function that imports a script of `benchmarks/training` by its name."""
    for folder in ("tools", "training"):
        monkeypatch.syspath_prepend(str(BENCHMARKS / folder))
    return importlib.import_module
