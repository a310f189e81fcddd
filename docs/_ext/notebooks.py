"""Converts the programs in `docs/notebooks/` to Jupyter notebooks, which the site runs and shows.

As on keras.io, a string at the top level is a Markdown cell, and the code between two strings is a code cell. The first
string has the title, and lines such as "Author: name".

    python docs/_ext/notebooks.py docs/notebooks/listwise_ranking.py    # writes listwise_ranking.ipynb beside it
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import Any

import nbformat
from nbformat import v4


def to_notebook(text: str) -> nbformat.NotebookNode:
    """Convert the text of a program."""
    lines, end, cells = text.splitlines(), 0, []

    def add(make_cell: Any, source: str) -> None:
        if source.strip():  # numbered, so that the same text gives the same file
            cells.append(make_cell(source.strip(), id=f"cell-{len(cells)}"))

    for node in ast.parse(text).body:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            add(v4.new_code_cell, "\n".join(lines[end : node.lineno - 1]))
            add(v4.new_markdown_cell, node.value.value if cells else with_title(node.value.value))
            end = node.end_lineno or len(lines)
    add(v4.new_code_cell, "\n".join(lines[end:]))
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})


def with_title(text: str) -> str:
    """Write the first string in Markdown: its title as a heading, and its other lines with a bold name."""
    text = re.sub(r"^Title: *(.*)\n", r"# \1\n\n", text.strip())
    return re.sub(r"^(\w[\w ]*):", r"- **\1:**", text, flags=re.MULTILINE)


def write_notebook(path: Path) -> None:
    """Write the notebook of a program beside it, if it has changed."""
    notebook, text = path.with_suffix(".ipynb"), nbformat.writes(to_notebook(path.read_text()))
    if not notebook.exists() or notebook.read_text() != text:
        notebook.write_text(text)


def write_notebooks(app: Any) -> None:
    """Write the notebook of each program."""
    for path in (Path(app.srcdir) / "notebooks").glob("*.py"):
        write_notebook(path)


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("builder-inited", write_notebooks)
    return {"parallel_read_safe": True}


if __name__ == "__main__":
    for name in sys.argv[1:]:
        write_notebook(Path(name))
