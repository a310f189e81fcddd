"""The examples that users read: docstrings and README."""

import doctest
import importlib
import pkgutil
from operator import attrgetter

import pytest
from support.readme import README, fenced_blocks, is_tf_ranking

import keras_softsort as ks

MODULES = [ks.__name__, *(found.name for found in pkgutil.walk_packages(ks.__path__, f"{ks.__name__}."))]
PUBLIC = [name for name in ks.__all__ if callable(getattr(ks, name))] + [f"data.{name}" for name in ks.data.__all__]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    if name.startswith(f"{ks.__name__}.tf_ranking"):
        pytest.importorskip("tensorflow_ranking")
    result = doctest.testmod(importlib.import_module(name), report=True)
    assert result.failed == 0, result


@pytest.mark.parametrize("name", PUBLIC)
def test_public_name_has_an_example(name):
    _, heading, example = attrgetter(name)(ks).__doc__.partition("Example:\n")
    assert heading
    assert any(example.source.strip() for example in doctest.DocTestParser().get_examples(example))


def test_fenced_blocks_are_found():
    text = "a\n```python\nx = 1\n```\n```bash\nls\n```\n\n```python\ny = 2\n\nz = 3\n```\n"
    assert fenced_blocks(text) == ["x = 1\n", "y = 2\n\nz = 3\n"]


def test_readme_blocks_run(monkeypatch, tmp_path):
    text = README.read_text() if README.exists() else ""
    assert text.count("```python") == len(fenced_blocks(text))  # none is lost for its indentation
    monkeypatch.chdir(tmp_path)
    for block in filter(lambda block: not is_tf_ranking(block), fenced_blocks(text)):
        exec(compile(block, str(README), "exec"), {"__name__": "readme"})
