"""Truth of each function that a method of sorting has of its own, without a matrix: of one list, all of it valid.

The test in `tests/ops/sorting/test_own_functions.py` asks for an entry here for each one in the registry.
"""

from __future__ import annotations

import functools

from support.oracles import projection

# (scores [n], tau) -> ranks [n] from 1, in descending order.
RANKS = {
    "projection": functools.partial(projection.projected_rank, entropic=False),
    "projection_kl": functools.partial(projection.projected_rank, entropic=True),
    "lapsum": projection.lapsum_rank,
}
# (scores [n], tau) -> values [n], in descending order.
SORTED_SCORES = {
    "projection": functools.partial(projection.projected_values, entropic=False),
    "projection_kl": functools.partial(projection.projected_values, entropic=True),
}
# (scores [n], tau, k) -> shares [n] that sum to k, for k up to n.
MEMBERSHIP = {
    "projection": functools.partial(projection.projected_membership, entropic=False),
    "projection_kl": functools.partial(projection.projected_membership, entropic=True),
    "lapsum": projection.lapsum_membership,
}
# By the field of `Method`.
OF = {"ranks": RANKS, "sorted_scores": SORTED_SCORES, "membership": MEMBERSHIP}


def truth(field, method):
    """The entry of a method, or an error that says what to write."""
    if method not in OF[field]:
        raise LookupError(
            f"method {method!r} has {field} of its own and no truth: write its formula in float64 NumPy, and add it to "
            f"{field.upper()} in tests/support/oracles/methods.py under {method!r}"
        )
    return OF[field][method]
