"""The formula is near: how many files of the package a call runs through, and the page that lists them."""

import importlib

import pytest
from support import call_flow
from support.processes import json_from

pytestmark = pytest.mark.default_stack_only

# The most files of the package in which a function runs while a call and its gradient are traced.
MOST_FILES = {
    "ops.neural_sort": 9,
    "ops.soft_rank": 9,
    "NeuralSortLayer": 11,
    "ops.ranknet_loss": 7,
    'RankNetLoss(lambda_weight="ndcg")': 14,
    "ops.plackett_luce_loss": 7,
    "ops.neural_ndcg_loss": 14,
    "ops.sinkhorn": 8,
    "SinkhornLayer": 10,
    "ops.linear_assignment": 5,
}
# The most of them outside of `ops`, apart from the checks of arguments.
MOST_OUTSIDE = {"NeuralSortLayer": 4, 'RankNetLoss(lambda_weight="ndcg")': 7, "SinkhornLayer": 3}
# A process of its own, because nothing is traced twice.
FLOWS = """
import json, runpy, sys
sys.argv = [sys.argv[1], "--json"]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.fixture(scope="module")
def flows():
    return json_from(FLOWS, call_flow.__file__)


@pytest.mark.parametrize("call", MOST_FILES)
def test_the_formula_is_near(flows, call):
    files = flows[call]
    assert len(files) <= MOST_FILES[call], files
    assert files  # the hook saw something


@pytest.mark.parametrize("call", MOST_OUTSIDE)
def test_a_keras_object_is_near_its_operator(flows, call):
    outside = [file for file in flows[call] if not file.startswith("ops/") and file != "_internal/arguments.py"]
    assert 0 < len(outside) <= MOST_OUTSIDE[call], outside


def test_every_call_has_a_limit(flows):
    assert set(flows) == set(MOST_FILES)


def test_the_page_lists_the_files(flows):
    """`python tests/support/call_flow.py` writes them."""
    (listed,) = call_flow.LISTS.findall(call_flow.PAGE.read_text())
    assert listed == call_flow.as_text(flows)


def test_the_page_shows_every_folder():
    text = call_flow.PAGE.read_text()
    folders = [path.parent.name for path in call_flow.ROOT.glob("*/__init__.py")]
    assert [folder for folder in folders if f"{folder}/" not in text] == []


def test_a_file_that_runs_is_seen():
    assert call_flow.files_of(lambda: None) == []
    module = importlib.import_module("keras_softsort._internal.arguments")
    assert call_flow.files_of(lambda: module.integer("k", 3)) == ["_internal/arguments.py"]
