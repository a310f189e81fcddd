"""The notebooks of the site: programs that become Jupyter notebooks, and run from top to bottom."""

import importlib
import json
import re
import zipfile

import numpy as np
import pytest
from support.readme import README

pytestmark = pytest.mark.default_stack_only

DOCS = README.parent / "docs"
PROGRAMS = sorted((DOCS / "notebooks").glob("*.py"))
TEXT = '''"""
Title: A thing
Author: me
"""

"""
## One

Note: text.
"""

x = """a

b"""


y = 2
"""Two"""
'''


@pytest.fixture
def notebooks(monkeypatch):
    """The extension that converts them."""
    pytest.importorskip("nbformat")
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    return importlib.import_module("notebooks")


def test_strings_become_text_and_the_rest_code(notebooks):
    cells = notebooks.to_notebook(TEXT).cells
    assert [(each.cell_type, each.source) for each in cells] == [
        ("markdown", "# A thing\n\n- **Author:** me"),
        ("markdown", "## One\n\nNote: text."),
        ("code", 'x = """a\n\nb"""\n\n\ny = 2'),
        ("markdown", "Two"),
    ]


def test_a_notebook_is_written_only_if_it_has_changed(notebooks, tmp_path):
    """The site runs a notebook again if its file is new."""
    program, written = tmp_path / "a.py", tmp_path / "a.ipynb"
    program.write_text(TEXT)
    notebooks.write_notebook(program)
    first = written.stat().st_mtime_ns
    notebooks.write_notebook(program)
    assert written.stat().st_mtime_ns == first
    program.write_text(TEXT + "z = 3\n")
    notebooks.write_notebook(program)
    assert json.loads(written.read_text())["cells"][-1]["source"] == ["z = 3"]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_every_program_is_a_notebook_of_the_site(notebooks, program):
    notebook = notebooks.to_notebook(program.read_text())
    importlib.import_module("nbformat").validate(notebook)
    title, *cells = notebook.cells
    assert re.match(r"# .+\n\n(- \*\*[\w ]+:\*\* .+\n?){4}$", title.source)
    sections = ["Introduction", "Setup", "Data", "Model", "Evaluation", "Serving", "What next"]
    headings = [each.source.partition("\n")[0] for each in cells if each.cell_type == "markdown"]
    assert [name for name in sections if f"## {name}" not in headings] == []
    assert f"\nnotebooks/{program.stem}\n" in (DOCS / "index.md").read_text()


@pytest.fixture
def ratings(tmp_path):
    """GroupLens' zip file. Each of 30 users has rated 40 of 60 movies, and ratings depend on the movie."""
    random = np.random.default_rng(0)
    movies = 1 + random.permuted(np.tile(np.arange(60), (30, 1)), axis=1)[:, :40].ravel()
    users = np.repeat(np.arange(1, 31), 40)
    stars = np.clip(np.round(1 + movies % 5 + random.normal(0, 0.5, movies.shape)), 1, 5).astype(int)
    rows = [
        f"{user}\t{movie}\t{star}\t88125{movie:04d}" for user, movie, star in zip(users, movies, stars, strict=True)
    ]
    titles = [f"{movie}|Café {movie} (1995)|01-Jan-1995||" for movie in range(1, 61)]
    path = tmp_path / "ml-100k.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("ml-100k/u.data", "\n".join(rows))
        archive.writestr("ml-100k/u.item", "\n".join(titles).encode("latin-1"))
    return path


@pytest.mark.nightly
def test_movies_are_ranked_from_top_to_bottom(ratings, monkeypatch, capsys):
    plt = pytest.importorskip("matplotlib.pyplot")
    (program,) = [path for path in PROGRAMS if path.stem == "listwise_ranking"]
    setting = "SEEDS, EPOCHS = (0, 1, 2), 10"
    text = program.read_text()
    assert text.count(setting) == 1
    monkeypatch.setenv("MOVIELENS_100K", str(ratings))
    drawn = []
    monkeypatch.setattr(plt, "show", lambda: drawn.append(plt.gcf().axes[0].get_legend_handles_labels()[1]))
    names = {"__name__": "page"}
    exec(compile(text.replace(setting, "SEEDS, EPOCHS = (0,), 3"), str(program), "exec"), names)
    plt.close("all")
    assert drawn == [["squared error", "pairwise hinge", "ListMLE"]]
    found = {name: np.mean(values) for name, values in names["found"].items()}
    assert found.pop("random order") < 0.9 < min(found.values())
    printed = capsys.readouterr().out
    assert "1,200 ratings of 60 movies by 30 users" in printed
    assert re.search(r"user 1: Café \d+ \(1995\)(; Café \d+ \(1995\)){4}\n", printed)
