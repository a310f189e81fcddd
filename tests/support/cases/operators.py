"""Every public operator and linear operator, and the grid of options of those that sort, from the files of cases."""

import pytest

from support.cases.collect import collected

OPERATIONS = collected("OPERATIONS")
ALL = collected("GRID")
# Only the mask changes how a gradient is taken, so the direction need not vary without one.
CORE = [
    case
    for case in ALL
    if (case.masked or ("direction", "ASCENDING") not in case.options) and ("top_k", 3) not in case.options
]
# For the modes that trace: each operator, method and power once, with a mask and what is not the default.
FEW = collected("FEW")


# A trace for unknown shapes holds the algorithms for short and for long lists; an eager call has one of them.
# Half of the operators and methods are called eagerly with their gradients each time.
IN_MODES = [
    *(pytest.param(case, "op_by_op") for case in CORE),
    *(
        pytest.param(case, mode, marks=[] if i % 2 and mode == "eager" else [pytest.mark.nightly])
        for i, case in enumerate(FEW)
        for mode in ("unknown_shape", "eager")
    ),
    *(pytest.param(case, mode, marks=pytest.mark.nightly) for case in FEW for mode in ("traced", "xla")),
    *(pytest.param(case, "unknown_shape", marks=pytest.mark.nightly) for case in CORE if case not in FEW),
]
