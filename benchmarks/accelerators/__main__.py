"""Compile each operator, loss and metric for a TPU v5e and an H100, without either of them, and count the result.

    python benchmarks/accelerators --programs neural_sort soft_rank --shapes 64x128 --targets tpu
    python benchmarks/accelerators --all                                           # 40 minutes on two cores
    python benchmarks/accelerators --check                                         # beside results/accelerators.json
    python benchmarks/accelerators --json benchmarks/results/accelerators.json     # renews it; then tools/results.py

Each program, value and gradient in float32, stands beside the formula that one would write (`programs.py`), which
gives the same numbers. "us" is the estimate of the TPU's own compiler; it counts a loop once, and has no ratio then.
"kernels" is how many operations the H100 launches, in loops as often as they run if the compiler knows it. "float64"
and "int64" are the largest numbers of elements. A ratio takes estimates below 5 us as 5 us, since no launch takes less.
Seconds are those of the processor, and a program that needs more than `--limit` is given up. With `--keep` the
programs stay in a folder, each with what the compiler made of it (`optimized.txt`).

A program that is the one of `results/accelerators.json`, compiled by the same versions, is not compiled again, but
with `--all` or `--keep`: its row is taken from there.

It needs jax with libtpu and the CUDA plugin (`nox -s accelerators` installs them), here or in environments of their
own: TPU_PYTHON and GPU_PYTHON then name their interpreters. One compiler of a target works at a time: others wait.

`--check` compares what does not depend on the machine, with the same versions of jax and TensorFlow: whether each
program compiles, its kernels (5 % more are too many), and elements of float64.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tools"))

import fcntl
import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any

import comparison
import harness
from compile import told
from export import export
from programs import PROGRAMS

COMMITTED = harness.RESULTS / "accelerators.json"
COMPILE = Path(__file__).with_name("compile.py")
TARGETS = ("tpu", "gpu")


class Compiler:
    """A process with the compiler of a target. It is ended, and started anew, when a program takes it too long."""

    def __init__(self, target: str, limit: float) -> None:
        self.target, self.limit = target, limit
        self._start()

    def _start(self) -> None:
        python = os.environ.get(f"{self.target.upper()}_PYTHON", sys.executable)
        command = [python, str(COMPILE), self.target, str(self.limit)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True, bufsize=1
        )
        self.versions = self._answer()
        if "error" in self.versions:
            sys.exit(f"{self.target}: {self.versions['error']}; does {python} have jax and the plugin?")

    def compiled(self, folder: Path) -> dict[str, Any]:
        """Compile the program in a folder, once no other process compiles for this target. Return what was found."""
        with open(Path(tempfile.gettempdir()) / f"compiler_{self.target}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            assert self.process.stdin
            self.process.stdin.write(f"{folder}\n")
            answer = self._answer()
        if "error" in answer and self.process.poll() is not None:
            self._start()
        return answer

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout
        for line in self.process.stdout:
            word, _, answer = line.partition(" ")
            if word == "answer":
                return json.loads(answer)
        self.close()
        code = self.process.returncode
        return {"error": f"takes more than {self.limit:g} s" if code == -signal.SIGPROF else f"ended with {code}"}

    def close(self) -> None:
        """End the process, which ends when it has nothing more to read."""
        with self.process:
            pass

    def __enter__(self) -> Compiler:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def known_rows(tables: dict[str, Any], versions: list[harness.Row]) -> dict[tuple[str, str], harness.Row]:
    """The rows of committed tables by their targets and digests, if all compilers had these versions."""
    if any(version not in tables["compilers"] for version in versions):
        return {}
    return {(row["target"], row["digest"]): row for row in tables["compiled"] if row.get("digest")}


def rows_of(
    compiler: Compiler,
    names: Iterable[str],
    shapes: list[str] | None,
    keep: Path | None,
    known: dict[tuple[str, str], harness.Row],
) -> Iterator[harness.Row]:
    """A row of each program and of its formula, of which the files stay in `keep`. Those in `known` have one."""
    target = compiler.target
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            for shape in shapes or PROGRAMS[name].shapes:
                for formula in (False, True)[: 1 + (PROGRAMS[name].formula is not None)]:
                    row = {"target": target, "program": name, "shape": shape, "of": "formula" if formula else "ours"}
                    try:
                        program = export(keep or Path(folder), name, shape, target, formula=formula)
                    except Exception as error:  # one that is not lowered hides no other
                        found = {"error": f"not exported: {told(error)}"}
                    else:
                        digest = (program / "digest.txt").read_text()
                        found = known.get((target, digest)) or compiler.compiled(program) | {"digest": digest}
                    yield row | {column: found.get(column) for column in comparison.COLUMNS}


def main(arguments: list[str] | None = None) -> dict:
    parser = harness.new_parser(__doc__)
    parser.prog = "benchmarks/accelerators"
    parser.add_argument("--programs", nargs="+", choices=PROGRAMS, default=list(PROGRAMS), metavar="PROGRAM")
    parser.add_argument("--shapes", nargs="+", help="batch x size, in place of those of each program")
    parser.add_argument("--targets", nargs="+", choices=TARGETS, default=list(TARGETS))
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of the processor that a program may take")
    parser.add_argument("--keep", type=Path, help="a folder for programs, and what the compilers make of them")
    parser.add_argument("--all", action="store_true", help="compile what has not changed, too")
    parser.add_argument("--check", nargs="?", type=Path, const=COMMITTED, help="fail if counts have grown since")
    options = parser.parse_args(arguments)
    committed = json.loads(COMMITTED.read_text())["tables"]  # before it is written anew
    rows: list[harness.Row] = []
    versions: list[harness.Row] = []

    def compiled() -> Iterator[harness.Row]:
        for target in options.targets:
            with Compiler(target, options.limit) as compiler:
                found = [
                    {"target": target, "library": key, "version": compiler.versions[key]} for key in compiler.versions
                ]
                versions.extend(found)
                known = {} if options.all or options.keep else known_rows(committed, found)
                for row in rows_of(compiler, options.programs, options.shapes, options.keep, known):
                    rows.append(row)
                    yield row

    tables = {
        "compiled": compiled(),
        "beside": comparison.beside(rows),
        "means": comparison.means(rows),
        "compilers": versions,
    }
    result = harness.publish("accelerators", tables, options.json)
    if options.check and (lines := comparison.grown(result, json.loads(options.check.read_text()))):
        sys.exit("\n".join(["programs have grown:", *lines]))
    return result


if __name__ == "__main__":
    main()
