"""What is checked, on both supported stacks. `nox` runs what CI runs; `nox --list` names the parts."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import nox
from nox.command import CommandFailed

nox.options.sessions = ["lint", "tests", "slow_tests", "tests_tf_ranking"]
nox.options.reuse_existing_virtualenvs = True
nox.options.error_on_missing_interpreters = False

SUPPORTED_PYTHONS = nox.project.python_versions(nox.project.load_toml("pyproject.toml"))
TF_RANKING_PYTHONS = ("3.11", "3.10")
# The oldest default stack, on a Python that its TensorFlow supports; tests/test_frame.py compares it with the bounds.
OLDEST_PYTHONS = ("3.10", "3.11", "3.12")
OLDEST = ("tensorflow==2.18.0", "keras==3.11.0", "tensorflow-probability==0.24.0", "tf-keras==2.18.0", "numpy==1.26.0")
# No driver and no device is needed to compile for a TPU or an H100.
COMPILERS = (
    *("jax==0.10.2", "jaxlib==0.10.2", "libtpu==0.0.52"),
    *("jax-cuda12-plugin==0.10.2", "jax-cuda12-pjrt==0.10.2", "nvidia-cuda-nvcc-cu12==12.9.86"),
)
# Peers of single benchmarks, beside those of the extra `benchmarks`.
PEERS = ("optax", "keras-hub", "faiss-cpu", "motmetrics")
NIGHTLIES = ("tf-nightly", "keras-nightly", "tfp-nightly", "tf_keras-nightly")
WITH_NIGHTLIES = ("pytest", "pytest-xdist", "hypothesis", "pandas", "scipy", "scikit-learn", "statsmodels")
WITH_NIGHTLIES += ("lightgbm", "matplotlib")
# All fast tests but one, whose tensorflow-serving-api would install the stable TensorFlow.
NOT_WITH_NIGHTLIES = "tests/serving/test_serving_edges.py::test_requests_that_are_none"
OF_NIGHTLIES = ("-m", "not slow", "--deselect", NOT_WITH_NIGHTLIES)
ENVIRONMENT = {
    "TF_CPP_MIN_LOG_LEVEL": "2",  # only what goes wrong: TensorFlow's own start-up notes are no news
    "PYTHONDONTWRITEBYTECODE": "",  # else every process that tests start compiles all of TensorFlow again
}
# Should it fail, so does the session itself, which says why.
SILENT = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
# Python compiles what is imported, which is a small part of what is installed.
NO_COMPILE = "--no-compile"
# One process more than there are cores: some tests wait for processes of their own.
PROCESSES = str((os.cpu_count() or 1) + 1)
# Of the test files with `--everything`, one after the other: with four, three processes took 8 GB each.
GROUPS = 6
PYTEST = ("pytest", "-q", "-n", PROCESSES, "--dist", "loadfile", "--no-loadscope-reorder")


def python_among(versions: tuple[str, ...]) -> str | None:
    """An interpreter of one of these versions: this one, or another that really starts."""
    if "{}.{}".format(*sys.version_info) in versions:
        return sys.executable
    for version in versions:
        found = shutil.which(f"python{version}")
        if found and subprocess.run([found, "-c", "import venv"], capture_output=True, check=False).returncode == 0:
            return found
    return None


def tf_ranking_python() -> str | None:
    """An interpreter that TensorFlow 2.15 supports."""
    return python_among(TF_RANKING_PYTHONS)


def run_tests(session: nox.Session, *options: str) -> None:
    """Run all tests, or only the files given. With `--everything` in groups: compiled programs stay in memory."""
    files = sorted(str(path) for path in Path("tests").rglob("test_*.py"))
    chosen = any(argument.startswith("tests") for argument in session.posargs)
    everything = "--everything" in (*options, *session.posargs)
    groups = [files[start::GROUPS] for start in range(GROUPS)] if everything and not chosen else [()]
    # A failure in one group does not hide those in the next.
    # Some files of the whole battery take an hour, so their tests are shared out.
    share = ("--dist", "worksteal") if everything else ()
    failed = [group for group in groups if not passes(session, *PYTEST, *share, *options, *group, *session.posargs)]
    if failed:
        session.error("tests failed")


def passes(session: nox.Session, *command: str) -> bool:
    """Whether the command ends well."""
    try:
        session.run(*command, env=ENVIRONMENT)
    except CommandFailed:
        return False
    return True


@contextlib.contextmanager
def environment_made_beside(name: str) -> Iterator[None]:
    """Install the environment of the session `name` meanwhile, if it runs too: pip mostly waits for the network."""
    if len(sys.argv) > 1 and name not in sys.argv:
        yield
        return
    with subprocess.Popen([sys.executable, "-m", "nox", "--install-only", "--session", name], **SILENT) as process:
        yield
        process.wait()


@nox.session
def lint(session: nox.Session) -> None:
    """Format, lint, types and spelling, as pre-commit does."""
    dev = nox.project.load_toml("pyproject.toml")["project"]["optional-dependencies"]["dev"]
    session.install(*[tool for tool in dev if tool.startswith(("ruff", "mypy", "codespell"))], "numpy")
    with environment_made_beside("tests"):
        session.run("ruff", "format", "--check", ".")
        session.run("ruff", "check", ".")
        session.run("mypy")
        session.run("codespell")


@nox.session
def tests(session: nox.Session) -> None:
    """The fast tests on the default stack, today's TensorFlow with Keras 3, and on the package as it is installed."""
    session.install(NO_COMPILE, ".[test,keras-rs,beam,choices]")
    with environment_made_beside("tests_tf_ranking") if tf_ranking_python() else contextlib.nullcontext():
        run_tests(session, *(() if session.posargs else ("-m", "not slow")))


@nox.session
def slow_tests(session: nox.Session) -> None:
    """The tests of the default stack that take seconds each, in the environment of the fast ones."""
    session.notify("tests", posargs=["-m", "slow"])


@nox.session(python=tf_ranking_python() or False)
def tests_tf_ranking(session: nox.Session) -> None:
    """The suite on the TF-Ranking stack: TensorFlow 2.15 with Keras 2.15, where there is Python 3.11 or 3.10."""
    if tf_ranking_python() is None:
        session.skip(f"the TF-Ranking stack needs Python {' or '.join(TF_RANKING_PYTHONS)}, and there is none here")
    session.install(NO_COMPILE, ".[test,tf-ranking]")
    run_tests(session)


@nox.session
def everything(session: nox.Session) -> None:
    """All tests, with those that are too slow for every change, on the default stack and then on the other one."""
    session.notify("package")
    session.notify("tests_tf_ranking", posargs=["--everything", *session.posargs])
    session.install(NO_COMPILE, ".[test,keras-rs,beam,choices,spark]")
    run_tests(session, "--everything")


@nox.session
def coverage(session: nox.Session) -> None:
    """The share of the package's lines that the tests run on the default stack, but for processes of their own."""
    session.install(NO_COMPILE, "-e", ".[test,keras-rs,beam,choices]", "pytest-cov")
    session.run(*PYTEST, "--cov=keras_softsort", "--cov-report=term", *session.posargs, env=ENVIRONMENT)


@nox.session
def exports(session: nox.Session) -> None:
    """The models that LiteRT and ONNX run, and those that they do not, as docs/guides/export-anywhere.md says."""
    session.install(NO_COMPILE, ".[test,onnx]")
    session.run("pytest", "-q", "tests/serving/test_export_formats.py", "--everything", env=ENVIRONMENT)
    page = "tests/test_doctests.py::test_blocks_of_pages_run[export-anywhere.md]"
    session.run("pytest", "-q", page, "--everything", env=ENVIRONMENT)


@nox.session
def counts(session: nox.Session) -> None:
    """HLO operations, bytes and nodes of some calls beside the committed ones, with their TensorFlow."""
    versions = json.loads(Path("benchmarks/results/counts.json").read_text())["versions"]
    session.install(NO_COMPILE, ".", f"tensorflow=={versions['tensorflow']}")
    session.run("python", "benchmarks/tools/counts.py", "--check", *session.posargs, env=ENVIRONMENT)


@nox.session
def accelerators(session: nox.Session) -> None:
    """What the compilers of a TPU and of an H100 make of operators, losses and metrics, beside the committed counts."""
    session.install(NO_COMPILE, ".", *COMPILERS)
    session.run("python", "benchmarks/accelerators", "--check", *session.posargs, env=ENVIRONMENT)


@nox.session
def results(session: nox.Session) -> None:
    """The results of benchmarks that the code has left behind, measured again on an idle machine: 1 to 2 hours."""
    session.install(NO_COMPILE, ".[benchmarks,examples,beam,spark]", *PEERS)
    # It is built here, with the torch of this environment. The tables are made without it where there is no compiler.
    session.run("pip", "install", "--no-build-isolation", "torchsort", success_codes=[0, 1])
    environments = Path(session.virtualenv.location).parent
    others = {"accelerators": ("TPU_PYTHON", "GPU_PYTHON")}
    if tf_ranking_python():
        others["tests_tf_ranking"] = ("TF_RANKING_PYTHON",)
    env = dict(ENVIRONMENT)
    for name, variables in others.items():
        session.run(sys.executable, "-m", "nox", "--install-only", "--session", name, external=True)
        env |= dict.fromkeys(variables, str(environments / name / "bin" / "python"))
    session.run("python", "benchmarks/tools/results.py", "--measure", *session.posargs, env=env)


@nox.session
def frameworks(session: nox.Session) -> None:
    """Operators called from JAX and from PyTorch, as the guides show."""
    session.install(NO_COMPILE, ".[test,frameworks]")
    # The plugin is imported before TensorFlow, which Triton needs.
    session.run("pytest", "-q", "-p", "torch._dynamo", "tests/test_frameworks.py", env=ENVIRONMENT)


def run_smoke_test(session: nox.Session, *install: str) -> None:
    """Train, save, load and export a model with the versions that pip chooses for `install`."""
    session.install(NO_COMPILE, "--upgrade", "--upgrade-strategy", "eager", *install)
    session.run("pip", "check")
    session.run("python", "tests/smoke.py", env=ENVIRONMENT)


@nox.session(python=python_among(OLDEST_PYTHONS) or False)
def oldest(session: nox.Session) -> None:
    """A smoke test with the oldest versions of the default stack."""
    if python_among(OLDEST_PYTHONS) is None:
        session.skip(f"the oldest versions need Python {', '.join(OLDEST_PYTHONS)}, and there is none here")
    run_smoke_test(session, ".", *OLDEST)


@nox.session
def newest(session: nox.Session) -> None:
    """A smoke test with the newest versions that pip finds."""
    run_smoke_test(session, ".")


@nox.session
def nightlies(session: nox.Session) -> None:
    """The fast tests with the newest nightlies of TensorFlow, Keras and TensorFlow Probability."""
    session.install(NO_COMPILE, "--upgrade", *NIGHTLIES, *WITH_NIGHTLIES)
    # The package needs `tensorflow`, which would be installed over `tf-nightly`.
    session.install(NO_COMPILE, "--no-deps", ".")
    session.run(*PYTEST, *(session.posargs or OF_NIGHTLIES), env=ENVIRONMENT)


@nox.session(python=tf_ranking_python() or False)
def tf_ranking(session: nox.Session) -> None:
    """A smoke test with TensorFlow 2.15, without TF-Ranking and then with it."""
    if tf_ranking_python() is None:
        session.skip(f"the TF-Ranking stack needs Python {' or '.join(TF_RANKING_PYTHONS)}, and there is none here")
    run_smoke_test(session, ".", "tensorflow==2.15.1")
    run_smoke_test(session, ".[tf-ranking]")
    session.run("python", "-c", "from keras_softsort import tf_ranking", env=ENVIRONMENT)


@nox.session
def docs(session: nox.Session) -> None:
    """The site in docs/_build/html, its notebooks executed, with warnings as errors."""
    session.install("-e", ".[docs]")
    session.run("sphinx-build", "-W", "--keep-going", "-b", "html", "docs", "docs/_build/html", env=ENVIRONMENT)


@nox.session
def package(session: nox.Session) -> None:
    """The built wheel, installed in an empty environment: it imports, with its type information."""
    with tempfile.TemporaryDirectory() as folder:
        session.run("pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ".")
        (wheel,) = Path(folder).glob("*.whl")
        session.install("mypy", str(wheel))
        check = Path(folder) / "check.py"
        check.write_text(
            "import keras_softsort as ks\n"
            "assert ks.neural_sort([2.0, 5.0, 3.0]).shape == (3, 3)\n"
            "ks.NeuralSortLayer(tau=0.5, returns='values')\n"
        )
        session.chdir(folder)
        session.run("python", check.name, env=ENVIRONMENT)
        # Fails without py.typed: mypy then knows nothing of the package.
        session.run("mypy", "--follow-imports=silent", check.name)


@nox.session
def distributions(session: nox.Session) -> None:
    """The sdist and the wheel in dist/, as a release has them, and what twine says of them."""
    session.install("build", "twine")
    shutil.rmtree("dist", ignore_errors=True)
    session.run("python", "-m", "build")
    session.run("twine", "check", "--strict", *map(str, Path("dist").iterdir()))


@nox.session(python=SUPPORTED_PYTHONS)
@nox.parametrize("kind", ["wheel", "sdist"])
def installed(session: nox.Session, kind: str) -> None:
    """A smoke test of what `nox -s distributions` has built, alone in an environment, with the newest versions."""
    (built,) = Path("dist").glob({"wheel": "*.whl", "sdist": "*.tar.gz"}[kind])
    run_smoke_test(session, str(built))


@nox.session
def digits(session: nox.Session) -> None:
    """The main job, as in the README, in an environment of its own."""
    session.install(".[examples]")
    session.run("python", "examples/sort_digits.py", *session.posargs, env=ENVIRONMENT)
