"""Find the stale results of benchmarks, measure them again, and make the tables of their pages.

Tables in `results/*.md` stand between marks that name a file and one of its tables.

    python benchmarks/tools/results.py                      # makes the tables, and prints which files are stale
    python benchmarks/tools/results.py --measure            # first measures all stale files again
    python benchmarks/tools/results.py --measure ranknet    # only results/ranknet.json, stale or not

A file is stale once the code of the package or of its script is no longer that of its commit; docstrings and comments
do not count. What a script of `experiments` wrote is kept as it is. Some files need other environments:
TF_RANKING_PYTHON names the interpreter of one with TF-Ranking, and TPU_PYTHON and GPU_PYTHON those of the compilers of
accelerators. `nox -s results` makes these environments and measures all stale files.
"""

from __future__ import annotations

import argparse
import ast
import functools
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import harness

MARKED = re.compile(r"(<!-- table: (\S+) (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
# Folders of the package that no benchmark of an operator runs.
ADAPTERS = ("beam", "callbacks", "data", "models", "serving", "spark", "tf_ranking", "trees")
# The needs of a file beyond this environment: variables that name interpreters of others, or a device.
NEEDS = {
    "accelerators": ("TPU_PYTHON", "GPU_PYTHON"),
    "data_reading": ("TF_RANKING_PYTHON",),
    "gpu": ("a GPU",),
    "gpu_in_a_loop": ("a GPU",),
    "gpu_no_tf32": ("a GPU",),
}
# Files whose scripts add rows of TF-Ranking in an environment that has it.
WITH_TF_RANKING = ("ranking_losses", "short_lists")


def described(result: Mapping[str, Any]) -> list[str]:
    """The command of a result, and on what it ran."""
    machine, versions = result["machine"], result["versions"]
    where = f"{machine['cores']} cores of an {machine['processor']}, load {machine['load'][0]:.1f} at the start"
    libraries = ", ".join(f"{name} {versions[name]}" for name in ("tensorflow", *harness.PEERS) if name in versions)
    commit = result["commit"].replace("+", " with uncommitted changes")
    # A script that only makes tables takes no time worth telling.
    took = f" in {result['minutes']} minutes" if result.get("minutes", 0) >= 0.2 else ""
    return [
        f"    {result['command']}",
        "",
        f"Measured on {result['date']} at commit {commit}{took}: {where}; {libraries}.",
    ]


def with_tables(text: str, folder: Path) -> str:
    """The text of a page with the tables between its marks made again from the files in `folder`."""

    def replaced(match: re.Match) -> str:
        start, name, title, end = match.groups()
        result = json.loads((folder / name).read_text())
        lines = described(result) if title == "measured" else harness.table(result["tables"][title])
        return start + "\n".join(lines) + "\n" + end

    return MARKED.sub(replaced, text)


def pages() -> Iterator[Path]:
    """Pages whose tables are made from files."""
    for path in sorted(harness.RESULTS.glob("*.md")):
        if MARKED.search(path.read_text()):
            yield path


def command_of(path: Path) -> list[str]:
    """The command that measured a file of results: the script and its arguments."""
    _, *command = shlex.split(json.loads(path.read_text())["command"])
    return command


def of_benchmarks() -> Iterator[Path]:
    """The files of results that a script of `benchmarks` measured."""
    for path in sorted(harness.RESULTS.glob("*.json")):
        if command_of(path)[0].startswith("benchmarks/"):
            yield path


def missing(path: Path) -> list[str]:
    """The needs of a file that this environment does not meet."""
    return [name for name in NEEDS.get(path.stem, ()) if name not in os.environ]


def measure(path: Path) -> bool:
    """Run the command of a file of results again, which writes the file anew. Return whether it ended well."""
    script, *arguments = command_of(path)
    tf_ranking = os.environ.get("TF_RANKING_PYTHON", "")
    arguments = [tf_ranking if each == harness.TF_RANKING_PYTHON else each for each in arguments]
    # The suite writes a page beside its file, and goes on where an earlier run of the same commit stopped.
    is_suite = script == "benchmarks/suite"
    target = ["--output", str(path.parent)] if is_suite else ["--json", str(path)]
    command = [str(harness.REPOSITORY / script), *arguments, *target]
    pythons = [sys.executable, tf_ranking] if path.stem in WITH_TF_RANKING and tf_ranking else [sys.executable]
    before = path.read_text()
    ended_well = all(subprocess.run([python, *command], check=False).returncode == 0 for python in pythons)
    if not (ended_well or is_suite):
        # Scripts write each row at once. A file without the last rows would not be stale.
        path.write_text(before)
    return ended_well


def code(text: str) -> str:
    """The code of a Python file without its comments and docstrings."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return ast.dump(tree)


def change(path: Path) -> str | None:
    """A file with code that a result depends on, which has changed since its commit."""
    script = command_of(path)[0]
    commit = json.loads(path.read_text())["commit"].rstrip("+")
    adapters = () if script.startswith("benchmarks/pipelines") else ADAPTERS
    depends = ["keras_softsort", script, *(f":!keras_softsort/{name}" for name in adapters)]
    names = harness.git("diff", "--name-only", "--diff-filter=d", commit, "--", *depends).splitlines()
    return next((name for name in names if name.endswith(".py") and code_changed(commit, name)), None)


@functools.cache
def code_changed(commit: str, name: str) -> bool:
    """Whether a file has other code than at a commit, or was not there."""
    if not harness.git("ls-tree", commit, "--", name):
        return True
    return code((harness.REPOSITORY / name).read_text()) != code(harness.git("show", f"{commit}:{name}"))


def stale() -> Iterator[tuple[Path, str]]:
    """The files that are stale, each with the reason."""
    for path in of_benchmarks():
        result = json.loads(path.read_text())
        try:
            name = change(path)
        except subprocess.CalledProcessError:
            yield path, f"its commit {result['commit']} is not in this repository"
            continue
        if name:
            yield path, f"measured on {result['date']} at {result['commit']}, before {name} changed"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", nargs="*", metavar="NAME", help="measure these files, or all stale ones, again")
    options = parser.parse_args(arguments)
    failed = []
    if options.measure is not None:
        known = {path.stem: path for path in of_benchmarks()}
        if unknown := sorted(set(options.measure) - set(known)):
            parser.error(f"--measure: got {', '.join(unknown)}, expected names of {', '.join(known)}")
        chosen = [known[name] for name in options.measure] or [path for path, _ in stale() if not missing(path)]
        for path in chosen:
            print(f"measures {path.name}", flush=True)
            if not measure(path):
                failed.append(path.name)
    for page in pages():
        page.write_text(with_tables(page.read_text(), harness.RESULTS))
    for path, reason in stale():
        print(f"{path.name} is stale: {'; '.join([reason, *(f'needs {each}' for each in missing(path))])}")
    if failed:
        sys.exit(f"not measured, see above: {', '.join(failed)}")


if __name__ == "__main__":
    main()
