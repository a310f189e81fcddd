"""Fixtures and marks of every test: the same start each time, on either Keras."""

import gc
import os
import random
import re
import sys
import zlib
from pathlib import Path

# A trace makes so many objects that looking for cycles among all of them takes a twentieth of the time.
gc.set_threshold(100_000, 20, 100)

# Read by `support.cases.objects` too, and by the processes of pytest-xdist, whose command line is another.
if "--everything" in sys.argv:
    os.environ["KERAS_SOFTSORT_EVERYTHING"] = "1"
EVERYTHING = "KERAS_SOFTSORT_EVERYTHING" in os.environ
# If all cores are busy, threads of OpenMP that wait in a loop have cost LightGBM 45 s instead of 0.1.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
if not EVERYTHING:  # before TensorFlow reads it: what XLA compiles here runs once
    os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true")

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.autograph.core import config as autograph
from tensorflow.python.eager import context

from keras_softsort.ops.core import tracing

# The package has no control flow of tensors. A `tf.function` of a test would spend most of its time in converting it.
if not EVERYTHING:
    autograph.CONVERSION_RULES = (autograph.DoNotConvert("keras_softsort"), *autograph.CONVERSION_RULES)

# One process a core runs these tests, most of them tracing and compiling; TensorFlow's pools would fight over cores.
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)


TESTS = Path(__file__).parent
ON_TF_RANKING_STACK = tuple(map(int, tf.__version__.split(".")[:2])) < (2, 16)
# Folders that are written for the default stack.
OF_DEFAULT_STACK = ("examples", "benchmarks", "experiments")
# Folders whose tests run once, on the default stack: they depend neither on Keras nor on TF-Ranking, and the layers and
# losses above them run on both.
ON_DEFAULT_STACK = (*OF_DEFAULT_STACK, "ops", "distributions", "linalg")
# Other files say so themselves.
MARKED = re.compile(r"^pytestmark = (\[[^\]]*)?pytest\.mark\.default_stack_only\b", re.MULTILINE)

# Files of long tests, or of many. They come first: at the end, one of them would leave cores idle.
FIRST = ("test_workers.py", "test_replicas.py", "test_beam.py", "test_spark.py", "test_examples.py", "test_battery.py")
FIRST += ("test_pipelines.py", "test_serving.py", "test_saved_model.py", "test_model_server.py", "test_doctests.py")
FIRST += ("test_float32.py", "test_objective.py", "test_score_losses.py", "test_gpu_lowering.py")


# The state of the generator of a module of tests when its first test begins. Each test begins with it.
STATES = {}


def is_under(path, folders):
    return any(path.is_relative_to(each) for each in folders)


def pytest_addoption(parser):
    parser.addoption(
        "--everything", action="store_true", help="also run tests marked `default_stack_only` or `nightly`"
    )


def pytest_ignore_collect(collection_path):
    """Files without a test that runs here are not imported."""
    if not ON_TF_RANKING_STACK:
        return None
    elsewhere = OF_DEFAULT_STACK if EVERYTHING else ON_DEFAULT_STACK
    is_marked = not EVERYTHING and collection_path.suffix == ".py" and MARKED.search(collection_path.read_text())
    return True if is_marked or is_under(collection_path.relative_to(TESTS), elsewhere) else None


def pytest_collection_modifyitems(config, items):
    """Numbers that the default stack or other modes have checked are not checked again each time."""
    items.sort(key=lambda item: item.path.name not in FIRST)
    everything = config.getoption("--everything")
    split = {True: [], False: []}
    for item in items:
        marks = {mark.name for mark in item.iter_markers()}
        path = item.path.relative_to(TESTS)
        slow = "nightly" in marks
        elsewhere = ON_TF_RANKING_STACK and ("default_stack_only" in marks or is_under(path, ON_DEFAULT_STACK))
        # Files that are named are collected even if they are to be ignored.
        never = ON_TF_RANKING_STACK and is_under(path, OF_DEFAULT_STACK)
        # `--everything` still leaves out tests that are `nightly` and checked on the default stack.
        split[never or (slow and elsewhere if everything else slow or elsewhere)].append(item)
    config.hook.pytest_deselected(items=split[True])
    items[:] = split[False]


@pytest.fixture(autouse=True)
def _fresh_start(request):
    """A test that depends on what ran before it would pass or fail by its place in the file.

    `tf.random.set_seed` would drop TensorFlow's kernels too, and most of the time of a small test went into making them
    again. A kernel that stays draws its next numbers, so each test has a seed of its own, which no kernel knows.
    """
    random.seed(1)
    np.random.seed(1)
    seed = zlib.crc32(request.node.nodeid.encode())
    eager = context.context()
    eager._seed, eager._rng = seed, random.Random(seed)
    if hasattr(request.module, "RNG"):
        generator = request.module.RNG.bit_generator
        generator.state = STATES.setdefault(request.module, generator.state)


@pytest.fixture(autouse=True)
def _op_by_op(request):
    """Tests of values run eager calls op by op: a trace for each choice of arguments would take most of the time.

    Tests of execution modes, `traced_eagerly` and `--everything` run them as users do.
    """
    with tracing.eager_calls_traced(EVERYTHING or request.node.get_closest_marker("traced_eagerly") is not None):
        yield


@pytest.fixture
def rng():
    return np.random.default_rng(7)
