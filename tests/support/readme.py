"""The code of the README and of the pages in `docs/`."""

import importlib.util
import re
import sys
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"
TF_RANKING_PAGE = README.parent / "docs" / "guides" / "tf-ranking.md"
SOURCES = [page for page in (README.parent / "docs").rglob("*.md") if page.parent.name != "results"]
PAGES = [README, *sorted(page for page in SOURCES if "```python" in page.read_text())]


def fenced_blocks(text):
    return re.findall(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def cells(text):
    """The code of the cells of a page that the site runs."""
    return re.findall(r"^```\{code-cell\}[^\n]*\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def is_of_an_engine(block):
    """Whether it runs on Spark or Beam: `tests/test_workers.py` runs it."""
    return any(name in block for name in ("spark", "beam"))


def is_of_a_missing_framework(block):
    """Whether it runs with JAX, PyTorch or onnxruntime, which is not installed: sessions of nox install them.

    PyTorch also counts as missing where TensorFlow was imported first, which ends the process.
    """
    if "import torch" in block and "torch._dynamo" not in sys.modules:
        return True
    names = ("jax", "onnxruntime")
    return any(f"import {name}" in block and importlib.util.find_spec(name) is None for name in names)


def is_tf_ranking(block):
    """Whether it runs on the TF-Ranking stack alone, where `tests/tf_ranking/test_pipelines.py` does."""
    return "import tensorflow_ranking" in block
