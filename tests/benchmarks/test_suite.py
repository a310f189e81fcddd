"""The suite of all operators, on tiny lists."""

import importlib
import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from statistics import geometric_mean

import numpy as np
import pytest
import tensorflow as tf
from support.readme import README

SUITE = Path(__file__).parents[2] / "benchmarks" / "suite"


@pytest.fixture(autouse=True)
def _scripts_are_importable(monkeypatch):
    for folder in (SUITE.parent / "tools", SUITE):
        monkeypatch.syspath_prepend(str(folder))


def run_suite(folder, *arguments):
    command = [sys.executable, str(SUITE), "--quick", "--no-peers", *arguments, "--output", str(folder)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads((folder / "suite.json").read_text())


@pytest.mark.nightly
def test_suite_runs_all_operators(tmp_path):
    found = run_suite(tmp_path, "--sizes", "2x16", "1x1000")
    assert {"commit", "date", "machine", "versions", "command"} <= set(found)
    assert not [record for record in found["records"] if "failed" in record]
    ours = [each for each in found["records"] if (each["operator"], each["candidate"]) == ("RankNetLoss", "ours")]
    assert {record["mode"] for record in ours} == {"TF", "XLA"}
    assert all(record["seconds"] > 0 and record["difference"] < 1e-5 for record in ours)
    assert "| RankNetLoss | 2x16 | ours | TF |" in (tmp_path / "suite.md").read_text()


@pytest.mark.slow
def test_every_operator_of_the_suite_runs_on_its_data():
    operators = importlib.import_module("operators")
    tf.config.run_functions_eagerly(True)
    for name, operator in operators.OPERATORS.items():
        result = operator.function(*map(tf.constant, operators.data(name, 2, 12)))
        assert np.all(np.isfinite(result.numpy())), name
    tf.config.run_functions_eagerly(False)


def test_the_models_of_first_steps_have_the_loss_of_the_formula():
    first_step = importlib.import_module("first_step")
    random = np.random.default_rng(0)
    labels, scores = (tf.constant(random.normal(size=(4, 7)) + 5, tf.float32) for _ in range(2))
    for name, makers in first_step.losses().items():
        ours, formula = (float(makers[candidate]()(labels, scores)) for candidate in ("ours", "formula"))
        np.testing.assert_allclose(ours, formula, rtol=1e-3, err_msg=name)


@pytest.mark.parametrize(("commit", "kept"), [("abc+", [1]), ("xyz", [])])
def test_short_lists_go_on_at_their_commit(monkeypatch, tmp_path, commit, kept):
    """The second run sees a changed file: the results of the first."""
    spec = importlib.util.spec_from_file_location("suite_of_all", SUITE / "__main__.py")
    suite = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(suite)
    monkeypatch.setattr(suite.harness, "environment", lambda: {"commit": commit, "versions": {}})
    (tmp_path / "short_lists.json").write_text(json.dumps({"commit": "abc", "versions": {}, "records": [1]}))
    assert suite.of_this_commit(tmp_path / "short_lists.json")["records"] == kept


def test_each_framework_runs_alone_and_each_candidate_of_one_that_ends_has_a_record(monkeypatch):
    measure, peers = importlib.import_module("measure"), importlib.import_module("peers")
    kept = [peers.Peer(name, modes, abs) for name, modes in [("ours", ("TF", "XLA")), ("both", ("TF", "jax"))]]
    monkeypatch.setattr(measure, "fitting", lambda *_: (kept, []))
    groups = []

    def in_child(*arguments, timeout):
        groups.append([(peer.name, peer.modes) for peer in arguments[4]])
        return [{"failed": "ended"}]

    monkeypatch.setattr(measure, "in_child", in_child)
    limits = measure.Limits(1, 1, 1, 1, 1)
    records = measure.measure("RankNetLoss", (2, 8), limits, with_peers=True, with_memory=False)
    assert groups == [[("ours", ("TF", "XLA")), ("both", ("TF",))], [("both", ("jax",))]]
    found = [(record["candidate"], record["mode"], record["failed"]) for record in records]
    assert found == [(name, mode, "ended") for group in groups for name, modes in group for mode in modes]


def test_the_page_of_short_lists_keeps_the_stacks_apart():
    short_lists = importlib.import_module("short_lists")
    where = {"operator": "RankNetLoss", "batch": 64, "size": 16}

    def record(candidate, mode, seconds, **more):
        return {**where, "candidate": candidate, "mode": mode, "seconds": seconds, **more}

    stack = {"stack": short_lists.TF_RANKING}
    records = [
        record("ours", "TF", 2.0),
        record("formula", "TF", 3.0),
        record("rax.pairwise", "jax", 1.0),
        record("ours", "TF", 1.0, **stack),
        record("formula", "TF", 0.5, **stack),
        record("tf_ranking.PairwiseLogisticLoss", "TF", 4.0, **stack),
    ]
    cell = ("RankNetLoss", "TF", "64x16")
    assert short_lists.ratios(records) == {cell: 1.5}
    assert short_lists.ratios(records, short_lists.TF_RANKING) == {cell: 4.0}
    assert list(short_lists.elsewhere(records)) == ["RankNetLoss 64x16 2.00 times by rax.pairwise"]
    machine = {"cores": 2, "processor": "X"}
    versions = {"tensorflow": "2.21", "keras": "3"}
    result = {"commit": "c", "date": "d", "machine": machine, "versions": versions, "records": records}
    page = "\n".join(short_lists.report({**result, "stacks": {short_lists.TF_RANKING: {"tensorflow": "2.15.1"}}}))
    assert "its own environment, TensorFlow 2.15.1" in page
    assert "| RankNetLoss |  | 4.00 |" in page


def results(name):
    return json.loads((SUITE.parent / "results" / f"{name}.json").read_text())


def has(*sentences, page="README.md"):
    text = " ".join((README.parent / page).read_text().split())
    return [sentence for sentence in sentences if sentence not in text] == []


def test_records_keep_what_the_page_shows():
    short_lists = importlib.import_module("short_lists")
    who = {"operator": "soft_sort", "batch": 2, "size": 5, "candidate": "ours", "mode": "TF"}
    seconds = {"seconds": 1 / 3, "first call": 2 / 3, "quartiles": [0.3, 0.4], "runs": 5}
    assert short_lists.shown({**who, **seconds}) == {**who, "seconds": 0.333333}
    step = {**who, "operator": "first step SoftmaxLoss", "operations": 7}
    assert short_lists.shown({**step, **seconds}) == {**step, "first call": 0.666667}


def test_the_readme_has_the_figures_of_the_short_lists():
    short_lists = importlib.import_module("short_lists")
    cells = short_lists.ratios(results("short_lists")["records"])
    mean = geometric_mean(cells.values())
    assert has(
        "the fastest TensorFlow alternative takes "
        f"[{mean:.2f} times](benchmarks/results/short_lists.md) as long on average"
    )
    slower = sum(ratio < 1 for ratio in cells.values())
    assert has(
        f"in {slower} of {len(cells)} comparisons ours takes longer than the fastest TensorFlow peer, at most "
        f"{1 / min(cells.values()):.1f} times as long",
        page="docs/limits.md",
    )
    assert has(
        f"Ours takes longer in [{slower} of {len(cells)}](docs/limits.md#speed) comparisons, at most "
        f"{1 / min(cells.values()):.1f} times as long"
    )
    assert min(cells, key=cells.get) == ("PlackettLuceLoss", "XLA", "64x128")
    assert has("That is ListMLE under XLA on lists of 128 items", page="docs/limits.md")
    for shape in ("256x5", "64x16"):
        assert 0.9 < geometric_mean(ratio for (_, _, each), ratio in cells.items() if each == shape) < 1.1
    others = [ratio for (name, mode, _), ratio in cells.items() if (name, mode) != ("PlackettLuceLoss", "XLA")]
    assert has(f"All but ListMLE under XLA take at most {1 / min(others):.1f} times as long", page="docs/limits.md")
    faster = {}
    for sentence in short_lists.elsewhere(results("short_lists")["records"]):
        name, size, ratio, _, _, peer = sentence.split(maxsplit=5)
        faster[name, size, peer.split(".")[0]] = f"{1 / float(ratio):.1f}"
    ott = {size: share for (name, size, peer), share in faster.items() if (name, peer) == ("sinkhorn", "ott scaling")}
    assert [*ott] == ["64x16", "64x50", "64x128", "256x200", "8x500", "8x1000"]
    assert has(
        f"RankNet loss takes {faster['RankNetLoss', '256x5', 'rax']} and {faster['RankNetLoss', '64x16', 'rax']}",
        f"ListMLE {faster['PlackettLuceLoss', '256x5', 'rax']} and {faster['PlackettLuceLoss', '64x16', 'rax']}",
        f"ott-jax takes {min(ott.values())} to {max(ott.values())} of our time on 16 to 1,000 columns",
        page="docs/limits.md",
    )


def test_the_limits_have_the_figures_of_first_steps():
    steps = [record for record in results("short_lists")["records"] if record["operator"].startswith("first step")]
    found = {
        (record["operator"].removeprefix("first step "), record["candidate"], record["mode"]): record
        for record in steps
    }
    of_formula = {
        (name, mode, column): found[name, "ours", mode][column] / found[name, "formula", mode][column]
        for name, candidate, mode in found
        if candidate == "formula"
        for column in ("first call", "operations")
    }

    def between(column):
        ratios = [ratio for (_, _, each), ratio in of_formula.items() if each == column]
        return f"{min(ratios):.1f} to {max(ratios):.1f} times"

    def of(name):
        return " and ".join(f"{of_formula[name, mode, 'first call']:.1f}" for mode in ("TF", "XLA"))

    assert has(
        f"The first training step takes {between('first call')} as long",
        f"{of('RankNet')} times for RankNet",
        *(f"{of(name)} for {name}" for name in ("ListMLE", "NeuralNDCG", "NeuralSort")),
        f"The graphs have {between('operations')} as many operations",
        page="docs/limits.md",
    )


def test_the_readme_has_the_figures_of_other_results():
    rows = {row["scores"]: row for row in results("precision")["tables"]["elsewhere"] if row["n"] == 128}
    assert rows["around 1,000"]["ours"] < 1e-7
    ours = max(rows[scores]["ours"] for scores in ("around 0", "around 1,000"))
    as_written = rows["around 1,000"]["as written"]
    assert has(*(text.replace("e-0", "e-") for text in (f"is right to {ours:.0e}", f"an error of {as_written:.0e}")))
    ndcg = {row["method"]: f"{row['NDCG@5']:.3f}" for row in results("learning_to_rank")["tables"]["wards"]}
    assert has(
        f"a linear scorer with a learning rate of its own (NDCG@5 {ndcg['linear scorer, rate 0.02']})",
        f"a network ({ndcg['Softmax']})",
        f"LambdaMART ({ndcg['LambdaMART, tuned']})",
    )
    rows = results("million")["tables"]["times"]
    hard_sorts = max(row[f"{mode}, in hard sorts"] for row in rows for mode in ("graph", "XLA"))
    assert has(f"takes at most [{hard_sorts:.1f} times](benchmarks/results/million.md) as long as a hard sort")
