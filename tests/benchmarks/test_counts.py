"""Counts of HLO and nodes: they are those of the program, and one that has grown is refused."""

import copy
import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.nightly

TOOLS = Path(__file__).parents[2] / "benchmarks" / "tools"


@pytest.fixture
def counts(monkeypatch):
    monkeypatch.syspath_prepend(str(TOOLS))
    return importlib.import_module("counts")


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    """The counts of a call and of a step, from a process of its own, because nothing is traced twice."""
    path = tmp_path_factory.mktemp("counts") / "counts.json"
    command = [sys.executable, str(TOOLS / "counts.py"), "--calls", "soft_sort", "SoftmaxLoss", "--json", str(path)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(path.read_text())


def test_one_call(result):
    (row,) = result["tables"]["counts"]
    matrix = 8 * 64 * 64 * 4 / 1024
    assert row["operations"] > 20
    assert row["KiB"] > 4 * matrix  # logits, their softmax, and the gradient of each
    assert row["files"] > 1


def test_one_step(result):
    (row,) = result["tables"]["steps"]
    assert row["call"] == "SoftmaxLoss"
    assert 30 < row["of the formula"] < row["nodes"] < 2 * row["of the formula"]


@pytest.mark.parametrize("where", [("counts", "operations"), ("counts", "KiB"), ("steps", "nodes")], ids=" ".join)
def test_a_count_that_has_grown_is_refused(counts, result, where, tmp_path, monkeypatch):
    table, column = where
    path = tmp_path / "committed.json"
    monkeypatch.setattr(counts, "rows", lambda names: result["tables"]["counts"])
    monkeypatch.setattr(counts, "steps", lambda names: result["tables"]["steps"])
    for factor, refused in ((1.0, False), (0.96, False), (0.9, True), (1.2, False)):
        committed = copy.deepcopy(result)
        committed["tables"][table][0][column] *= factor
        path.write_text(json.dumps(committed))
        if refused:
            with pytest.raises(SystemExit, match=rf"^counts have grown .*\n\w+: \d+ {column}, and .* committed$"):
                counts.main(["--check", str(path)])
        else:
            counts.main(["--check", str(path)])


def test_a_call_without_committed_counts_is_refused(counts, result):
    nothing = {**result, "tables": {"counts": []}}
    assert len(counts.grown(result, nothing)) == 3


def test_files_may_grow(counts, result):
    committed = copy.deepcopy(result)
    committed["tables"]["counts"][0]["files"] = 1
    assert counts.grown(result, committed) == []


def test_another_tensorflow_is_not_compared(counts, result, capsys):
    committed = copy.deepcopy(result)
    committed["versions"]["tensorflow"] = "2.0.0"
    committed["tables"]["counts"][0] |= {"operations": 1, "KiB": 1}
    committed["tables"]["steps"][0]["nodes"] = 1
    assert counts.grown(result, committed) == []
    assert "the counts are of 2.0.0: nothing is compared" in capsys.readouterr().out


def test_every_call_has_committed_counts(counts):
    committed = json.loads(counts.COMMITTED.read_text())
    assert [row["call"] for row in committed["tables"]["counts"]] == list(counts.CALLS)
    assert [row["call"] for row in committed["tables"]["steps"]] == list(counts.STEPS)


def test_operations_and_bytes_of_a_module(counts):
    text = """
%add (x: f32[], y: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  ROOT %sum.1 = f32[] add(%x, %y)
}
ENTRY main {
  rows.2 = (f32[4,8]{1,0}, s64[], /*index=2*/pred[3]{0}) while(start), condition=c, body=b
  %half.3 = bf16[4,8]{1,0} convert(%x), metadata={op_name="a(b)"}
  ROOT out = (bf16[4,8]{1,0}) tuple(%half.3)
}
"""
    assert counts.counted(text) == (3, 4 + (128 + 8 + 3) + 64)
