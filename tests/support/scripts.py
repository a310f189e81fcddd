"""Checks of scripts that print tables and write their rows, in benchmarks."""

import json
import subprocess
import sys

import pytest

ignores_warnings_of_tiny_settings = pytest.mark.filterwarnings(
    "ignore:invalid value encountered:RuntimeWarning",
    "ignore:overflow:RuntimeWarning",
    "ignore:Even though the `tf.config.experimental_run_functions_eagerly`:UserWarning",  # tf.data traces all the same
)


def check_rows(script, name, arguments, folder, printed):
    """Run a script in this process: its file has all rows and where they come from, and it prints them as tables."""
    path = folder / "rows.json"
    result = script(name).main([*arguments, "--json", str(path)])
    assert json.loads(path.read_text()) == json.loads(json.dumps(result))
    assert all(result["tables"].values())
    assert {"commit", "date", "machine", "versions", "command"} <= set(result)
    command, _, measured = script("results").described(result)
    assert command.startswith("    python ")
    assert result["date"] in measured
    text = printed.readouterr().out
    for rows in result["tables"].values():
        assert "\n".join(script("harness").table(rows)) in text


def check_process(path, arguments, folder):
    """Run a script in a process of its own: it writes rows."""
    rows = folder / "rows.json"
    command = [sys.executable, str(path), *arguments, "--json", str(rows)]
    subprocess.run(command, check=True)  # pytest shows what a failing script printed
    assert all(json.loads(rows.read_text())["tables"].values())
