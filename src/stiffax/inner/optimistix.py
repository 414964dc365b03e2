"""Any least-squares solver of optimistix on the stacked residual."""

import equinox as eqx
import jax.numpy as jnp
import optimistix

from stiffax.inner.base import AbstractInner, Proximal, expect_residuals, finish, looked
from stiffax.records import work
from stiffax.system import AbstractLeastSquares


class Optimistix(AbstractInner):
    """Minimises ‖[r(θ + δ); δ/√(2α)]‖² with an optimistix solver: `Optimistix(optimistix.Dogleg(1e-8, 1e-8))`.

    Rows and factorisations are counted as one Jacobian and one solve for each of its steps: an upper bound, because
    its refused steps form no new Jacobian.
    """

    solver: optimistix.AbstractLeastSquaresSolver
    steps: int = eqx.field(static=True, default=100)

    def init(self, system, θ):
        expect_residuals(system)

    def prepare(self, system, θ, carried=None):
        return looked(system, θ)

    def solve(self, system: AbstractLeastSquares, θ, prepared, α, away=None):
        proximal = Proximal(system, θ, α, away)
        start = proximal.start(prepared)
        anchor = jnp.zeros_like(θ) if away is None else away

        def stacked(δ, _):
            return jnp.concatenate([system.residuals(θ + δ), (δ - anchor) / jnp.sqrt(2 * α)])

        found = optimistix.least_squares(stacked, self.solver, start.δ, max_steps=self.steps, throw=False)
        n = found.stats["num_steps"]
        done = work(iterations=n, losses=n + 1, gradients=1, rows=n * system.count, factorisations=n)
        return finish(proximal, start, proximal.at(found.value), done)
