"""Programs for compilers of accelerators: none is missing, formulas agree, and counts are those of the text."""

import copy
import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import keras_softsort as ks

FOLDER = Path(__file__).parents[2] / "benchmarks" / "accelerators"
sys.path += [str(FOLDER), str(FOLDER.parent), str(FOLDER.parent / "tools")]
programs = importlib.import_module("programs")
TEXT = """
HloModule jit_run, is_scheduled=true
%fused (x: f32[4]) -> f64[4,8] {
  %x = f32[4]{0} parameter(0)
  ROOT %wide = f64[4,8]{1,0} convert(%x)
}
body.1 (state: (s32[], f32[4])) -> (s32[], f32[4]) {
  %state = (s32[], f32[4]{0}) parameter(0)
  %a = f32[4]{0} fusion(%state), kind=kLoop, calls=%fused
  %b = (s32[], /*index=1*/f32[4]{0}) custom-call(%a), custom_call_target="x"
  ROOT %t = (s32[], f32[4]{0}) tuple(%a, %b)
}
%condition.1 (state: (s32[], f32[4])) -> pred[] {
  ROOT %less = pred[] fusion(%state), kind=kLoop, calls=%fused
}
%few (x: f32[4]) -> f32[4] {
  ROOT %one = f32[4]{0} sort(%x), dimensions={0}, to_apply=%condition.1
}
ENTRY %main (x: f32[4]) -> f32[4] {
  %x = f32[4]{0} parameter(0)
  %n = s64[3]{0} constant({1, 2, 3})
  %loop = (s32[], f32[4]{0}) while(%x), condition=%condition.1, body=body.1, config={"known_trip_count":{"n":"20"}}
  %unknown = (s32[], f32[4]{0}) while(%x), condition=%condition.1, body=body.1
  %branch = f32[4]{0} conditional(%x, %loop, %n), branch_computations={%few, %body.1}
  %other = f32[4]{0} conditional(%x, %loop, %n), true_computation=%few, false_computation=%few
  %called = f32[4]{0} call(%other), to_apply=%few
  %started = f32[4]{0} copy-start(%called)
  ROOT %done = f32[4]{0} copy-done(%started)
}
"""


@pytest.fixture
def script():
    return importlib.import_module


def test_every_public_operator_has_a_program():
    known = {name.partition("-")[0] for name in programs.PROGRAMS} | set(programs.EXCEPTIONS)
    missing, unknown = sorted(set(ks.ops.__all__) - known), sorted(known - set(ks.ops.__all__))
    place = "benchmarks/accelerators/programs.py"
    lines = [f'(ks.ops.{name}, None),  # or "{name}": Program(...), with other inputs' for name in missing]
    assert not missing, "\n".join([f"add to {place}, with a formula in place of None if there is one:", *lines])
    assert not unknown, f"remove {unknown} from {place}: they are no public operators"


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if program.formula else [pytest.mark.nightly])
        for name, program in programs.PROGRAMS.items()
    ],
)
def test_programs_run_and_formulas_give_the_same_numbers(name):
    program = programs.PROGRAMS[name]
    tensors = [tf.constant(array) for array in programs.arrays(program, 3, 12)]
    results = tf.nest.flatten(program.function(*tensors))
    assert all(np.isfinite(result).all() for result in results)
    expected = tf.nest.flatten(program.formula(*tensors)) if program.formula else results
    for result, other in zip(results, expected, strict=True):
        if name == "gumbel_softmax":  # other noise
            assert result.shape == other.shape
        else:
            np.testing.assert_allclose(result, other, rtol=1e-5, atol=1e-5)


@pytest.mark.nightly
def test_programs_are_exported(script, tmp_path):
    for more in ([], ["--formulas"]):
        names = {path.name for path in tmp_path.iterdir()}
        script("export").main([str(tmp_path), "--programs", "soft_sort", "ndcg", "--shapes", "2x8", *more])
    assert names == {"soft_sort-2x8-gpu", "ndcg-2x8-gpu"}
    assert {path.name for path in tmp_path.iterdir()} - names == {"soft_sort-2x8-formula-gpu", "ndcg-2x8-formula-gpu"}
    assert (tmp_path / "soft_sort-2x8-gpu" / "program.hlo").stat().st_size > 1000
    with np.load(tmp_path / "soft_sort-2x8-gpu" / "arrays.npz") as arrays:
        assert [arrays[name].shape for name in ("input_0", "output_0", "output_1")] == [(2, 8), (2, 8, 8), (2, 8)]
    with np.load(tmp_path / "ndcg-2x8-gpu" / "arrays.npz") as arrays:
        assert set(arrays) == {"input_0", "input_1", "output_0"}


@pytest.mark.nightly
def test_digests_tell_programs_apart_and_not_their_traces(script, tmp_path):
    def digests(*names):
        folders = [script("export").export(tmp_path, name, "2x8", "tpu") for name in names]
        return {folder.name: (folder / "digest.txt").read_text() for folder in folders}

    first, again = digests("soft_sort", "ndcg"), digests("ndcg", "soft_sort")
    assert first == again
    assert len(set(first.values())) == 2


def test_launches_of_loops_branches_and_calls(script):
    module = script("compile").Module(TEXT)
    # Each turn of a loop has two fusions and a custom call, and the longer branch a fusion and a custom call.
    assert module.launches() == {"fusion": 43, "custom-call": 22, "sort": 2, "copy-start": 1}
    assert module.loops() == 2
    assert script("compile").largest(TEXT) == {"float64": 32, "int64": 3}


# Takes the place of compile.py: formulas take too long, and `softmax_loss` ends the process.
COMPILER = """
import json, signal, sys
print("a warning")
print("answer", json.dumps({"jax": "1.2"}), flush=True)
for line in sys.stdin:
    if "formula" in line:
        signal.setitimer(signal.ITIMER_PROF, float(sys.argv[2]))
        while True:
            pass
    if "softmax_loss" in line:
        sys.exit(3)
    print("answer", json.dumps({"us": 12.0, "kernels": 4, "float64": 0, "seconds": 1.0}), flush=True)
"""


@pytest.fixture
def result(script, tmp_path, monkeypatch):
    monkeypatch.setattr(script("accelerators.__main__"), "COMPILE", tmp_path / "fake.py")
    (tmp_path / "fake.py").write_text(COMPILER)
    arguments = [
        "--programs",
        "soft_sort",
        "softmax_loss",
        "mrr",
        "--shapes",
        "2x4",
        "--limit",
        "0.1",
        "--targets",
        "tpu",
    ]
    path = tmp_path / "rows.json"
    found = script("accelerators.__main__").main([*arguments, "--json", str(path)])
    assert json.loads(path.read_text()) == json.loads(json.dumps(found))
    return found


@pytest.mark.slow
def test_rows_tell_what_is_not_compiled(result):
    slow, ended = "takes more than 0.1 s", "ended with 3"
    errors = {(row["program"], row["of"]): row["error"] for row in result["tables"]["compiled"]}
    assert errors == {
        ("soft_sort", "ours"): None,
        ("soft_sort", "formula"): slow,
        ("softmax_loss", "ours"): ended,
        ("softmax_loss", "formula"): slow,
        ("mrr", "ours"): None,
        ("mrr", "formula"): slow,
    }
    rows = {row["program"]: row for row in result["tables"]["beside"]}
    assert rows["soft_sort"]["TPU, us"] == "12"
    assert rows["softmax_loss"]["not compiled"] == f"tpu, ours: {ended}; tpu, formula: {slow}"
    assert result["tables"]["compilers"] == [{"target": "tpu", "library": "jax", "version": "1.2"}]


@pytest.mark.slow
def test_what_has_grown_is_refused(result, script, capsys):
    grown = script("comparison").grown
    assert grown(result, result) == []
    committed = copy.deepcopy(result)
    first, *_, last, _ = committed["tables"]["compiled"]
    first |= {"kernels": 3, "float64": 1}
    last["error"] = "none"
    assert grown(result, committed) == ["soft_sort 2x4 on tpu: 4 kernels, and 3 are committed"]
    first |= {"kernels": 4, "float64": -1}
    assert grown(result, committed) == ["soft_sort 2x4 on tpu: 0 elements of float64, and -1 are committed"]
    committed["tables"]["compiled"][2]["error"] = None
    assert len(grown(result, committed)) == 2
    committed["tables"]["compiled"].pop(0)
    assert len(grown(result, committed)) == 1
    assert "soft_sort 2x4 on tpu: nothing is committed to compare with" in capsys.readouterr().out
    committed["tables"]["compilers"] = []
    assert grown(result, committed) == []
    assert "nothing is compared" in capsys.readouterr().out


@pytest.mark.slow
def test_programs_that_are_those_of_the_results_are_not_compiled_again(result, script, tmp_path, monkeypatch):
    main = script("accelerators.__main__")
    arguments = ["--programs", "mrr", "--shapes", "2x4", "--targets", "tpu", "--limit", "0.1"]
    committed = copy.deepcopy(result)
    (ours,) = (row for row in committed["tables"]["compiled"] if (row["program"], row["of"]) == ("mrr", "ours"))
    ours["kernels"] = 7  # not what the compiler says
    monkeypatch.setattr(main, "COMMITTED", tmp_path / "committed.json")

    def kernels(*options):
        main.COMMITTED.write_text(json.dumps(committed))
        return main.main([*arguments, *options])["tables"]["compiled"][0]["kernels"]

    assert kernels() == 7
    assert kernels("--json", str(main.COMMITTED), "--targets", "tpu", "tpu") == 7  # what is read is written, too
    assert kernels("--all") == 4
    committed["tables"]["compilers"] = [{"target": "tpu", "library": "jax", "version": "1.1"}]
    assert kernels() == 4


def test_ratios_have_a_floor(script):
    rows = [
        {"program": "a", "shape": "2x4", "target": target, "of": of, "us": us, "kernels": kernels, "error": None}
        for target, of, us, kernels in [
            ("tpu", "ours", 40.0, 0),
            ("tpu", "formula", 2.0, 0),
            ("gpu", "ours", None, 9),
            ("gpu", "formula", None, 3),
        ]
    ]
    (row,) = script("comparison").beside(rows)
    assert (row["TPU, us"], row["H100, kernels"]) == ("40 / 2.0 = 8", "9 / 3 = 3")
    assert [each["TPU, us / formula's"] for each in script("comparison").means(rows)] == [8, 8]
    rows[1]["loops"] = 1  # which the estimate counts once
    (row,) = script("comparison").beside(rows)
    assert row["TPU, us"] == "40 / 2.0"
    assert [each["TPU, us / formula's"] for each in script("comparison").means(rows)] == [None, None]


@pytest.mark.nightly
def test_products_are_exported_in_float32_if_asked_for(script, tmp_path):
    enabled = tf.config.experimental.tensor_float_32_execution_enabled()
    for name, options in [("tf32", []), ("float32", ["--no-tf32"])]:
        script("export").main([str(tmp_path / name), "--programs", "retrieval_loss", "--shapes", "2x8", *options])
    tf.config.experimental.enable_tensor_float_32_execution(enabled)
    tf32, float32 = (
        (tmp_path / name / "retrieval_loss-2x8-gpu/program.hlo").read_bytes() for name in ("tf32", "float32")
    )
    # A device that rounds factors gets each factor in two parts.
    assert tf32.count(b"concatenate") > float32.count(b"concatenate")
