"""The projections onto the permutahedron as methods: quadratic, and entropic."""

from __future__ import annotations

import functools

from keras_softsort.ops.sorting._methods.method import Method
from keras_softsort.ops.sorting._permutahedron.projection import projected_ranks, projected_scores


def _projection(name: str, entropic: bool) -> Method:
    return Method(
        name=name,
        ranks=functools.partial(projected_ranks, entropic=entropic),
        sorted_scores=functools.partial(projected_scores, entropic=entropic),
    )


PROJECTION = _projection("projection", entropic=False)
PROJECTION_KL = _projection("projection_kl", entropic=True)
