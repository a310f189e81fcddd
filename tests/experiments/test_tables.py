"""Every experiment that prints tables runs on tiny settings; its tables are those of its runs."""

import json
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from support.scripts import check_process, check_rows, ignores_warnings_of_tiny_settings

pytestmark = [pytest.mark.default_stack_only, pytest.mark.nightly]

SCRIPTS = {path.stem: path for path in (Path(__file__).parents[2] / "experiments").glob("*.py")}
TINY = {
    "clicks": ["--seeds", "1", "--steps", "1", "--sessions", "50"],
    "dknn_published": [
        "--dataset",
        "sklearn",
        "--epochs",
        "1",
        "--blocks",
        "1",
        "1",
        "--width",
        "4",
        "--validation-count",
        "1237",
        "--batch",
        "30",
    ],
    "first_loss": ["--losses", "SoftmaxLoss()", "--data", "wards", "--seeds", "1", "--epochs", "1"],
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
    "ranking_methods": ["--splits", "1", "--epochs", "1", "--methods", "LambdaMART, default settings", "Softmax"],
    "retrieval": ["--images", "digits", "--losses", "circle", "--seeds", "0", "--steps", "1"],
    "slate_grid": ["--candidates", "3", "--places", "1", "2", "--seeds", "0", "--steps", "1", "--test-visits", "4"],
    "surrogates": ["--losses", "Softmax", "--splits", "1", "--epochs", "2"],
    "temperature": ["--seeds", "1", "--steps", "1", "--losses", "softmax_loss"],
    "trees": ["--splits", "1", "--objectives", "lambdarank", "RankNetLoss()", "rank:ndcg"],
}
PROCESSES = {
    "mnist_sorting_step": ["--lists", "1", "--list-size", "2", "--repeats", "1"],
    "experiment_tables": ["number_sorting", "--quick"],
    "digits_seeds": ["--seeds", "0", "--steps", "1", "--test-lists", "3", "--no-baselines"],
}
# Scripts with tests of another form, here or in other files.
OTHERS = {
    *("migration", "knn_tables", "mnist_median", "mnist_sorting", "mnist_sorting_tables"),
    *("movielens", "two_towers", "export_dknn", "run_dknn"),
}


def test_the_readme_names_every_script_and_the_page_that_it_made(script):
    """A result names the script that made it; the row of this script links to each page that shows the result."""
    harness = script("harness")
    rows = (Path(__file__).parents[2] / "experiments/README.md").read_text().splitlines()
    named = {name: next((row for row in rows if row.startswith("|") and f"`{name}.py`" in row), "") for name in SCRIPTS}
    assert [name for name, row in named.items() if not row] == []
    for page in harness.pages():
        for result in {name for _, name, _, _ in harness.MARKED.findall(page.read_text())}:
            _, path, *rest = json.loads((harness.RESULTS / result).read_text())["command"].split()
            name = rest[0] if path.endswith("experiment_tables.py") else Path(path).stem
            assert not path.startswith("experiments/") or f"/{page.name})" in named[name], (page.name, name)


@ignores_warnings_of_tiny_settings
@pytest.mark.usefixtures("without_tracing")
@pytest.mark.parametrize("name", TINY)
def test_script_runs_and_writes_its_rows(name, script, tmp_path, capsys):
    check_rows(script, name, TINY[name], tmp_path, capsys)


@pytest.mark.parametrize("name", PROCESSES)
def test_script_in_a_process_of_its_own(name, tmp_path):
    check_process(SCRIPTS[name], PROCESSES[name], tmp_path)


def test_every_script_is_run():
    texts = {name: path.read_text() for name, path in SCRIPTS.items()}
    # Scripts that print a report and draw a picture are run in test_reports.py.
    scripts = {name for name, text in texts.items() if "__main__" in text and "command_line.new_parser" not in text}
    assert scripts == TINY.keys() | PROCESSES.keys() | OTHERS


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
