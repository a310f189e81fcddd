"""The examples that users read: docstrings, README and the pages of the documentation."""

import doctest
import importlib
import pkgutil
import re
from operator import attrgetter

import numpy as np
import pytest
import tensorflow as tf
from support.readme import (
    PAGES,
    README,
    cells,
    fenced_blocks,
    is_of_a_missing_framework,
    is_of_an_engine,
    is_tf_ranking,
)

import keras_softsort as ks

MODULES = [ks.__name__, *(found.name for found in pkgutil.walk_packages(ks.__path__, f"{ks.__name__}."))]
PUBLIC = [name for name in ks.__all__ if callable(getattr(ks, name))]
PUBLIC += [f"data.{name}" for name in ks.data.__all__]
PUBLIC += [f"ops.{name}" for name in ks.ops.__all__ if not isinstance(getattr(ks.ops, name), type)]


# Names that examples of docstrings do not import.
NAMES = {"ks": ks, "np": np, "tf": tf}
# Adapters, and what has to be installed for them.
NEEDED = {"tf_ranking": "tensorflow_ranking", "beam": "apache_beam", "spark": "pyspark"}


def _on_its_stack(name):
    """Examples run once, on the default stack; those of `tf_ranking` where it is installed."""
    is_adapter = name.startswith(f"{ks.__name__}.tf_ranking")
    return pytest.param(name, marks=[] if is_adapter else [pytest.mark.default_stack_only])


@pytest.mark.parametrize("name", [_on_its_stack(name) for name in MODULES])
def test_docstrings(name):
    part = name.split(".")[1] if "." in name else ""
    if part in NEEDED:
        pytest.importorskip(NEEDED[part])
    result = doctest.testmod(importlib.import_module(name), extraglobs=NAMES, report=True)
    assert result.failed == 0, result


@pytest.mark.parametrize("name", PUBLIC)
def test_public_name_has_an_example(name):
    _, _, example = attrgetter(name)(ks).__doc__.partition("Example:\n")
    examples = [each.source.strip() for each in doctest.DocTestParser().get_examples(example)]
    assert any(examples), f"add an `Example:` with lines that begin with >>> to the docstring of {name}"


def test_fenced_blocks_are_found():
    text = "a\n```python\nx = 1\n```\n```bash\nls\n```\n\n```python\ny = 2\n\nz = 3\n```\n"
    assert fenced_blocks(text) == ["x = 1\n", "y = 2\n\nz = 3\n"]


# Pages that are read first. The others run nightly.
FIRST_PAGES = {"README.md", "quickstart.md"}
# Pages whose blocks are one program. On other pages each block can be copied alone.
IN_ONE_PIECE = {"two-towers.md"}


def marks_of(page):
    converts = page.name == "export-anywhere.md"  # converters and TensorFlow's interpreter warn
    ignore = [pytest.mark.filterwarnings("ignore")] if converts else []
    return ignore if page.name in FIRST_PAGES else [pytest.mark.nightly, *ignore]


@pytest.mark.slow
@pytest.mark.default_stack_only
@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=marks_of(page)) for page in PAGES], ids=lambda page: page.name
)
def test_blocks_of_pages_run(page, monkeypatch, tmp_path, capsys):
    text = page.read_text()
    assert text.count("```python") == len(fenced_blocks(text)) > 0  # none is lost for its indentation
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in fenced_blocks(text):
        if is_tf_ranking(block) or is_of_an_engine(block) or is_of_a_missing_framework(block):
            continue
        names = {"__name__": "page", **(names if page.name in IN_ONE_PIECE else {})}
        exec(compile(block, str(page), "exec"), names)
        printed = capsys.readouterr().out
        if page == README:
            assert numbers(printed) == pytest.approx(shown(block), abs=0.03), printed


GUIDES_WITH_CELLS = [page for page in sorted((README.parent / "docs/guides").glob("*.md")) if cells(page.read_text())]


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.default_stack_only
@pytest.mark.parametrize("page", GUIDES_WITH_CELLS, ids=lambda page: page.name)
def test_cells_of_guides_run(page, monkeypatch, tmp_path):
    """The site shows what they print and draw. They are one program."""
    plt = pytest.importorskip("matplotlib.pyplot")
    drawn = []
    monkeypatch.setattr(plt, "show", lambda: drawn.append(plt.gcf()))
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page"}
    for cell in cells(page.read_text()):
        exec(compile(cell, str(page), "exec"), names)
    plt.close("all")
    assert drawn


def shown(block):
    """The numbers that a block says it prints, in comments such as `# about 0.95: the accuracy`."""
    return numbers(" ".join(re.findall(r"^print\(.*  # ([^:\n]*)", block, flags=re.MULTILINE)))


def numbers(text):
    return [float(number) for number in re.findall(r"\d+(?:\.\d+)?", text)]
