"""The site: every public name has an entry, and every page belongs to it."""

import importlib
import inspect
import re
import types

import pytest
import tensorflow as tf
from support.cases import objects
from support.readme import README

import keras_softsort as ks
from keras_softsort.ops.sorting import methods

pytestmark = pytest.mark.default_stack_only

DOCS = README.parent / "docs"
PICTURES = DOCS / "pictures"


def api_pages(monkeypatch):
    """The extension that writes the pages of the API reference."""
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    return importlib.import_module("api_pages")


LINKS = re.compile(r"\]\((?!https?://|#)([^)#]+)[^)]*\)")
# Pages of the repository on GitHub that are no files, such as its issues.
ON_GITHUB = "../../"


def test_links_of_the_readme_exist():
    paths = LINKS.findall(README.read_text())
    assert len(paths) > 10
    files = [path for path in paths if not path.startswith(ON_GITHUB)]
    assert [path for path in files if not (README.parent / path).exists()] == []


def test_links_of_the_readme_are_absolute_on_pypi(monkeypatch):
    monkeypatch.syspath_prepend(str(README.parent / ".ci"))
    with_absolute_links = importlib.import_module("readme_for_pypi").with_absolute_links
    text = with_absolute_links(README.read_text(), "owner/name", "v1.0.0")
    assert LINKS.findall(text) == []
    assert "](https://github.com/owner/name/blob/v1.0.0/docs/quickstart.md)" in text
    assert re.search(r"!\[[^]]+\]\(https://raw.githubusercontent.com/owner/name/v1.0.0/docs/pictures/\w+\.png\)", text)
    workflow = "https://github.com/owner/name/actions/workflows/ci.yml"
    assert f"[![tests]({workflow}/badge.svg)]({workflow})" in text
    assert "](https://github.com/owner/name/issues/new?template=question.yml)" in text


def test_links_between_pages_exist():
    """MyST reports missing pages of the site; this also covers files of the repository and the examples' page."""
    pages = [README.parent / name for name in ("examples/README.md", "experiments/README.md", "CONTRIBUTING.md")]
    pages += [path for path in DOCS.rglob("*.md") if path.parent.name != "results"]
    pages += (README.parent / "benchmarks").rglob("*.md")
    missing = [
        (page.name, path)
        for page in pages
        for path in LINKS.findall(page.read_text())
        if not (page.parent / path).exists()
    ]
    assert missing == []


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
    assert {"RankerModelHandler", "score", "get_loss", "SoftRankScorer"} <= documented  # without their engines


@pytest.mark.parametrize("module", ["ops", "losses", "layers", "metrics", "data", "callbacks", "beam"])
def test_a_page_of_the_reference_has_each_name_once(monkeypatch, module):
    """Each name is in a table, with the first line of its docstring, and is an entry."""
    pages = api_pages(monkeypatch)
    names = pages.public_names(module)
    lines = [line for each in pages.by_subject(module).values() for line in pages.table(module, each)]
    rows = [re.search(r"`(\w+) <", line).group(1) for line in lines if ":py:obj:" in line]
    assert sorted(rows, key=str.lower) == names
    assert len([line for line in lines if re.match(r"     - .*\.$", line)]) == len(names)
    if module not in pages.FROM_SOURCE:
        entries = re.findall(
            rf"^\.\. auto\w+:: keras_softsort\.{module}\.(\w+)$", pages.page(module), flags=re.MULTILINE
        )
        assert sorted(entries, key=str.lower) == names


def test_operators_and_losses_are_listed_by_folder(monkeypatch):
    pages = api_pages(monkeypatch)
    assert pages.by_subject("ops")["Sorting, ranks and the first k"][-1] == "SoftTopK"
    assert pages.by_subject("losses")["Ranking"][-2:] == ["UniqueSoftmaxLoss", "YetiLogisticLoss"]
    assert pages.by_subject("losses")[pages.OTHERS] == ["LambdaWeight", "ListLoss", "ScoreLoss"]
    assert list(pages.by_subject("callbacks")) == [""]
    for module in ("ops", "data"):
        assert pages.OTHERS not in pages.by_subject(module), f"{module}: a new folder has a line in SUBJECTS"


@pytest.mark.parametrize("title", ["A loss", "An argument of all ranking losses"])
def test_a_recipe_is_at_most_eight_files(title):
    """The recipe names them, and none of its rows is a table that lists losses by hand elsewhere."""
    recipe = (README.parent / "CONTRIBUTING.md").read_text().partition(f"### {title}\n")[2].partition("\n### ")[0]
    files = [
        path
        for row in recipe.splitlines()
        for path in re.findall(r"`([\w/.]+)`", row.split("|")[1] if row.startswith("|") else "")
    ]
    assert 6 <= len(files) <= 8
    assert all((README.parent / path).exists() or re.search(r"\bx\b|x_loss|test_x", path) for path in files)


def test_every_loss_is_in_the_tables_of_losses():
    """A user finds it by the data, and compares its cost."""
    bases = {ks.losses.ListLoss, ks.losses.ScoreLoss}
    losses = {each for each in map(vars(ks.losses).get, ks.losses.__all__) if issubclass(each, tf.keras.losses.Loss)}
    choice, _, costs = (DOCS / "choosing-a-loss.md").read_text().partition("## What they cost")
    costs = costs.partition("## Normalization")[0]
    for text, row in ((choice, "`X`, with the data it is for"), (costs, "`X`, with its time and memory")):
        missing = sorted(each.__name__ for each in losses - bases if f"`{each.__name__}" not in text)
        assert not missing, f"add {missing} to a row of docs/choosing-a-loss.md: {row}"


def test_every_normalization_is_in_one_table():
    table = (DOCS / "choosing-a-loss.md").read_text().partition("## Normalization\n")[2].partition("\n## ")[0]
    values, defaults = {}, {}
    for losses, value, default in re.findall(r'^\|(.*)\| `("\w+")`( \(default\))? \|', table, flags=re.MULTILINE):
        if default:
            names = re.findall(r"`(\w+)`", losses)
            defaults |= dict.fromkeys(names, value)
        values |= {name: [*values.get(name, []), value] for name in names}
    ours = {name: inspect.signature(getattr(ks.losses, name)).parameters for name in ks.losses.__all__}
    wanted = {name: each["normalization"].default for name, each in ours.items() if "normalization" in each}
    wrong = {name: f'"{each}"' for name, each in wanted.items() if defaults.pop(name, None) != f'"{each}"'}
    place = "the table under Normalization in docs/choosing-a-loss.md"
    assert not wrong, f'write each loss with its default, as in | `X` | `"list"` (default) |, into {place}: {wrong}'
    assert not defaults, f"remove from {place} what has no normalization: {[*defaults]}"
    for name, found in values.items():
        with pytest.raises(ValueError, match="normalization must be one of") as error:
            objects.SUBJECTS[getattr(ks.losses, name)].cases[0].make(normalization="of")
        allowed = re.findall(r"'\w+'", str(error.value).partition(", got")[0])
        allowed = sorted(value.replace("'", '"') for value in allowed)
        assert sorted(found) == allowed, f"give {name} a row for each of {allowed} in {place}"


# Operator -> what a method must have to be one of its methods.
TAKING_A_METHOD = {
    "soft_values": "values",
    "soft_rank": "ranks",
    "soft_top_k": "permutation",
    "soft_top_k_membership": "membership",
    "soft_quantile": "permutation",
}


@pytest.mark.parametrize("method", sorted({name for each in methods.CAPABILITIES for name in methods.names(each)}))
def test_every_method_of_sorting_is_described(method):
    """The tables of methods and temperatures name it, and so do the operators that take it."""
    pages = (DOCS / "choosing-an-operator.md", DOCS / "concepts" / "temperature.md")
    texts = {page.name: page.read_text() for page in pages}
    texts |= {name: getattr(ks.ops, name).__doc__ for name, needs in TAKING_A_METHOD.items() if has(method, needs)}
    missing = [name for name, text in texts.items() if f'"{method}"' not in text]
    assert not missing, f'name the method "{method}" in {missing}: in the tables of pages, in docstrings of operators'


def has(method, capability):
    return method in methods.names(capability)


def test_every_page_is_in_the_contents():
    sources = [path for path in DOCS.rglob("*.md") if path.parent.name != "results"]  # the build copies these
    pages = {path.relative_to(DOCS).with_suffix("").as_posix() for path in sources} - {"index"}
    listed = set()
    for index in sources:
        for block in re.findall(r"```\{toctree\}\n(.*?)```", index.read_text(), flags=re.DOTALL):
            names = [line for line in block.splitlines() if line and not line.startswith(":")]
            listed |= {(index.parent / name).relative_to(DOCS).as_posix() for name in names}
    missing = sorted(pages - listed)
    assert not missing, f"add a line for each of {missing} to a toctree of docs/index.md, or of the index of its folder"


def test_long_lists_begin_where_the_code_says():
    """The guide is the only page with these numbers."""
    text = (DOCS / "guides" / "long-lists.md").read_text()
    for method, row in (("soft_sort", '`"soft_sort"`, power 1'), ("neural_sort", '`"neural_sort"`')):
        size = methods.METHODS[method].matrix_free.min_size
        assert f"\n| {row} | {size:,} items |" in text
    for power in (0.5, 1.5, 2.0, 3.0):
        assert methods.sort_arguments([0.0] * 5000, 1.0, method="soft_sort", power=power).is_long is False


def test_every_page_of_results_is_linked():
    text = (DOCS / "benchmarks.md").read_text()
    links = [f"](../benchmarks/results/{page.name})" for page in (README.parent / "benchmarks/results").glob("*.md")]
    missing = [link for link in links if link not in text]
    assert not missing, "\n".join(["add a link to docs/benchmarks.md, as [what it measures] and then:", *missing])


def test_notebooks_of_the_gallery_are_short_and_draw():
    notebooks = sorted(set((DOCS / "gallery").glob("*.md")) - {DOCS / "gallery" / "index.md"})
    assert len(notebooks) >= 8
    for page in notebooks:
        cells = re.findall(r"```\{code-cell\}[^\n]*\n(.*?)```", page.read_text(), flags=re.DOTALL)
        lines = [line for cell in cells for line in cell.splitlines() if line.strip()]
        assert len(lines) <= 75, page
        assert "plt.show()" in lines, page


def test_recipes_are_short_and_draw():
    recipes = sorted(set((DOCS / "recipes").glob("*.md")) - {DOCS / "recipes" / "index.md"})
    table = (DOCS / "recipes" / "index.md").read_text()
    assert recipes
    for page in recipes:
        lines = page.read_text().splitlines()
        assert len(lines) <= 80, page
        assert "file_format: mystnb" in lines, page
        assert "plt.show()" in lines, page
        assert f"| []({page.name}) |" in table


def test_every_notebook_has_a_card_with_its_picture():
    """`python docs/thumbnails.py` draws the pictures."""
    text = (DOCS / "gallery" / "index.md").read_text()
    pages = sorted(path.stem for path in (DOCS / "gallery").glob("*.md") if path.stem != "index")
    cards = re.findall(r"^\[!\[.+\]\(\.\./pictures/thumbnails/(.+)\.png\)\]\((.+)\.md\)$", text, flags=re.MULTILINE)
    assert sorted(cards) == [(page, page) for page in pages]
    assert sorted(path.stem for path in (PICTURES / "thumbnails").glob("*.png")) == pages


def committed(pattern):
    """Files of docs, examples, benchmarks and experiments, without what a build of the site writes."""
    folders = [README.parent / name for name in ("docs", "examples", "benchmarks", "experiments")]
    found = [path for folder in folders for path in folder.rglob(pattern)]
    return [path for path in found if not {"_build", "jupyter_execute"} & set(path.parts)]


def test_every_picture_is_in_one_folder_and_on_a_page():
    assert [path for path in committed("*.png") if PICTURES not in path.parents] == []
    text = "\n".join(page.read_text() for page in [README, *committed("*.md")])
    assert [path.name for path in PICTURES.rglob("*.png") if path.name not in text] == []


WIDEST = 88  # columns of code that a page shows without a scroll bar


def long_lines(text):
    """The lines of code blocks, with or without a language, and of notebook cells that are too long."""
    found, block = [], None
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            block = line.strip("` ") or "text" if block is None else None
        elif block is not None and not re.match(r"\{(?!code-cell)", block) and len(line) > WIDEST:
            found.append(line)
    return found


@pytest.mark.parametrize("page", [README, *sorted(DOCS.rglob("*.md"))], ids=lambda page: page.stem)
def test_code_fits_the_page(page):
    if page.parent.name == "results":  # copies
        return
    found = long_lines(page.read_text())
    assert not found, "\n".join([f"break lines of code in {page.name} at {WIDEST} columns:", *found])


def test_long_lines_are_found():
    line = "x" * (WIDEST + 1)
    for fence in ("```python", "```", "```{code-cell} ipython3", "```text"):
        assert long_lines(f"Text\n\n{fence}\n{line}\n```\n") == [line]
    assert long_lines(f"```{{glossary}}\n{line}\n```\n{line}\n") == []
    assert long_lines(f"```python\n{line[1:]}\n```\n") == []
