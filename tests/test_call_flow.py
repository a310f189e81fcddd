"""The page that lists the files of the package which a call runs through."""

import importlib

import pytest
from support import call_flow
from support.processes import json_from

pytestmark = pytest.mark.default_stack_only

# A process of its own, because nothing is traced twice.
FLOWS = """
import json, runpy, sys
sys.argv = [sys.argv[1], "--json"]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.fixture(scope="module")
def flows():
    return json_from(FLOWS, call_flow.__file__)


@pytest.mark.slow
def test_the_page_lists_the_files(flows):
    """`python tests/support/call_flow.py` writes them."""
    (listed,) = call_flow.LISTS.findall(call_flow.PAGE.read_text())
    assert listed == call_flow.as_text(flows)


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
