"""Writes the pages of the API reference: one per module, with a table of its public names by subject and their entries.

A name is public when `@export` makes it so, which `__all__` of its module then lists; a new name gets its entry without
an edit here.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from pathlib import Path
from typing import Any

# Module -> what its page says first.
PAGES = {
    "ops": "Pure TensorFlow functions: no Keras, no hidden state.",
    "layers": "The operators as Keras layers.",
    "models": "Scorers of items, as plain Keras models.",
    "losses": "Losses for `model.compile`.",
    "metrics": "Metrics for `model.compile`: NDCG and its family, rank correlations, accuracies of orders.",
    "callbacks": "Callbacks for `model.fit`.",
    "distributions": "Random orders, as TensorFlow Probability distributions.",
    "trees": "Objectives and metrics for the trees of LightGBM and XGBoost.",
    "linalg": "Soft permutations as linear operators that never form their matrix.",
    "data": "From files, frames and records to padded batches.",
    "serving": "Export, and score with, a ranker.",
    "beam": "Lists on Apache Beam. Needs the extra `beam`.",
    "spark": "Lists on Apache Spark. Needs the extra `spark`.",
    "tf_ranking": "Losses and pipelines for TF-Ranking. Needs TensorFlow 2.15 and the extra `tf-ranking`.",
}
# Modules that need more than the site does. Their pages are made from their source, without an import.
FROM_SOURCE = ("beam", "spark", "tf_ranking")
PACKAGE = Path(__file__).parents[2] / "keras_softsort"
# Folder of a module -> subject of the names below it, in the order of the page. A module without folders has its files.
SUBJECTS = {
    "sorting": "Sorting, ranks and the first k",
    "sampling": "Samples of items and orders",
    "ranking": "Ranking",
    "matching": "Matching and transport",
    "neighbors": "Nearest neighbors and retrieval",
    "metrics": "Metrics",
    "bilinear": "Ranking",
    "gains": "Metrics of relevance",
    "relevance": "Metrics of relevance",
    "positions": "Metrics of relevance",
    "correlations": "Metrics of orders",
    "accuracies": "Metrics of orders",
    "diversity": "Metrics of diversity",
    "tables": "From tables and files",
    "files": "From tables and files",
    "svmlight": "From tables and files",
    "write_elwc": "From tables and files",
    "_ranking_dataset": "From tables and files",
    "elwc_batches": "Batches for `model.fit`",
    "bucketed_batches": "Batches for `model.fit`",
    "batches_of_groups": "Batches for `model.fit`",
    "click_log": "Clicks",
}
OTHERS = "Base classes and options"


def public_names(module: str) -> list[str]:
    """The public functions and classes of `keras_softsort.<module>`, sorted."""
    if module in FROM_SOURCE:
        return sorted(definitions(module), key=str.lower)
    found = importlib.import_module(f"keras_softsort.{module}")
    return sorted((name for name in found.__all__ if callable(getattr(found, name))), key=str.lower)


def by_subject(module: str) -> dict[str, list[str]]:
    """The public names of a module, by subject; those of a small module have none."""
    found: dict[str, list[str]] = {subject: [] for subject in [*SUBJECTS.values(), OTHERS]}
    for name in public_names(module):
        found[subject_of(module, name)].append(name)
    filled = {subject: names for subject, names in found.items() if names}
    return filled if len(filled) > 1 else {"": public_names(module)}


def subject_of(module: str, name: str) -> str:
    """The subject of the file in which a public name is defined."""
    if module in FROM_SOURCE:
        return OTHERS
    place = getattr(importlib.import_module(f"keras_softsort.{module}"), name).__module__
    place = place.removeprefix(f"keras_softsort.{module}.") + "."
    return next((subject for path, subject in SUBJECTS.items() if place.startswith(f"{path}.")), OTHERS)


def summary(module: str, name: str) -> str:
    """The first line of a docstring."""
    if module in FROM_SOURCE:
        text = ast.get_docstring(definitions(module)[name])
    else:
        text = inspect.getdoc(getattr(importlib.import_module(f"keras_softsort.{module}"), name))
    return (text or "").splitlines()[0]


def table(module: str, names: list[str]) -> list[str]:
    """The lines of a table of names and what they are for."""
    lines = [".. list-table::", "   :widths: 30 70", "   :class: api-names", ""]
    for name in names:
        lines += [f"   * - :py:obj:`{name} <keras_softsort.{module}.{name}>`", f"     - {summary(module, name)}"]
    return [*lines, ""]


def entry(module: str, name: str, config: Any) -> list[str]:
    """The lines of an entry."""
    if module in FROM_SOURCE:
        return from_source(module, name, config)
    title = f"keras_softsort.{module}"
    if inspect.isclass(getattr(importlib.import_module(title), name)):
        return [f".. autoclass:: {title}.{name}", "   :no-members:", ""]
    return [f".. autofunction:: {title}.{name}", ""]


def definitions(module: str) -> dict[str, Any]:
    """The definitions of the public functions and classes of a module, by name, from its source."""
    imports = ast.parse((PACKAGE / module / "__init__.py").read_text())
    files = {node.module for node in ast.walk(imports) if isinstance(node, ast.ImportFrom) and node.module}
    paths = [PACKAGE.parent / f"{name.replace('.', '/')}.py" for name in files if name.startswith("keras_softsort.")]
    nodes = [node for path in paths for node in ast.parse(path.read_text()).body]
    kinds = (ast.ClassDef, ast.FunctionDef)
    return {node.name: node for node in nodes if isinstance(node, kinds) and is_exported(node)}


def is_exported(node: ast.ClassDef | ast.FunctionDef) -> bool:
    """Whether a definition has the decorator `@export`, in either of its forms."""
    return any(ast.unparse(each).split("(")[0] == "export" for each in node.decorator_list)


def from_source(module: str, name: str, config: Any) -> list[str]:
    """The lines of an entry, as `autodoc` would write them."""
    from sphinx.ext.napoleon import GoogleDocstring  # noqa: PLC0415  (tests import this module without Sphinx)

    node = definitions(module)[name]
    is_class = isinstance(node, ast.ClassDef)
    functions = [each for each in node.body if getattr(each, "name", "") == "__init__"] if is_class else [node]
    text = str(GoogleDocstring(inspect.cleandoc(ast.get_docstring(node) or ""), config))
    head = f".. py:{'class' if is_class else 'function'}:: keras_softsort.{module}.{name}"
    for function in functions:  # none in a class that inherits its constructor
        head += f"({signature(function.args, skip=int(is_class))})"
    return [head, "", *(f"   {line}".rstrip() for line in text.splitlines()), ""]


def signature(arguments: ast.arguments, skip: int) -> str:
    """The arguments with defaults and without types, and without the first `skip`."""
    for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg):
        if each is not None:
            each.annotation = None
    arguments.args = arguments.args[skip:]
    return ast.unparse(arguments)


def page(module: str, config: Any = None) -> str:
    """The reStructuredText of a module's page."""
    title = f"keras_softsort.{module}"
    lines = [title, "=" * len(title), "", PAGES[module].replace("`", "``"), ""]
    subjects = by_subject(module)
    for subject, names in subjects.items():
        lines += [f".. rubric:: {subject}", ""] if subject else []
        lines += table(module, names)
    for subject, names in subjects.items():
        heading = subject.replace("`", "``")
        lines += [heading, "-" * len(heading), ""] if subject else []
        lines += [line for name in names for line in entry(module, name, config)]
    return "\n".join(lines)


def write_pages(app: Any) -> None:
    """Write the pages next to their index, and leave files alone that have not changed."""
    folder = Path(app.srcdir) / "api"
    for module in PAGES:
        path, text = folder / f"{module}.rst", page(module, app.config)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True}
