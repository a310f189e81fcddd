"""The site: every public name has an entry, and every page belongs to it."""

import importlib
import re
import types

from support.readme import README

import keras_softsort as ks

DOCS = README.parent / "docs"


def api_pages(monkeypatch):
    """The extension that writes the pages of the API reference."""
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    return importlib.import_module("api_pages")


def test_every_public_module_has_a_page(monkeypatch):
    modules = {name for name in ks.__all__ if isinstance(getattr(ks, name), types.ModuleType)}
    pages = set(api_pages(monkeypatch).PAGES)
    assert modules <= pages
    assert pages == set(re.findall(r"^(\w+)$", (DOCS / "api" / "index.md").read_text(), flags=re.MULTILINE))


def test_every_public_name_has_an_entry(monkeypatch):
    pages = api_pages(monkeypatch)
    documented = {name for module in pages.PAGES for name in pages.public_names(module)}
    public = {name for name in ks.__all__ if callable(getattr(ks, name))}
    assert public <= documented


def test_every_page_is_in_the_contents():
    pages = {path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md")} - {"index"}
    listed = set()
    for index in DOCS.rglob("*.md"):
        for block in re.findall(r"```\{toctree\}\n(.*?)```", index.read_text(), flags=re.DOTALL):
            names = [line for line in block.splitlines() if line and not line.startswith(":")]
            listed |= {(index.parent / name).relative_to(DOCS).as_posix() for name in names}
    assert pages <= listed
