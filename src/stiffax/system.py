"""The waist: what the physics gives, and all that an optimizer sees.

Parameters are one flat vector θ; a system is a pytree whose leaves are points, weights, coefficients and targets.
"""

import abc
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

Vector = Float[Array, " parameters"]


class ValueAndGradient(eqx.Module):
    value: Float[Array, ""]
    gradient: Vector


class AbstractLoss(eqx.Module):
    """A loss L(θ) that can be differentiated."""

    @abc.abstractmethod
    def value(self, θ: Vector) -> Float[Array, ""]:
        """L(θ)."""

    @abc.abstractmethod
    def value_and_gradient(self, θ: Vector) -> ValueAndGradient:
        """L(θ) and ∇L(θ)."""

    @abc.abstractmethod
    def hvp(self, θ: Vector, v: Vector) -> Vector:
        """∇²L(θ) v."""

    @abc.abstractmethod
    def parts(self, θ: Vector) -> Float[Array, " parts"]:
        """The loss by named part, without weights: for reports, never for steps."""

    @abc.abstractmethod
    def blame(self, θ: Vector) -> str:
        """Which part is not finite at θ, where, and whether its value or its slope; nothing if all is finite."""

    @abc.abstractmethod
    def tree(self, θ: Vector) -> Any:
        """θ as the pytree that it stands for (optax transforms may look at its structure)."""

    @abc.abstractmethod
    def flat(self, tree: Any) -> Vector:
        """The inverse of `tree`."""


class AbstractLinearisation(eqx.Module):
    """The residual r and its Jacobian J at one θ, however J is kept."""

    @abc.abstractmethod
    def residual(self) -> Float[Array, " rows"]:
        """r."""

    @abc.abstractmethod
    def mv(self, v: Vector) -> Float[Array, " rows"]:
        """J v."""

    @abc.abstractmethod
    def vm(self, w: Float[Array, " rows"]) -> Vector:
        """Jᵀ w."""

    @abc.abstractmethod
    def gram(self, space: str) -> Float[Array, "n n"]:
        """Jᵀ J for space "params", J Jᵀ for space "residuals"."""

    @abc.abstractmethod
    def row_norms(self) -> Float[Array, " rows"]:
        """The Euclidean norm of every row of J."""

    @abc.abstractmethod
    def rows(self) -> Float[Array, "rows parameters"]:
        """J itself."""


class AbstractLeastSquares(AbstractLoss):
    """A loss L(θ) = ‖r(θ)‖²."""

    @property
    @abc.abstractmethod
    def count(self) -> int:
        """The number of rows of r."""

    @abc.abstractmethod
    def residuals(self, θ: Vector) -> Float[Array, " rows"]:
        """r(θ)."""

    @abc.abstractmethod
    def linearise(self, θ: Vector) -> AbstractLinearisation:
        """r and J at θ."""

    @abc.abstractmethod
    def curvature(self, θ: Vector, v: Vector) -> Float[Array, " rows"]:
        """The second derivative of r along v, twice: r''(θ)[v, v]."""


class DenseLinearisation(AbstractLinearisation):
    """All rows stored."""

    r: Float[Array, " rows"]
    jacobian: Float[Array, "rows parameters"]

    def residual(self):
        return self.r

    def mv(self, v):
        return self.jacobian @ v

    def vm(self, w):
        return w @ self.jacobian

    def gram(self, space):
        if space == "residuals":
            return self.jacobian @ self.jacobian.T
        # Laid out column by column first: XLA on CPUs multiplies rows by rows 2.5 times as fast as columns by columns.
        columns = jax.lax.optimization_barrier(self.jacobian.T)
        return columns @ columns.T

    def row_norms(self):
        return (self.jacobian**2).sum(1) ** 0.5

    def rows(self):
        return self.jacobian


class ProductLinearisation(AbstractLinearisation):
    """No rows stored: every product differentiates the residual once more."""

    system: AbstractLeastSquares
    θ: Vector
    r: Float[Array, " rows"]

    def residual(self):
        return self.r

    def mv(self, v):
        return jax.jvp(self.system.residuals, (self.θ,), (v,))[1]

    def vm(self, w):
        return jax.vjp(self.system.residuals, self.θ)[1](w)[0]

    def gram(self, space):
        rows = self.rows()
        return rows @ rows.T if space == "residuals" else rows.T @ rows

    def row_norms(self):
        return (self.rows() ** 2).sum(1) ** 0.5

    def rows(self):
        return jax.vmap(self.vm)(jnp.eye(self.r.size, dtype=self.r.dtype))
