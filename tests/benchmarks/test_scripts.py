"""Every benchmark runs on tiny settings, and the tables of its results are those of its files."""

import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.optimize
import tensorflow as tf

pytestmark = pytest.mark.default_stack_only

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
# The accelerators and the suite are started as folders, and have tests in other files.
SCRIPTS = {
    path.stem: path
    for folder in ("operators", "precision", "training", "pipelines", "tools")
    for path in (BENCHMARKS / folder).glob("*.py")
}
TINY = {
    "dense_matrix_free_threshold": ["--sizes", "4", "--items", "4", "--methods", "soft_sort", "--repeats", "1"],
    "dense_matrix": ["--shapes", "2x5", "--repeats", "1"],
    "dknn_published": [
        *("--dataset", "sklearn", "--epochs", "1", "--blocks", "1", "1", "--width", "4"),
        *("--validation-count", "1237", "--batch", "30"),
    ],
    "dknn": ["--shapes", "3x20", "--repeats", "1"],
    "eager_calls": ["--count", "1", "--largest", "6", "--only", "soft_rank", "OrdinalLoss"],
    "gradient_variance": ["--samples", "2", "--spreads", "1", "--repeats", "20"],
    "ranking_methods": ["--splits", "1", "--epochs", "1", "--methods", "LambdaMART, default settings", "Softmax"],
    "surrogates": ["--losses", "Softmax", "--splits", "1", "--epochs", "2"],
    "jigsaw_photographs": [
        "--dataset",
        "sklearn",
        "--images",
        "50",
        "--attention",
        "1",
        "--steps",
        "1",
        "--seeds",
        "0",
    ],
    "linear_assignment": ["--shapes", "1x2x2", "1x3x3", "1x4x4", "1x2x3", "--repeats", "1"],
    "first_loss": ["--losses", "SoftmaxLoss()", "--data", "wards", "--seeds", "1", "--epochs", "1"],
    "nearest_neighbors": ["--shapes", "2x40x3x2", "--repeats", "1"],
    "variants": ["--variants", "sums over few columns", "--shapes", "2x5", "--repeats", "1"],
    "plackett_luce": ["--shapes", "2x6", "--repeats", "1"],
    "precision": ["--sizes", "20", "--taus", "1"],
    "ranking_losses": ["--losses", "hinge of pairs", "--what", "time", "--shapes", "2x5", "--repeats", "1"],
    "ranknet": ["--tables", "time", "error", "--shapes", "2x9", "--repeats", "1"],
    "growth": ["--sizes", "8", "16", "--error-sizes", "8", "--modes", "TF", "--repeats", "1"],
    "groups": ["--rows", "300", "--losses", "softmax", "--compiled", "0", "--repeats", "1"],
    "lambda_gradients": ["--sizes", "6", "--repeats", "1", "--no-memory"],
    "retrieval": ["--images", "digits", "--losses", "circle", "--seeds", "0", "--steps", "1"],
    "slate_grid": ["--candidates", "3", "--places", "1", "2", "--seeds", "0", "--steps", "1", "--test-visits", "4"],
    "toy_estimators": ["--etas", "0", "--repeats", "20"],
    "set_matching": ["--shapes", "1x2x4", "--costs", "boxes", "--repeats", "1"],
    "clicks": ["--seeds", "1", "--steps", "1", "--sessions", "50"],
    "serving_latency": ["--epochs", "1", "--lists", "2", "--requests", "3"],
    "slate_value": ["--repeats", "2", "--sessions", "50"],
    "trees": ["--splits", "1", "--objectives", "lambdarank", "RankNetLoss()", "rank:ndcg"],
    "temperature": ["--seeds", "1", "--steps", "1", "--losses", "softmax_loss"],
    "sinkhorn": ["--shapes", "2x5", "--iterations", "20", "--repeats", "1"],
}


# Some of these take seconds with any settings.
SLOW = {"linear_assignment", "retrieval", "ranking_methods", "eager_calls", "set_matching", "lambda_gradients"}
SLOW |= {"first_loss", "dknn_published", "trees", "clicks", "surrogates", "jigsaw_photographs"}
# Scripts with tests of another form, here or in other files.
OTHERS = {
    "counts",
    "migration",
    "digits_seeds",
    "experiment_tables",
    "knn_tables",
    "mnist_median",
    "mnist_sorting",
    "mnist_sorting_step",
    "mnist_sorting_tables",
    "harness",
    "batch_scoring",
    "tracking",
    "movielens",
    "two_towers",
    "data_reading",
    "export_dknn",
    "run_dknn",
}


@pytest.fixture
def script(monkeypatch):
    for folder in {path.parent for path in SCRIPTS.values()}:
        monkeypatch.syspath_prepend(str(folder))
    return importlib.import_module


@pytest.fixture
def without_tracing():
    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


@pytest.mark.nightly
def test_layers_of_sets(script):
    (table,) = script("set_matching").main(["--layers", "--repeats", "1"])["tables"].values()
    assert [row["layers"] for row in table] == [6, 6, 13, 13]


@pytest.mark.slow
@pytest.mark.filterwarnings(
    "ignore:invalid value encountered:RuntimeWarning",
    "ignore:overflow:RuntimeWarning",
    "ignore:Even though the `tf.config.experimental_run_functions_eagerly`:UserWarning",  # tf.data traces all the same
)
@pytest.mark.usefixtures("without_tracing")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.nightly] if name in SLOW else []) for name in TINY]
)
def test_script_runs_and_writes_its_rows(name, script, tmp_path, capsys):
    path = tmp_path / "rows.json"
    result = script(name).main([*TINY[name], "--json", str(path)])
    assert json.loads(path.read_text()) == json.loads(json.dumps(result))
    assert all(result["tables"].values())
    assert {"commit", "date", "machine", "versions", "command"} <= set(result)
    command, _, measured = script("harness").described(result)
    assert command.startswith("    python ")
    assert result["date"] in measured
    printed = capsys.readouterr().out
    for rows in result["tables"].values():
        assert "\n".join(script("harness").table(rows)) in printed


def test_pages_tell_the_minutes_and_uncommitted_changes(script):
    harness = script("harness")
    result = {"command": "python benchmarks/a.py", **harness.environment(), "commit": "12ab+", "minutes": 2.4}
    assert "at commit 12ab with uncommitted changes in 2.4 minutes:" in harness.described(result)[-1]
    assert "at commit 12ab:" in harness.described({**result, "commit": "12ab", "minutes": 0.1})[-1]


def test_tables_go_between_marks_that_hold_none(script, tmp_path):
    (tmp_path / "a.json").write_text(json.dumps({"tables": {"rows": [{"n": 1}]}}))
    marks = "<!-- table: a.json rows -->\n<!-- end -->\n"
    text = script("harness").with_tables(f"{marks}\nprose\n\n{marks}", tmp_path)
    assert text.count("| 1 |") == 2
    assert "prose" in text
    assert script("harness").with_tables(text, tmp_path) == text


def test_migration_runs_the_pipelines_of_the_page(script, rng):
    migration, data = script("migration"), script("_shared.ranking_splits")
    records, ours = migration.blocks()
    assert "write_elwc" in records
    assert "tensorflow_ranking" not in ours
    assert "export_ranker" in ours
    assert "model.set_weights(initial)\nmodel.compile(" in migration.from_weights(ours)
    labels, scores = rng.integers(1, 5, size=(6, 4)), rng.normal(size=(6, 4))
    lists = data.Lists.of(np.zeros([24, 1]), labels.ravel(), np.full(6, 4))
    assert migration.ndcg(labels, scores, 3) == pytest.approx(data.ndcg(lists, scores, 3).mean(), rel=1e-12)
    assert migration.ndcg([np.array([0.0, 2, 1])], np.array([[1.0, 3, 2]]), 3) == 1


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


def test_memory_growth_is_that_of_the_run(script, monkeypatch, tmp_path):
    harness = script("harness")
    (tmp_path / "make_large.py").write_text(
        "import numpy as np\n"
        "def make(mebibytes):\n"
        "    return lambda: np.ones(2**17), lambda: np.ones(mebibytes * 2**17).sum()\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert 95 <= harness.memory_growth(importlib.import_module("make_large").make, 100) < 110


def test_tables_are_made_and_measured_again(script, monkeypatch, tmp_path):
    harness = script("harness")
    monkeypatch.setattr(harness, "RESULTS", tmp_path)
    commands = []
    monkeypatch.setattr("subprocess.run", lambda command, check: commands.append(command[1:]))
    result = {"command": "python benchmarks/operators/x.py --skip 'a b'", "tables": {"time": [{"n": 3, "ms": 1.5}]}}
    (tmp_path / "x.json").write_text(json.dumps(result))
    (tmp_path / "x.md").write_text("# X\n\n<!-- table: x.json time -->\nold\n<!-- end -->\n\nEnd\n")
    harness.main(["--measure"])
    assert commands == [[str(BENCHMARKS / "operators" / "x.py"), "--skip", "a b", "--json", str(tmp_path / "x.json")]]
    table = "| n | ms |\n|---:|---:|\n| 3 | 1.5 |"
    assert (tmp_path / "x.md").read_text() == f"# X\n\n<!-- table: x.json time -->\n{table}\n<!-- end -->\n\nEnd\n"


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


def test_tables_are_those_of_the_files(script):
    harness = script("harness")
    for page in harness.pages():
        assert page.read_text() == harness.with_tables(page.read_text(), harness.RESULTS), page


def test_no_result_names_a_folder_of_a_machine(script):
    for path in script("harness").RESULTS.glob("*.json"):
        result = json.loads(path.read_text())
        for command in (result["command"], *(run.get("command", "") for run in result.get("runs", []))):
            assert not re.search(r"(^|[ =])/", command), (path.name, command)


def test_pages_tell_which_results_have_uncommitted_changes(script):
    harness = script("harness")
    text = "\n".join(page.read_text() for page in harness.pages())
    for path in harness.RESULTS.glob("*.json"):
        if json.loads(path.read_text())["commit"].endswith("+"):
            assert f"<!-- table: {path.name} measured -->" in text


@pytest.mark.nightly
@pytest.mark.parametrize("method", ["stochastic", "gumbel_sinkhorn", "gumbel_sinkhorn_rows", "row_stochastic"])
def test_mnist_sorting_goes_on_where_it_stopped(method, script, tmp_path, rng, capsys):
    images, labels = rng.integers(0, 256, [40, 28, 28], dtype=np.uint8), np.arange(40) % 10
    np.savez(tmp_path / "mnist.npz", x_train=images, y_train=labels, x_test=images, y_test=labels)
    settings = ["--list-size", "3", "--epoch-steps", "1", "--test-lists", "4", "--initial", "paper", "--method", method]
    runs = tmp_path / "runs"
    for length in (["--minutes", "0.0001"], ["--steps", "3", "--fall-steps", "2"], ["--steps", "3"]):
        arguments = ["--data-dir", str(tmp_path), "--output", str(runs), *length]
        script("mnist_sorting").main([*settings, *arguments])
    (folder,) = runs.iterdir()
    state = json.loads((folder / "state.json").read_text())
    assert [point["epoch"] for point in state["curve"]] == [1, 2, 3]
    assert "resumed after epoch 1" in capsys.readouterr().out
    result = script("mnist_sorting_tables").main([str(folder), "--every", "1"])
    assert result["tables"]["last"][0]["element-wise"] == round(state["curve"][-1]["element"], 3)


def test_only_the_convolutions_of_mnist_sorting_are_in_bfloat16(script):
    model = script("mnist_sorting").network("stochastic", (28, 112, 1), 3, 1.0, convolutions="mixed_bfloat16")
    reader = model.get_layer(index=1).model
    dtypes = {type(layer).__name__: layer.compute_dtype for layer in reader.layers}
    assert {name for name, dtype in dtypes.items() if dtype == "bfloat16"} == {"Conv2D", "MaxPooling2D"}
    assert {weight.dtype for weight in model.trainable_weights} == {"float32"}
    assert model.output.dtype == "float32"


@pytest.mark.slow
@pytest.mark.usefixtures("without_tracing")
@pytest.mark.parametrize("method", ["shared", "deterministic", "stochastic"])
def test_medians_of_mnist_are_tabled_beside_the_paper(method, script, tmp_path, rng):
    images, labels = rng.integers(0, 256, [40, 28, 28], dtype=np.uint8), np.arange(40) % 10
    np.savez(tmp_path / "mnist.npz", x_train=images, y_train=labels, x_test=images, y_test=labels)
    settings = ["--list-sizes", "5", "--steps", "2", "--points", "2", "--batch-size", "1", "--test-lists", "3"]
    seeds = ["0", "1"] if method == "shared" else ["1"]
    with pytest.warns(UserWarning, match="Even though the `tf.config"):
        result = script("mnist_median").main(
            [*settings, "--method", method, "--seeds", *seeds, "--data-dir", str(tmp_path)]
        )
    *_, first, second = result["tables"]["curves"]
    assert (first["steps"], second["steps"]) == (1, 2)
    ends = result["tables"]["last"]
    assert [str(end["seed"]) for end in ends] == seeds
    assert ends[-1]["MSE x 1e4 (R2)"] == f"{second['MSE x 1e4']:.2f} ({second['R2']:.2f})"
    assert ends[-1]["paper, stochastic NeuralSort"] == "33.80 (0.94)"
    assert ends[-1]["missed by"] == f"{second['MSE x 1e4'] - 33.80:.1f}"
    columns = ["n = 5"] if len(seeds) == 1 else ["n = 5, seed 0", "n = 5, seed 1"]
    assert [list(row) for row in result["tables"]["by-steps"]] == [["point", *columns]] * 2
    assert len({row["MSE x 1e4"] for row in result["tables"]["curves"]}) == 2 * len(seeds)  # seeds count


@pytest.mark.parametrize("method", ["deterministic", "stochastic"])
def test_the_second_network_reads_the_number_that_the_first_puts_in_the_middle(method, script, rng):
    module = script("mnist_median")
    model = module.network(method, (28, 28, 1), 3, tau=1e-6)
    networks = [layer for layer in model.layers if hasattr(layer, "model")]
    order, value = sorted(networks, key=lambda layer: layer.model.layers[-1].bias[0])  # 0 and 0.5
    lists = rng.random([2, 3, 28, 28, 1], np.float32)
    scores, values = order(lists).numpy(), value(lists).numpy()
    middle = np.take_along_axis(values, np.argsort(scores)[:, 1:2], axis=1)
    found = model(lists, training=False).numpy()
    assert found.shape == (2, 5 if method == "stochastic" else 1)
    np.testing.assert_allclose(found, np.broadcast_to(middle, found.shape), rtol=1e-4)
    noisy = model(lists, training=True).numpy()
    assert (np.ptp(noisy, axis=1) > 0).any() == (method == "stochastic")


def test_the_middle_of_a_list_is_its_median(script):
    assert script("mnist_median").middle(tf.constant([[3.0, 1.0, 2.0]])).numpy().tolist() == [[2.0]]


def test_rate_falls_to_nothing_over_the_last_steps(script):
    model = tf.keras.Sequential([tf.keras.Input((1,)), tf.keras.layers.Dense(1)])
    model.compile(tf.keras.optimizers.SGD(7.0), "mse")
    rates = []
    record = tf.keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: rates.append(float(model.optimizer.learning_rate))
    )
    falling = script("mnist_sorting").FallingRate(0.8, 5, 4)
    data = tf.data.Dataset.from_tensors((tf.zeros([1, 1]), tf.zeros([1, 1]))).repeat()
    model.fit(data, epochs=9, steps_per_epoch=1, callbacks=[falling, record], shuffle=False, verbose=0)
    np.testing.assert_allclose(rates, [0.8, 0.8, 0.6, 0.4, 0.2], rtol=1e-6)


def test_tables_of_mnist_sorting_are_made_again_from_their_file(script, tmp_path):
    pytest.importorskip("matplotlib")
    for seed, method in enumerate(["neural_sort", "row_stochastic"]):
        folder = tmp_path / method
        folder.mkdir()
        options = {
            "method": method,
            "list_size": 5,
            "learning_rate": 1e-3,
            "initial": "paper",
            "seed": seed,
            "tau": 1.0,
        }
        points = [
            {"epoch": epoch, "accuracy": epoch / 10 + seed / 100, "element": 0.5, "loss": 1.0, "seconds": 60.0 * epoch}
            for epoch in (1, 2)
        ]
        state = {"options": {**options, "epoch_steps": 500}, "curve": points}
        about = {"command": "python", "fall_steps": 0, "commits": ["abc", "def"]}
        (folder / "state.json").write_text(json.dumps(state))
        (folder / "about.json").write_text(json.dumps(about))
    tables, path = script("mnist_sorting_tables"), tmp_path / "mnist_sorting.json"
    folders = [str(tmp_path / method) for method in ("neural_sort", "row_stochastic")]
    first = tables.main([*folders, "--json", str(path), "--picture", str(tmp_path / "curves.png")])
    assert [row["missed by"] for row in first["tables"]["last"]] == ["-0.117", "0.637"]
    assert [row["commit"] for row in first["tables"]["last"]] == ["abc, def"] * 2
    assert [row["steps"] for row in first["tables"]["curves-5"]] == ["1,000"]
    assert first["tables"]["losses-5"][0]["NeuralSort, 0.001, the paper's start"] == "1.000"
    assert [row["convolutions"] for row in first["tables"]["last"]] == ["float32"] * 2
    assert tables.main(["--json", str(path)])["tables"] == first["tables"]
    assert tables.main([str(tmp_path)])["tables"] == first["tables"]
    shorter = tables.main(["--json", str(path), "--every", "500", "--until", "500"])
    assert [row["steps"] for row in shorter["tables"]["curves-5"]] == ["500"]
    softer = json.loads((tmp_path / "neural_sort/state.json").read_text())
    softer["options"] |= {"tau": 4.0, "seed": 1, "mixed_precision": True}
    (tmp_path / "softer").mkdir()
    (tmp_path / "softer/about.json").write_text((tmp_path / "neural_sort/about.json").read_text())
    (tmp_path / "softer/state.json").write_text(json.dumps(softer))
    (row,) = tables.main([str(tmp_path)])["tables"]["curves-5"]
    name = "NeuralSort, 0.001, the paper's start"
    assert row[name] == row[f"{name}, tau 4, seed 1, bfloat16"]
    longer = json.loads((tmp_path / "neural_sort/state.json").read_text())
    longer["curve"].append({**longer["curve"][-1], "epoch": 4, "accuracy": 0.95})
    (tmp_path / "neural_sort/state.json").write_text(json.dumps(longer))
    both = tables.main([str(tmp_path / "neural_sort"), "--json", str(path)])
    assert [row["all correct"] for row in both["tables"]["last"]] == [0.95, 0.21]
    assert (tmp_path / "curves.png").stat().st_size > 5000


def test_nearest_neighbors_over_the_epochs(script, tmp_path):
    points = [{"epoch": epoch, "accuracy": epoch / 10, "loss": 1.0, "seconds": 60.0 * epoch} for epoch in (1, 2)]
    for name, stochastic in (("plain", "False"), ("stochastic", "True")):
        report = {
            "options": {"dataset": "cifar10", "seeds": "[3, 4]", "stochastic": stochastic},
            "results": {"kNN on pixels": [0.3], "same CNN, cross-entropy": [0.75, 0.5], "DkNNLoss + kNN": [0.25, 0.5]},
            "curves": {"DkNNLoss + kNN": [points, points[1:]], "same CNN, cross-entropy": [points, points]},
        }
        if name == "stochastic":
            del report["results"]["same CNN, cross-entropy"], report["curves"]["same CNN, cross-entropy"]
        (tmp_path / name).mkdir()
        (tmp_path / name / "knn_images.json").write_text(json.dumps(report))
    with pytest.raises(ValueError, match="each training once"):
        script("knn_tables").main([str(tmp_path / "plain")] * 2)
    result = script("knn_tables").main([str(tmp_path / name) for name in ("plain", "stochastic")])
    first, second = result["tables"]["cifar10-epochs"]
    assert first["DkNN, seed 3"] == first["stochastic DkNN, seed 3"] == "0.1000"
    assert (first["DkNN, seed 4"], second["DkNN, seed 4"]) == ("", "0.2000")
    assert result["tables"]["cifar10-tests"][1] == {
        "method": "DkNN",
        "seed": 4,
        "test accuracy": "0.5000",
        "minutes": 2,
    }
    pixels, dknn, _, cross_entropy = result["tables"]["cifar10-means"]
    expected = {"method": "kNN on pixels", "seeds": 1, "mean test accuracy": "0.3000", "standard deviation": ""}
    assert pixels == expected
    expected = {"method": "DkNN", "seeds": 2, "mean test accuracy": "0.3750", "standard deviation": "0.1768"}
    assert dknn == expected
    assert cross_entropy["mean test accuracy"] == "0.6250"
    folders = [str(tmp_path / name) for name in ("plain", "stochastic")]
    both = script("knn_tables").main([*folders, "--vary", "stochastic"])["tables"]["cifar10-stochastic"]
    assert both[0] == {"stochastic": "False", "cross-entropy": "0.6250", "DkNN": "0.3750", "stochastic DkNN": ""}
    assert both[1] == {"stochastic": "True", "cross-entropy": "", "DkNN": "", "stochastic DkNN": "0.3750"}
    with pytest.raises(SystemExit):
        script("knn_tables").main([*folders, "--vary", "breadth"])


def test_digits_with_many_seeds_are_compared_by_seed(script, monkeypatch, tmp_path):
    digits_seeds = script("digits_seeds")
    monkeypatch.setattr(digits_seeds, "commit", lambda tree: "abc")

    def measures(tree, seed, folder, options, others):
        return {"neural_sort": {"step": 3000, "all_correct": 0.5 + 0.01 * seed**2 * (tree != tmp_path), "element": 0.8}}

    monkeypatch.setattr(digits_seeds, "run", measures)
    result = digits_seeds.main(["--seeds", "0", "1", "2", "--beside", f"first={tmp_path}"])
    (difference,) = result["tables"]["differences"]
    assert difference["mean"] == "+0.0167"
    assert difference["standard error"] == round(np.std([0, 0.01, 0.04], ddof=1) / np.sqrt(3), 4)
    assert result["tables"]["seeds"][1]["neural_sort, today"] == "0.510 (0.800)"
    assert result["tables"]["means"][0]["all correct"] == "0.517 +- 0.021"


def test_tables_of_examples_have_the_spread_of_their_seeds(script):
    tables = script("experiment_tables")
    sorting = tables.number_sorting(
        {
            80: {
                name: [{"list": share, "element": share / 4} for share in (0.0, 0.5)]
                for name in ("U(0,1) raw", "U(0,1) rescaled")
            }
        },
        {80: [3, 1]},
    )
    sorting = {name: list(rows) for name, rows in sorting.items()}
    assert sorting["lists"][0] == {"test": "U(0,1) raw", "N = 80": "0.250 (0.000 to 0.500)"}
    assert [row["wrong elements"] for row in sorting["seeds"]] == ["0.00000", "0.12500"] * 2
    assert [row["trainings"] for row in sorting["seeds"]] == [3, 1] * 2
    jigsaw = tables.jigsaw({2: {"shuffled": [{"any_wrong": 0.5}], "ours": [{"any_wrong": 0.1}, {"any_wrong": 0.3}]}})
    assert [row["any wrong"] for row in jigsaw["puzzles"]] == ["0.500", "0.200 +- 0.141"]
    slate = tables.recommender_slate({"random": 1.0, "best of all": 2.0}, {"rloo": [[0.0, 1.5], [0.0, 1.0]]}, every=20)
    assert list(slate["steps"]) == [{"": "rloo", "20 steps": "1.250", "highest mean": "1.250", "at step": "20"}]
    assert list(slate["rewards"])[-1] == {
        "": "rloo",
        "reward": "1.2500 (1.0000 to 1.5000)",
        "of best of all": "62.5%",
    }
    ranks = list(
        tables.tabular_ranks({"squares": [[0.4, 0.6], [0.2, 0.4]], "ours": [[0.5, 0.7], [0.1, 0.3]]})["correlations"]
    )
    assert ranks[1] == {
        "rank correlation per year": "ours",
        "mean": "0.400",
        "lowest": "0.200",
        "highest": "0.600",
        "mean / standard deviation over years": "4.0",
        "ahead of squares": "1 of 2",
    }
    found = tables.digit_detector({"matched": [{"f1_score": 1.0}, {"f1_score": 3.0}]}, [1, 3])["measures"]
    expected = {"1": 1.0, "3": 3.0, "mean": "2.000 +- 1.414"}
    assert list(found) == [{"targets": "matched", "seed": seed, "f1 score": value} for seed, value in expected.items()]


def test_grid_of_slates_says_who_is_ahead_with_every_seed(script, tmp_path):
    pytest.importorskip("matplotlib")
    grid = script("slate_grid")
    rewards = {
        (1, "gumbel hard"): (1.0, 1.2),
        (1, "rloo"): (0.9, 1.0),
        (2, "gumbel hard"): (1.0, 1.0),
        (2, "rloo"): (0.8, 1.2),
    }
    rows = [
        {
            "candidates": 5,
            "places": places,
            "seed": seed,
            "method": method,
            "after 10": 0.5,
            "after 20": reward,
            "best known slates": 2.0,
        }
        for (places, method), found in rewards.items()
        for seed, reward in enumerate(found)
    ]
    first, second = grid.grid(rows)
    assert (first["ahead"], second["ahead"]) == ("gumbel hard", "neither")
    assert (first["difference"], second["difference"]) == ("+7.50 +- 3.54", "+0.00 +- 14.14")
    assert next(grid.over_steps(rows)) == {"candidates": 5, "places": 1, "after 10": "+0.0", "after 20": "+7.5"}
    path = tmp_path / "grid.json"
    path.write_text(json.dumps({"tables": {"runs": rows}}))
    again = grid.main(["--json", str(path), "--again", "--picture", str(tmp_path / "grid.png")])
    assert again["tables"]["grid"] == [first, second] == json.loads(path.read_text())["tables"]["grid"]
    assert (tmp_path / "grid.png").stat().st_size > 5000


def test_every_script_is_run():
    texts = {name: path.read_text() for name, path in SCRIPTS.items()}
    # Experiments print a report and draw a picture: test_experiments.py.
    scripts = {name for name, text in texts.items() if "__main__" in text and "command_line.new_parser" not in text}
    assert scripts == TINY.keys() | OTHERS


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        pytest.param("batch_scoring", ["--lists", "20"], marks=pytest.mark.nightly),
        ("mnist_sorting_step", ["--lists", "1", "--list-size", "2", "--repeats", "1"]),
        pytest.param("experiment_tables", ["number_sorting", "--quick"], marks=pytest.mark.nightly),
        pytest.param(
            "digits_seeds",
            ["--seeds", "0", "--steps", "1", "--test-lists", "3", "--no-baselines"],
            marks=pytest.mark.nightly,
        ),
        pytest.param("data_reading", ["--documents", "400"], marks=pytest.mark.nightly),
    ],
)
def test_script_in_a_process_of_its_own(name, settings, tmp_path):
    path = tmp_path / f"{name}.json"
    command = [sys.executable, str(SCRIPTS[name]), *settings, "--json", str(path)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    assert all(json.loads(path.read_text())["tables"].values())


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


@pytest.mark.slow
def test_movielens_is_learned_from_rows_of_ratings(script, tmp_path, rng):
    pytest.importorskip("keras_rs")
    movielens = script("movielens")
    rows = np.stack(
        [np.repeat(np.arange(1, 41), 2500), np.tile(np.arange(1, 101), 1000), np.arange(100_000) % 5 + 1], 1
    )
    (tmp_path / "ml-100k.inter").write_text("header\n" + "\n".join(map(" ".join, rows.astype(str).tolist())))
    arguments = ["--data-dir", str(tmp_path), "--losses", "softmax", "--settings", "1x1", "--seeds", "0"]
    chance, means, _ = movielens.main(arguments)["tables"]["movielens"]
    assert chance["NDCG, 1x1"] < means["NDCG, 1x1"] == "1.0000 +- 0.0000"  # the rating depends on the movie alone


@pytest.mark.nightly
def test_two_towers_are_compared_on_the_same_likes(script, tmp_path):
    """Users like every second movie; each has likes in all three parts, and no movie in two."""
    two_towers = script("two_towers")
    users, movies = (each.ravel() for each in np.meshgrid(np.arange(40), np.arange(40), indexing="ij"))
    stars = np.where(users % 2 == movies % 2, 5, 3)
    rows = np.stack([users, movies, stars, movies], 1)
    (tmp_path / "ml-100k.inter").write_text("header\n" + "\n".join(map(" ".join, rows.astype(str).tolist())))
    likes = two_towers.read(tmp_path)
    assert [each.sum(axis=1).tolist() for each in likes[1:]] == [[14] * 40, [2] * 40, [4] * 40]
    assert not np.any(likes.train & likes.validation | likes.validation & likes.test | likes.train & likes.test)
    arguments = ["--data-dir", str(tmp_path), "--rates", "0.03", "--taus", "0.1", "--seeds", "0", "--epochs", "2"]
    path = tmp_path / "rows.json"
    result = two_towers.main([*arguments, "--json", str(path)])
    methods = {row["method"]: row for row in result["tables"]["methods"]}
    assert list(methods) == list(two_towers.METHODS)
    assert methods["popular items"]["recall@10"] == "0.000"  # nobody has liked them before
    assert [row["embeddings of"] for row in result["tables"]["index"]] == list(two_towers.METHODS)[1:]
    assert two_towers.main([*arguments, "--json", str(path)])["tables"] == result["tables"]  # none is trained again


def test_candidates_of_two_towers_leave_out_accidental_hits(script, monkeypatch):
    two_towers = script("two_towers")
    monkeypatch.setattr(two_towers, "BATCH", 4)
    table = np.ones([3, 9], bool)
    likes = two_towers.Likes(np.array([[0, 0], [1, 1]]), table, table, table)
    for name, others in (("softmax, in-batch", 0), ("softmax, 256 sampled items", -1)):
        trainer = two_towers.Trainer(likes, two_towers.METHODS[name], None)
        candidates, labels = trainer.candidates(tf.constant([0, 0, 1, 2]), tf.constant([5, 6, 5, 7]))
        # User 0 has liked 5 and 6, users 0 and 1 have liked 5.
        expected = [[1, -1, -1, others], [-1, 1, -1, others], [-1, others, 1, others], [others, others, others, 1]]
        assert labels[:, :4].numpy().tolist() == expected
        own = [candidates[:4].numpy().tolist().index(item) for item in (5, 6)]
        assert own == [0, 1]
        sampled = [{5, 6}, {5, 6}, {5}, {7}]
        for row, hits in zip(labels[:, 4:].numpy(), sampled, strict=True):
            assert row.tolist() == [-1 if item in hits else 0 for item in candidates[4:].numpy().tolist()]
