"""Puts the pages of `benchmarks/results/` and the included files of the root on the site, with links of the site."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any


def with_links_of_the_site(text: str) -> str:
    """A page of results with its links relative to `docs/results/`; of links to other files only the text stays."""
    text = text.replace("](../../docs/", "](../")
    return re.sub(r"(?<!!)\[([^]]*)\]\(\.\./(?!concepts|guides|pictures|\w+\.md)[^)]*\)", r"\1", text)


def write_pages(app: Any) -> None:
    """Write the pages, leave files alone that have not changed, and remove those of results that are gone."""
    source, folder = Path(app.srcdir).parent / "benchmarks" / "results", Path(app.srcdir) / "results"
    folder.mkdir(exist_ok=True)
    pages = {path.name: with_links_of_the_site(path.read_text()) for path in source.glob("*.md")}
    for path in folder.glob("*.md"):
        if path.name not in pages:
            path.unlink()
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def link_to_pages(app: Any, docname: str, source: list[str]) -> None:
    """Links to `benchmarks/results/` in the repository become links to the site's pages."""
    source[0] = re.sub(r"\]\((?:\.\./)+benchmarks/results/(\w+\.md)", r"](/results/\1", source[0])


def include_file_of_the_root(app: Any, docname: str, source: list[str]) -> None:
    """A page that includes a file of the repository's root becomes its text, with the links of the site."""
    if included := re.fullmatch(r"```\{include\} \.\./(\w+\.md)\n```\n", source[0]):
        path = Path(app.srcdir).parent / included[1]
        app.env.note_dependency(str(path), docname=docname)
        text = re.sub(r"(?<!!)\[([^]]*)\]\((?!https?://|docs/|benchmarks/results/)[^)]*\)", r"\1", path.read_text())
        source[0] = text.replace("](docs/", "](").replace("](benchmarks/results/", "](/results/")


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("builder-inited", write_pages)
    app.connect("source-read", link_to_pages)
    app.connect("source-read", include_file_of_the_root)
    return {"parallel_read_safe": True}
