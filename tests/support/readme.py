"""The code of the README and of the pages in `docs/`."""

import re
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"
PAGES = [README, *sorted((README.parent / "docs").glob("*.md"))]


def fenced_blocks(text):
    return re.findall(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def is_tf_ranking(block):
    """Whether it runs on the TF-Ranking stack alone, where `test_tf_ranking_pipeline.py` does."""
    return "import tensorflow_ranking" in block
