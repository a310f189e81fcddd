"""The page that lists the files of the package which a call runs through."""

import importlib
import re

import pytest
from support import call_flow

pytestmark = pytest.mark.default_stack_only


def test_the_listed_files_exist():
    """`python tests/support/call_flow.py` writes the list anew."""
    (lists,) = call_flow.LISTS.findall(call_flow.PAGE.read_text())
    files = re.findall(r"`(\S+\.py)`", lists)
    assert files
    assert [file for file in files if not (call_flow.ROOT / file).is_file()] == []


def test_every_call_has_a_list():
    (lists,) = call_flow.LISTS.findall(call_flow.PAGE.read_text())
    assert re.findall(r"^- `(.+?)`: `", lists, re.MULTILINE) == list(call_flow.calls())


@pytest.mark.nightly
def test_every_call_is_traced():
    # A function that was traced before runs no further, so that some files may be missing.
    visits = call_flow.of_calls(call_flow.visits_of, call_flow.calls())
    assert [name for name, files in visits.items() if not files] == []


def test_the_page_shows_every_folder():
    text = call_flow.PAGE.read_text()
    folders = [path.parent.name for path in call_flow.ROOT.glob("*/__init__.py")]
    assert [folder for folder in folders if f"{folder}/" not in text] == []


def test_a_file_that_runs_is_seen():
    assert call_flow.visits_of(lambda: None) == []
    module = importlib.import_module("keras_softsort._internal.arguments")
    assert call_flow.visits_of(lambda: module.integer("k", 3)) == ["_internal/arguments.py"]


def test_a_return_to_a_file_is_another_visit():
    arguments = importlib.import_module("keras_softsort._internal.arguments")
    axes = importlib.import_module("keras_softsort.ops.core.axes")

    def back_and_forth():
        arguments.integer("k", 3)
        arguments.integer("k", 4)
        axes.list_size(call_flow.SCORES)
        arguments.integer("k", 5)

    files = ["_internal/arguments.py", "ops/core/axes.py", "_internal/arguments.py"]
    assert call_flow.visits_of(back_and_forth) == files
    assert call_flow.visits_of(lambda: [back_and_forth() for _ in range(9)]) == files


def test_the_deepest_stack_is_of_functions_of_the_package():
    arguments = importlib.import_module("keras_softsort._internal.arguments")
    assert call_flow.deepest_stack(lambda: None) == []
    deepest = [f"_internal/arguments.py: {name}" for name in ("positive_integer", "_integer_from", "integer")]
    assert call_flow.deepest_stack(lambda: [arguments.integer("k", 3), arguments.positive_integer("k", 3)]) == deepest
    # A function that raises an error is no longer on the stack.
    with pytest.raises(ValueError, match="k must be at least 1"):
        call_flow.deepest_stack(lambda: arguments.positive_integer("k", 0))

    def caught():
        with pytest.raises(ValueError, match="k must be at least 1"):
            arguments.positive_integer("k", 0)
        arguments.integer("k", 3)

    assert call_flow.deepest_stack(caught) == deepest
