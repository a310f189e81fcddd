"""Every benchmark runs on tiny settings."""

import importlib
import json
from pathlib import Path

import numpy as np
import pytest
import scipy.optimize
import tensorflow as tf
from support.scripts import check_process, check_rows, ignores_warnings_of_tiny_settings

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
# The accelerators and the suite are started as folders, and have tests in other files.
SCRIPTS = {
    path.stem: path
    for folder in ("operators", "precision", "pipelines", "tools")
    for path in (BENCHMARKS / folder).glob("*.py")
}
TINY = {
    "dense_matrix_free_threshold": ["--sizes", "4", "--items", "4", "--methods", "soft_sort", "--repeats", "1"],
    "dense_matrix": ["--shapes", "2x5", "--repeats", "1"],
    "dknn": ["--shapes", "3x20", "--repeats", "1"],
    "eager_calls": ["--count", "1", "--largest", "6", "--only", "soft_rank", "OrdinalLoss"],
    "gradient_variance": ["--samples", "2", "--spreads", "1", "--repeats", "20"],
    "linear_assignment": ["--shapes", "1x2x2", "1x3x3", "1x4x4", "1x2x3", "--repeats", "1"],
    "nearest_neighbors": ["--shapes", "2x40x3x2", "--repeats", "1"],
    "variants": ["--variants", "sums over few columns", "--shapes", "2x5", "--repeats", "1"],
    "plackett_luce": ["--shapes", "2x6", "--repeats", "1"],
    "precision": ["--sizes", "20", "--taus", "1"],
    "ranking_losses": ["--losses", "hinge of pairs", "--what", "time", "--shapes", "2x5", "--repeats", "1"],
    "ranknet": ["--tables", "time", "error", "--shapes", "2x9", "--repeats", "1"],
    "growth": ["--sizes", "8", "16", "--error-sizes", "8", "--modes", "TF", "--repeats", "1"],
    "groups": ["--rows", "300", "--losses", "softmax", "--compiled", "0", "--repeats", "1"],
    "lambda_gradients": ["--sizes", "6", "--repeats", "1", "--no-memory"],
    "toy_estimators": ["--etas", "0", "--repeats", "20"],
    "set_matching": ["--shapes", "1x2x4", "--costs", "boxes", "--repeats", "1"],
    "serving_latency": ["--epochs", "1", "--lists", "2", "--requests", "3"],
    "slate_value": ["--repeats", "2", "--sessions", "50"],
    "sinkhorn": ["--shapes", "2x5", "--iterations", "20", "--repeats", "1"],
}


# Scripts with tests of another form, here or in other files.
OTHERS = {"counts", "results", "batch_scoring", "tracking", "data_reading", "million"}


@pytest.mark.nightly
def test_layers_of_sets(script):
    (table,) = script("set_matching").main(["--layers", "--repeats", "1"])["tables"].values()
    assert [row["layers"] for row in table] == [6, 6, 13, 13]


@pytest.mark.nightly
@ignores_warnings_of_tiny_settings
@pytest.mark.usefixtures("without_tracing")
@pytest.mark.parametrize("name", TINY)
def test_script_runs_and_writes_its_rows(name, script, tmp_path, capsys):
    check_rows(script, name, TINY[name], tmp_path, capsys)


@pytest.mark.nightly
def test_sinkhorn_compares_within_less_than_the_values(script, monkeypatch):
    sinkhorn = script("sinkhorn")
    wrong = {**sinkhorn.OPERATORS, "log matrix": lambda logits, iterations: 1.001 * sinkhorn.ks.sinkhorn(logits, 0.5)}
    monkeypatch.setattr(sinkhorn, "OPERATORS", wrong)
    tf.config.run_functions_eagerly(True)
    with pytest.raises(AssertionError, match="result 0 of log matrix, XLA differs from that of ours, XLA by 1"):
        list(sinkhorn.times(["2x5"], [20], 1, []))
    tf.config.run_functions_eagerly(False)


def test_alternating_medians(script, monkeypatch):
    clock, calls = [0.0], []
    monkeypatch.setattr("time.perf_counter", lambda: clock[0])

    def run(name, seconds):
        def call():
            calls.append(name)
            clock[0] += next(seconds)

        return call

    runs = [run("a", iter([9, 9, 1, 2, 6])), run("b", iter([9, 9, 10, 30, 20]))]
    assert script("harness").alternating_medians(runs, 3) == [2, 20]
    turns = ["".join(calls[at : at + 2]) for at in range(0, 10, 2)]
    assert set(turns) == {"ab", "ba"}  # each once a turn, and in both orders
    runs = [run("a", iter([1.0] * 20))]
    calls.clear()
    script("harness").alternating_medians(runs, 15, seconds=6.5)
    assert len(calls) == 2 + 7


@pytest.mark.nightly
def test_memory_growth_is_that_of_the_run(script, monkeypatch, tmp_path):
    harness = script("harness")
    (tmp_path / "make_large.py").write_text(
        "import numpy as np\n"
        "def make(mebibytes):\n"
        "    return lambda: np.ones(2**17), lambda: np.ones(mebibytes * 2**17).sum()\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert 95 <= harness.memory_growth(importlib.import_module("make_large").make, 100) < 110


def test_cells(script):
    cell = script("harness").cell
    assert [cell(value) for value in (None, "XLA", 7, 0.0, 1234.5, 12.345, 0.1234, 2.5e-7)] == [
        "",
        "XLA",
        "7",
        "0",
        "1,234",
        "12.3",
        "0.123",
        "2.5e-07",
    ]


def test_results_have_a_line_for_each_row(script):
    harness = script("harness")
    result = {"a": 1, "none": [], "tables": {"t": [{"n": 1, "ms": 2.5}, {"n": 2, "s": "a, [b"}], "empty": []}}
    lines = harness.as_json(result).splitlines()
    assert json.loads("\n".join(lines)) == result
    assert [line.strip(" ,") for line in lines[4:7]] == ['"t": [', '{"n": 1, "ms": 2.5}', '{"n": 2, "s": "a, [b"}']


def test_every_script_is_run():
    scripts = {name for name, path in SCRIPTS.items() if "__main__" in path.read_text()}
    assert scripts == TINY.keys() | OTHERS


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("batch_scoring", ["--lists", "20"]),
        ("data_reading", ["--documents", "400"]),
        ("million", ["--size", "1000", "--repeats", "1", "--seconds", "0.1"]),
    ],
)
def test_script_in_a_process_of_its_own(name, settings, tmp_path):
    check_process(SCRIPTS[name], settings, tmp_path)


@pytest.mark.slow
def test_tracking_matches_with_gates_as_scipy_does(script, rng):
    """The matching has the most allowed pairs, at the least cost. SciPy gets a large cost for forbidden pairs."""
    by_match = script("tracking").by_match
    for shape in [(3, 5), (5, 3), (4, 4), (1, 6)]:
        costs = np.where(rng.random(shape) < 0.4, np.nan, rng.random(shape))
        rows, columns = by_match(costs)
        expected = scipy.optimize.linear_sum_assignment(np.where(np.isnan(costs), 100.0, costs))
        allowed = ~np.isnan(costs[expected])
        assert (rows.tolist(), columns.tolist()) == tuple(each[allowed].tolist() for each in expected)
    assert by_match(np.full([2, 2], np.nan))[0].size == 0
