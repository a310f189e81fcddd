"""The pages of results are those of their files, and files that the code has left behind are named."""

import json
import re
import subprocess
import sys

import pytest

pytestmark = pytest.mark.default_stack_only


def test_pages_tell_the_minutes_and_uncommitted_changes(script):
    result = {"command": "python benchmarks/a.py", **script("harness").environment(), "commit": "12ab+", "minutes": 2.4}
    described = script("results").described
    assert "at commit 12ab with uncommitted changes in 2.4 minutes:" in described(result)[-1]
    assert "at commit 12ab:" in described({**result, "commit": "12ab", "minutes": 0.1})[-1]


def test_tables_go_between_marks_that_hold_none(script, tmp_path):
    (tmp_path / "a.json").write_text(json.dumps({"tables": {"rows": [{"n": 1}]}}))
    marks = "<!-- table: a.json rows -->\n<!-- end -->\n"
    text = script("results").with_tables(f"{marks}\nprose\n\n{marks}", tmp_path)
    assert text.count("| 1 |") == 2
    assert "prose" in text
    assert script("results").with_tables(text, tmp_path) == text


def test_tables_are_those_of_the_files(script):
    results = script("results")
    for page in results.pages():
        assert page.read_text() == results.with_tables(page.read_text(), script("harness").RESULTS), page


def test_no_result_names_a_folder_of_a_machine(script):
    for path in script("harness").RESULTS.glob("*.json"):
        result = json.loads(path.read_text())
        for command in (result["command"], *(run.get("command", "") for run in result.get("runs", []))):
            assert not re.search(r"(^|[ =])/", command), (path.name, command)


def test_pages_tell_which_results_have_uncommitted_changes(script):
    text = "\n".join(page.read_text() for page in script("results").pages())
    for path in script("harness").RESULTS.glob("*.json"):
        if json.loads(path.read_text())["commit"].endswith("+"):
            assert f"<!-- table: {path.name} measured -->" in text


PACKAGE, ADAPTER = "keras_softsort/ops/a.py", "keras_softsort/data/a.py"
SCRIPTS = {"x": "benchmarks/operators/x.py", "y": "benchmarks/pipelines/y.py", "gpu": "benchmarks/operators/x.py"}


@pytest.fixture
def repository(script, tmp_path, monkeypatch):
    """A repository with a package, two scripts and the results of them; each result is of the only commit."""
    monkeypatch.setattr(script("harness"), "REPOSITORY", tmp_path)
    monkeypatch.setattr(script("harness"), "RESULTS", tmp_path / "benchmarks/results")
    for name in (PACKAGE, ADAPTER, *SCRIPTS.values()):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text('"""A module."""\n\n\ndef f(x):\n    """Double it."""\n    return 2 * x\n')
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b.example"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "Begin"]):
        subprocess.run([*git, *command], check=True)
    (tmp_path / "benchmarks/results").mkdir()
    for name, path in SCRIPTS.items():
        result = {"command": f"python {path} --skip 'a b'", **script("harness").environment()}
        result["tables"] = {"time": [{"n": 3, "ms": 1.5}]}
        (tmp_path / f"benchmarks/results/{name}.json").write_text(json.dumps(result))
    script("results").code_changed.cache_clear()
    return tmp_path


def stale(script):
    script("results").code_changed.cache_clear()
    return {path.stem: reason for path, reason in script("results").stale()}


@pytest.mark.nightly
def test_files_are_stale_once_code_has_changed(repository, script):
    assert stale(script) == {}
    (repository / PACKAGE).write_text('def f(x):\n    """Return twice x."""\n    # Exact.\n    return 2 * x\n')
    assert stale(script) == {}
    (repository / ADAPTER).write_text("def f(x):\n    return 3 * x\n")
    assert list(stale(script)) == ["y"]
    (repository / SCRIPTS["x"]).write_text("def f(x):\n    return 3 * x\n")
    found = stale(script)
    assert list(found) == ["gpu", "x", "y"]
    assert f"before {SCRIPTS['x']} changed" in found["x"]
    assert f"before {ADAPTER} changed" in found["y"]


@pytest.mark.nightly
def test_a_result_of_an_unknown_commit_is_stale(repository, script):
    path = repository / "benchmarks/results/x.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "commit": "0123456789"}))
    assert stale(script) == {"x": "its commit 0123456789 is not in this repository"}


@pytest.mark.nightly
def test_stale_files_are_measured_and_tables_made(repository, script, monkeypatch, capsys):
    results, folder = script("results"), repository / "benchmarks/results"
    commands = []
    monkeypatch.setattr(results, "measure", lambda path: commands.append(path.stem) or path.stem != "gpu")
    (repository / PACKAGE).write_text("def f(x):\n    return 3 * x\n")
    (folder / "x.md").write_text("# X\n\n<!-- table: x.json time -->\nold\n<!-- end -->\n\nEnd\n")
    results.main(["--measure"])
    assert commands == ["x", "y"]  # a GPU may not be here
    assert "gpu.json is stale: " in (told := capsys.readouterr().out)
    assert "; needs a GPU" in told
    table = "| n | ms |\n|---:|---:|\n| 3 | 1.5 |"
    assert (folder / "x.md").read_text() == f"# X\n\n<!-- table: x.json time -->\n{table}\n<!-- end -->\n\nEnd\n"
    # The others are measured after one that fails.
    with pytest.raises(SystemExit, match=r"not measured, see above: gpu\.json$"):
        results.main(["--measure", "gpu", "x"])
    assert commands[2:] == ["gpu", "x"]
    with pytest.raises(SystemExit):
        results.main(["--measure", "z"])
    assert "--measure: got z, expected names of gpu, x, y" in capsys.readouterr().err


def commands_run(monkeypatch):
    """The commands that are run from now on, in place of running them."""
    commands = []

    def run(command, check):
        commands.append(command)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr("subprocess.run", run)
    return commands


@pytest.mark.nightly
def test_a_command_is_run_as_the_file_says(repository, script, monkeypatch):
    results, path = script("results"), repository / "benchmarks/results/x.json"
    commands = commands_run(monkeypatch)
    monkeypatch.delenv("TF_RANKING_PYTHON", raising=False)
    assert results.measure(path)
    assert commands == [[sys.executable, str(repository / SCRIPTS["x"]), "--skip", "a b", "--json", str(path)]]
    path.write_text(json.dumps({"command": "python benchmarks/suite --short"}))
    results.measure(path)
    assert commands[1][1:] == [str(repository / "benchmarks/suite"), "--short", "--output", str(path.parent)]
    monkeypatch.setenv("TF_RANKING_PYTHON", "/bin/python")
    monkeypatch.setattr(sys, "argv", [str(repository / SCRIPTS["y"]), "--tf-ranking-python", "/other/python"])
    path.write_text(json.dumps({"command": script("harness").shown_command()}))
    results.measure(path)
    assert commands[2][1:4] == [str(repository / SCRIPTS["y"]), "--tf-ranking-python", "/bin/python"]


@pytest.mark.nightly
def test_a_script_that_fails_leaves_the_file_as_it_was(repository, script):
    (repository / SCRIPTS["x"]).write_text("import sys\nopen(sys.argv[-1], 'w').close()\nsys.exit(1)\n")
    path = repository / "benchmarks/results/x.json"
    before = path.read_text()
    assert not script("results").measure(path)
    assert path.read_text() == before


@pytest.mark.nightly
def test_tf_ranking_adds_its_rows(repository, script, monkeypatch):
    commands = commands_run(monkeypatch)
    path = repository / "benchmarks/results/short_lists.json"
    path.write_text(json.dumps({"command": "python benchmarks/suite --short"}))
    monkeypatch.setenv("TF_RANKING_PYTHON", "/bin/python")
    script("results").measure(path)
    here, there = commands
    assert here[0] == sys.executable
    assert there == ["/bin/python", *here[1:]]


@pytest.mark.nightly
def test_the_commit_tells_of_changed_code_only(repository, script):
    commit = script("harness").environment()["commit"]
    assert not commit.endswith("+")
    subprocess.run(["git", "-C", str(repository), "add", "-A"], check=True)  # results are no code
    assert script("harness").environment()["commit"] == commit
    (repository / PACKAGE).write_text("x = 1\n")
    assert script("harness").environment()["commit"] == f"{commit}+"
