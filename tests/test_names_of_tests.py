"""Each file of tests of `ops` has the name of what it tests: a module, a public name, or a subject below."""

from pathlib import Path

import pytest

import keras_softsort as ks

pytestmark = pytest.mark.default_stack_only

TESTS = Path(__file__).parent
PACKAGE = Path(ks.__file__).parent
# Subjects that several modules share, by folder and file.
SUBJECTS = {
    "core/target": "Few modules ask which device a graph is traced for.",
    "matching/autodiff": "Soft matchings are differentiated in every way.",
    "matching/known_changes": "Changes of the input of matchings and costs have known effects.",
    "matching/sinkhorn_edges": "Sinkhorn's matchings and costs keep their promises at the ends of every range.",
    "metrics/ranking_metrics": "Ranking metrics have the values of NumPy.",
    "neighbors/retrieval_limits": "The loss of retrieval tends to the metrics.",
    "ops/errors": "Operators refuse wrong arguments.",
    "ops/float32_programs": "XLA's programs of float32 lists hold no float64.",
    "ops/gpu_lowering": "Operators lower for a GPU.",
    "ops/target": "Operators, losses and metrics compare all pairs for a TPU.",
    "ranking/checks": "Options of operators of lists have rules.",
    "ranking/operators": "Operators of lists share a signature.",
    "ranking/ranking_losses": "Losses are pure functions.",
    "sorting/autodiff": "Operators that sort are differentiated in every way.",
    "sorting/axis": "Operators that sort take any axis.",
    "sorting/edges": "Operators that sort keep their promises at the ends of every range.",
    "sorting/far_clusters": "Outliers and clusters cost the other scores no digits.",
    "sorting/gradients": "Gradients are those of the formula in float64.",
    "sorting/matrix_methods": "A method may give its matrix itself.",
    "sorting/options": "Operators that sort take the same options.",
    "sorting/own_functions": "A method may compute ranks, sorted scores and memberships without a matrix.",
    "sorting/precision": "Soft permutations keep their digits in float32.",
    "sorting/projection_extremes": "Projections are finite for scores of any size.",
    "sorting/properties": "Soft permutations have properties that hold for any scores.",
    "sorting/scale": "Scores may be in standard deviations.",
    "sorting/values": "Values and gradients are those of the published formulas.",
}


def without_owner(modules, public, files):
    """The files `(folder, name)` that have the name of no module, public name or subject."""
    public = {name.removesuffix("_loss") for name in public} | public
    return {f"{folder}/{name}" for folder, name in files if name not in modules | public} - SUBJECTS.keys()


def test_files_have_the_name_of_a_module_a_public_name_or_a_subject():
    modules = {path.stem.lstrip("_") for path in PACKAGE.rglob("*") if path.suffix in {"", ".py"}}
    files = {(path.parent.name, path.stem.removeprefix("test_")) for path in (TESTS / "ops").rglob("test_*.py")}
    assert without_owner(modules, set(ks.ops.__all__), files) == set(), (
        "name each file of tests/ops after the module that it tests, test_<module>.py, or add its subject to SUBJECTS "
        "of tests/test_names_of_tests.py"
    )


def test_the_check_finds_files_of_no_owner():
    files = {
        ("sorting", "soft_rank"),
        ("ranking", "list_net"),
        ("sorting", "axis"),
        ("core", "axis"),
        ("core", "lists_"),
    }
    assert without_owner({"soft_rank"}, {"list_net_loss"}, files) == {"core/axis", "core/lists_"}
