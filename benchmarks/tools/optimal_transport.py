"""Sinkhorn by ott-jax, an optional peer."""

from __future__ import annotations


def ott_sinkhorn(logits, tau: float, iterations: int):
    """The matrices after so many iterations of scaling, times n: ott's marginals are 1 / n."""
    import jax  # noqa: PLC0415
    from ott.geometry.geometry import Geometry  # noqa: PLC0415
    from ott.problems.linear.linear_problem import LinearProblem  # noqa: PLC0415
    from ott.solvers.linear.sinkhorn import Sinkhorn  # noqa: PLC0415

    solver = Sinkhorn(
        lse_mode=False,
        threshold=-1.0,
        min_iterations=iterations,
        max_iterations=iterations,
        inner_iterations=iterations,
    )

    def one(matrix):
        return solver(LinearProblem(Geometry(cost_matrix=-matrix, epsilon=tau))).matrix * matrix.shape[0]

    return jax.vmap(one)(logits)
