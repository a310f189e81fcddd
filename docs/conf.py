"""Sphinx configuration. `nox -s docs` builds the site, with warnings as errors."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "keras_softsort"
author = "The keras_softsort developers"
copyright = f"2026, {author}"  # noqa: A001  (the name that Sphinx reads)
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "api_pages",
    "api_links",
    "notebooks",
    "result_pages",
]
# Only GitHub says where the repository is.
name = os.environ.get("GITHUB_REPOSITORY")
repository = f"https://github.com/{name}" if name else None
html_theme = "furo"
html_theme_options = {"top_of_page_buttons": []}
if repository:
    html_theme_options = {
        "source_repository": repository,
        "source_branch": os.environ.get("GITHUB_SHA", "main"),
        "source_directory": "docs/",
        "top_of_page_buttons": ["view"],
    }
html_title = "keras_softsort"
html_static_path = ["_static"]
html_css_files = ["tables.css", "cards.css"]
html_search_scorer = str(Path(__file__).parent / "_static" / "scorer.js")  # Sphinx reads it from the working directory
html_js_files = [("versions.js", {"defer": "defer"})]
exclude_patterns = ["_build", "README.md"]
# Docstrings write code in single backticks, as Markdown does.
default_role = "code"
autodoc_typehints = "none"
autodoc_default_options = {"members": True}
autosummary_generate = False
toc_object_entries_show_parents = "hide"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_custom_sections = ["Cost", "Source", "Gradient", ("Call arguments", "params_style")]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "substitution"]
myst_substitutions = {"source": f"The source is in [the repository]({repository})." if repository else ""}
myst_heading_anchors = 3
nb_execution_mode = "cache"
nb_execution_timeout = 300
# The extra `docs` installs KerasTuner. Without it this page is shown without its results.
nb_execution_excludepatterns = [] if importlib.util.find_spec("keras_tuner") else ["recipes/hyperparameters.md"]
nb_execution_raise_on_error = True
nb_merge_streams = True
nb_output_stderr = "remove"  # TensorFlow's notes at its import
suppress_warnings = ["mystnb.unknown_mime_type", "mystnb.lexer"]
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
linkcheck_ignore = [r"http://localhost.*"]
