"""TensorFlow's own search for NaN, `tf.debugging.enable_check_numerics`, must find none in the package on finite data.

It raises where any operation gives NaN or infinity, also where both are expected and left out afterwards, and where a
graph, as that of `fit`, holds such a constant.
"""

import pathlib

import pytest
from support.processes import json_from

pytestmark = [pytest.mark.default_stack_only, pytest.mark.nightly]  # Its process runs for minutes.


def test_finite_data_raise_nothing():
    # A process of its own, since the checks cannot be left out of what was traced under them.
    found = json_from("from support import numeric_checks; numeric_checks.main()", cwd=pathlib.Path(__file__).parent)
    lines = "\n".join(f"{name}: {message}" for name, message in found.items())
    assert not found, (
        "the operations at these lines must give finite numbers for finite data: compare with a finite limit or by "
        f"tf.math.is_finite instead of an infinity, and fill masked entries with a finite number\n{lines}"
    )
