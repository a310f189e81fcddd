"""Running code in a process of its own, where nothing that the tests imported can help it."""

import contextlib
import json
import os
import socket
import subprocess
import sys


def run_python(code, *arguments, cwd=None, check=True, **environment):
    """The completed process of `python -c code arguments...`, with changes to its environment (None = unset)."""
    env = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1", **environment}
    env = {name: value for name, value in env.items() if value is not None}
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, env=env, cwd=cwd, capture_output=True, text=True, timeout=300, check=False)
    if check:
        assert done.returncode == 0, done.stderr[-4000:]
    return done


def json_from(code, *arguments, **options):
    """The last line that the process printed, read as JSON: TensorFlow and Keras may print lines before it."""
    return json.loads(run_python(code, *arguments, **options).stdout.strip().splitlines()[-1])


def free_ports(count):
    """Find `count` different ports of this machine that nothing listens on."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("localhost", 0))
        return [one.getsockname()[1] for one in sockets]
